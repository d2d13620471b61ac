package spec

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"slipway.dev/slipway/internal/slipway"
)

// reader walks the nodes of one file and collects what is wrong with them. Its methods
// return a zero value for what is missing or wrong; the caller goes on, so that every
// fault is found in one reading.
type reader struct {
	file    string
	faults  []slipway.FieldError
	notes   []slipway.FieldError // warnings
	skipped []string             // the paths of keys that belong to nobody
}

// fault records what is wrong at p. An empty hint is allowed where msg says it all.
func (r *reader) fault(p pos, path, hint, msg string, args ...any) {
	r.faults = append(r.faults, r.at(p, path, hint, msg, args...))
}

// note records what works but is not as it should be.
func (r *reader) note(p pos, path, hint, msg string, args ...any) {
	r.notes = append(r.notes, r.at(p, path, hint, msg, args...))
}

func (r *reader) at(p pos, path, hint, msg string, args ...any) slipway.FieldError {
	if len(args) > 0 {
		msg = fmt.Sprintf(msg, args...)
	}
	return slipway.FieldError{File: r.file, Path: path, Line: p.line, Column: p.column, Msg: msg, Hint: hint}
}

// err returns the faults as one Error, sorted by place, or nil when there are none.
func (r *reader) err(what string) error { return faultsError(what, r.faults) }

func faultsError(what string, faults []slipway.FieldError) error {
	if len(faults) == 0 {
		return nil
	}
	byPlace(faults)
	e := slipway.Errorf(slipway.Invalid, "%s has %s", what, count(len(faults), "fault"))
	e.Fields = faults
	return e
}

// byPlace sorts faults as a person reads the file.
func byPlace(faults []slipway.FieldError) {
	slices.SortStableFunc(faults, func(a, b slipway.FieldError) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// join appends a key to a path; a key that is no word is put in quotes.
func join(path, key string) string {
	if key == "" || strings.ContainsAny(key, ". \t\n\"[]") {
		key = strconv.Quote(key)
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

func item(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }

// table checks that n is a table with known keys only. Keys that start with x- belong to
// nobody and are skipped. It returns false when there is nothing to read in n.
func (r *reader) table(n *node, path string, known ...string) bool {
	if !r.shaped(n, path, tableShape, "") {
		return false
	}
	for _, e := range n.keys {
		if !slices.Contains(known, e.key) && !r.nobodys(e, path) {
			r.fault(e.pos, join(path, e.key), didYouMean(e.key, known), "unknown key")
		}
	}
	return true
}

// nobodys reports whether a key belongs to nobody, and notes that it is skipped.
func (r *reader) nobodys(e entry, path string) bool {
	if !strings.HasPrefix(e.key, "x-") {
		return false
	}
	r.skipped = append(r.skipped, join(path, e.key))
	return true
}

// shaped checks what n is. A missing n is no fault: see need.
func (r *reader) shaped(n *node, path string, want shape, hint string) bool {
	if n == nil {
		return false
	}
	if n.shape == want || want == numberShape && n.shape == wholeShape {
		return true
	}
	if want == textShape && hint == "" && n.raw != "" {
		hint = fmt.Sprintf("write it in quotes: %q", n.raw)
	}
	r.fault(n.pos, path, hint, "must be %s, not %s", want, n.shape)
	return false
}

// need records a fault when a table lacks a key.
func (r *reader) need(n *node, path, key, hint string) *node {
	v := n.get(key)
	if v == nil && n != nil {
		r.fault(n.pos, join(path, key), hint, "is missing")
	}
	return v
}

// text reads a text; empty when it is missing or wrong.
func (r *reader) text(n *node, path string) string {
	if !r.shaped(n, path, textShape, "") {
		return ""
	}
	return n.text()
}

// filled reads a text that may not be empty.
func (r *reader) filled(n *node, path, hint string) string {
	if !r.shaped(n, path, textShape, "") {
		return ""
	}
	s := n.text()
	if strings.TrimSpace(s) == "" {
		r.fault(n.pos, path, hint, "may not be empty")
	}
	return s
}

func (r *reader) boolean(n *node, path string) bool {
	hint := ""
	if n != nil && n.shape == textShape {
		hint = "write it without quotes"
	}
	return r.shaped(n, path, boolShape, hint) && n.value == true
}

// whole reads a whole number within bounds.
func (r *reader) whole(n *node, path string, low, high int64) int64 {
	hint := ""
	if n != nil && n.shape == textShape {
		hint = "write it without quotes"
	}
	if !r.shaped(n, path, wholeShape, hint) {
		return 0
	}
	v := n.whole()
	if v < low || v > high {
		r.fault(n.pos, path, "", "is %d; it must be from %d to %d", v, low, high)
	}
	return v
}

// name reads a noun's name.
func (r *reader) name(n *node, path, noun string) string {
	if !r.shaped(n, path, textShape, "") {
		return ""
	}
	s := n.text()
	r.checkName(n.pos, path, noun, s)
	return s
}

func (r *reader) checkName(p pos, path, noun, name string) {
	if err := slipway.CheckName(noun, name); err != nil {
		e, _ := err.(*slipway.Error) //nolint:errorlint // CheckName returns nothing else
		r.fault(p, path, e.Hint, "%s", e.Msg)
	}
}

// texts reads a table of texts. check sees each key and value with their places.
func (r *reader) texts(n *node, path string, check func(e entry, path, value string)) map[string]string {
	if !r.shaped(n, path, tableShape, "") {
		return nil
	}
	out := make(map[string]string, len(n.keys))
	for _, e := range n.keys {
		p := join(path, e.key)
		if r.shaped(e.value, p, textShape, "") {
			out[e.key] = e.value.text()
			if check != nil {
				check(e, p, out[e.key])
			}
		}
	}
	return out
}
