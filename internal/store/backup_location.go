package store

import (
	"context"
	"fmt"

	"slipway.dev/slipway/internal/slipway"
)

const locationColumns = `id, environment_id, name, kind, config, created_by, created_at`

// locationConfig is what a location is beyond its kind, as JSON. It names secrets and
// holds none.
type locationConfig struct {
	S3     *slipway.S3Location     `json:"s3,omitempty"`
	Volume *slipway.VolumeLocation `json:"volume,omitempty"`
}

func readLocation(scan scan) (l slipway.BackupLocation, err error) {
	var c locationConfig
	err = scan(&l.ID, &l.EnvironmentID, &l.Name, &l.Kind, fromJSON(&c), &l.CreatedBy, at(&l.CreatedAt))
	if c.S3 != nil {
		l.S3 = *c.S3
	}
	if c.Volume != nil {
		l.Volume = *c.Volume
	}
	return l, err
}

func (tx *Tx) CreateBackupLocation(ctx context.Context, l slipway.BackupLocation) (slipway.BackupLocation, error) {
	var c locationConfig
	if l.Kind == slipway.LocationVolume {
		c.Volume = &l.Volume
	} else {
		c.S3 = &l.S3
	}
	id, err := tx.insert(ctx, `INSERT INTO backup_locations (environment_id, name, kind, config, created_by, created_at)
		VALUES (?, ?, ?, ?, ?, ?) RETURNING id`, l.EnvironmentID, l.Name, l.Kind, asJSON{c}, l.CreatedBy, tx.Now)
	if err != nil {
		err = orExists(err, "there is a backup location %s in this environment already", l.Name)
		return l, fmt.Errorf("create backup location %s: %w", l.Name, orMissing(err, "there is no environment %d", l.EnvironmentID))
	}
	return tx.BackupLocation(ctx, id)
}

func (tx *Tx) BackupLocation(ctx context.Context, id int64) (slipway.BackupLocation, error) {
	return one(ctx, tx, fmt.Sprintf("backup location %d", id), readLocation, `SELECT `+locationColumns+` FROM backup_locations WHERE id = ?`, id)
}

func (tx *Tx) BackupLocationByName(ctx context.Context, environmentID int64, name string) (slipway.BackupLocation, error) {
	return one(ctx, tx, "backup location "+name, readLocation,
		`SELECT `+locationColumns+` FROM backup_locations WHERE environment_id = ? AND name = ?`, environmentID, name)
}

// BackupLocations lists those of an environment by name. They are few.
func (tx *Tx) BackupLocations(ctx context.Context, environmentID int64) ([]slipway.BackupLocation, error) {
	ls, err := all(ctx, tx, readLocation, `SELECT `+locationColumns+` FROM backup_locations WHERE environment_id = ? ORDER BY name`, environmentID)
	if err != nil {
		return nil, fmt.Errorf("list the backup locations of environment %d: %w", environmentID, err)
	}
	return ls, nil
}

// BackupLocationUses lists the applications whose wanted revision names a location.
func (tx *Tx) BackupLocationUses(ctx context.Context, l slipway.BackupLocation) ([]string, error) {
	refs, err := tx.specUses(ctx, l.EnvironmentID, func(s slipway.ApplicationSpec) bool { return s.Backup != nil && s.Backup.Location == l.Name })
	if err != nil {
		return nil, fmt.Errorf("look for uses of backup location %s: %w", l.Name, err)
	}
	return refs, nil
}

// DeleteBackupLocation is a Conflict while a backup stands there: it would never be found
// again. With it goes the record of backups that were deleted.
func (tx *Tx) DeleteBackupLocation(ctx context.Context, id int64) error {
	// Held first: a backup must not be begun between the look and the deletion.
	_, err := one(ctx, tx, fmt.Sprintf("backup location %d", id), func(scan scan) (id int64, err error) { return id, scan(&id) },
		`SELECT id FROM backup_locations WHERE id = ?`+tx.forUpdate(), id)
	if err != nil {
		return err
	}
	n, err := tx.backupsThere(ctx, `location_id = ?`, id)
	if err != nil {
		return err
	}
	if n > 0 {
		return slipway.Errorf(slipway.Conflict, "the location holds %d backups", n).WithHint("delete them first: slipway backup delete ID")
	}
	if _, err := tx.exec(ctx, `DELETE FROM backup_locations WHERE id = ?`, id); err != nil {
		return fmt.Errorf("delete backup location %d: %w", id, err)
	}
	return nil
}

// backupsThere counts the backups that may have files.
func (tx *Tx) backupsThere(ctx context.Context, condition string, args ...any) (n int, err error) {
	err = tx.value(ctx, []any{&n}, `SELECT COUNT(*) FROM backups WHERE state <> 'deleted' AND `+condition, args...)
	if err != nil {
		return 0, fmt.Errorf("count backups: %w", err)
	}
	return n, nil
}
