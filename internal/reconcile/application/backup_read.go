package application

import (
	"context"
	"encoding/json"
	"fmt"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// ofBackup reports whether a task is about a backup rather than a change.
func ofBackup(k slipway.TaskKind) bool {
	return k == slipway.BackupTask || k == slipway.RestoreTask || k == slipway.ForgetTask
}

// forgetArgs is what a task to delete a backup was asked for.
type forgetArgs struct {
	Backup int64 `json:"backup"`
}

// readBackup completes the snapshot of a task about a backup. Such a task works with what
// is on the cluster: a backup with the revision that it was begun for, also when it runs
// under the upgrade to another one. Its context is frozen with it, since no change is.
func readBackup(ctx context.Context, tx *store.Tx, s *Snapshot) (err error) {
	wanted := s.Application.Applied
	switch s.Task.Kind {
	case slipway.BackupTask:
		if s.Backup, err = tx.BackupOfTask(ctx, s.Task.ID); err != nil {
			return err
		}
		if s.Change.Context, err = tx.BackupContext(ctx, s.Backup.ID); err != nil {
			return err
		}
		wanted = s.Backup.Revision
	case slipway.RestoreTask:
		r, err := tx.Restore(ctx, s.Task.ID)
		if err != nil {
			return err
		}
		if s.Backup, err = tx.Backup(ctx, r.BackupID); err != nil {
			return err
		}
		s.Change.Context = r.Context
	case slipway.ForgetTask:
		var args forgetArgs
		if err := json.Unmarshal(s.Task.Args, &args); err != nil {
			return fmt.Errorf("read what task %d was asked for: %w", s.Task.ID, err)
		}
		if s.Backup, err = tx.Backup(ctx, args.Backup); err != nil {
			return err
		}
	}
	if s.Location, err = tx.BackupLocation(ctx, s.Backup.LocationID); err != nil {
		return err
	}
	if wanted == 0 {
		wanted = s.Application.Revision
	}
	if s.Wanted, err = tx.Revision(ctx, s.Application.ID, wanted); err != nil {
		return err
	}
	s.Driver, err = tx.DriverByDigest(ctx, s.Wanted.DriverDigest)
	if slipway.Is(err, slipway.NotFound) && s.Task.Kind == slipway.ForgetTask {
		return nil // the files of an application that is gone can be deleted without it
	}
	return err
}
