package cli

import (
	"strings"
	"testing"

	"slipway.dev/slipway/internal/wire"
)

// World: pure. What somebody else wrote must not read as something else on a terminal.
func TestWhatIsNotSeenIsShownOrDropped(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"a\u202egpj":   `"a\u202egpj"`,
		"a\x1b[2Jb":    `"a\x1b[2Jb"`,
		"two\nlines":   `"two\nlines"`,
		"Grüße → 東京 ✓": "Grüße → 東京 ✓",
	} {
		if got := value(in); got != want {
			t.Errorf("value(%q) = %s, want %s", in, got, want)
		}
	}
	v, _ := plain(t)
	step := wire.Step{State: "failed", Name: "Check", Error: "no\x1b[2J \u202epu", StartedAt: t0, EndedAt: at(1), Notes: []string{"x\u2066y"}}
	if got := strings.Join(v.stepLines(step), "\n"); strings.ContainsAny(got, "\x1b\u202e\u2066") {
		t.Errorf("lines = %q", got)
	}
}
