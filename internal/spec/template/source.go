package template

import (
	"fmt"
	"sort"
	"strings"
	"unicode/utf8"
)

// source is a template's text and where its lines start.
type source struct {
	text   string // with \n as the only line end, and without the last one, as Jinja2 has it
	starts []int
}

func newSource(text string, limit int) (*source, error) {
	if len(text) > limit {
		return nil, &Error{Msg: fmt.Sprintf("has %d bytes; at most %d are allowed", len(text), limit)}
	}
	if !utf8.ValidString(text) {
		return nil, &Error{Msg: "is not UTF-8"}
	}
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	s := &source{text: strings.TrimSuffix(text, "\n"), starts: []int{0}}
	for i := range len(s.text) {
		if s.text[i] == '\n' {
			s.starts = append(s.starts, i+1)
		}
	}
	return s, nil
}

// at makes an error at an offset; a negative one is nowhere.
func (s *source) at(offset int, hint, msg string, args ...any) *Error {
	e := &Error{Msg: fmt.Sprintf(msg, args...), Hint: hint}
	if offset >= 0 {
		line := sort.SearchInts(s.starts, offset+1) - 1
		e.Line = line + 1
		e.Column = utf8.RuneCountInString(s.text[s.starts[line]:min(offset, len(s.text))]) + 1
	}
	return e
}

// fail ends reading or rendering.
func (s *source) fail(offset int, hint, msg string, args ...any) {
	panic(s.at(offset, hint, msg, args...))
}
