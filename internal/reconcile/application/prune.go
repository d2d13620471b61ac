package application

import (
	"context"
	"errors"
	"fmt"
	"path"

	"slipway.dev/slipway/internal/outside/kube"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/spec"
	"slipway.dev/slipway/internal/store"
)

// actOnBackup carries out a phase of a task about a backup.
func (r *Reconciler) actOnBackup(ctx context.Context, w *work, p Phase) error {
	switch p.Act {
	case ActBackupBefore:
		return r.backupBefore(ctx, w)
	case ActBackupCheck:
		return r.checkBackup(ctx, w)
	case ActBackupStop:
		return r.stopForBackup(ctx, w)
	case ActBackupStart:
		return r.startAgain(ctx, w)
	case ActBackup:
		return r.backupComponent(ctx, w, p.Component)
	case ActBackupRecord:
		return r.recordBackup(ctx, w)
	case ActBackupPrune:
		return r.prune(ctx, w)
	case ActBackupSweep, ActBackupForget:
		return r.forget(ctx, w)
	case ActRestoreCheck:
		return r.checkRestore(ctx, w)
	case ActRestoreVerify:
		return r.verifyBackup(ctx, w)
	case ActRestoreStop:
		return r.stopForRestore(ctx, w)
	case ActRestore:
		return r.restoreComponent(ctx, w, p.Component)
	}
	return fmt.Errorf("no phase %q", p.Act)
}

// changes reports whether the task changes what runs. A backup does not: whether it
// succeeds or fails, the application is as it was.
func (s Snapshot) changes() bool {
	return s.Task.Kind != slipway.BackupTask && s.Task.Kind != slipway.ForgetTask
}

func (w *work) release() string { return spec.HelmRelease(w.snap.Application.Name) }

// prune removes what retention gives up, and what failed backups have left. A backup that
// cannot be removed now is tried again after the next one.
func (r *Reconciler) prune(ctx context.Context, w *work) error {
	s := w.snap
	var all []slipway.Backup
	err := r.Store.Read(ctx, func(tx *store.Tx) (err error) {
		all, err = tx.AllBackups(ctx, s.Application.ID)
		return err
	})
	if err != nil {
		return bookErr(err)
	}
	config := s.Wanted.Spec.Backup
	gone := slipway.Expired(all, config.KeepLast, config.KeepDays, r.Store.Now())
	for _, b := range all {
		// One that is being deleted was given up by a task that did not end.
		if b.ID != s.Backup.ID && (b.State == slipway.BackupFailed || b.State == slipway.BackupDeleting) {
			gone = append(gone, b)
		}
	}
	var failures []error
	for _, b := range gone {
		if err := r.removeBackup(ctx, w, b); err != nil {
			if interrupted(ctx, err) || errors.Is(err, context.Canceled) {
				return err
			}
			failures = append(failures, fmt.Errorf("remove backup %d: %w", b.ID, err))
		}
	}
	if len(failures) > 0 {
		// The backup itself is complete and counts; what stays is said, and tried again.
		redact := r.redactor(ctx, s.Application, s.Wanted.Spec)
		text, _ := words(failures[0], redact)
		return w.note(fmt.Sprintf("%d old backups could not be removed and are tried again after the next backup: %s", len(failures), text))
	}
	return nil
}

// forget removes the files of the task's backup.
func (r *Reconciler) forget(ctx context.Context, w *work) error {
	if w.snap.Task.Kind == slipway.ForgetTask {
		return r.removeBackup(ctx, w, w.snap.Backup)
	}
	// The row of a failed backup stays: it says why it failed.
	return r.removeFiles(ctx, w, w.snap.Backup, w.snap.Location)
}

// removeBackup removes one backup: it cannot be restored any more, then its files go, then it is
// gone. A restore that waits keeps it.
func (r *Reconciler) removeBackup(ctx context.Context, w *work, b slipway.Backup) error {
	var location slipway.BackupLocation
	var inUse bool
	err := w.write(func(ctx context.Context, tx *store.Tx) error {
		open, err := tx.OpenRestores(ctx, b.ID)
		if err != nil || open > 0 {
			inUse = open > 0
			return err
		}
		if location, err = tx.BackupLocation(ctx, b.LocationID); err != nil {
			return err
		}
		if b.State == slipway.BackupDeleting || b.State == slipway.BackupDeleted {
			return nil
		}
		return tx.MoveBackup(ctx, b.ID, slipway.BackupDeleting, "")
	})
	switch {
	case err != nil:
		return err
	case inUse:
		return failed("backup %d is being restored; it stays", b.ID)
	case b.State == slipway.BackupDeleted:
		return nil
	}
	if err := r.removeFiles(ctx, w, b, location); err != nil {
		return err
	}
	return w.write(func(ctx context.Context, tx *store.Tx) error {
		if err := tx.MoveBackup(ctx, b.ID, slipway.BackupDeleted, b.Error); err != nil {
			return err
		}
		return tx.AddEvent(ctx, applicationEvent(w.snap))
	})
}

// removeFiles removes everything below a backup's folder, also uploads that never ended.
func (r *Reconciler) removeFiles(ctx context.Context, w *work, b slipway.Backup, l slipway.BackupLocation) error {
	if r.MoverImage == "" {
		return r.canMove(ctx)
	}
	there := *w
	there.snap.Location = l
	o := order(slipway.MoveRemove, l)
	o.Prefix = path.Join(l.Prefix(), b.Path)
	return r.carry(ctx, &there, fmt.Sprintf("remove %d", b.ID), kube.MoveSpec{Order: o}, func(res slipway.MoveResult) error {
		line := fmt.Sprintf("removed backup %d: %d files", b.ID, res.Objects)
		if b.ID == w.snap.Backup.ID {
			line = fmt.Sprintf("removed %d files", res.Objects)
		}
		if res.Uploads > 0 {
			line += fmt.Sprintf(", %d unfinished uploads", res.Uploads)
		}
		return w.note(line)
	})
}

// endBackup writes the end of a task about a backup beside that of the task. A backup that
// is not complete now has failed; a restore that failed says what is left to do.
func (w *work) endBackup(ctx context.Context, tx *store.Tx, end *store.TaskEnd) error {
	s := w.snap
	switch {
	case s.Task.Kind == slipway.BackupTask && end.State != slipway.Succeeded:
		now, err := tx.Backup(ctx, s.Backup.ID)
		if err != nil {
			return err
		}
		if now.State == slipway.BackupTaking {
			if err := tx.MoveBackup(ctx, s.Backup.ID, slipway.BackupFailed, end.Error); err != nil {
				return err
			}
		}
		return tx.AddEvent(ctx, applicationEvent(s))
	case s.Task.Kind == slipway.RestoreTask && end.State != slipway.Succeeded:
		hint := slipway.RestoreHint(s.Application.Name, s.Backup.ID)
		if end.Hint != "" {
			hint += "; " + end.Hint
		}
		end.Hint = hint
	}
	return nil
}
