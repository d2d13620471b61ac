package observe

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// TestJudgeNodes stands in the pure world.
func TestJudgeNodes(t *testing.T) {
	t.Parallel()
	a, b := slipway.Node{Name: "a", Ready: true, Schedulable: true, Runners: true}, slipway.Node{Name: "b", Ready: true}
	absent, gone := b, b
	absent.Absent = true
	gone.Absent, gone.Gone = true, at(3)
	view := func(minute int, missed string, nodes ...slipway.Node) slipway.ClusterView {
		return slipway.ClusterView{RuntimeClass: true, LookedAt: at(minute), Missed: missed, Nodes: nodes}
	}
	look := func(minute int, nodes ...slipway.Node) NodeSight {
		return NodeSight{Began: at(minute), RuntimeClass: true, Nodes: nodes}
	}
	for _, tc := range []struct {
		name string
		was  slipway.ClusterView
		seen NodeSight
		want slipway.ClusterView
	}{
		{"the first look", slipway.ClusterView{}, look(1, a, b), view(1, "", a, b)},
		{"no cluster, and nobody has ever looked", slipway.ClusterView{}, NodeSight{Began: at(1), Missed: "no cluster"}, slipway.ClusterView{Missed: "no cluster"}},
		{"garm#91: not listed once, it keeps its place", view(1, "", a, b), look(2, a), view(2, "", a, absent)},
		{"nothing listed once, all keep their places", view(1, "", b), look(2), view(2, "", absent)},
		{"listed again, it was never away", view(2, "", a, absent), look(3, a, b), view(3, "", a, b)},
		{"not listed again, it is gone", view(2, "", a, absent), look(3, a), view(3, "", a, gone)},
		{"a failed look between is none", view(2, "", a, absent), NodeSight{Began: at(3), Missed: "no answer"}, view(2, "no answer", a, absent)},
		{"gone, it is still named", view(3, "", a, gone), look(60, a), view(60, "", a, gone)},
		{"gone for an hour, it is forgotten", view(60, "", a, gone), look(64, a), view(64, "", a)},
		{"one of its name comes back", view(3, "", a, gone), look(4, a, b), view(4, "", a, b)},
		{"the cluster answers again", view(2, "no answer", a), look(5, a), view(5, "", a)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, JudgeNodes(tc.was, tc.seen)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestNodes stands in a fake world over a real SQLite database.
func TestNodes(t *testing.T) {
	b := newBench(t)
	see := func() (v slipway.ClusterView) {
		t.Helper()
		if _, err := b.o.Nodes(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		b.must(b.store.Read(t.Context(), func(tx *store.Tx) (err error) {
			v, err = tx.ClusterView(t.Context())
			return err
		}))
		return v
	}
	b.world.nodes, b.world.sandbox = []slipway.Node{{Name: "a", Ready: true}}, true
	if v := see(); len(v.Nodes) != 1 || !v.RuntimeClass || !v.LookedAt.Equal(t0) || v.Stale(t0) != "" {
		t.Errorf("first %+v", v)
	}
	b.now = t0.Add(6 * time.Minute)
	b.world.fails = &slipway.Error{Kind: slipway.Unavailable, Msg: "the Kubernetes API does not answer", Err: errors.New("refused")}
	if v := see(); len(v.Nodes) != 1 || !v.LookedAt.Equal(t0) || v.Stale(b.now) != "the cluster's nodes were last seen 6m0s ago (the Kubernetes API does not answer)" {
		t.Errorf("no answer: %+v, %s", v, v.Stale(b.now))
	}
	b.world.fails = nil
	b.now = t0.Add(-time.Minute) // a look that began before one that is written already
	b.world.nodes = nil
	if v := see(); len(v.Nodes) != 1 || v.Nodes[0].Absent {
		t.Errorf("an older look replaced a newer one: %+v", v)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	b.now = t0.Add(7 * time.Minute)
	b.world.fails = errors.New("interrupted")
	if _, err := b.o.Nodes(stopped, 1); err == nil {
		t.Error("a process that is being stopped wrote that the cluster does not answer")
	}
}
