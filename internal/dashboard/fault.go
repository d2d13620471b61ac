package dashboard

import (
	"errors"
	"net/http"
	"time"

	"slipway.dev/slipway/internal/slipway"
)

// fault is an error as its page shows it: what a person may read of it, and nothing of
// its cause.
type fault struct {
	Status    int
	Msg, Hint string
	Fields    []slipway.FieldError
	RequestID string
	// RetryAfter is how long to wait before a repeat; 0: not said.
	RetryAfter time.Duration
}

var statuses = map[slipway.Kind]int{
	slipway.Invalid:         http.StatusUnprocessableEntity,
	slipway.Unauthenticated: http.StatusUnauthorized,
	slipway.Forbidden:       http.StatusForbidden,
	slipway.NotFound:        http.StatusNotFound,
	slipway.Conflict:        http.StatusConflict,
	slipway.TooLarge:        http.StatusRequestEntityTooLarge,
	slipway.Throttled:       http.StatusTooManyRequests,
	slipway.Unavailable:     http.StatusServiceUnavailable,
	slipway.Internal:        http.StatusInternalServerError,
}

// newFault turns err into what its reader may see. An error that is not ours, or is
// Internal, says only that: its text may hold anything.
func newFault(err error, requestID string) fault {
	f := fault{Status: statuses[slipway.KindOf(err)], RequestID: requestID}
	var e *slipway.Error
	if errors.As(err, &e) && e.Kind != slipway.Internal {
		f.Msg, f.Hint, f.Fields, f.RetryAfter = e.Msg, e.Hint, e.Fields, e.RetryAfter
		return f
	}
	f.Msg = "Slipway could not answer"
	f.Hint = "Try again. If it stays so, look for the request in the server's log."
	return f
}

var titles = map[int]string{
	http.StatusForbidden:          "Not allowed",
	http.StatusNotFound:           "Not found",
	http.StatusConflict:           "Something else came first",
	http.StatusServiceUnavailable: "Not available now",
}

func (f fault) title() string {
	if t, ok := titles[f.Status]; ok {
		return t
	}
	return "That did not work"
}
