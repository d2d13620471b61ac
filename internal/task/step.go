package task

import (
	"context"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

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

// Close ends the step. One that has ended so already is left as it is: the process may
// have died between the end of a step and what comes next.
func (s *Step) Close(state slipway.StepState, message string) error {
	if s.State == state {
		return nil
	}
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
