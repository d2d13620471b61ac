package view

import (
	"context"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// Drift returns in what an application differs from what was last applied.
func (r *Reader) Drift(ctx context.Context, c slipway.Caller, id int64) (slipway.Drift, error) {
	return read(ctx, r, c, func(tx *store.Tx) (slipway.Drift, error) {
		a, err := application(ctx, tx, c, id)
		if err != nil {
			return slipway.Drift{}, err
		}
		return tx.Drift(ctx, a.ID)
	})
}

// addDrift adds what is known of the drift of all lines by one query.
func addDrift(ctx context.Context, tx *store.Tx, rows []ApplicationRow) error {
	ids := make([]int64, len(rows))
	for i, a := range rows {
		ids[i] = a.ID
	}
	known, err := tx.DriftOf(ctx, ids)
	for i, a := range rows {
		rows[i].Drift = known[a.ID]
	}
	return err
}
