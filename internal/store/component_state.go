package store

import (
	"context"
	"fmt"

	"slipway.dev/slipway/internal/slipway"
)

// ComponentStates lists the components of which something is recorded: those that are
// stopped, or were once.
func (tx *Tx) ComponentStates(ctx context.Context, applicationID int64) ([]slipway.ComponentState, error) {
	cs, err := all(ctx, tx, func(scan scan) (c slipway.ComponentState, err error) {
		return c, scan(&c.ApplicationID, &c.Component, &c.Stopped, orZero(&c.StoppedByTask), at(&c.StoppedAt))
	}, `SELECT application_id, component, stopped, stopped_by_task, stopped_at
		FROM component_states WHERE application_id = ? ORDER BY component`, applicationID)
	if err != nil {
		return nil, fmt.Errorf("read the components of application %d: %w", applicationID, err)
	}
	return cs, nil
}

// SetComponentStopped records that a component is to stay stopped, since the root task
// that stopped it. A component that is stopped already keeps its first task.
func (tx *Tx) SetComponentStopped(ctx context.Context, applicationID int64, component string, task int64) error {
	_, err := tx.exec(ctx, `INSERT INTO component_states (application_id, component, stopped, stopped_by_task, stopped_at)
		VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (application_id, component) DO UPDATE SET
			stopped = excluded.stopped, stopped_by_task = excluded.stopped_by_task, stopped_at = excluded.stopped_at
		WHERE component_states.stopped <> excluded.stopped`, applicationID, component, true, ref(task), tx.Now)
	if err != nil {
		return fmt.Errorf("record component %s of application %d as stopped: %w", component, applicationID,
			orMissing(err, "there is no application %d", applicationID))
	}
	return nil
}

// ClearComponentStopped records that a component may run again.
func (tx *Tx) ClearComponentStopped(ctx context.Context, applicationID int64, component string) error {
	_, err := tx.exec(ctx, `UPDATE component_states SET stopped = ?, stopped_by_task = NULL, stopped_at = NULL
		WHERE application_id = ? AND component = ?`, false, applicationID, component)
	if err != nil {
		return fmt.Errorf("record component %s of application %d as started: %w", component, applicationID, err)
	}
	return nil
}
