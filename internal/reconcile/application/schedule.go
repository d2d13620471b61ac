package application

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strconv"
	"time"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/spec"
	"slipway.dev/slipway/internal/store"
	"slipway.dev/slipway/internal/task"
)

// jitter spreads the backups of many applications that are due at one moment.
const jitter = 2 * time.Minute

// Due is what a look at a schedule comes to.
type Due struct {
	Begin bool                 // a backup is due
	Keep  store.BackupSchedule // what to write down
	Next  time.Time            // when to look again
}

// NextBackup says whether a scheduled backup is due, and when the next one is. It calls
// nobody. have is what was written down, whose zero value means nothing.
//
// A schedule that is new, or another one than before, begins with its next time. Times that
// passed while nobody looked are made up for once, however many they were: the next time is
// counted from now.
func NextBackup(applicationID int64, config slipway.BackupConfig, have store.BackupSchedule, now time.Time) (Due, error) {
	schedule, err := spec.ParseSchedule(config.Schedule, config.TimeZone)
	if err != nil {
		return Due{}, fmt.Errorf("read the schedule %q: %w", config.Schedule, err)
	}
	next := func() time.Time {
		at := schedule.Next(now)
		if at.IsZero() {
			return at // such as the 30th of February
		}
		return at.Add(spread(applicationID))
	}
	out := Due{Keep: have}
	if have.Schedule != config.Schedule || have.TimeZone != config.TimeZone || have.ApplicationID != applicationID {
		out.Keep = store.BackupSchedule{ApplicationID: applicationID, Schedule: config.Schedule, TimeZone: config.TimeZone, NextAt: next(), LastAt: have.LastAt}
		out.Next = out.Keep.NextAt
		return out, nil
	}
	if !have.NextAt.IsZero() && !have.NextAt.After(now) {
		out.Begin, out.Keep.LastAt, out.Keep.NextAt = true, now, next()
	}
	out.Next = out.Keep.NextAt
	return out, nil
}

// spread is an application's own delay, the same each time.
func spread(applicationID int64) time.Duration {
	sum := sha256.Sum256([]byte(strconv.FormatInt(applicationID, 10)))
	return time.Duration(binary.BigEndian.Uint64(sum[:8]) % uint64(jitter)).Truncate(time.Second)
}

// Schedule looks at the backups that one application is due. It is a handler of package
// task. What counts is the configuration on the cluster.
func (r *Reconciler) Schedule(ctx context.Context, applicationID int64) (again time.Duration, err error) {
	err = r.Store.InTx(ctx, func(tx *store.Tx) error {
		app, err := tx.Application(ctx, applicationID)
		if slipway.Is(err, slipway.NotFound) {
			return nil
		} else if err != nil {
			return err
		}
		if app.Deleting || app.State == slipway.AppDeleted || app.Applied == 0 {
			return tx.DeleteBackupSchedule(ctx, app.ID)
		}
		on, err := tx.Revision(ctx, app.ID, app.Applied)
		if err != nil {
			return err
		}
		config := on.Spec.Backup
		if config == nil || config.Schedule == "" {
			return tx.DeleteBackupSchedule(ctx, app.ID)
		}
		have, _, err := tx.BackupSchedule(ctx, app.ID)
		if err != nil {
			return err
		}
		due, err := NextBackup(app.ID, *config, have, tx.Now)
		if err != nil {
			return err
		}
		if due.Keep.NextAt.IsZero() {
			return tx.DeleteBackupSchedule(ctx, app.ID)
		}
		if due.Begin {
			if err := r.beginScheduled(ctx, tx, app, on); err != nil {
				return err
			}
		}
		again = max(due.Next.Sub(tx.Now), time.Second)
		if due.Keep == have {
			return nil
		}
		return tx.PutBackupSchedule(ctx, due.Keep)
	})
	if err != nil {
		return 0, fmt.Errorf("look at the backup schedule of application %d: %w", applicationID, err)
	}
	return again, nil
}

// beginScheduled begins a backup, unless the one before still waits or runs: two at once
// would help nobody.
func (r *Reconciler) beginScheduled(ctx context.Context, tx *store.Tx, app slipway.Application, on slipway.Revision) error {
	open, err := tx.Tasks(ctx, store.TaskFilter{ApplicationID: app.ID, Open: true, Root: true}, store.Page{Limit: 100})
	if err != nil {
		return err
	}
	for _, t := range open.Items {
		if t.Kind == slipway.BackupTask {
			r.Log.WarnContext(ctx, "a scheduled backup is left out: the one before has not ended", "application", app.Ref(), "task", t.ID)
			return nil
		}
	}
	_, t, err := tx.BeginBackup(ctx, store.BackupBegin{
		Application: app, Revision: on, Location: on.Spec.Backup.Location, Cause: slipway.BackupScheduled, By: slipway.System().UserName,
	})
	if slipway.Is(err, slipway.NotFound) {
		// A location cannot be deleted while a configuration names it; this one was renamed
		// in the database, or worse. The metric of the last success tells.
		r.Log.ErrorContext(ctx, "a scheduled backup has no location", "application", app.Ref(), "location", on.Spec.Backup.Location)
		return nil
	} else if err != nil {
		return err
	}
	if err := task.AddEvent(ctx, tx, t, task.TaskChanged); err != nil {
		return err
	}
	return r.Queue.Enqueue(ctx, tx, task.WakeUp{Noun: NounTask, ID: t.ID})
}

// lookAtSchedule has the schedule of the task's application looked at: the configuration on
// the cluster may be another one now.
func (w *work) lookAtSchedule(ctx context.Context, tx *store.Tx) error {
	if !w.snap.Task.Root() || !w.snap.changes() || w.snap.Application.Kind == slipway.RunnerApplication {
		return nil
	}
	return w.r.Queue.Enqueue(ctx, tx, task.WakeUp{Noun: slipway.WakeSchedule, ID: w.snap.Application.ID})
}
