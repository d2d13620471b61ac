package application

import (
	"context"
	"fmt"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// read takes the snapshot of one task in one transaction.
func (r *Reconciler) read(ctx context.Context, id int64) (Snapshot, error) {
	var s Snapshot
	err := r.Store.Read(ctx, func(tx *store.Tx) (err error) {
		s, err = readSnapshot(ctx, tx, id)
		return err
	})
	if err != nil {
		return s, fmt.Errorf("read task %d: %w", id, err)
	}
	return s, nil
}

func readSnapshot(ctx context.Context, tx *store.Tx, id int64) (s Snapshot, err error) {
	if s.Task, err = tx.Task(ctx, id); err != nil {
		return s, err
	}
	s.Cancel = s.Task.CancelledBy != ""
	if s.Steps, err = tx.Steps(ctx, id); err != nil {
		return s, err
	}
	if s.Task.Attempt > 1 {
		children, err := tx.ChildTasks(ctx, id)
		if err != nil {
			return s, err
		}
		for _, c := range children {
			s.Moved = s.Moved || c.Kind == slipway.VersionTask && c.State == slipway.Succeeded
		}
	}
	if s.Application, err = tx.Application(ctx, s.Task.ApplicationID); err != nil {
		return s, err
	}
	// A child acts for the change of its root: the version that an action asks for is the
	// version of the upgrade that runs it.
	changeID := s.Task.ChangeID
	if ofBackup(s.Task.Kind) {
		return s, readBackup(ctx, tx, &s)
	}
	if changeID == 0 && !s.Task.Root() {
		root, err := tx.Task(ctx, s.Task.RootID)
		if err != nil {
			return s, err
		}
		changeID = root.ChangeID
	}
	wanted := s.Application.Applied
	if changeID != 0 {
		if s.Change, err = tx.Change(ctx, changeID); err != nil {
			return s, err
		}
		if s.Change.Revision != 0 {
			wanted = s.Change.Revision
		}
		if from := s.Change.FromRevision; from != 0 {
			revision, err := tx.Revision(ctx, s.Application.ID, from)
			if err != nil {
				return s, err
			}
			s.From = &revision
		}
	}
	if wanted == 0 {
		wanted = s.Application.Revision
	}
	if s.Wanted, err = tx.Revision(ctx, s.Application.ID, wanted); err != nil {
		return s, err
	}
	if s.Application.Kind == slipway.RunnerApplication {
		return s, nil // it has no driver
	}
	if s.Driver, err = tx.DriverByDigest(ctx, s.Wanted.DriverDigest); err != nil {
		return s, err
	}
	if s.Change.Kind == slipway.RollbackChange && s.From != nil {
		left, err := tx.DriverByDigest(ctx, s.From.DriverDigest)
		if err != nil {
			return s, err
		}
		s.Left = &left
	}
	return s, nil
}
