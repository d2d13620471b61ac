package task

import (
	"context"
	"errors"
	"time"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// Run is one claim of a task. Whatever is written through it is written only while the
// claim holds.
type Run struct {
	Task slipway.Task // as it was claimed

	journal *Journal
	ctx     context.Context
	cancel  context.CancelCauseFunc
}

// Context ends when the task is cancelled or lost, or the handler is to stop. Its cause
// says which: ErrCancelled, ErrLostTask, or another.
func (r *Run) Context() context.Context { return r.ctx }

// Cancelled reports whether somebody asked for the end of the task.
func (r *Run) Cancelled() bool { return errors.Is(context.Cause(r.ctx), ErrCancelled) }

// Close lets go of the run in this process. It writes nothing: a task that was not
// finished is still running, and is claimed again.
func (r *Run) Close() {
	j := r.journal
	j.mu.Lock()
	for id, held := range j.runs {
		if held == r {
			delete(j.runs, id)
		}
	}
	j.mu.Unlock()
	r.cancel(nil)
}

// writeLimit bounds a write that goes on although the run was cancelled.
const writeLimit = 10 * time.Second

// Write runs f in a transaction in which the task is certain to be this run's, and says
// that the task changed. It returns store.ErrStale, and ends the run's context, when it is
// another's by now. It works in a cancelled run too: how that ends must be written.
func (r *Run) Write(f func(ctx context.Context, tx *store.Tx) error) error {
	return r.write(TaskChanged, f)
}

func (r *Run) write(kind string, f func(ctx context.Context, tx *store.Tx) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), writeLimit)
	defer cancel()
	lost := false
	err := r.journal.store.InTx(ctx, func(tx *store.Tx) error {
		if err := tx.HoldTask(ctx, r.Task.ID, r.Task.Epoch); err != nil {
			lost = errors.Is(err, store.ErrStale)
			return err
		}
		if err := f(ctx, tx); err != nil {
			return err
		}
		return AddEvent(ctx, tx, r.Task, kind)
	})
	if lost {
		r.cancel(ErrLostTask)
	}
	return err
}

// Finish ends the task.
func (r *Run) Finish(end store.TaskEnd) error {
	return r.Write(func(ctx context.Context, tx *store.Tx) error {
		return tx.FinishTask(ctx, r.Task.ID, r.Task.Epoch, end)
	})
}

// Step is an opened step of a task.
type Step struct {
	slipway.Step
	run *Run
}
