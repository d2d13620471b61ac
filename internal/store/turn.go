package store

import (
	"context"
	"fmt"

	"slipway.dev/slipway/internal/slipway"
)

// EarlierRoot returns the first root task of an application that is not over and was made
// before the given one; ok is false when there is none.
func (tx *Tx) EarlierRoot(ctx context.Context, applicationID, taskID int64) (first slipway.Task, ok bool, err error) {
	first, err = one(ctx, tx, "earlier task", readTask, taskSelect+` WHERE t.application_id = ? AND t.id < ?
		AND t.root_id IS NULL AND t.ended_at IS NULL ORDER BY t.id LIMIT 1`, applicationID, taskID)
	switch {
	case slipway.Is(err, slipway.NotFound):
		return first, false, nil
	case err != nil:
		return first, false, fmt.Errorf("look for a task before task %d: %w", taskID, err)
	}
	return first, true, nil
}

// LaterRoots lists the root tasks of an application that were made after the given one and
// are not over: those that may have waited for it.
func (tx *Tx) LaterRoots(ctx context.Context, applicationID, taskID int64) ([]slipway.Task, error) {
	ts, err := all(ctx, tx, readTask, taskSelect+` WHERE t.application_id = ? AND t.id > ?
		AND t.root_id IS NULL AND t.ended_at IS NULL ORDER BY t.id LIMIT 1`, applicationID, taskID)
	if err != nil {
		return nil, fmt.Errorf("look for tasks after task %d: %w", taskID, err)
	}
	return ts, nil
}

// CallsOfChild lists the open calls of actions that wait for a task.
func (tx *Tx) CallsOfChild(ctx context.Context, taskID int64) ([]slipway.ActionCall, error) {
	cs, err := all(ctx, tx, readActionCall, `SELECT `+actionCallColumns+` FROM action_calls WHERE child_task = ? AND ended_at IS NULL ORDER BY id`, taskID)
	if err != nil {
		return nil, fmt.Errorf("look for the call that started task %d: %w", taskID, err)
	}
	return cs, nil
}
