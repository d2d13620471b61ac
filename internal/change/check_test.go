package change

import (
	"testing"

	"slipway.dev/slipway/internal/slipway"
)

// World: pure.
func TestOneFaultIsTheWholeSentence(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		fault slipway.FieldError
		want  string
	}{
		{"of a field", slipway.FieldError{Path: "name", Msg: "it is missing"}, "name: it is missing"},
		{"of a field in a file", slipway.FieldError{File: "a.toml", Path: "app.version", Line: 3, Msg: "is no version"}, "app.version: is no version"},
		{"of a file", slipway.FieldError{File: "actions.py", Msg: "holds a NUL byte"}, "actions.py: holds a NUL byte"},
		{"of the whole", slipway.FieldError{Msg: "is empty"}, "is empty"},
	} {
		if got := (&faults{tc.fault}).err("the input").Error(); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}
