package view

import (
	"context"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// ActionCall returns a call of a primitive to the actions of the task that made it, and to
// nobody else: its arguments and result are theirs.
func (r *Reader) ActionCall(ctx context.Context, c slipway.Caller, id int64) (slipway.ActionCall, error) {
	return read(ctx, r, c, func(tx *store.Tx) (slipway.ActionCall, error) {
		call, err := tx.ActionCall(ctx, id)
		if err == nil && (c.TaskID == 0 || call.TaskID != c.TaskID) {
			return slipway.ActionCall{}, missing("call %d of your task", id)
		}
		return call, err
	})
}
