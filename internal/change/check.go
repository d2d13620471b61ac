package change

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"slipway.dev/slipway/internal/slipway"
)

// faults collects what is wrong with an input, so that a person hears of everything at
// once.
type faults []slipway.FieldError

func (f *faults) add(path, msg, hint string) {
	*f = append(*f, slipway.FieldError{Path: path, Msg: msg, Hint: hint})
}

// is adds an error about a field, with its words when it has some for people.
func (f *faults) is(path string, err error) {
	if err == nil {
		return
	}
	if e, ok := errorOf(err); ok {
		f.add(path, e.Msg, e.Hint)
		return
	}
	f.add(path, err.Error(), "")
}

// err is nil when nothing was wrong. what names the input: "the environment".
func (f *faults) err(what string) error {
	switch len(*f) {
	case 0:
		return nil
	case 1:
		one := (*f)[0]
		msg := one.Msg
		if at := cmp.Or(one.Path, one.File); at != "" {
			msg = at + ": " + msg
		}
		return &slipway.Error{Kind: slipway.Invalid, Msg: msg, Hint: one.Hint, Fields: *f}
	}
	return &slipway.Error{Kind: slipway.Invalid, Msg: fmt.Sprintf("%s has %d faults", what, len(*f)), Fields: *f}
}

// invalid refuses one field.
func invalid(path, msg, hint string) error {
	f := faults{{Path: path, Msg: msg, Hint: hint}}
	return f.err("")
}

func errorOf(err error) (*slipway.Error, bool) {
	var e *slipway.Error
	ok := errors.As(err, &e)
	return e, ok
}

// checkLine refuses text for people that is too long or more than one printable line.
func checkLine(text string, longest int) (msg, hint string) {
	switch {
	case !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }):
		return "it holds characters that do not print", "use one line of plain text"
	case utf8.RuneCountInString(text) > longest:
		return fmt.Sprintf("it has %d characters; at most %d are allowed", utf8.RuneCountInString(text), longest), "shorten it"
	}
	return "", ""
}
