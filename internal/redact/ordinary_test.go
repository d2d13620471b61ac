package redact

import (
	"os"
	"strings"
	"testing"
)

// World: pure. What people need to read must stay as it is, line by line and as a whole.
func TestOrdinaryTextStaysAsItIs(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("testdata/ordinary.txt")
	if err != nil {
		t.Fatal(err)
	}
	r := New(token, password, "another-secret-value")
	for line := range strings.Lines(string(b)) {
		if got := r.String(line); got != line {
			t.Errorf("got, want:\n  %s  %s", got, line)
		}
	}
	if got := r.String(string(b)); got != string(b) {
		t.Error("as a whole it does not stay as it is")
	}
}
