package store

import (
	"context"
	"fmt"

	"slipway.dev/slipway/internal/slipway"
)

const actionCallColumns = `id, task_id, step_id, flow_run_id, key, primitive, args, child_task, state, result, code, error, created_at, ended_at`

func readActionCall(scan scan) (c slipway.ActionCall, err error) {
	return c, scan(&c.ID, &c.TaskID, &c.StepID, &c.FlowRunID, &c.Key, &c.Primitive, &c.Args, orZero(&c.ChildTask), &c.State,
		&c.Result, &c.Code, &c.Error, at(&c.CreatedAt), at(&c.EndedAt))
}

// CreateActionCall records a call of a primitive. A key that exists already gives the call
// that has it, and created is false: the request is a repeat.
func (tx *Tx) CreateActionCall(ctx context.Context, c slipway.ActionCall) (_ slipway.ActionCall, created bool, err error) {
	n, err := tx.exec(ctx, `INSERT INTO action_calls (task_id, step_id, flow_run_id, key, primitive, args, child_task, state, code, error, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, '', '', ?) ON CONFLICT (key) DO NOTHING`,
		c.TaskID, c.StepID, c.FlowRunID, c.Key, c.Primitive, rawJSON(c.Args), ref(c.ChildTask), slipway.CallRunning, tx.Now)
	if err != nil {
		return c, false, fmt.Errorf("record a call of %s: %w", c.Primitive, orMissing(err, "there is no task %d, or no step %d", c.TaskID, c.StepID))
	}
	c, err = one(ctx, tx, "action call "+c.Key, readActionCall, `SELECT `+actionCallColumns+` FROM action_calls WHERE key = ?`, c.Key)
	return c, n > 0, err
}

func (tx *Tx) ActionCall(ctx context.Context, id int64) (slipway.ActionCall, error) {
	return one(ctx, tx, fmt.Sprintf("action call %d", id), readActionCall, `SELECT `+actionCallColumns+` FROM action_calls WHERE id = ?`, id)
}

// SetActionCallChild links the task that the call started. It is done once.
func (tx *Tx) SetActionCallChild(ctx context.Context, id, childTask int64) error {
	n, err := tx.exec(ctx, `UPDATE action_calls SET child_task = ? WHERE id = ? AND child_task IS NULL`, childTask, id)
	if err != nil {
		return fmt.Errorf("link task %d to action call %d: %w", childTask, id, err)
	}
	if n == 0 {
		return stale("link task %d to action call %d", childTask, id)
	}
	return nil
}

// CallEnd is how an action's call ended. Code and Error are empty when it succeeded.
type CallEnd struct {
	State  slipway.CallState
	Result []byte // JSON
	Code   string
	Error  string
}

// FinishActionCall ends a call. It is stale when the call has ended already.
func (tx *Tx) FinishActionCall(ctx context.Context, id int64, end CallEnd) error {
	n, err := tx.exec(ctx, `UPDATE action_calls SET state = ?, result = ?, code = ?, error = ?, ended_at = ? WHERE id = ? AND state = ?`,
		end.State, rawJSON(end.Result), end.Code, end.Error, tx.Now, id, slipway.CallRunning)
	if err != nil {
		return fmt.Errorf("finish action call %d: %w", id, err)
	}
	if n == 0 {
		return stale("finish action call %d", id)
	}
	return nil
}

// OpenActionCalls lists the calls that have not ended, the oldest first.
func (tx *Tx) OpenActionCalls(ctx context.Context) ([]slipway.ActionCall, error) {
	cs, err := all(ctx, tx, readActionCall, `SELECT `+actionCallColumns+` FROM action_calls WHERE ended_at IS NULL ORDER BY id`)
	if err != nil {
		return nil, fmt.Errorf("list the open action calls: %w", err)
	}
	return cs, nil
}
