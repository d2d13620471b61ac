package application

import (
	"context"
	"errors"
	"fmt"

	"slipway.dev/slipway/internal/outside/kube"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/spec"
	"slipway.dev/slipway/internal/store"
)

// check finds out whatever can be known before anything of the application changes, and
// freezes the context of the change. The namespace and the application's Secret exist
// afterwards, because a setup action may need both before the chart does.
func (r *Reconciler) check(ctx context.Context, w *work) error {
	s := w.snap
	if _, err := r.Cluster.Version(ctx); err != nil {
		return err
	}
	if err := stillFits(s); err != nil {
		return err
	}
	env, err := r.environment(ctx, s.Application.EnvironmentID)
	if err != nil {
		return err
	}
	bundle, err := r.Bundles.Get(ctx, s.Driver.Digest)
	if err != nil {
		return err
	}
	frozen, err := r.freeze(ctx, s, env)
	if err != nil {
		return err
	}
	if _, err := spec.Values(bundle.Bundle, s.Driver.Spec, frozen); err != nil {
		return err
	}
	if err := r.Cluster.EnsureCRD(ctx, r.CRD); err != nil {
		return err
	}
	if err := r.Cluster.EnsureNamespace(ctx, env); err != nil {
		return err
	}
	_, err = r.putSecret(ctx, s)
	return err
}

// stillFits refuses a configuration that waited behind an upgrade which then failed: it was
// accepted as one that needs no hooks, and would now move the version without them.
func stillFits(s Snapshot) error {
	wanted := s.Wanted.Spec
	if s.Task.Kind != slipway.ConfigureTask || s.Application.Applied == 0 ||
		s.Application.AppVersion == wanted.App.Version && s.Application.DriverVersion == wanted.Driver.Version {
		return nil
	}
	return slipway.Errorf(slipway.Conflict, "this change was accepted when %s was wanted, but the cluster has %s: an upgrade before it did not succeed",
		wanted.App.Version, s.Application.AppVersion).WithHint("deploy again; the upgrade's hooks then run")
}

// putSecret writes the application's Secret, one key for each secret that it uses, and
// returns their versions.
func (r *Reconciler) putSecret(ctx context.Context, s Snapshot) (versions string, err error) {
	values, versions, err := r.secretValues(ctx, s.Application, s.Wanted.Spec)
	if err != nil {
		return "", err
	}
	name := spec.SecretObject(spec.HelmRelease(s.Application.Name))
	if len(values) == 0 {
		return "", nil
	}
	return versions, r.Cluster.ApplySecret(ctx, s.Application.Namespace, name, values, kube.ApplicationLabels(s.Application))
}

// freeze builds the context of the change once. A repeat of the check, or a later phase,
// finds the one that is there.
func (r *Reconciler) freeze(ctx context.Context, s Snapshot, env slipway.Environment) (spec.GlobalContext, error) {
	if s.Change.ID != 0 && len(s.Change.Context) > 0 {
		return spec.DecodeContext(s.Change.Context)
	}
	in := spec.ContextInput{
		Task: s.Task, Change: s.Change, Environment: env, Application: s.Application,
		Cluster: spec.ContextCluster{ID: r.Installation.ID, Name: r.ClusterName, Capabilities: r.Capabilities},
		Spec:    s.Wanted.Spec, Driver: s.Driver,
	}
	if s.From != nil {
		in.PreviousVersion, in.PreviousDriver = s.From.Spec.App.Version, s.From.Spec.Driver.Version
	}
	err := r.Store.Read(ctx, func(tx *store.Tx) (err error) {
		in.States, err = tx.ComponentStates(ctx, s.Application.ID)
		return err
	})
	if err != nil {
		return spec.GlobalContext{}, bookErr(err)
	}
	frozen, err := spec.BuildContext(in)
	if err != nil {
		return frozen, err
	}
	if s.Change.ID == 0 {
		return frozen, nil
	}
	raw, err := frozen.JSON()
	if err != nil {
		return frozen, err
	}
	err = r.Store.InTx(ctx, func(tx *store.Tx) error { return tx.SetChangeContext(ctx, s.Change.ID, raw) })
	if errors.Is(err, store.ErrStale) { // another was faster; its context counts
		var change slipway.Change
		err = r.Store.Read(ctx, func(tx *store.Tx) (err error) {
			change, err = tx.Change(ctx, s.Change.ID)
			return err
		})
		if err == nil {
			return spec.DecodeContext(change.Context)
		}
	}
	return frozen, bookErr(err)
}

func (r *Reconciler) environment(ctx context.Context, id int64) (env slipway.Environment, err error) {
	err = r.Store.Read(ctx, func(tx *store.Tx) (err error) {
		env, err = tx.Environment(ctx, id)
		return err
	})
	if err != nil {
		return env, bookErr(fmt.Errorf("read environment %d: %w", id, err))
	}
	return env, nil
}
