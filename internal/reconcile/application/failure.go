package application

import (
	"context"
	"errors"
	"fmt"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/task"
)

// bookkeeping marks an error of our own database. It says nothing of the phase: the step
// stays open, and the work is taken up when the database answers again.
type bookkeeping struct{ err error }

func (b *bookkeeping) Error() string { return b.err.Error() }
func (b *bookkeeping) Unwrap() error { return b.err }

// bookErr marks err, when there is one, as bookkeeping.
func bookErr(err error) error {
	if err == nil {
		return nil
	}
	return &bookkeeping{err}
}

// interrupted reports whether err tells of this process rather than of the phase: it is
// being stopped, or its database does not answer.
func interrupted(ctx context.Context, err error) bool {
	var b *bookkeeping
	return errors.As(err, &b) || ctx.Err() != nil && !errors.Is(context.Cause(ctx), task.ErrCancelled)
}

// words turns an error into what people read: the sentence and the hint of a
// slipway.Error, or the chain of an error that has none, each redacted.
func words(err error, redact func(string) string) (text, hint string) {
	var e *slipway.Error
	if errors.As(err, &e) {
		text = e.Msg
		for _, f := range e.Fields {
			text += "\n" + f.String()
		}
		return redact(text), redact(e.Hint)
	}
	return redact(err.Error()), ""
}

// failed is an error of a phase in our own words.
func failed(format string, args ...any) error {
	return &slipway.Error{Kind: slipway.Conflict, Msg: fmt.Sprintf(format, args...)}
}
