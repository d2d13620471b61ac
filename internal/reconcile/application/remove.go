package application

import (
	"context"
	"strings"
	"time"

	"slipway.dev/slipway/internal/outside/helm"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/spec"
	"slipway.dev/slipway/internal/store"
)

// remove takes everything of the application off the cluster. Each part may be gone
// already; the namespace stays, since other applications live in it.
func (r *Reconciler) remove(ctx context.Context, w *work) error {
	app := w.snap.Application
	res, err := r.Charts.Uninstall(ctx, helm.UninstallRequest{App: app, Release: spec.HelmRelease(app.Name), Redact: r.redactor(ctx, app, w.snap.Wanted.Spec)})
	if err != nil {
		return err
	}
	for _, line := range res.Notes {
		if err := w.note(line); err != nil {
			return err
		}
	}
	if err := r.awaitGone(ctx, app); err != nil {
		return err
	}
	if err := r.Cluster.DeleteJobsOf(ctx, app); err != nil {
		return err
	}
	if err := r.Cluster.DeleteSecret(ctx, app.Namespace, spec.SecretObject(spec.HelmRelease(app.Name))); err != nil {
		return err
	}
	// The record goes last: while it is there, the cluster says whose this was.
	return r.Cluster.DeleteRecord(ctx, app)
}

// goneWithin is how long the workloads may take to go: their pods' grace and then some.
const goneWithin = 5 * time.Minute

// awaitGone waits until no workload of the application is left. Helm says that a release is
// gone while its objects still end their pods, and an old worker must not outlive the
// record that says whose it was.
func (r *Reconciler) awaitGone(ctx context.Context, app slipway.Application) error {
	for deadline := time.Now().Add(goneWithin); ; {
		left, err := r.Cluster.Workloads(ctx, app, nil)
		if err != nil || len(left) == 0 {
			return err
		}
		if time.Now().After(deadline) {
			names := make([]string, len(left))
			for i, w := range left {
				names[i] = w.String()
			}
			return slipway.Errorf(slipway.Unavailable, "%s did not go within %s", strings.Join(names, ", "), goneWithin).
				WithHint("see what keeps it with  kubectl get pods -n %s, then delete the application again", app.Namespace)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(300 * time.Millisecond):
		}
	}
}

// purge closes the application's record, which frees its name. Its tasks stay readable.
func (r *Reconciler) purge(ctx context.Context, w *work) error {
	return w.write(func(ctx context.Context, tx *store.Tx) error {
		return tx.MarkApplicationDeleted(ctx, w.snap.Application.ID)
	})
}
