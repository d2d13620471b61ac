package application

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"slipway.dev/slipway/internal/outside/kube"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// componentArgs is what a task to stop or start components was asked for.
type componentArgs struct {
	Components []string `json:"components"`
}

// stop records the components as stopped and takes them down. The record comes first: a
// chart applied by anybody from now on leaves them at no replicas, so that no pod of
// theirs lives for a moment during the upgrade that follows.
func (r *Reconciler) stop(ctx context.Context, w *work) error {
	picked, err := w.components()
	if err != nil {
		return err
	}
	err = w.write(func(ctx context.Context, tx *store.Tx) error {
		for _, name := range picked {
			if err := tx.SetComponentStopped(ctx, w.snap.Application.ID, name, w.snap.Task.RootID); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	var all []kube.Workload
	for _, name := range picked {
		ws, err := r.Cluster.Workloads(ctx, w.snap.Application, w.snap.Driver.Spec.Components[name].Selector)
		if err != nil {
			return err
		}
		if len(ws) == 0 {
			if err := w.note(fmt.Sprintf("%s has no workload on the cluster yet; it will be installed stopped", name)); err != nil {
				return err
			}
		}
		all = append(all, ws...)
	}
	return r.Cluster.Stop(ctx, all, 0)
}

// start brings components up with the configuration that the cluster has now, in the order
// in which they were asked for.
func (r *Reconciler) start(ctx context.Context, w *work) error {
	picked, err := w.components()
	if err != nil {
		return err
	}
	app := w.snap.Application
	current, err := r.currentSpec(ctx, app)
	if err != nil {
		return err
	}
	for _, name := range picked {
		// The record goes first here too: if we die in between, the next apply starts it,
		// which is what was asked for.
		err := w.write(func(ctx context.Context, tx *store.Tx) error { return tx.ClearComponentStopped(ctx, app.ID, name) })
		if err != nil {
			return err
		}
		component := w.snap.Driver.Spec.Components[name]
		ws, err := r.Cluster.Workloads(ctx, app, component.Selector)
		if err != nil {
			return err
		}
		if len(ws) == 0 {
			if err := w.note(fmt.Sprintf("%s has no workload on the cluster yet", name)); err != nil {
				return err
			}
			continue
		}
		o := r.readyOptions(w)
		o.Timeout = component.ReadyTimeout
		if err := r.Cluster.Start(ctx, app, ws, current.Components[name].Replicas, o); err != nil {
			return err
		}
	}
	return nil
}

// components reads which components the task is about, and refuses any that the driver
// does not have.
func (w *work) components() ([]string, error) {
	var args componentArgs
	if err := json.Unmarshal(w.snap.Task.Args, &args); err != nil {
		return nil, fmt.Errorf("read what task %d was asked for: %w", w.snap.Task.ID, err)
	}
	return knownComponents(w.snap.Driver.Spec, args.Components)
}

// knownComponents drops repeats, keeps the order, and refuses unknown names.
func knownComponents(d slipway.DriverSpec, asked []string) ([]string, error) {
	var out []string
	for _, name := range asked {
		if _, ok := d.Components[name]; !ok {
			return nil, unknownComponent(d, name)
		}
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	if len(out) == 0 {
		return nil, &slipway.Error{Kind: slipway.Invalid, Msg: "name at least one component", Hint: "this driver has: " + componentList(d)}
	}
	return out, nil
}

func unknownComponent(d slipway.DriverSpec, name string) error {
	return slipway.Errorf(slipway.NotFound, "unknown component %q; this driver has: %s", name, componentList(d))
}

func componentList(d slipway.DriverSpec) string {
	return strings.Join(slices.Sorted(maps.Keys(d.Components)), ", ")
}

// currentSpec is the configuration that the cluster has now, which may be a later one than
// that of the running change.
func (r *Reconciler) currentSpec(ctx context.Context, app slipway.Application) (slipway.ApplicationSpec, error) {
	if app.Applied == 0 {
		return slipway.ApplicationSpec{}, nil
	}
	var revision slipway.Revision
	err := r.Store.Read(ctx, func(tx *store.Tx) (err error) {
		revision, err = tx.Revision(ctx, app.ID, app.Applied)
		return err
	})
	return revision.Spec, bookErr(err)
}
