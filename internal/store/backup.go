package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"slipway.dev/slipway/internal/slipway"
)

const backupSelect = `SELECT b.id, b.application_id, a.environment_id, p.name, e.name, a.name, b.location_id, l.name, b.path,
	b.app_version, b.driver_name, b.driver_version, b.driver_digest, b.revision, b.state, b.cause, b.task_id, b.size, b.files,
	b.error, b.requested_by, b.created_at, b.taken_at, b.expires_at
	FROM backups b
	JOIN backup_locations l ON l.id = b.location_id
	JOIN applications a ON a.id = b.application_id
	JOIN environments e ON e.id = a.environment_id
	JOIN projects p ON p.id = e.project_id`

func readBackup(scan scan) (b slipway.Backup, err error) {
	return b, scan(&b.ID, &b.ApplicationID, &b.EnvironmentID, &b.Project, &b.Environment, &b.Application, &b.LocationID, &b.Location, &b.Path,
		&b.AppVersion, &b.Driver.Name, &b.Driver.Version, &b.DriverDigest, &b.Revision, &b.State, &b.Cause, orZero(&b.TaskID), &b.Size,
		fromJSON(&b.Files), &b.Error, &b.By, at(&b.CreatedAt), at(&b.TakenAt), at(&b.ExpiresAt))
}

// CreateBackup writes down that a backup will be taken, before anything of it exists.
func (tx *Tx) CreateBackup(ctx context.Context, b slipway.Backup) (slipway.Backup, error) {
	id, err := tx.insert(ctx, `INSERT INTO backups (application_id, location_id, path, app_version, driver_name, driver_version,
			driver_digest, revision, state, cause, task_id, size, files, error, requested_by, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, '', ?, ?) RETURNING id`,
		b.ApplicationID, b.LocationID, b.Path, b.AppVersion, b.Driver.Name, b.Driver.Version, b.DriverDigest, b.Revision,
		slipway.BackupTaking, b.Cause, ref(b.TaskID), asJSON{[]slipway.BackupFile{}}, b.By, tx.Now)
	if err != nil {
		return b, fmt.Errorf("create a backup: %w", orMissing(err, "the application or the location of the backup is gone"))
	}
	return tx.Backup(ctx, id)
}

func (tx *Tx) Backup(ctx context.Context, id int64) (slipway.Backup, error) {
	return one(ctx, tx, fmt.Sprintf("backup %d", id), readBackup, backupSelect+` WHERE b.id = ?`, id)
}

// BackupOfTask returns the backup that a task takes.
func (tx *Tx) BackupOfTask(ctx context.Context, taskID int64) (slipway.Backup, error) {
	return one(ctx, tx, fmt.Sprintf("backup of task %d", taskID), readBackup, backupSelect+` WHERE b.task_id = ?`, taskID)
}

// BackupFilter narrows a list; a zero field does not. What is deleted is on none.
type BackupFilter struct {
	ApplicationID int64
	Project       string
	Environment   string
	Application   string // by name: also of an application that was deleted
	State         slipway.BackupState
}

// Backups lists backups, the newest first.
func (tx *Tx) Backups(ctx context.Context, f BackupFilter, p Page) (List[slipway.Backup], error) {
	before, err := p.afterID()
	if err != nil {
		return List[slipway.Backup]{}, err
	}
	w := where{}
	w.and(`b.state <> 'deleted'`)
	w.andIf(f.ApplicationID != 0, `b.application_id = ?`, f.ApplicationID)
	w.andIf(f.Project != "", `p.name = ?`, f.Project)
	w.andIf(f.Environment != "", `e.name = ?`, f.Environment)
	w.andIf(f.Application != "", `a.name = ?`, f.Application)
	w.andIf(f.State != "", `b.state = ?`, f.State)
	w.andIf(before != 0, `b.id < ?`, before)
	rows, err := all(ctx, tx, readBackup, backupSelect+w.String()+` ORDER BY b.id DESC LIMIT ?`, w.with(p.more())...)
	if err != nil {
		return List[slipway.Backup]{}, fmt.Errorf("list backups: %w", err)
	}
	return list(p, rows, func(b slipway.Backup) []string { return idKey(b.ID) }), nil
}

// AllBackups lists every backup of an application that is not deleted, the newest first.
func (tx *Tx) AllBackups(ctx context.Context, applicationID int64) ([]slipway.Backup, error) {
	bs, err := all(ctx, tx, readBackup, backupSelect+` WHERE b.application_id = ? AND b.state <> 'deleted' ORDER BY b.id DESC`, applicationID)
	if err != nil {
		return nil, fmt.Errorf("list the backups of application %d: %w", applicationID, err)
	}
	return bs, nil
}

// AddBackupFile records a file that is whole in its location. One of that name is replaced.
// It is stale when the backup is not being taken any more.
func (tx *Tx) AddBackupFile(ctx context.Context, id int64, f slipway.BackupFile) error {
	b, err := tx.holdBackup(ctx, id)
	if err != nil {
		return err
	}
	if b.State != slipway.BackupTaking {
		return stale("add a file to backup %d, which is %s", id, b.State)
	}
	files := slices.DeleteFunc(slices.Clone(b.Files), func(o slipway.BackupFile) bool { return o.Name == f.Name })
	files = append(files, f)
	var size int64
	for _, o := range files {
		size += o.Size
	}
	if _, err := tx.exec(ctx, `UPDATE backups SET files = ?, size = ? WHERE id = ?`, asJSON{files}, size, id); err != nil {
		return fmt.Errorf("add a file to backup %d: %w", id, err)
	}
	return nil
}

// holdBackup reads a backup and keeps others from moving it until the transaction ends.
func (tx *Tx) holdBackup(ctx context.Context, id int64) (slipway.Backup, error) {
	_, err := one(ctx, tx, fmt.Sprintf("backup %d", id), func(scan scan) (id int64, err error) { return id, scan(&id) },
		`SELECT id FROM backups WHERE id = ?`+tx.forUpdate(), id)
	if err != nil {
		return slipway.Backup{}, err
	}
	return tx.Backup(ctx, id)
}

// MoveBackup moves a backup to another state, and is stale when that is not a legal move.
// why is kept of a failed one.
func (tx *Tx) MoveBackup(ctx context.Context, id int64, to slipway.BackupState, why string) error {
	b, err := tx.holdBackup(ctx, id)
	if err != nil {
		return err
	}
	if !slices.Contains(slipway.BackupMoves[b.State], to) {
		return stale("move backup %d from %s to %s", id, b.State, to)
	}
	taken := b.TakenAt
	if to == slipway.BackupComplete {
		taken = tx.Now
	}
	if to == slipway.BackupDeleting {
		why = b.Error
	}
	if _, err := tx.exec(ctx, `UPDATE backups SET state = ?, taken_at = ?, error = ? WHERE id = ?`, to, taken, why, id); err != nil {
		return fmt.Errorf("move backup %d to %s: %w", id, to, err)
	}
	return nil
}

// SetBackupExpiry says until when retention leaves the backup alone.
func (tx *Tx) SetBackupExpiry(ctx context.Context, id int64, when time.Time) error {
	if _, err := tx.exec(ctx, `UPDATE backups SET expires_at = ? WHERE id = ?`, when, id); err != nil {
		return fmt.Errorf("set the age of backup %d: %w", id, err)
	}
	return nil
}

// BackupContext returns the frozen context of a backup's actions, nil before it is set.
func (tx *Tx) BackupContext(ctx context.Context, id int64) (raw []byte, err error) {
	if err := tx.value(ctx, []any{&raw}, `SELECT context FROM backups WHERE id = ?`, id); err != nil {
		return nil, fmt.Errorf("read the context of backup %d: %w", id, err)
	}
	return raw, nil
}

// SetBackupContext freezes the context once; a second time it is stale.
func (tx *Tx) SetBackupContext(ctx context.Context, id int64, raw []byte) error {
	return tx.freezeOnce(ctx, fmt.Sprintf("the context of backup %d", id), `UPDATE backups SET context = ? WHERE id = ? AND context IS NULL`, rawJSON(raw), id)
}

func (tx *Tx) freezeOnce(ctx context.Context, what, query string, args ...any) error {
	n, err := tx.exec(ctx, query, args...)
	if err != nil {
		return fmt.Errorf("set %s: %w", what, err)
	}
	if n == 0 {
		return stale("set %s a second time", what)
	}
	return nil
}

// LastBackup is the last success of an application that has a schedule, for the metrics.
type LastBackup struct {
	Project, Environment, Application string
	TakenAt                           time.Time // zero: never
}

// LastBackups lists the last complete backup of every application that has any backup or
// a schedule.
func (tx *Tx) LastBackups(ctx context.Context) ([]LastBackup, error) {
	ls, err := all(ctx, tx, func(scan scan) (l LastBackup, err error) {
		return l, scan(&l.Project, &l.Environment, &l.Application, at(&l.TakenAt))
	}, `SELECT p.name, e.name, a.name, MAX(b.taken_at) FROM applications a
		JOIN environments e ON e.id = a.environment_id
		JOIN projects p ON p.id = e.project_id
		LEFT JOIN backups b ON b.application_id = a.id AND b.state = 'complete'
		LEFT JOIN backup_schedules s ON s.application_id = a.id
		WHERE a.deleted_at IS NULL AND (b.id IS NOT NULL OR s.application_id IS NOT NULL)
		GROUP BY p.name, e.name, a.name ORDER BY p.name, e.name, a.name`)
	if err != nil {
		return nil, fmt.Errorf("list the last backups: %w", err)
	}
	return ls, nil
}
