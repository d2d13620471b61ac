package change

import (
	"context"
	"fmt"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// CancelTask asks for the end of a task. One that waits ends at once; one that runs ends
// when whoever runs it has stopped what it does. Who may write in the environment may.
func (s *Service) CancelTask(ctx context.Context, c slipway.Caller, id int64) (out slipway.Task, err error) {
	if err := need(c, slipway.ReadWrite); err != nil {
		return out, err
	}
	err = s.Store.InTx(ctx, func(tx *store.Tx) error {
		t, err := tx.Task(ctx, id)
		if err != nil {
			return err
		}
		app, err := tx.Application(ctx, t.ApplicationID)
		if err != nil {
			return err
		}
		if !c.Sees(app.Project, app.Environment) {
			return slipway.Errorf(slipway.NotFound, "there is no task %d", id)
		}
		if t.State.Over() {
			return slipway.Errorf(slipway.Conflict, "task %d has ended: it %s", id, ended[t.State]).WithHint("there is nothing to cancel")
		}
		if out, err = tx.RequestCancel(ctx, id, c.UserName); isStale(err) {
			return slipway.Errorf(slipway.Conflict, "task %d has just ended", id).WithHint("read it again")
		} else if err != nil {
			return err
		}
		if out.State == slipway.Cancelled && out.Kind == slipway.DeleteTask {
			// Nothing was removed yet: the application stays as it is.
			if err := tx.KeepApplication(ctx, app.ID); err != nil {
				return err
			}
			if err := s.keepPools(ctx, tx, app); err != nil {
				return err
			}
		}
		if err := s.afterCancel(ctx, tx, app, out); err != nil {
			return err
		}
		return record(ctx, tx, c, deed{"task.cancel", "task", id, fmt.Sprintf("%s: %s", app.Ref(), t.Title),
			facts{"state": t.State}, facts{"state": out.State}})
	})
	return out, err
}

// afterCancel tells who watches, and wakes who runs the task, or, when it ended at once,
// the tasks that waited for it.
func (s *Service) afterCancel(ctx context.Context, tx *store.Tx, app slipway.Application, t slipway.Task) error {
	if err := changed(ctx, tx, app, t.ID); err != nil {
		return err
	}
	if t.State != slipway.Cancelled {
		return s.wake(ctx, tx, slipway.WakeTask, t.ID)
	}
	open, err := openTasks(ctx, tx, app.ID)
	if err != nil {
		return err
	}
	for _, o := range open {
		if err := s.wake(ctx, tx, slipway.WakeTask, o.ID); err != nil {
			return err
		}
	}
	return nil
}

var ended = map[slipway.TaskState]string{
	slipway.Succeeded: "succeeded", slipway.Failed: "failed", slipway.Cancelled: "was cancelled",
}
