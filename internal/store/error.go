package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"slipway.dev/slipway/internal/slipway"
)

// ErrStale is returned by a guarded write whose row moved on meanwhile. Nothing was
// written. A reconciler reads again and decides anew; to a person it is a conflict.
var ErrStale error = slipway.Errorf(slipway.Conflict, "it changed meanwhile").
	WithHint("read it again, then repeat the request if it still makes sense")

// stale names the row of an ErrStale for the log.
func stale(format string, args ...any) error {
	return fmt.Errorf(format+": %w", append(args, ErrStale)...)
}

// fault turns an error of the driver into one of ours, in the one place where that is
// done. What it does not know it returns as it is.
func (d *Dialect) fault(err error) error {
	if err == nil || errors.Is(err, sql.ErrNoRows) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	switch d.Sort(err) {
	case FaultUnique:
		return &slipway.Error{Kind: slipway.Conflict, Msg: "it exists already", Err: &rowFault{FaultUnique, err}}
	case FaultForeign:
		return &slipway.Error{Kind: slipway.Conflict, Msg: "something else still refers to it, or what it refers to is gone", Err: &rowFault{FaultForeign, err}}
	case FaultBusy:
		return &slipway.Error{Kind: slipway.Unavailable, Msg: "the database was busy with another change",
			Hint: "repeat the request", Err: err}
	case FaultGone:
		return &slipway.Error{Kind: slipway.Unavailable, Msg: "the database does not answer",
			Hint: "repeat the request in a moment", Err: err}
	case FaultFull:
		return &slipway.Error{Kind: slipway.Unavailable, Msg: "the disk of Slipway's database is full, so nothing was kept of this",
			Hint: "have somebody make room on it, then repeat the request; the server needs no restart", Err: err}
	}
	return err
}

// rowFault keeps what a constraint's error meant, for those who can say it better.
type rowFault struct {
	fault Fault
	err   error
}

func (f *rowFault) Error() string { return f.err.Error() }
func (f *rowFault) Unwrap() error { return f.err }

func faultOf(err error) Fault {
	var f *rowFault
	if errors.As(err, &f) {
		return f.fault
	}
	return FaultOther
}

// orExists says in the reader's words that a row exists already.
func orExists(err error, format string, args ...any) error {
	if faultOf(err) != FaultUnique {
		return err
	}
	return &slipway.Error{Kind: slipway.Conflict, Msg: fmt.Sprintf(format, args...), Err: err}
}

// orMissing says in the reader's words that what the row refers to is not there.
func orMissing(err error, format string, args ...any) error {
	if faultOf(err) != FaultForeign {
		return err
	}
	return &slipway.Error{Kind: slipway.NotFound, Msg: fmt.Sprintf(format, args...), Err: err}
}
