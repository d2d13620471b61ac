package application

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/spec"
	"slipway.dev/slipway/internal/store"
	"slipway.dev/slipway/internal/task"
)

// backupBefore takes a backup as a task of its own, linked to the step, and waits for it.
// The task is carried out right here: nothing else of the application may run meanwhile,
// and a process that takes over finds it by the step.
func (r *Reconciler) backupBefore(ctx context.Context, w *work) error {
	child, err := r.childBackup(ctx, w)
	if err != nil {
		return err
	}
	if !child.State.Over() {
		if _, err := r.Task(ctx, child.ID); err != nil && !errors.Is(err, task.ErrOver) {
			return bookErr(fmt.Errorf("back up before the upgrade: %w", err))
		}
		err := r.Store.Read(ctx, func(tx *store.Tx) (err error) {
			child, err = tx.Task(ctx, child.ID)
			return err
		})
		if err != nil {
			return bookErr(err)
		}
	}
	switch child.State {
	case slipway.Succeeded:
		return nil
	case slipway.Cancelled:
		if w.run.Cancelled() {
			return task.ErrCancelled
		}
		return failed("the backup before the upgrade was cancelled (task %d), so nothing was upgraded", child.ID)
	case slipway.Failed:
		return failed("the backup before the upgrade failed (task %d), so nothing was upgraded: %s", child.ID, child.Error)
	}
	return bookErr(fmt.Errorf("task %d is %s", child.ID, child.State))
}

// childBackup finds the step's backup, or begins it.
func (r *Reconciler) childBackup(ctx context.Context, w *work) (child slipway.Task, err error) {
	s := w.snap
	config := s.Wanted.Spec.Backup
	var refusal error
	err = w.write(func(ctx context.Context, tx *store.Tx) error {
		started, err := tx.TasksStartedBy(ctx, w.step.ID)
		if err != nil {
			return err
		}
		for _, t := range started {
			if t.Kind == slipway.BackupTask {
				child = t
				return nil
			}
		}
		on, err := tx.Revision(ctx, s.Application.ID, max(s.Application.Applied, 1))
		if err != nil {
			return err
		}
		driver, err := tx.DriverByDigest(ctx, on.DriverDigest)
		if err != nil {
			return err
		}
		if !driver.Spec.CanBackUp() {
			refusal = slipway.Errorf(slipway.Conflict, "driver %s %s, which is installed, does not say how to back anything up", driver.Name, driver.Version).
				WithHint("upgrade once with before_upgrade = false in [backup]")
			return nil
		}
		_, child, err = tx.BeginBackup(ctx, store.BackupBegin{
			Application: s.Application, Revision: on, Location: config.Location,
			Cause: slipway.BackupUpgrade, By: s.Task.RequestedBy, ParentStepID: w.step.ID,
		})
		if slipway.Is(err, slipway.NotFound) {
			refusal = err
			return nil
		} else if err != nil {
			return err
		}
		return task.AddEvent(ctx, tx, child, task.TaskChanged)
	})
	if refusal != nil {
		return child, refusal
	}
	return child, err
}

// checkBackup finds out whatever can be known before anything is done for a backup, and
// freezes the context of its actions.
func (r *Reconciler) checkBackup(ctx context.Context, w *work) error {
	s := w.snap
	if err := r.canMove(ctx); err != nil {
		return err
	}
	core := len(s.Driver.Spec.ActionsOf(slipway.BackupHook, slipway.Core)) > 0
	for _, c := range s.Driver.Spec.BackedUp() {
		if c.Backup.Kind.ByAction() && !core {
			return slipway.Errorf(slipway.Conflict, "the component %s is backed up by %s, for which driver %s %s has no action with hook: backup",
				c.Name, c.Backup.Kind, s.Driver.Name, s.Driver.Version).WithHint("a backup without it would not be whole")
		}
		if err := r.canBackUp(ctx, w, c); err != nil {
			return err
		}
	}
	if _, err := r.credentials(ctx, s.Application, s.Location); err != nil {
		return err
	}
	return r.freezeBackup(ctx, w)
}

// canMove looks whether anything can be carried at all.
func (r *Reconciler) canMove(ctx context.Context) error {
	if r.MoverImage == "" {
		return slipway.Errorf(slipway.Unavailable, "there is no image with the mover, so nothing can be backed up or restored").
			WithHint("set backup.image in slipway.toml to the image of this Slipway, and start it again")
	}
	_, err := r.Cluster.Version(ctx)
	return err
}

// freezeBackup builds the context of a backup's or restore's actions once.
func (r *Reconciler) freezeBackup(ctx context.Context, w *work) error {
	s := w.snap
	if len(s.Change.Context) > 0 {
		return nil
	}
	env, err := r.environment(ctx, s.Application.EnvironmentID)
	if err != nil {
		return err
	}
	in := spec.ContextInput{
		Task: s.Task, Change: slipway.Change{Number: s.Application.LastChange, Revision: s.Wanted.Number}, Environment: env, Application: s.Application,
		Cluster: spec.ContextCluster{ID: r.Installation.ID, Name: r.ClusterName, Capabilities: r.Capabilities},
		Spec:    s.Wanted.Spec, Driver: s.Driver,
		Backup: &spec.ContextBackup{ID: s.Backup.ID, LocationRef: s.Location.Name, Path: objectPath(s, ""), AppVersion: s.Backup.AppVersion},
	}
	err = r.Store.Read(ctx, func(tx *store.Tx) (err error) {
		in.States, err = tx.ComponentStates(ctx, s.Application.ID)
		return err
	})
	if err != nil {
		return bookErr(err)
	}
	frozen, err := spec.BuildContext(in)
	if err != nil {
		return err
	}
	raw, err := frozen.JSON()
	if err != nil {
		return err
	}
	return w.write(func(ctx context.Context, tx *store.Tx) error {
		if s.Task.Kind == slipway.RestoreTask {
			return tx.SetRestoreContext(ctx, s.Task.ID, raw)
		}
		return tx.SetBackupContext(ctx, s.Backup.ID, raw)
	})
}

// stopForBackup stops the components whose files must not change while they are copied.
// Those that are stopped already stay as they are, also afterwards.
func (r *Reconciler) stopForBackup(ctx context.Context, w *work) error {
	var names []string
	for _, c := range w.snap.Driver.Spec.BackedUp() {
		if c.Backup.Stop {
			names = append(names, c.Name)
		}
	}
	return r.stopForTask(ctx, w, names)
}

// stopForTask stops components that run, and remembers them as stopped by this task.
func (r *Reconciler) stopForTask(ctx context.Context, w *work, names []string) error {
	stopped, err := r.stoppedBy(ctx, w)
	if err != nil {
		return err
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		by, is := stopped[name]
		return is && by != w.snap.Task.RootID
	})
	if len(names) == 0 {
		return nil
	}
	now, err := r.standing(ctx, w.snap)
	if err != nil {
		return err
	}
	return r.stopComponents(ctx, w, now, names)
}

// startAgain starts the components that this task has stopped, and no others.
func (r *Reconciler) startAgain(ctx context.Context, w *work) error {
	stopped, err := r.stoppedBy(ctx, w)
	if err != nil {
		return err
	}
	var names []string
	for name, by := range stopped {
		if _, known := w.snap.Driver.Spec.Components[name]; known && by == w.snap.Task.RootID {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	now, err := r.standing(ctx, w.snap)
	if err != nil {
		return err
	}
	for _, name := range names {
		ws, err := r.workloads(ctx, w.snap.Application, name, now.driver, now.applied)
		if err != nil {
			return err
		}
		o := r.readyOptions(w)
		o.Timeout = now.driver.Components[name].ReadyTimeout
		if len(ws) > 0 {
			if err := r.Cluster.Start(ctx, w.snap.Application, ws, now.spec.Components[name].Replicas, o); err != nil {
				return err
			}
		}
		// Last, unlike a start that a person asks for: the record is what tells a process that
		// takes over what this task has stopped.
		err = w.write(func(ctx context.Context, tx *store.Tx) error {
			return tx.ClearComponentStopped(ctx, w.snap.Application.ID, name)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// stoppedBy says of each stopped component which root task stopped it.
func (r *Reconciler) stoppedBy(ctx context.Context, w *work) (map[string]int64, error) {
	out := map[string]int64{}
	err := r.Store.Read(ctx, func(tx *store.Tx) error {
		states, err := tx.ComponentStates(ctx, w.snap.Application.ID)
		for _, c := range states {
			if c.Stopped {
				out[c.Component] = c.StoppedByTask
			}
		}
		return err
	})
	return out, bookErr(err)
}

// recordBackup makes the backup complete: from now on it can be restored.
func (r *Reconciler) recordBackup(_ context.Context, w *work) error {
	s := w.snap
	if s.Backup.State == slipway.BackupComplete {
		return nil // recorded by a process that died before it closed the step
	}
	byAction := len(s.Driver.Spec.ActionsOf(slipway.BackupHook, slipway.Core)) > 0
	if len(s.Backup.Files) == 0 && !byAction {
		return failed("the backup has no file")
	}
	return w.write(func(ctx context.Context, tx *store.Tx) error {
		if err := tx.MoveBackup(ctx, s.Backup.ID, slipway.BackupComplete, ""); err != nil {
			return err
		}
		if b := s.Wanted.Spec.Backup; b != nil && b.KeepDays > 0 && s.Backup.Cause != slipway.BackupAsked {
			if err := tx.SetBackupExpiry(ctx, s.Backup.ID, tx.Now.Add(time.Duration(b.KeepDays)*24*time.Hour)); err != nil {
				return err
			}
		}
		return tx.AddEvent(ctx, applicationEvent(s))
	})
}
