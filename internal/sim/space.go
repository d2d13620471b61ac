package sim

import (
	"context"
	"slices"

	"slipway.dev/slipway/internal/outside/kube"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// spaces is the cluster as the tasks of runner applications use it: namespaces. What they
// do not use is not there.
type spaces struct {
	*kube.Client
	w *World
}

func (s spaces) call(ctx context.Context, op string, do func() error) error {
	return s.w.call(ctx, out{
		op: op, do: do, down: s.w.kubeDown,
		// Without a cause, or the task would wait, by the real clock, for a cluster to come back.
		away: func(why string) error {
			return slipway.Errorf(slipway.Unavailable, "the cluster did not answer: %s", why)
		},
		refuse: func(What) error { return nil },
	})
}

// Version asks whether the cluster is there.
func (s spaces) Version(ctx context.Context) (string, error) {
	return "v1.34.0", s.call(ctx, "Version", func() error { return nil })
}

// PrepareRunners makes a namespace.
func (s spaces) PrepareRunners(ctx context.Context, _ kube.RunnerSpace) error {
	return s.call(ctx, "PrepareRunners", func() error { return nil })
}

// RemoveRunners takes a namespace away, with everything in it.
func (s spaces) RemoveRunners(ctx context.Context, app slipway.Application) error {
	return s.call(ctx, "RemoveRunners", func() error {
		for _, p := range slices.Clone(s.w.pods) {
			if p.namespace != app.Namespace {
				continue
			}
			if !s.w.forgotten[p.name] {
				s.w.violate("namespace %s was removed with the pod %s in it", app.Namespace, p.name)
			}
			s.w.stop(p, failed, "its namespace was removed")
			s.w.pods = slices.DeleteFunc(s.w.pods, func(q *pod) bool { return q == p })
		}
		return nil
	})
}

// waits reports whether a task would only wait: for the runners of an application that
// goes. Real ones wait in the handler; here that would be the end of everything else.
func waits(ctx context.Context, tx *store.Tx, id int64) (bool, error) {
	t, err := tx.Task(ctx, id)
	if err != nil || t.Kind != slipway.DeleteTask || t.State.Over() {
		return false, err
	}
	pools, err := tx.RunnerPoolsOf(ctx, t.ApplicationID)
	if err != nil {
		return false, err
	}
	for _, p := range pools {
		if open, err := tx.OpenSlots(ctx, p.ID); err != nil || len(open) > 0 {
			return true, err
		}
	}
	return false, nil
}
