package store

import (
	"context"
	"fmt"

	"slipway.dev/slipway/internal/slipway"
)

const applicationSelect = `SELECT a.id, a.environment_id, p.name, e.name, e.namespace, a.name, a.kind, a.revision, a.applied,
	a.app_version, a.driver_name, a.driver_version, a.state, a.message, a.last_change, a.deleting, a.created_at, a.updated_at
	FROM applications a JOIN environments e ON e.id = a.environment_id JOIN projects p ON p.id = e.project_id`

func readApplication(scan scan) (a slipway.Application, err error) {
	err = scan(&a.ID, &a.EnvironmentID, &a.Project, &a.Environment, &a.Namespace, &a.Name, &a.Kind, &a.Revision, &a.Applied,
		&a.AppVersion, &a.DriverName, &a.DriverVersion, &a.State, &a.Message, &a.LastChange, &a.Deleting,
		at(&a.CreatedAt), at(&a.UpdatedAt))
	if a.Kind == slipway.RunnerApplication {
		a.Namespace = slipway.RunnerNamespace(a.Namespace, a.ID)
	}
	return a, err
}

// CreateApplication adds an application in state accepted, without a revision yet. It
// needs EnvironmentID, Name and Kind; the rest is filled in.
func (tx *Tx) CreateApplication(ctx context.Context, a slipway.Application) (slipway.Application, error) {
	id, err := tx.insert(ctx, `INSERT INTO applications (environment_id, name, kind, revision, applied, app_version,
			driver_name, driver_version, state, message, last_change, deleting, created_at, updated_at)
		VALUES (?, ?, ?, 0, 0, ?, ?, ?, ?, ?, 0, ?, ?, ?) RETURNING id`,
		a.EnvironmentID, a.Name, a.Kind, a.AppVersion, a.DriverName, a.DriverVersion, slipway.AppAccepted, a.Message,
		false, tx.Now, tx.Now)
	if err != nil {
		err = orExists(err, "there is an application %s in this environment already", a.Name)
		return a, fmt.Errorf("create application %s: %w", a.Name, orMissing(err, "there is no environment %d", a.EnvironmentID))
	}
	return tx.Application(ctx, id)
}

// Application finds a deleted one too: its tasks and revisions can still be read.
func (tx *Tx) Application(ctx context.Context, id int64) (slipway.Application, error) {
	return one(ctx, tx, fmt.Sprintf("application %d", id), readApplication, applicationSelect+` WHERE a.id = ?`, id)
}

// ApplicationByName finds the one that is not deleted.
func (tx *Tx) ApplicationByName(ctx context.Context, environmentID int64, name string) (slipway.Application, error) {
	return one(ctx, tx, "application "+name, readApplication,
		applicationSelect+` WHERE a.environment_id = ? AND a.name = ? AND a.deleted_at IS NULL`, environmentID, name)
}

// ApplicationFilter narrows a list; a zero field does not.
type ApplicationFilter struct {
	Project     string
	Environment string
	Kind        slipway.ApplicationKind
	State       slipway.ApplicationState
}

// Applications lists those that are not deleted, by project, environment and name.
func (tx *Tx) Applications(ctx context.Context, f ApplicationFilter, p Page) (List[slipway.Application], error) {
	after, more, err := p.after(3)
	if err != nil {
		return List[slipway.Application]{}, err
	}
	w := where{}
	w.and(`a.deleted_at IS NULL`)
	w.andIf(f.Project != "", `p.name = ?`, f.Project)
	w.andIf(f.Environment != "", `e.name = ?`, f.Environment)
	w.andIf(f.Kind != "", `a.kind = ?`, f.Kind)
	w.andIf(f.State != "", `a.state = ?`, f.State)
	w.andIf(more, `(p.name, e.name, a.name) > (?, ?, ?)`, after[0], after[1], after[2])
	rows, err := all(ctx, tx, readApplication, applicationSelect+w.String()+` ORDER BY p.name, e.name, a.name LIMIT ?`,
		w.with(p.more())...)
	if err != nil {
		return List[slipway.Application]{}, fmt.Errorf("list applications: %w", err)
	}
	return list(p, rows, func(a slipway.Application) []string { return []string{a.Project, a.Environment, a.Name} }), nil
}

// SetApplicationWanted moves the wanted revision from expected to revision for the change
// of that number. It is stale when another revision was accepted meanwhile, or the
// application is being deleted.
func (tx *Tx) SetApplicationWanted(ctx context.Context, id, expected, revision, change int64) error {
	n, err := tx.exec(ctx, `UPDATE applications SET revision = ?,
			last_change = CASE WHEN last_change < ? THEN ? ELSE last_change END, updated_at = ?
		WHERE id = ? AND revision = ? AND deleting = ? AND deleted_at IS NULL`,
		revision, change, change, tx.Now, id, expected, false)
	if err != nil {
		return fmt.Errorf("accept revision %d of application %d: %w", revision, id, err)
	}
	if n == 0 {
		return stale("accept revision %d of application %d", revision, id)
	}
	return nil
}

// SetApplicationState writes what people read first. Package reconcile/application calls
// it.
func (tx *Tx) SetApplicationState(ctx context.Context, id int64, state slipway.ApplicationState, message string) error {
	if state == slipway.AppDeleted {
		return fmt.Errorf("application %d: a deleted application is marked by MarkApplicationDeleted", id)
	}
	n, err := tx.exec(ctx, `UPDATE applications SET state = ?, message = ?, updated_at = ? WHERE id = ? AND deleted_at IS NULL`,
		state, message, tx.Now, id)
	if err != nil {
		return fmt.Errorf("set the state of application %d: %w", id, err)
	}
	if n == 0 {
		return stale("set the state of application %d", id)
	}
	return nil
}

// Applied is what is on the cluster.
type Applied struct {
	Revision      int64
	AppVersion    string
	DriverName    string
	DriverVersion string
}

// SetApplicationApplied records what the cluster holds now. It never moves to an older
// revision: then it is stale.
func (tx *Tx) SetApplicationApplied(ctx context.Context, id int64, a Applied) error {
	n, err := tx.exec(ctx, `UPDATE applications SET applied = ?, app_version = ?, driver_name = ?, driver_version = ?, updated_at = ?
		WHERE id = ? AND applied <= ? AND deleted_at IS NULL`,
		a.Revision, a.AppVersion, a.DriverName, a.DriverVersion, tx.Now, id, a.Revision)
	if err != nil {
		return fmt.Errorf("record revision %d of application %d as applied: %w", a.Revision, id, err)
	}
	if n == 0 {
		return stale("record revision %d of application %d as applied", a.Revision, id)
	}
	return nil
}

// MarkApplicationDeleting keeps further changes away. It is stale when that was done
// already.
func (tx *Tx) MarkApplicationDeleting(ctx context.Context, id int64) error {
	n, err := tx.exec(ctx, `UPDATE applications SET deleting = ?, updated_at = ? WHERE id = ? AND deleting = ? AND deleted_at IS NULL`,
		true, tx.Now, id, false)
	if err != nil {
		return fmt.Errorf("mark application %d as being deleted: %w", id, err)
	}
	if n == 0 {
		return stale("mark application %d as being deleted", id)
	}
	return nil
}

// MarkApplicationDeleted takes the application off the lists and frees its name. Once
// more is not an error.
func (tx *Tx) MarkApplicationDeleted(ctx context.Context, id int64) error {
	_, err := tx.exec(ctx, `UPDATE applications SET state = ?, message = '', deleting = ?, deleted_at = ?, updated_at = ?
		WHERE id = ? AND deleted_at IS NULL`, slipway.AppDeleted, true, tx.Now, tx.Now, id)
	if err != nil {
		return fmt.Errorf("mark application %d as deleted: %w", id, err)
	}
	return nil
}

// KeepApplication takes back that an application is being deleted, when its deletion was
// cancelled before it began.
func (tx *Tx) KeepApplication(ctx context.Context, id int64) error {
	_, err := tx.exec(ctx, `UPDATE applications SET deleting = ?, updated_at = ? WHERE id = ? AND deleting = ? AND deleted_at IS NULL`,
		false, tx.Now, id, true)
	if err != nil {
		return fmt.Errorf("keep application %d: %w", id, err)
	}
	return nil
}
