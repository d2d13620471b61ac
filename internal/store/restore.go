package store

import (
	"context"
	"fmt"

	"slipway.dev/slipway/internal/slipway"
)

func readRestore(scan scan) (r slipway.Restore, err error) {
	return r, scan(&r.TaskID, &r.BackupID, &r.ApplicationID, &r.Context)
}

// CreateRestore writes down which backup a task restores.
func (tx *Tx) CreateRestore(ctx context.Context, r slipway.Restore) error {
	_, err := tx.exec(ctx, `INSERT INTO restores (task_id, backup_id, application_id) VALUES (?, ?, ?)`, r.TaskID, r.BackupID, r.ApplicationID)
	if err != nil {
		return fmt.Errorf("create the restore of backup %d: %w", r.BackupID, orMissing(err, "the backup or the application is gone"))
	}
	return nil
}

// Restore returns what a task restores.
func (tx *Tx) Restore(ctx context.Context, taskID int64) (slipway.Restore, error) {
	return one(ctx, tx, fmt.Sprintf("restore of task %d", taskID), readRestore,
		`SELECT task_id, backup_id, application_id, context FROM restores WHERE task_id = ?`, taskID)
}

// SetRestoreContext freezes the context once; a second time it is stale.
func (tx *Tx) SetRestoreContext(ctx context.Context, taskID int64, raw []byte) error {
	return tx.freezeOnce(ctx, fmt.Sprintf("the context of task %d", taskID),
		`UPDATE restores SET context = ? WHERE task_id = ? AND context IS NULL`, rawJSON(raw), taskID)
}

// OpenRestores counts the restores of a backup whose tasks are not over: until then its
// files must stay.
func (tx *Tx) OpenRestores(ctx context.Context, backupID int64) (n int, err error) {
	err = tx.value(ctx, []any{&n}, `SELECT COUNT(*) FROM restores r JOIN tasks t ON t.id = r.task_id
		WHERE r.backup_id = ? AND t.ended_at IS NULL`, backupID)
	if err != nil {
		return 0, fmt.Errorf("look for restores of backup %d: %w", backupID, err)
	}
	return n, nil
}
