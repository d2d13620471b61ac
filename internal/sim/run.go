package sim

import (
	"context"
	"fmt"

	"slipway.dev/slipway/internal/secret"
)

// Failure is a run that broke what must hold.
type Failure struct {
	Step  int // the number of the step that broke it; as many as there are: it did not come to rest
	Err   error
	Trace []string
}

func (f *Failure) Error() string { return fmt.Sprintf("step %d: %v", f.Step, f.Err) }

// Unwrap gives the cause.
func (f *Failure) Unwrap() error { return f.Err }

// Run runs steps in a new world, and lets it come to rest. The error is a *Failure, or that
// of a world that could not be made.
func Run(ctx context.Context, db *Database, box *secret.Box, steps []Step, trace bool) (c Count, err error) {
	w, err := New(ctx, db, box)
	if err != nil {
		return c, err
	}
	defer w.release()
	w.Tracing = trace
	w.Count.Runs = 0
	for i, s := range steps {
		if err := w.Do(ctx, s); err != nil {
			return w.Count, &Failure{Step: i, Err: err, Trace: w.trace}
		}
	}
	if err := w.Rest(ctx); err != nil {
		return w.Count, &Failure{Step: len(steps), Err: err, Trace: w.trace}
	}
	return w.Count, nil
}
