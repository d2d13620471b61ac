package application

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"slipway.dev/slipway/internal/outside/kube"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/spec"
)

// look makes sure that there is something to repair to, before anything changes: what
// Helm keeps of the last apply.
func (r *Reconciler) look(ctx context.Context, w *work) error {
	if _, err := r.Cluster.Version(ctx); err != nil {
		return err
	}
	if _, err := r.asApplied(ctx, w.snap); err != nil {
		return err
	}
	env, err := r.environment(ctx, w.snap.Application.EnvironmentID)
	if err != nil {
		return err
	}
	if err := r.Cluster.EnsureCRD(ctx, r.CRD); err != nil {
		return err
	}
	return r.Cluster.EnsureNamespace(ctx, env)
}

// asApplied is what the application's release was last applied with, with each component
// as it is to stand now.
func (r *Reconciler) asApplied(ctx context.Context, s Snapshot) ([]kube.Manifest, error) {
	ms, err := r.Charts.Applied(ctx, s.Application, spec.HelmRelease(s.Application.Name))
	if err != nil {
		return nil, err
	}
	stopped, err := r.stopped(ctx, s.Application)
	if err != nil {
		return nil, err
	}
	standing := map[string]kube.Standing{}
	for name := range s.Driver.Spec.Components {
		standing[name] = kube.Standing{Stopped: stopped[name], Replicas: s.Wanted.Spec.Components[name].Replicas}
	}
	return kube.Standings(ms, standing), nil
}

// putBack applies again what differs, object by object, and nothing else. It renders no
// chart and makes no revision of the release, so that neither a hook of ours nor one of
// the chart can run, and what is put back is to the byte what was applied.
func (r *Reconciler) putBack(ctx context.Context, w *work) error {
	s := w.snap
	release, err := r.hold(ctx, s.Application)
	if err != nil {
		return err
	}
	defer release()
	err = r.Cluster.PutRecord(ctx, s.Application, kube.Record{
		Change: s.Change.Number, Revision: s.Wanted.Number, Version: s.Wanted.Spec.App.Version,
		Driver: s.Wanted.Spec.Driver, DriverDigest: s.Driver.Digest,
	})
	var newer *kube.ErrNewer
	if errors.As(err, &newer) {
		return w.note(fmt.Sprintf("nothing was put back: change %d is already on the cluster", newer.Number))
	}
	if err != nil {
		return err
	}
	if err := r.Cluster.SetRecordStatus(ctx, s.Application, kube.RecordStatus{
		Change: s.Change.Number, State: kube.RecordProgressing, Message: fmt.Sprintf("%s (task %d)", s.Task.Title, s.Task.ID),
	}); err != nil {
		return err
	}
	ms, err := r.asApplied(ctx, s)
	if err != nil {
		return err
	}
	notes, err := r.putSecretBack(ctx, s, kube.SecretVersions(ms))
	if err != nil {
		return err
	}
	found, err := r.Cluster.Compare(ctx, s.Application, ms, kube.CompareOptions{Mask: kube.MaskBy(r.redactor(ctx, s.Application, s.Wanted.Spec))})
	if err != nil {
		return err
	}
	for _, m := range found.Back {
		if err := r.Cluster.PutBack(ctx, m); err != nil {
			return err
		}
	}
	notes = append(notes, told(found)...)
	if len(notes) == 0 {
		notes = append(notes, "nothing differs from what was applied")
	}
	for _, line := range notes {
		if err := w.note(line); err != nil {
			return err
		}
	}
	return nil
}

// told says of each difference what became of it.
func told(found kube.Comparison) []string {
	var out []string
	for _, d := range found.Differences {
		switch {
		case !d.Repairable():
			out = append(out, fmt.Sprintf("left alone: %s, which no change made", d.Object))
		case d.Kind == slipway.DiffMissing:
			out = append(out, fmt.Sprintf("made again: %s", d.Object))
		case d.Hidden:
			out = append(out, fmt.Sprintf("put back: %s %s", d.Object, d.Path))
		case d.Applied == "":
			out = append(out, fmt.Sprintf("taken away: %s %s (%s)", d.Object, d.Path, d.Live))
		default:
			out = append(out, fmt.Sprintf("put back: %s %s is %s again", d.Object, d.Path, d.Applied))
		}
	}
	for _, why := range found.Unable {
		out = append(out, "not compared: "+why)
	}
	return out
}

// putSecretBack writes the application's Secret when it is not as it was written. A value
// that was set since cannot be told from one that somebody changed, and stays.
func (r *Reconciler) putSecretBack(ctx context.Context, s Snapshot, versions string) ([]string, error) {
	written, now, err := r.secretValues(ctx, s.Application, s.Wanted.Spec)
	if err != nil || len(written) == 0 {
		return nil, err
	}
	then := strings.Fields(versions)
	for _, mark := range strings.Fields(now) {
		if name, _, _ := strings.Cut(mark, "@"); !slices.Contains(then, mark) {
			written[name] = nil
		}
	}
	name := spec.SecretObject(spec.HelmRelease(s.Application.Name))
	differs, err := r.Cluster.CompareSecret(ctx, s.Application.Namespace, name, written)
	if err != nil || len(differs) == 0 {
		return nil, err
	}
	if _, err := r.putSecret(ctx, s); err != nil {
		return nil, err
	}
	return told(kube.Comparison{Differences: differs}), nil
}

// backReady waits until everything that was applied is ready again.
func (r *Reconciler) backReady(ctx context.Context, w *work) error {
	ms, err := r.asApplied(ctx, w.snap)
	if err != nil {
		return err
	}
	objects := make([]kube.Object, len(ms))
	for i, m := range ms {
		objects[i] = m.Object
	}
	return r.awaitReady(ctx, w, objects)
}

// unreached says that the cluster still has an earlier revision than the wanted one, as
// after a change that failed: a repair puts back the earlier one, and all is not well yet.
func unreached(app slipway.Application) string {
	if app.Applied == app.Revision {
		return ""
	}
	return fmt.Sprintf("revision %d is not on the cluster, which has revision %d", app.Revision, app.Applied)
}
