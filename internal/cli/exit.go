package cli

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"

	"slipway.dev/slipway/internal/client"
	"slipway.dev/slipway/internal/config"
	"slipway.dev/slipway/internal/slipway"
)

// The exit codes. They are a promise: scripts branch on them. The root's help has the
// same table.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitForbidden   = 3
	exitNotFound    = 4
	exitConflict    = 5
	exitUnavailable = 6
	exitDiffers     = 7
	exitFaulty      = 8
	exitInterrupted = 130
)

var exitOfKind = map[string]int{
	string(slipway.Invalid): exitUsage, string(slipway.TooLarge): exitUsage,
	string(slipway.Unauthenticated): exitForbidden, string(slipway.Forbidden): exitForbidden,
	string(slipway.NotFound): exitNotFound, string(slipway.Conflict): exitConflict,
	string(slipway.Throttled): exitUnavailable, string(slipway.Unavailable): exitUnavailable,
	string(slipway.Internal): exitFailed,
}

// failure is an error of the command line itself.
type failure struct {
	code int
	msg  string
	note string // the hint
}

func (f *failure) Error() string { return f.msg }

func (f *failure) hint(format string, args ...any) *failure {
	f.note = fmt.Sprintf(format, args...)
	return f
}

// usagef says that the command line is wrong.
func usagef(format string, args ...any) *failure {
	return &failure{code: exitUsage, msg: fmt.Sprintf(format, args...)}
}

// quiet ends the command with a code, everything having been said.
type quiet int

func (q quiet) Error() string { return fmt.Sprintf("exit %d", int(q)) }

// exit tells err on the standard error and returns the code that fits.
func (s *session) exit(ctx context.Context, err error) int {
	var (
		q           quiet
		f           *failure
		refused     *client.Error
		unknown     x509.UnknownAuthorityError
		unreachable *client.Unreachable
		badURL      *client.BadURL
		settings    *config.Error
		fault       *slipway.Error
	)
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &q):
		return int(q)
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		fmt.Fprintln(s.Stderr, "slipway: interrupted")
		return exitInterrupted
	case errors.As(err, &f):
		s.tell(f.msg, nil, f.note)
		return f.code
	case errors.As(err, &refused):
		s.tellRefusal(refused)
		return exitOfKind[refused.Kind]
	case errors.As(err, &fault): // before what it may wrap: it has its own words
		s.tell(fault.Msg, fieldLines(fault.Msg, fault.Fields), fault.Hint)
		return exitOfKind[string(fault.Kind)]
	case errors.As(err, &unknown):
		s.tell(fmt.Sprintf("the server's certificate is not one that this system trusts: %v", unknown), nil,
			"name the file of the certificate that signed it by --ca-file or SLIPWAY_CA_FILE")
		return exitUnavailable
	case errors.As(err, &unreachable):
		s.tell(unreachable.Error(), nil, "is the server running? another one is named by --server, SLIPWAY_URL or slipway context use")
		return exitUnavailable
	case errors.As(err, &badURL):
		s.tell(badURL.Error(), nil, "")
		return exitUsage
	case errors.As(err, &settings):
		s.tell("the configuration is wrong", faultLines(settings), "")
		return exitUsage
	}
	s.tell(err.Error(), nil, "")
	return exitFailed
}

// tell writes what went wrong, each fault on a line of its own, and the remedy.
func (s *session) tell(msg string, lines []string, hint string) {
	fmt.Fprintf(s.Stderr, "%s %s\n", s.red(s.Stderr, "slipway:"), msg)
	for _, l := range lines {
		fmt.Fprintln(s.Stderr, "  "+l)
	}
	if hint != "" {
		fmt.Fprintln(s.Stderr, "hint: "+hint)
	}
}

func (s *session) tellRefusal(e *client.Error) {
	hint := e.Hint
	if e.Kind == string(slipway.Unauthenticated) && hint == "" {
		hint = "log in with  slipway login"
	}
	fields := make([]slipway.FieldError, len(e.Fields))
	for i, f := range e.Fields {
		fields[i] = slipway.FieldError{File: f.File, Path: f.Path, Line: f.Line, Column: f.Column, Msg: f.Message, Hint: f.Hint}
	}
	s.tell(e.Detail, fieldLines(e.Detail, fields), hint)
	if e.Kind == string(slipway.Internal) && e.RequestID != "" {
		fmt.Fprintln(s.Stderr, "the server's log has the cause under request "+e.RequestID)
	}
}

// fieldLines writes each fault with its place. One that the message has told already, and
// that has no place in a file, is left out.
func fieldLines(msg string, fields []slipway.FieldError) []string {
	var lines []string
	for _, f := range fields {
		if f.Line == 0 && (msg == f.Msg || msg == cmp.Or(f.Path, f.File)+": "+f.Msg) {
			continue
		}
		lines = append(lines, f.String())
	}
	return lines
}

func faultLines(e *config.Error) []string {
	lines := make([]string, len(e.Faults))
	for i, f := range e.Faults {
		lines[i] = f.String()
	}
	return lines
}

// say writes a line for people beside the result.
func (s *session) say(format string, args ...any) { writeLine(s.Stderr, format, args...) }

// print writes a line of the result.
func (s *session) print(format string, args ...any) { writeLine(s.Stdout, format, args...) }

func writeLine(w io.Writer, format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }
