package slipway

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Kind sorts an Error by what its reader can do about it. The API turns it into an HTTP
// status and the CLI into an exit code, each in one table.
type Kind string

const (
	Invalid         Kind = "invalid"         // the request is wrong; correct it
	Unauthenticated Kind = "unauthenticated" // say who you are
	Forbidden       Kind = "forbidden"       // you may not; ask someone who may
	NotFound        Kind = "not_found"       // there is no such thing, or you may not see it
	Conflict        Kind = "conflict"        // it changed meanwhile, or exists; read again
	TooLarge        Kind = "too_large"       // over a limit that the message names
	Throttled       Kind = "throttled"       // wait, then repeat
	Unavailable     Kind = "unavailable"     // a part that Slipway needs does not answer; repeat later
	Internal        Kind = "internal"        // a fault of Slipway; the log has the cause
)

// Error is what Slipway says when it refuses or fails. Two readers, two values: a person
// reads Msg and Hint, the log gets Err.
type Error struct {
	Kind   Kind
	Msg    string // one sentence in the reader's words, without a secret
	Hint   string // what to do next; may be empty
	Fields []FieldError
	Err    error // the cause: logged, never shown

	RetryAfter time.Duration // of Throttled: how long to wait; 0: not said
}

// FieldError names one fault of an input, and where it stands. Line and Column count from
// 1; they are 0 when the input has no lines, such as a JSON body.
type FieldError struct {
	File   string `json:"file,omitempty"`
	Path   string `json:"path"` // components.web.replicas, or body.name
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
	Msg    string `json:"message"`
	Hint   string `json:"hint,omitempty"`
}

func (f FieldError) String() string {
	var b strings.Builder
	if f.File != "" {
		b.WriteString(f.File + ":")
	}
	if f.Line > 0 {
		fmt.Fprintf(&b, "%d:%d:", f.Line, f.Column)
	}
	if b.Len() > 0 {
		b.WriteByte(' ')
	}
	if f.Path != "" {
		b.WriteString(f.Path + ": ")
	}
	b.WriteString(f.Msg)
	if f.Hint != "" {
		b.WriteString(" (" + f.Hint + ")")
	}
	return b.String()
}

func (e *Error) Error() string {
	if e.Err != nil {
		return e.Msg + ": " + e.Err.Error()
	}
	return e.Msg
}

func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the kind of the first Error in err's chain, and Internal for any other
// error. It returns "" for nil.
func KindOf(err error) Kind {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return Internal
}

// Is reports whether err's chain holds an Error of kind k.
func Is(err error, k Kind) bool { return err != nil && KindOf(err) == k }

// Errorf returns an Error of kind k whose message is built like fmt.Sprintf's.
func Errorf(k Kind, format string, args ...any) *Error {
	return &Error{Kind: k, Msg: fmt.Sprintf(format, args...)}
}

// WithHint returns e with its hint set, so that a refusal and its remedy stand on one line.
func (e *Error) WithHint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}
