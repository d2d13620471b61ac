package view

import (
	"context"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// Installation tells which Slipway this is, and to nobody in particular whether its first
// administrator exists: the pages before sign-in must know.
func (r *Reader) Installation(ctx context.Context) (i slipway.Installation, err error) {
	err = r.store.Read(ctx, func(tx *store.Tx) (err error) {
		i, err = tx.Installation(ctx)
		return err
	})
	return i, err
}

// Replicas lists the processes of the installation that beat lately or did once.
func (r *Reader) Replicas(ctx context.Context, c slipway.Caller) ([]slipway.Replica, error) {
	return read(ctx, r, c, func(tx *store.Tx) ([]slipway.Replica, error) {
		if err := unconfined(c, "the replicas"); err != nil {
			return nil, err
		}
		return tx.Replicas(ctx)
	})
}
