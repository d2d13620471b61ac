package observe

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// NounNodes is woken at intervals, with the ID 1, to look at the cluster's nodes.
const NounNodes = "cluster-nodes"

// NodesEvery is how often the nodes are looked at. What is accepted is held against the
// view, and what is older than slipway.ViewFresh is not believed, so several looks may fail.
const NodesEvery = 30 * time.Second

// goneFor is how long a node that has left is still named, so that a pool that is bound to
// it can say since when.
const goneFor = time.Hour

// NodeSight is what one look at the nodes has seen.
type NodeSight struct {
	Began        time.Time
	Nodes        []slipway.Node
	RuntimeClass bool
	Missed       string // why it saw nothing; the rest then says nothing
}

// JudgeNodes makes of what was known and what was seen what is known now. It calls nobody.
//
// A node that is not listed keeps its place as it was: one list may be wrong. Not listed
// again, it is gone, and an hour later forgotten. A look that saw nothing leaves all as it
// is, and its age tells.
func JudgeNodes(was slipway.ClusterView, s NodeSight) slipway.ClusterView {
	if s.Missed != "" {
		was.Missed = s.Missed
		return was
	}
	now := slipway.ClusterView{RuntimeClass: s.RuntimeClass, LookedAt: s.Began, Nodes: slices.Clone(s.Nodes)}
	for _, n := range was.Nodes {
		if slices.ContainsFunc(s.Nodes, func(seen slipway.Node) bool { return seen.Name == n.Name }) {
			continue
		}
		switch {
		case !n.Absent:
			n.Absent = true
		case n.Gone.IsZero():
			n.Gone = s.Began
		case s.Began.Sub(n.Gone) > goneFor:
			continue
		}
		now.Nodes = append(now.Nodes, n)
	}
	slices.SortFunc(now.Nodes, func(a, b slipway.Node) int { return strings.Compare(a.Name, b.Name) })
	return now
}

// Nodes looks at the cluster's nodes. It is a handler of package task. It asks the cluster
// outside of any transaction, and a look that began earlier does not replace a later one.
func (o *Observer) Nodes(ctx context.Context, _ int64) (again time.Duration, err error) {
	s := NodeSight{Began: o.Now()}
	if o.NoCluster != nil {
		s.Missed = o.why(ctx, o.NoCluster)
	} else {
		limited, stop := context.WithTimeout(ctx, o.Within)
		defer stop()
		if s.Nodes, s.RuntimeClass, err = o.Cluster.Nodes(limited); err != nil {
			if ctx.Err() != nil {
				return 0, context.Cause(ctx) // this process is being stopped; that says nothing of the cluster
			}
			s.Missed = o.why(limited, err)
			o.Log.DebugContext(ctx, "a look at the nodes told nothing", "error", err)
		}
	}
	err = o.Store.InTx(ctx, func(tx *store.Tx) error {
		was, err := tx.ClusterView(ctx)
		if err != nil || was.LookedAt.After(s.Began) {
			return err
		}
		return tx.SetClusterView(ctx, JudgeNodes(was, s))
	})
	if err != nil {
		return 0, fmt.Errorf("record a look at the nodes: %w", err)
	}
	return 0, nil
}
