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
	now, err := r.standing(ctx, w.snap)
	if err != nil {
		return err
	}
	picked, err := w.components(now.driver)
	if err != nil {
		return err
	}
	return r.stopComponents(ctx, w, now, picked)
}

func (r *Reconciler) stopComponents(ctx context.Context, w *work, now standing, picked []string) error {
	err := w.write(func(ctx context.Context, tx *store.Tx) error {
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
		ws, err := r.workloads(ctx, w.snap.Application, name, now.driver, now.applied)
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
	app := w.snap.Application
	now, err := r.standing(ctx, w.snap)
	if err != nil {
		return err
	}
	picked, err := w.components(now.driver)
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
		ws, err := r.workloads(ctx, app, name, now.driver, now.applied)
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
		o.Timeout = now.driver.Components[name].ReadyTimeout
		if err := r.Cluster.Start(ctx, app, ws, now.spec.Components[name].Replicas, o); err != nil {
			return err
		}
	}
	return nil
}

// components reads which components the task is about, and refuses any that the driver
// does not have.
func (w *work) components(d slipway.DriverSpec) ([]string, error) {
	var args componentArgs
	if err := json.Unmarshal(w.snap.Task.Args, &args); err != nil {
		return nil, fmt.Errorf("read what task %d was asked for: %w", w.snap.Task.ID, err)
	}
	return knownComponents(d, args.Components)
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

// standing is where the application stands on the cluster, which may be behind the change of
// the running task, or ahead of it when a later change overtook.
type standing struct {
	spec    slipway.ApplicationSpec // the configuration that the cluster has now
	applied slipway.DriverSpec      // the driver of that configuration; zero before the first
	driver  slipway.DriverSpec      // the later of that driver and the change's own
}

func (r *Reconciler) standing(ctx context.Context, s Snapshot) (out standing, err error) {
	out.driver = s.Driver.Spec
	out.driver.Components = s.components()
	if s.Application.Applied == 0 {
		return out, nil
	}
	var applied slipway.Driver
	err = r.Store.Read(ctx, func(tx *store.Tx) error {
		revision, err := tx.Revision(ctx, s.Application.ID, s.Application.Applied)
		if err != nil {
			return err
		}
		out.spec = revision.Spec
		applied, err = tx.DriverByDigest(ctx, revision.DriverDigest)
		return err
	})
	out.applied = applied.Spec
	if s.Application.Applied > s.Wanted.Number {
		out.driver = applied.Spec
	}
	return out, bookErr(err)
}

// workloads finds the workloads of a component: by the selector of the first of the given
// drivers that finds any. Until a new driver's chart is applied, the workloads are those of
// the driver before, whose labels may differ.
func (r *Reconciler) workloads(ctx context.Context, app slipway.Application, component string, drivers ...slipway.DriverSpec) ([]kube.Workload, error) {
	var asked []map[string]string
	for _, d := range drivers {
		c, ok := d.Components[component]
		if !ok || slices.ContainsFunc(asked, func(s map[string]string) bool { return maps.Equal(s, c.Selector) }) {
			continue
		}
		asked = append(asked, c.Selector)
		ws, err := r.Cluster.Workloads(ctx, app, c.Selector)
		if err != nil || len(ws) > 0 {
			return ws, err
		}
	}
	return nil, nil
}
