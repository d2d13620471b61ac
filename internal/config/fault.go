package config

import (
	"fmt"
	"strings"
)

// Fault is one thing that is wrong with the configuration, and where it was set.
type Fault struct {
	Key    string // tls.cert_file
	Origin Origin
	Msg    string
	Hint   string
}

// Origin is where a value was set. Line and Column are of a file only.
type Origin struct {
	Name   string // the file's path, "SLIPWAY_LISTEN", "--listen"; empty: a default
	Line   int
	Column int
}

func (o Origin) String() string {
	if o.Line > 0 {
		return fmt.Sprintf("%s:%d:%d", o.Name, o.Line, o.Column)
	}
	return o.Name
}

func (f Fault) String() string {
	var b strings.Builder
	if at := f.Origin.String(); at != "" {
		b.WriteString(at + ": ")
	}
	if f.Key != "" {
		b.WriteString(f.Key + ": ")
	}
	b.WriteString(f.Msg)
	if f.Hint != "" {
		b.WriteString(" (" + f.Hint + ")")
	}
	return b.String()
}

// Error is all the faults of one configuration.
type Error struct{ Faults []Fault }

func (e *Error) Error() string {
	lines := make([]string, len(e.Faults))
	for i, f := range e.Faults {
		lines[i] = f.String()
	}
	return strings.Join(lines, "\n")
}
