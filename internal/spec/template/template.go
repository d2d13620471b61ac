package template

import (
	"fmt"
	"time"
)

// Limits bound one rendering.
type Limits struct {
	Source int           // bytes of the template
	Output int           // bytes of the result
	Work   int64         // bytes of all texts and lists made on the way
	Time   time.Duration // from the start of the rendering
}

// DefaultLimits are ample for values and small for a server.
func DefaultLimits() Limits {
	return Limits{Source: 256 << 10, Output: 1 << 20, Work: 64 << 20, Time: 2 * time.Second}
}

// Error says why a template cannot be rendered, and where.
type Error struct {
	Line   int // from 1; 0 when no place is to blame
	Column int // in characters, from 1
	Msg    string
	Hint   string
}

func (e *Error) Error() string {
	s := e.Msg
	if e.Line > 0 {
		s = fmt.Sprintf("line %d: %s", e.Line, s)
	}
	if e.Hint != "" {
		s += " (" + e.Hint + ")"
	}
	return s
}

// Render renders source with globals, whose values are what encoding/json decodes to, or
// int64. Every error is an *Error.
func Render(source string, globals map[string]any, limits Limits) (string, error) {
	src, err := newSource(source, limits.Source)
	if err != nil {
		return "", err
	}
	r := &renderer{src: src, limits: limits, deadline: time.Now().Add(limits.Time), root: newScope(nil)}
	for name, fn := range functions {
		r.root.set(name, fn)
	}
	for name, v := range globals {
		r.root.set(name, fromGo(v))
	}
	out := writer{limit: limits.Output}
	err = guarded(func() {
		body := newParser(src).template()
		r.nodes(body, newScope(r.root), &out)
	})
	if err != nil {
		return "", err
	}
	return out.b.String(), nil
}

// guarded turns a panic of *Error into an error. Any part of a template can fail, and
// nothing can go on after one did; so failing is a panic inside of this package.
func guarded(f func()) (err error) {
	defer func() {
		switch e := recover().(type) {
		case nil:
		case *Error:
			err = e
		default:
			panic(e)
		}
	}()
	f()
	return nil
}
