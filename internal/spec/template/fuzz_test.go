package template

import (
	"errors"
	"maps"
	"testing"
	"time"
	"unicode/utf8"
)

// FuzzRender holds: every failure is an *Error with a sentence, the limits are kept, and
// the same template gives the same text.
func FuzzRender(f *testing.F) {
	cases, _, context := readCorpus(f)
	for _, c := range cases {
		f.Add(c.Template)
	}
	limits := Limits{Source: 4 << 10, Output: 64 << 10, Work: 1 << 20, Time: 5 * time.Second}
	f.Fuzz(func(t *testing.T, src string) {
		got, err := Render(src, maps.Clone(context), limits)
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.Msg == "" {
				t.Fatalf("the error is %T: %v", err, err)
			}
			if got != "" {
				t.Errorf("an error and a text: %q", got)
			}
			return
		}
		if len(got) > limits.Output || !utf8.ValidString(got) {
			t.Errorf("%d bytes, valid: %v", len(got), utf8.ValidString(got))
		}
		if again, err := Render(src, maps.Clone(context), limits); err != nil || again != got {
			t.Errorf("the second time it is %q (%v), was %q", again, err, got)
		}
	})
}
