package redact

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// ordinary is a corpus of what people need to read: logs of real tools, help texts, YAML,
// JSON, digests, stack traces. awkward.txt holds what was once masked, or nearly.
func ordinary(tb testing.TB) map[string]string {
	tb.Helper()
	found, err := filepath.Glob("testdata/ordinary/*.txt")
	if err != nil || len(found) < 8 {
		tb.Fatalf("the corpus has %d files: %v", len(found), err)
	}
	// Files that people wrote for other reasons, and that grow.
	for _, file := range []string{"go.sum", "LICENSE", "CHANGELOG.md", "contract/crd.yaml", "docs/explain/tree.md", "examples/drivers/guestbook/driver.slipway.yml"} {
		found = append(found, filepath.Join("..", "..", file))
	}
	adrs, err := filepath.Glob("../../docs/adr/*.md")
	if err != nil || len(adrs) == 0 {
		tb.Fatalf("no decisions: %v", err)
	}
	out := map[string]string{}
	for _, path := range append(found, adrs...) {
		b, err := os.ReadFile(path)
		if err != nil {
			tb.Fatal(err)
		}
		out[filepath.Base(path)] = string(b)
	}
	return out
}

// World: pure. What people need to read must stay as it is, line by line and as a whole.
func TestOrdinaryTextStaysAsItIs(t *testing.T) {
	t.Parallel()
	r := New(token, password, "another-secret-value")
	for name, text := range ordinary(t) {
		for line := range strings.Lines(text) {
			if got := r.String(line); got != line {
				t.Errorf("%s: got, want:\n  %s  %s", name, got, line)
			}
		}
		if got := r.String(text); got != text {
			t.Errorf("%s: as a whole it does not stay as it is", name)
		}
		var out strings.Builder
		w := r.Writer(&out)
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil || out.String() != text {
			t.Errorf("%s: through a writer it does not stay as it is (%v)", name, err)
		}
	}
}
