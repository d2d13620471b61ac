package application

import (
	"context"
	"errors"
	"fmt"
	"time"

	"slipway.dev/slipway/internal/outside/helm"
	"slipway.dev/slipway/internal/outside/kube"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/spec"
	"slipway.dev/slipway/internal/store"
)

// applyFor bounds one apply, of which the chart's own hooks are the longest part.
const applyFor = time.Hour

// apply brings the change's configuration onto the cluster, unless a later change is there
// already: then it is left as it is, and the step says so.
func (r *Reconciler) apply(ctx context.Context, w *work) error {
	s := w.snap
	frozen, err := r.frozen(ctx, s)
	if err != nil {
		return err
	}
	release, err := r.hold(ctx, s.Application)
	if err != nil {
		return err
	}
	defer release()

	record := kube.Record{
		Change: s.Change.Number, Revision: s.Wanted.Number, Version: s.Wanted.Spec.App.Version,
		Driver: s.Wanted.Spec.Driver, DriverDigest: s.Driver.Digest,
	}
	var newer *kube.ErrNewer
	err = r.Cluster.PutRecord(ctx, s.Application, record)
	if errors.As(err, &newer) {
		return r.overtaken(ctx, w, newer)
	}
	if err != nil {
		return err
	}
	if err := r.Cluster.SetRecordStatus(ctx, s.Application, kube.RecordStatus{
		Change: s.Change.Number, State: kube.RecordProgressing, Message: fmt.Sprintf("%s (task %d)", s.Task.Title, s.Task.ID),
	}); err != nil {
		return err
	}
	versions, err := r.putSecret(ctx, s)
	if err != nil {
		return err
	}
	request, err := r.chartRequest(ctx, s, frozen, versions)
	if err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(ctx, applyFor)
	defer stop()
	res, err := r.Charts.Apply(ctx, request)
	for _, line := range res.Notes {
		if err := w.note(line); err != nil {
			return err
		}
	}
	if err != nil {
		if res.Output != "" {
			if keep := w.step.SetOutput(res.Output, res.Cut); keep != nil {
				return bookErr(keep)
			}
		}
		return err
	}
	return w.write(func(ctx context.Context, tx *store.Tx) error {
		err := tx.SetApplicationApplied(ctx, s.Application.ID, store.Applied{
			Revision: s.Wanted.Number, AppVersion: record.Version, DriverName: record.Driver.Name, DriverVersion: record.Driver.Version,
		})
		if err != nil {
			return err
		}
		return tx.AddEvent(ctx, applicationEvent(s))
	})
}

// overtaken leaves the cluster to the later change that is there. A change of version that
// an action asked for must not say that all is well when the version is another one: the
// migration that usually follows would run on the later version's data.
func (r *Reconciler) overtaken(ctx context.Context, w *work, newer *kube.ErrNewer) error {
	target := w.snap.Wanted.Spec.App.Version
	// The snapshot is from before the wait for the hold, during which the later change moved
	// the version.
	now, err := r.read(ctx, w.snap.Task.ID)
	if err != nil {
		return bookErr(err)
	}
	if w.snap.Task.Kind == slipway.VersionTask && now.Application.AppVersion != target {
		return failed("a later change (%d) set the version to %s; this upgrade to %s was overtaken",
			newer.Number, now.Application.AppVersion, target)
	}
	return w.note(fmt.Sprintf("not applied: change %d is already on the cluster", newer.Number))
}

// frozen is the context of the snapshot's change.
func (r *Reconciler) frozen(ctx context.Context, s Snapshot) (spec.GlobalContext, error) {
	env, err := r.environment(ctx, s.Application.EnvironmentID)
	if err != nil {
		return spec.GlobalContext{}, err
	}
	return r.freeze(ctx, s, env)
}

// chartRequest is what Helm is asked for.
func (r *Reconciler) chartRequest(ctx context.Context, s Snapshot, frozen spec.GlobalContext, versions string) (helm.ApplyRequest, error) {
	bundle, err := r.Bundles.Get(ctx, s.Driver.Digest)
	if err != nil {
		return helm.ApplyRequest{}, err
	}
	ref, err := spec.ChartFor(s.Driver.Spec, s.Wanted.Spec.App.Version)
	if err != nil {
		return helm.ApplyRequest{}, err
	}
	chart, err := r.Charts.Chart(ctx, ref, bundle.Dir, s.Driver.Digest)
	if err != nil {
		return helm.ApplyRequest{}, err
	}
	values, err := spec.Values(bundle.Bundle, s.Driver.Spec, frozen)
	if err != nil {
		return helm.ApplyRequest{}, err
	}
	stopped, err := r.stopped(ctx, s.Application)
	if err != nil {
		return helm.ApplyRequest{}, err
	}
	return helm.ApplyRequest{
		Chart: chart, Values: values, Release: frozen.Instance.HelmRelease,
		Patch:       PatchFor(s.Application, s.Driver.Spec, frozen, stopped, versions),
		Description: fmt.Sprintf("change %d", s.Change.Number),
		Redact:      r.redactor(ctx, s.Application, s.Wanted.Spec),
	}, nil
}

// stopped names the components that are to stay stopped.
func (r *Reconciler) stopped(ctx context.Context, app slipway.Application) (map[string]bool, error) {
	out := map[string]bool{}
	err := r.Store.Read(ctx, func(tx *store.Tx) error {
		states, err := tx.ComponentStates(ctx, app.ID)
		for _, c := range states {
			out[c.Component] = c.Stopped
		}
		return err
	})
	return out, bookErr(err)
}

const (
	holdFor   = 15 * time.Second
	holdEvery = 4 * time.Second
)

// hold keeps others from applying to the same application, as two changes would of which
// one overtakes the other. A holder that dies loses its hold soon.
func (r *Reconciler) hold(ctx context.Context, app slipway.Application) (release func(), err error) {
	name, holder := fmt.Sprintf("apply/%d", app.ID), r.Replica
	acquire := func(ctx context.Context) (got bool, err error) {
		err = r.Store.InTx(ctx, func(tx *store.Tx) error {
			got, err = tx.AcquireLease(ctx, name, holder, holdFor)
			return err
		})
		return got, err
	}
	r.applying.lock(app.ID) // within this process
	for {
		got, err := acquire(ctx)
		if err != nil {
			r.applying.unlock(app.ID)
			return nil, bookErr(err)
		}
		if got {
			break
		}
		select {
		case <-ctx.Done():
			r.applying.unlock(app.ID)
			return nil, context.Cause(ctx)
		case <-time.After(time.Second):
		}
	}
	renew, stop := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-renew.Done():
				return
			case <-time.After(holdEvery):
			}
			if _, err := acquire(renew); err != nil && renew.Err() == nil {
				r.Log.WarnContext(renew, "the hold on an application was not prolonged", "application", app.Ref(), "error", err)
			}
		}
	}()
	return func() {
		stop()
		<-done
		ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer stop()
		if err := r.Store.InTx(ctx, func(tx *store.Tx) error { return tx.ReleaseLease(ctx, name, holder) }); err != nil {
			r.Log.WarnContext(ctx, "the hold on an application ends by its time only", "application", app.Ref(), "error", err)
		}
		r.applying.unlock(app.ID)
	}, nil
}
