package store

import (
	"context"
	"fmt"

	"slipway.dev/slipway/internal/slipway"
)

// ClusterView returns what was last seen of the cluster's nodes; the zero view when nobody
// has looked yet.
func (tx *Tx) ClusterView(ctx context.Context) (slipway.ClusterView, error) {
	v, err := one(ctx, tx, "view of the cluster", func(scan scan) (v slipway.ClusterView, err error) {
		return v, scan(&v.RuntimeClass, at(&v.LookedAt), &v.Missed, fromJSON(&v.Nodes))
	}, `SELECT runtime_class, looked_at, missed, nodes FROM cluster_view WHERE id = 1`)
	if slipway.Is(err, slipway.NotFound) {
		return slipway.ClusterView{}, nil
	}
	return v, err
}

// SetClusterView writes what was seen. Package observe alone calls it.
func (tx *Tx) SetClusterView(ctx context.Context, v slipway.ClusterView) error {
	nodes := v.Nodes
	if nodes == nil {
		nodes = []slipway.Node{}
	}
	_, err := tx.exec(ctx, `INSERT INTO cluster_view (id, runtime_class, looked_at, missed, nodes) VALUES (1, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET runtime_class = excluded.runtime_class, looked_at = excluded.looked_at,
			missed = excluded.missed, nodes = excluded.nodes`, v.RuntimeClass, v.LookedAt, v.Missed, asJSON{nodes})
	if err != nil {
		return fmt.Errorf("record what was seen of the cluster: %w", err)
	}
	return nil
}
