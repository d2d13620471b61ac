package store

import (
	"context"
	"fmt"

	"slipway.dev/slipway/internal/slipway"
)

const environmentSelect = `SELECT e.id, e.project_id, p.name, e.name, e.namespace, e.settings, e.created_at
	FROM environments e JOIN projects p ON p.id = e.project_id`

func readEnvironment(scan scan) (e slipway.Environment, err error) {
	return e, scan(&e.ID, &e.ProjectID, &e.Project, &e.Name, &e.Namespace, fromJSON(&e.Settings), at(&e.CreatedAt))
}

// CreateEnvironment needs ProjectID; it fills in Project.
func (tx *Tx) CreateEnvironment(ctx context.Context, e slipway.Environment) (slipway.Environment, error) {
	if e.Settings == nil {
		e.Settings = map[string]string{}
	}
	id, err := tx.insert(ctx, `INSERT INTO environments (project_id, name, namespace, settings, created_at)
		VALUES (?, ?, ?, ?, ?) RETURNING id`, e.ProjectID, e.Name, e.Namespace, asJSON{e.Settings}, tx.Now)
	if err != nil {
		err = orExists(err, "there is an environment %s in this project already, or another one has the namespace %s", e.Name, e.Namespace)
		return e, fmt.Errorf("create environment %s: %w", e.Name, orMissing(err, "there is no project %d", e.ProjectID))
	}
	return tx.Environment(ctx, id)
}

func (tx *Tx) Environment(ctx context.Context, id int64) (slipway.Environment, error) {
	return one(ctx, tx, fmt.Sprintf("environment %d", id), readEnvironment, environmentSelect+` WHERE e.id = ?`, id)
}

func (tx *Tx) EnvironmentByName(ctx context.Context, project, name string) (slipway.Environment, error) {
	return one(ctx, tx, "environment "+slipway.EnvironmentRef(project, name), readEnvironment,
		environmentSelect+` WHERE p.name = ? AND e.name = ?`, project, name)
}

// Environments lists those of a project, or all when project is empty, by project and name.
func (tx *Tx) Environments(ctx context.Context, project string, p Page) (List[slipway.Environment], error) {
	after, more, err := p.after(2)
	if err != nil {
		return List[slipway.Environment]{}, err
	}
	w := where{}
	w.andIf(project != "", `p.name = ?`, project)
	w.andIf(more, `(p.name, e.name) > (?, ?)`, after[0], after[1])
	rows, err := all(ctx, tx, readEnvironment, environmentSelect+w.String()+` ORDER BY p.name, e.name LIMIT ?`,
		w.with(p.more())...)
	if err != nil {
		return List[slipway.Environment]{}, fmt.Errorf("list environments: %w", err)
	}
	return list(p, rows, func(e slipway.Environment) []string { return []string{e.Project, e.Name} }), nil
}

// DeleteEnvironment is a Conflict while the environment has applications. With it go its
// secrets and the history of the applications that were deleted in it before; the audit
// stays.
func (tx *Tx) DeleteEnvironment(ctx context.Context, id int64) error {
	// Held first: an application must not be added between the look and the deletion.
	_, err := one(ctx, tx, fmt.Sprintf("environment %d", id), func(scan scan) (id int64, err error) { return id, scan(&id) },
		`SELECT id FROM environments WHERE id = ?`+tx.forUpdate(), id)
	if err != nil {
		return err
	}
	var n int
	if err := tx.value(ctx, []any{&n}, `SELECT COUNT(*) FROM applications WHERE environment_id = ? AND deleted_at IS NULL`, id); err != nil {
		return fmt.Errorf("delete environment %d: %w", id, err)
	}
	if n > 0 {
		return slipway.Errorf(slipway.Conflict, "the environment has %d applications", n).WithHint("delete them first")
	}
	if n, err = tx.backupsThere(ctx, `location_id IN (SELECT id FROM backup_locations WHERE environment_id = ?)`, id); err != nil {
		return err
	}
	if n > 0 {
		return slipway.Errorf(slipway.Conflict, "the environment has %d backups", n).WithHint("delete them first: slipway backup delete ID")
	}
	if _, err := tx.exec(ctx, `DELETE FROM environments WHERE id = ?`, id); err != nil {
		return fmt.Errorf("delete environment %d: %w", id, err)
	}
	return nil
}

// SetEnvironmentSettings replaces the settings.
func (tx *Tx) SetEnvironmentSettings(ctx context.Context, id int64, settings map[string]string) error {
	if settings == nil {
		settings = map[string]string{}
	}
	n, err := tx.exec(ctx, `UPDATE environments SET settings = ? WHERE id = ?`, asJSON{settings}, id)
	if err != nil {
		return fmt.Errorf("change environment %d: %w", id, err)
	}
	if n == 0 {
		return slipway.Errorf(slipway.NotFound, "there is no environment %d", id)
	}
	return nil
}
