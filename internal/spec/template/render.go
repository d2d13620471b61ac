package template

import (
	"slices"
	"strings"
	"time"
)

// renderer renders one template once.
type renderer struct {
	src      *source
	limits   Limits
	deadline time.Time
	root     *scope // the functions and globals
	steps    int
	work     int64
	calls    int // of macros that call macros
}

func (r *renderer) fail(at expression, hint, msg string, args ...any) {
	offset := -1
	if at != nil {
		offset = at.place()
	}
	r.src.fail(offset, hint, msg, args...)
}

// step is called for everything that is done, so that nothing goes on for ever.
func (r *renderer) step(at expression) {
	if r.steps++; r.steps%64 == 0 && time.Now().After(r.deadline) {
		r.fail(at, "", "takes longer than %s", r.limits.Time)
	}
}

// made accounts for a text or list that was made.
func (r *renderer) made(at expression, bytes int) {
	if r.work += int64(bytes); r.work > r.limits.Work {
		r.fail(at, "", "makes more than %d bytes of text on its way", r.limits.Work)
	}
}

// scope is where names are looked up.
type scope struct {
	names  map[string]any
	parent *scope
}

func newScope(parent *scope) *scope { return &scope{names: map[string]any{}, parent: parent} }

func (s *scope) set(name string, v any) { s.names[name] = v }

func (s *scope) get(name string) (any, bool) {
	for ; s != nil; s = s.parent {
		if v, ok := s.names[name]; ok {
			return v, true
		}
	}
	return nil, false
}

// known lists all names in sight, for suggestions.
func (s *scope) known() []string {
	var out []string
	for ; s != nil; s = s.parent {
		for name := range s.names {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// writer collects output up to a limit.
type writer struct {
	b     strings.Builder
	limit int
}

func (r *renderer) write(out *writer, at expression, s string) {
	if out.b.Len()+len(s) > out.limit {
		r.fail(at, "", "renders to more than %d bytes", out.limit)
	}
	out.b.WriteString(s)
}

func (r *renderer) nodes(ns []node, sc *scope, out *writer) {
	for _, n := range ns {
		r.step(nil)
		n.run(r, sc, out)
	}
}

// data is the text between the tags.
type data string

func (d data) run(r *renderer, _ *scope, out *writer) { r.write(out, nil, string(d)) }

// output is {{ x }}.
type output struct{ x expression }

func (o *output) run(r *renderer, sc *scope, out *writer) {
	r.write(out, o.x, r.printed(o.x, sc))
}

// printed is the text of an expression in {{ }} or beside ~. There an "a if b" without an
// else is nothing, as in Jinja2; any other undefined fails.
func (r *renderer) printed(x expression, sc *scope) string {
	v := r.eval(x, sc)
	if u, ok := v.(undefined); ok && u.blank {
		return ""
	}
	return r.text(r.defined(x, v), x)
}

// text is what {{ v }} prints.
func (r *renderer) text(v any, at expression) string {
	switch v.(type) {
	case function:
		r.fail(at, "call it: name(…)", "prints a function")
	case *namespace:
		r.fail(at, "", "prints a namespace")
	}
	s := r.str(v)
	r.made(at, len(s))
	return s
}
