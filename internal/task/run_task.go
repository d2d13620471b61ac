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

// Step opens a step, or returns the one of that key that is open or has succeeded: after
// a crash its work is taken up, or passed over.
func (r *Run) Step(key, name string) (*Step, error) {
	s := &Step{run: r}
	err := r.write(StepChanged, func(ctx context.Context, tx *store.Tx) (err error) {
		s.Step, err = tx.OpenStep(ctx, r.Task.ID, r.Task.Epoch, key, name)
		return err
	})
	return s, err
}

// Done reports whether the step had succeeded before.
func (s *Step) Done() bool { return s.State == slipway.StepSucceeded }

// Close ends the step.
func (s *Step) Close(state slipway.StepState, message string) error {
	err := s.run.write(StepChanged, func(ctx context.Context, tx *store.Tx) error {
		return tx.CloseStep(ctx, s.ID, s.run.Task.Epoch, state, message)
	})
	if err == nil {
		s.State, s.Error = state, message
	}
	return err
}

// Note adds a line to the step.
func (s *Step) Note(text string) error {
	return s.run.write(StepChanged, func(ctx context.Context, tx *store.Tx) error { return tx.AddStepNote(ctx, s.ID, text) })
}

// SetOutput keeps the end of a failed command's output, which is redacted and cut already.
func (s *Step) SetOutput(output string, outputCut bool) error {
	return s.run.write(StepChanged, func(ctx context.Context, tx *store.Tx) error {
		return tx.SetStepOutput(ctx, s.ID, output, outputCut)
	})
}
