package sim

import (
	"context"
	"errors"

	poolreconcile "slipway.dev/slipway/internal/reconcile/pool"
	"slipway.dev/slipway/internal/slipway"
)

// kubeline is our way to the cluster.
type kubeline struct{ w *World }

func (k kubeline) call(ctx context.Context, c out) error {
	c.down = k.w.kubeDown
	c.away = func(why string) error {
		return &slipway.Error{Kind: slipway.Unavailable, Msg: "the cluster did not answer: " + why, Err: errors.New(why)}
	}
	c.refuse = func(what What) error {
		if what == Throttled && c.op == "Launch" {
			return slipway.Errorf(slipway.Throttled, "the quota of the namespace is used up")
		}
		return nil
	}
	return k.w.call(ctx, c)
}

// Launch makes a pod.
func (k kubeline) Launch(ctx context.Context, l poolreconcile.Launch) (uid string, err error) {
	err = k.call(ctx, out{op: "Launch", do: func() error {
		for _, p := range k.w.pods {
			if p.name == l.Slot.Runner && p.leaving {
				return slipway.Errorf(slipway.Conflict, "the runner pod %s is being deleted", p.name)
			}
		}
		uid = k.w.launch(pod{
			namespace: l.Pool.Namespace, name: l.Slot.Runner, pool: l.Pool.ID, slot: l.Slot.ID, config: l.Config, life: l.Pool.Spec.Timeout,
			stray: k.w.flight != nil && k.w.flight.late,
		})
		return nil
	}})
	if err != nil {
		return "", err
	}
	return uid, nil
}

// Pods lists pods.
func (k kubeline) Pods(ctx context.Context, namespace string) (ps []poolreconcile.Pod, err error) {
	c := out{op: "Pods", do: func() error {
		ps = nil
		for _, p := range k.w.pods {
			if p.namespace == namespace {
				ps = append(ps, p.shown(k.w))
			}
		}
		return nil
	}}
	c.cut = func() { ps = ps[:len(ps)/2] }
	return ps, k.call(ctx, c)
}

// End asks for the end of a pod.
func (k kubeline) End(ctx context.Context, namespace, name string) error {
	return k.call(ctx, out{op: "End", do: func() error { return k.w.end(ctx, namespace, name) }})
}

// shown is a pod as the cluster tells of it.
func (p *pod) shown(w *World) poolreconcile.Pod {
	out := poolreconcile.Pod{
		Name: p.name, UID: p.uid, Pool: p.pool, Slot: p.slot, CreatedAt: p.made, Running: p.phase == running || p.over() && !p.started.IsZero(),
		Over: p.over(), Leaving: p.leaving, Result: p.why, Seen: string(p.phase), Node: p.node, Image: "runner@sha256:planted",
	}
	if w.lostNode[p.node] {
		out.Seen = "its node is silent"
	}
	return out
}
