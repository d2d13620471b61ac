package application

import (
	"context"

	"slipway.dev/slipway/internal/outside/helm"
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
	if err := r.Cluster.DeleteJobsOf(ctx, app); err != nil {
		return err
	}
	if err := r.Cluster.DeleteSecret(ctx, app.Namespace, spec.SecretObject(spec.HelmRelease(app.Name))); err != nil {
		return err
	}
	// The record goes last: while it is there, the cluster says whose this was.
	return r.Cluster.DeleteRecord(ctx, app)
}

// purge closes the application's record, which frees its name. Its tasks stay readable.
func (r *Reconciler) purge(ctx context.Context, w *work) error {
	return w.write(func(ctx context.Context, tx *store.Tx) error {
		return tx.MarkApplicationDeleted(ctx, w.snap.Application.ID)
	})
}
