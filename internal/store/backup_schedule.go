package store

import (
	"context"
	"fmt"
	"time"

	"slipway.dev/slipway/internal/slipway"
)

// BackupSchedule is when the next backup of an application is due. It is derived from the
// spec on the cluster, and kept so that a time that passes while nobody runs is noticed.
type BackupSchedule struct {
	ApplicationID int64
	Schedule      string
	TimeZone      string
	NextAt        time.Time
	LastAt        time.Time // when one was last begun; zero: never
}

// BackupSchedule returns an application's schedule; ok is false when it has none.
func (tx *Tx) BackupSchedule(ctx context.Context, applicationID int64) (s BackupSchedule, ok bool, err error) {
	s, err = one(ctx, tx, fmt.Sprintf("backup schedule of application %d", applicationID), func(scan scan) (s BackupSchedule, err error) {
		return s, scan(&s.ApplicationID, &s.Schedule, &s.TimeZone, at(&s.NextAt), at(&s.LastAt))
	}, `SELECT application_id, schedule, time_zone, next_at, last_at FROM backup_schedules WHERE application_id = ?`, applicationID)
	if slipway.Is(err, slipway.NotFound) {
		return s, false, nil
	}
	return s, err == nil, err
}

// PutBackupSchedule writes an application's schedule.
func (tx *Tx) PutBackupSchedule(ctx context.Context, s BackupSchedule) error {
	_, err := tx.exec(ctx, `INSERT INTO backup_schedules (application_id, schedule, time_zone, next_at, last_at) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (application_id) DO UPDATE SET schedule = excluded.schedule, time_zone = excluded.time_zone,
			next_at = excluded.next_at, last_at = excluded.last_at`,
		s.ApplicationID, s.Schedule, s.TimeZone, s.NextAt, s.LastAt)
	if err != nil {
		return fmt.Errorf("write the backup schedule of application %d: %w", s.ApplicationID, err)
	}
	return nil
}

// DeleteBackupSchedule removes it, if there is one.
func (tx *Tx) DeleteBackupSchedule(ctx context.Context, applicationID int64) error {
	if _, err := tx.exec(ctx, `DELETE FROM backup_schedules WHERE application_id = ?`, applicationID); err != nil {
		return fmt.Errorf("delete the backup schedule of application %d: %w", applicationID, err)
	}
	return nil
}

// BackupSchedules lists the applications that have one.
func (tx *Tx) BackupSchedules(ctx context.Context) ([]int64, error) {
	ids, err := all(ctx, tx, func(scan scan) (id int64, err error) { return id, scan(&id) }, `SELECT application_id FROM backup_schedules ORDER BY application_id`)
	if err != nil {
		return nil, fmt.Errorf("list the backup schedules: %w", err)
	}
	return ids, nil
}
