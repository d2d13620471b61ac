package store

import (
	"context"
	"fmt"

	"slipway.dev/slipway/internal/slipway"
)

const changeColumns = `id, application_id, number, kind, revision, from_revision, task_id, overtake, context, requested_by, created_at`

func readChange(scan scan) (c slipway.Change, err error) {
	return c, scan(&c.ID, &c.ApplicationID, &c.Number, &c.Kind, &c.Revision, &c.FromRevision, orZero(&c.TaskID), &c.Overtake,
		&c.Context, &c.RequestedBy, at(&c.CreatedAt))
}

// CreateChange adds a change with the next number of its application, and holds the
// application until the transaction ends, so that two changes cannot take one number. Its
// task is linked when CreateTask makes the root task.
func (tx *Tx) CreateChange(ctx context.Context, c slipway.Change) (slipway.Change, error) {
	number, err := one(ctx, tx, fmt.Sprintf("application %d", c.ApplicationID), func(scan scan) (n int64, err error) {
		return n, scan(&n)
	}, `UPDATE applications SET last_change = last_change + 1, updated_at = ?
		WHERE id = ? AND deleted_at IS NULL RETURNING last_change`, tx.Now, c.ApplicationID)
	if err != nil {
		return c, err
	}
	c.Number, c.CreatedAt = number, tx.Now
	c.ID, err = tx.insert(ctx, `INSERT INTO changes (application_id, number, kind, revision, from_revision, overtake, context, requested_by, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id`,
		c.ApplicationID, c.Number, c.Kind, c.Revision, c.FromRevision, c.Overtake, rawJSON(c.Context), c.RequestedBy, c.CreatedAt)
	if err != nil {
		return c, fmt.Errorf("create change %d of application %d: %w", c.Number, c.ApplicationID, err)
	}
	return c, nil
}

func (tx *Tx) Change(ctx context.Context, id int64) (slipway.Change, error) {
	return one(ctx, tx, fmt.Sprintf("change %d", id), readChange, `SELECT `+changeColumns+` FROM changes WHERE id = ?`, id)
}

func (tx *Tx) ChangeByNumber(ctx context.Context, applicationID, number int64) (slipway.Change, error) {
	return one(ctx, tx, fmt.Sprintf("change %d of application %d", number, applicationID), readChange,
		`SELECT `+changeColumns+` FROM changes WHERE application_id = ? AND number = ?`, applicationID, number)
}

// ChangeOfRevision finds the change that made a revision: later ones only came back to it.
func (tx *Tx) ChangeOfRevision(ctx context.Context, applicationID, revision int64) (slipway.Change, error) {
	return one(ctx, tx, fmt.Sprintf("change that made revision %d of application %d", revision, applicationID), readChange,
		`SELECT `+changeColumns+` FROM changes WHERE application_id = ? AND revision = ? ORDER BY number LIMIT 1`, applicationID, revision)
}

// Changes lists the changes of an application, the newest first.
func (tx *Tx) Changes(ctx context.Context, applicationID int64, p Page) (List[slipway.Change], error) {
	before, err := p.afterID()
	if err != nil {
		return List[slipway.Change]{}, err
	}
	w := where{}
	w.and(`application_id = ?`, applicationID)
	w.andIf(before != 0, `number < ?`, before)
	rows, err := all(ctx, tx, readChange, `SELECT `+changeColumns+` FROM changes`+w.String()+` ORDER BY number DESC LIMIT ?`,
		w.with(p.more())...)
	if err != nil {
		return List[slipway.Change]{}, fmt.Errorf("list the changes of application %d: %w", applicationID, err)
	}
	return list(p, rows, func(c slipway.Change) []string { return idKey(c.Number) }), nil
}

// SetChangeContext freezes what the change's actions are told. It is written once: a
// second time is stale, and the first one stands.
func (tx *Tx) SetChangeContext(ctx context.Context, id int64, context []byte) error {
	n, err := tx.exec(ctx, `UPDATE changes SET context = ? WHERE id = ? AND context IS NULL`, rawJSON(context), id)
	if err != nil {
		return fmt.Errorf("freeze the context of change %d: %w", id, err)
	}
	if n == 0 {
		return stale("freeze the context of change %d", id)
	}
	return nil
}

// OpenChanges lists the changes of an application whose task is not over, in the order of
// their numbers.
func (tx *Tx) OpenChanges(ctx context.Context, applicationID int64) ([]slipway.Change, error) {
	cs, err := all(ctx, tx, readChange, `SELECT `+changeColumns+` FROM changes WHERE application_id = ?
		AND EXISTS (SELECT 1 FROM tasks t WHERE t.id = changes.task_id AND t.ended_at IS NULL) ORDER BY number`, applicationID)
	if err != nil {
		return nil, fmt.Errorf("list the open changes of application %d: %w", applicationID, err)
	}
	return cs, nil
}
