package change

import (
	"context"
	"fmt"
	"slices"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// PlanRetry says what a retry of a failed or cancelled task would repeat. It writes
// nothing.
func (s *Service) PlanRetry(ctx context.Context, c slipway.Caller, in RetryInput) (out RetryPlan, err error) {
	if err := need(c, slipway.ReadOnly); err != nil {
		return out, err
	}
	err = s.Store.Read(ctx, func(tx *store.Tx) error {
		r, err := prepareRetry(ctx, tx, c, in)
		out = r.plan
		return err
	})
	return out, err
}

// RetryTask accepts another attempt at the change of a task that failed or was cancelled:
// a task of the same change, with the same frozen context, which takes over what stays
// done. Who may write in the environment may.
func (s *Service) RetryTask(ctx context.Context, c slipway.Caller, in RetryInput) (Accepted, error) {
	if err := need(c, slipway.ReadWrite); err != nil {
		return Accepted{}, err
	}
	r := request{c, in.IdempotencyKey, "task.retry", []any{in.TaskID, in.From, in.FromStart}}
	out, err := s.start(ctx, r, func(tx *store.Tx) (started, error) { return s.acceptRetry(ctx, tx, c, in) })
	if isStale(err) {
		return Accepted{}, slipway.Errorf(slipway.Conflict, "somebody else retried task %d at this moment", in.TaskID).WithHint("read it again")
	}
	return out, err
}

func (s *Service) acceptRetry(ctx context.Context, tx *store.Tx, c slipway.Caller, in RetryInput) (started, error) {
	r, err := prepareRetry(ctx, tx, c, in)
	if err != nil {
		return started{}, err
	}
	if c.TaskID != 0 && holds(r.open, c.TaskID) {
		return started{}, slipway.Errorf(slipway.Conflict, "an action of task %d cannot retry a task of its own application", c.TaskID).
			WithHint("retry it when the task has ended")
	}
	if r.task.Kind == slipway.DeleteTask && !r.app.Deleting {
		if err := tx.MarkApplicationDeleting(ctx, r.app.ID); err != nil {
			return started{}, err
		}
	}
	t, err := s.begin(ctx, tx, r.app, slipway.Task{
		Kind: r.task.Kind, Title: r.task.Title, ChangeID: r.task.ChangeID, Args: r.task.Args,
		RetryOf: r.task.ID, Attempt: r.plan.Attempt, Resume: r.resume, RequestedBy: c.UserName,
	})
	if err != nil {
		return started{}, err
	}
	err = record(ctx, tx, c, deed{"task.retry", "task", r.task.ID, fmt.Sprintf("%s: %s", r.app.Ref(), r.task.Title),
		facts{"state": r.task.State}, facts{"task": t.ID, "attempt": r.plan.Attempt, "from": r.resume.From, "done": r.resume.Done}})
	return started{r.app.ID, r.task.ChangeID, t.ID, r.plan.Warnings}, err
}

// retrying is a retry that may be accepted, with all that accepting it needs to know.
type retrying struct {
	task   slipway.Task // that is repeated
	app    slipway.Application
	open   []slipway.Task
	resume slipway.Resume
	plan   RetryPlan
}

func prepareRetry(ctx context.Context, tx *store.Tx, c slipway.Caller, in RetryInput) (r retrying, err error) {
	if r.task, err = tx.Task(ctx, in.TaskID); err != nil {
		return r, err
	}
	missing := slipway.Errorf(slipway.NotFound, "there is no task %d", in.TaskID)
	if r.task.ApplicationID == 0 {
		return r, missing
	}
	r.app, err = application(ctx, tx, c, r.task.ApplicationID)
	if slipway.Is(err, slipway.NotFound) {
		return r, missing
	} else if err != nil {
		return r, err
	}
	if err := retryable(ctx, tx, r.task, r.app); err != nil {
		return r, err
	}
	if r.open, err = openTasks(ctx, tx, r.app.ID); err != nil {
		return r, err
	}
	var d slipway.Driver
	if r.task.ChangeID != 0 {
		ch, err := tx.Change(ctx, r.task.ChangeID)
		if err != nil {
			return r, err
		}
		if d, err = driverOfHooks(ctx, tx, ch); err != nil {
			return r, err
		}
		r.plan.Change = ch.Number
	}
	steps, err := tx.Steps(ctx, r.task.ID)
	if err != nil {
		return r, err
	}
	if r.resume, r.plan.Steps, err = resume(r.task, slipway.PlannedSteps(r.app.Kind, r.task.Kind, d.Spec), d.Spec, steps, in); err != nil {
		return r, err
	}
	r.plan.Task, r.plan.Attempt, r.plan.Stops = r.task, r.task.Attempt+1, stopsOf(d.Spec, r.plan.Steps)
	states, err := tx.ComponentStates(ctx, r.app.ID)
	if err != nil {
		return r, err
	}
	for _, st := range states {
		if st.Stopped {
			r.plan.Stopped = append(r.plan.Stopped, st)
		}
	}
	r.plan.Warnings = append(waiting(r.open, false), r.plan.warnings()...)
	return r, nil
}

// driverOfHooks is the driver whose actions the hooks of a change run.
func driverOfHooks(ctx context.Context, tx *store.Tx, ch slipway.Change) (slipway.Driver, error) {
	if ch.Kind == slipway.RepairChange {
		return slipway.Driver{}, nil // it names no revision, and runs no hooks
	}
	number := ch.Revision
	if ch.Kind == slipway.RollbackChange {
		number = ch.FromRevision // the later driver undoes what it did
	}
	rev, err := tx.Revision(ctx, ch.ApplicationID, number)
	if err != nil || rev.DriverDigest == "" { // of a runner application
		return slipway.Driver{}, err
	}
	return tx.DriverByDigest(ctx, rev.DriverDigest)
}

// repeatable are the types of tasks that a retry can take up in the middle.
var repeatable = []slipway.TaskKind{slipway.InstallTask, slipway.UpgradeTask, slipway.RollbackTask, slipway.ConfigureTask,
	slipway.DeleteTask, slipway.RepairTask, slipway.StopTask, slipway.StartTask}

// retryable refuses a task that has nothing to repeat, or after which something else was
// asked for: repeating it would move the application back.
func retryable(ctx context.Context, tx *store.Tx, t slipway.Task, app slipway.Application) error {
	switch {
	case !t.Root():
		return slipway.Errorf(slipway.Conflict, "task %d was started by an action of task %d", t.ID, t.RootID).
			WithHint("retry that one: slipway tasks retry %d", t.RootID)
	case !t.State.Over():
		return slipway.Errorf(slipway.Conflict, "task %d has not ended", t.ID).WithHint("wait for its end, or cancel it: slipway tasks cancel %d", t.ID)
	case !slices.Contains(repeatable, t.Kind):
		return slipway.Errorf(slipway.Conflict, "a task of the type %s is not retried", t.Kind.Title()).WithHint("ask anew for what you want")
	case t.State == slipway.Succeeded:
		return slipway.Errorf(slipway.Conflict, "task %d succeeded", t.ID).WithHint("there is nothing to retry")
	}
	by, err := tx.RetriedBy(ctx, t.ID)
	if err != nil {
		return err
	}
	if by != 0 {
		return slipway.Errorf(slipway.Conflict, "task %d was retried already, by task %d", t.ID, by).WithHint("look at that one: slipway tasks get %d", by)
	}
	if t.ChangeID == 0 {
		newest, err := tx.Tasks(ctx, store.TaskFilter{ApplicationID: app.ID, Root: true}, store.Page{Limit: 1})
		if err != nil {
			return err
		}
		if last := newest.Items[0]; last.ID != t.ID {
			return slipway.Errorf(slipway.Conflict, "task %d (%s) was asked for since", last.ID, last.Title).WithHint("ask anew for what you want")
		}
		return nil
	}
	if t.ChangeNumber == app.LastChange {
		return nil
	}
	last, err := tx.ChangeByNumber(ctx, app.ID, app.LastChange)
	if err != nil {
		return err
	}
	later, err := tx.Task(ctx, last.TaskID)
	if err != nil {
		return err
	}
	return slipway.Errorf(slipway.Conflict, "a later change was accepted since: %s asked to %s (change %d, task %d)", last.RequestedBy, later.Title, last.Number, later.ID).
		WithHint("deploy what you want now; a plan shows which hooks run")
}
