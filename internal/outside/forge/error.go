package forge

import (
	"errors"
	"slices"
	"time"

	"slipway.dev/slipway/internal/slipway"
)

// Problem says what a caller can do about an Error.
type Problem string

const (
	// Refused needs a person: the credential is wrong, or lacks a permission, or the scope
	// does not exist for it. Repeating is of no use until something was changed.
	Refused Problem = "refused"
	// Throttled asks to wait: the Error has how long.
	Throttled Problem = "throttled"
	// Away means that nothing was learnt: no answer, a broken one, or a fault of the forge.
	// What was asked for may have been done all the same.
	Away Problem = "away"

	NotFound Problem = "not found" // it is gone, by the forge's own word
	Busy     Problem = "busy"      // the runner has a job
	Taken    Problem = "taken"     // the runner's name is in use
	Running  Problem = "running"   // the run has not ended
	TooLate  Problem = "too late"  // the forge will not rerun it any more
	Invalid  Problem = "invalid"   // the forge does not understand or allow the request
	TooLarge Problem = "too large"
)

// kinds are how people hear of a problem.
var kinds = map[Problem]slipway.Kind{
	Refused: slipway.Forbidden, Throttled: slipway.Throttled, Away: slipway.Unavailable, NotFound: slipway.NotFound,
	Busy: slipway.Conflict, Taken: slipway.Conflict, Running: slipway.Conflict, TooLate: slipway.Conflict,
	Invalid: slipway.Invalid, TooLarge: slipway.TooLarge,
}

// Error is a Problem with the sentence that people read.
type Error struct {
	Problem    Problem
	Permission string        // of Refused: what is missing, in the forge's own words; may be empty
	RetryAfter time.Duration // of Throttled
	person     *slipway.Error
}

// Fail makes an Error. The cause is for the log.
func Fail(p Problem, msg, hint string, cause error) *Error {
	return &Error{Problem: p, person: &slipway.Error{Kind: kinds[p], Msg: msg, Hint: hint, Err: cause}}
}

func (e *Error) Error() string { return e.person.Error() }

// Unwrap gives the error for people, which has the kind.
func (e *Error) Unwrap() error { return e.person }

// Wait sets how long a Throttled caller is to wait.
func (e *Error) Wait(d time.Duration) *Error {
	e.RetryAfter, e.person.RetryAfter = d, d
	return e
}

// Lacks sets the permission that is missing.
func (e *Error) Lacks(permission string) *Error {
	e.Permission = permission
	return e
}

// ProblemOf returns the problem of an error of this package; "" for nil, and Away for any
// other, for then nothing is known.
func ProblemOf(err error) Problem {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Problem
	}
	return Away
}

// Is reports whether err is of one of these problems.
func Is(err error, problems ...Problem) bool {
	return err != nil && slices.Contains(problems, ProblemOf(err))
}

func sortByTime(ds []Delivery) {
	slices.SortStableFunc(ds, func(a, b Delivery) int { return a.At.Compare(b.At) })
}
