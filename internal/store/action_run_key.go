package store

import (
	"context"

	"slipway.dev/slipway/internal/slipway"
)

// ActionRunByKey finds the run that was intended under a key.
func (tx *Tx) ActionRunByKey(ctx context.Context, key string) (slipway.ActionRun, error) {
	return one(ctx, tx, "such run of an action", readActionRun, actionRunSelect+` WHERE r.key = ?`, key)
}
