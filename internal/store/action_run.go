package store

import (
	"context"
	"fmt"
	"time"

	"slipway.dev/slipway/internal/slipway"
)

const actionRunSelect = `SELECT r.id, r.step_id, r.action, r.key, r.flow_run_id, r.host, r.pid, r.pid_start, r.state, r.started_at, r.ended_at
	FROM action_runs r`

func readActionRun(scan scan) (r slipway.ActionRun, err error) {
	return r, scan(&r.ID, &r.StepID, &r.Action, &r.Key, &r.FlowRunID, &r.Host, &r.PID, &r.PIDStart, &r.State,
		at(&r.StartedAt), at(&r.EndedAt))
}

// CreateActionRun records that an action is about to be run. A key that exists already
// gives the run that has it: the action was asked for before a crash.
func (tx *Tx) CreateActionRun(ctx context.Context, r slipway.ActionRun) (slipway.ActionRun, error) {
	_, err := tx.exec(ctx, `INSERT INTO action_runs (step_id, action, key, flow_run_id, host, pid, pid_start, state, started_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO NOTHING`,
		r.StepID, r.Action, r.Key, r.FlowRunID, r.Host, r.PID, r.PIDStart, r.State, tx.Now)
	if err != nil {
		return r, fmt.Errorf("record a run of action %s: %w", r.Action, orMissing(err, "there is no step %d", r.StepID))
	}
	return one(ctx, tx, "action run "+r.Key, readActionRun, actionRunSelect+` WHERE r.key = ?`, r.Key)
}

// UpdateActionRun writes what is known of a run by now: its flow run, process, state and
// end. A run that has ended is not changed any more: then it is stale.
func (tx *Tx) UpdateActionRun(ctx context.Context, r slipway.ActionRun) error {
	n, err := tx.exec(ctx, `UPDATE action_runs SET flow_run_id = ?, host = ?, pid = ?, pid_start = ?, state = ?, ended_at = ?
		WHERE id = ? AND ended_at IS NULL`, r.FlowRunID, r.Host, r.PID, r.PIDStart, r.State, r.EndedAt, r.ID)
	if err != nil {
		return fmt.Errorf("update the run %d of action %s: %w", r.ID, r.Action, orExists(err, "flow run %s belongs to another run", r.FlowRunID))
	}
	if n == 0 {
		return stale("update the run %d of action %s", r.ID, r.Action)
	}
	return nil
}

func (tx *Tx) ActionRunByFlowRun(ctx context.Context, flowRunID string) (slipway.ActionRun, error) {
	return one(ctx, tx, "action run for flow run "+flowRunID, readActionRun, actionRunSelect+` WHERE r.flow_run_id = ? AND r.flow_run_id <> ''`, flowRunID)
}

// BegunAction is an action that Prefect was asked to run.
type BegunAction struct {
	Action   string
	TaskID   int64
	ChangeID int64
}

// ActionsSince lists the actions that may have begun for an application in the changes
// after one, or at a later time, the newest first. An action counts from when Prefect was
// asked to run it: whether its process came to do anything is not known.
func (tx *Tx) ActionsSince(ctx context.Context, applicationID, changeNumber int64, since time.Time) ([]BegunAction, error) {
	out, err := all(ctx, tx, func(scan scan) (b BegunAction, err error) { return b, scan(&b.Action, &b.TaskID, &b.ChangeID) },
		`SELECT r.action, t.id, c.id FROM action_runs r JOIN steps s ON s.id = r.step_id JOIN tasks t ON t.id = s.task_id JOIN changes c ON c.id = t.change_id
			WHERE c.application_id = ? AND r.flow_run_id <> '' AND (c.number > ? OR r.started_at > ?) ORDER BY r.id DESC`,
		applicationID, changeNumber, since)
	if err != nil {
		return nil, fmt.Errorf("list the actions of application %d since change %d: %w", applicationID, changeNumber, err)
	}
	return out, nil
}

// OpenActionRuns lists the runs that have not ended, the oldest first.
func (tx *Tx) OpenActionRuns(ctx context.Context) ([]slipway.ActionRun, error) {
	rs, err := all(ctx, tx, readActionRun, actionRunSelect+` WHERE r.ended_at IS NULL ORDER BY r.id`)
	if err != nil {
		return nil, fmt.Errorf("list the open action runs: %w", err)
	}
	return rs, nil
}

// ActionRunByKey finds the run that was intended under a key.
func (tx *Tx) ActionRunByKey(ctx context.Context, key string) (slipway.ActionRun, error) {
	return one(ctx, tx, "such run of an action", readActionRun, actionRunSelect+` WHERE r.key = ?`, key)
}
