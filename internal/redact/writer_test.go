package redact

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
)

// World: pure. However the text is parted, nothing of a secret may come through.
func TestWriterFindsSecretsAcrossWrites(t *testing.T) {
	t.Parallel()
	r := New("hunter2-horse", pem)
	ordinary := "2026-03-02 10:14:03 INFO applying migration 0007 to table entries\n"
	text := strings.Repeat(ordinary, 900) + "a hunter2-horse b\n" + pem + "\n" +
		strings.Repeat(ordinary, 900) + "token=«no» password: swordfish9\n" + strings.Repeat("x", 200_000) +
		"aHVudGVyMi1ob3JzZQ==\n" + strings.Repeat(ordinary, 100) + "the end hunter2-horse"
	want := r.String(text)
	for _, chunk := range []int{1, 7, 4096, 70_000, len(text)} {
		var out strings.Builder
		w := r.Writer(&out)
		for rest := text; rest != ""; {
			n := min(chunk, len(rest))
			if chunk == 1 { // one byte at a time, but not for all of it
				n = min(1+rand.IntN(64), len(rest)) //nolint:gosec // any sizes will do
			}
			if _, err := w.Write([]byte(rest[:n])); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if got := out.String(); got != want {
			t.Errorf("in writes of %d bytes: %d bytes came out, want %d", chunk, len(got), len(want))
		}
	}
}

// World: pure.
func TestWriterDropsAPrivateKeyWithoutEnd(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	w := New().Writer(&out)
	line := strings.Repeat("Ab3x", 16) + "\n"
	text := "before\n-----BEGIN PRIVATE KEY-----\n" + strings.Repeat(line, 30_000) + "-----END PRIVATE KEY-----\nafter\n"
	for rest := text; rest != ""; {
		n := min(32<<10, len(rest))
		if _, err := w.Write([]byte(rest[:n])); err != nil {
			t.Fatal(err)
		}
		rest = rest[n:]
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); strings.Contains(got, "Ab3x") || !strings.HasPrefix(got, "before\n"+Mark) || !strings.HasSuffix(got, "after\n") {
		t.Errorf("%d bytes came out: %.60q … %q", len(got), got, got[max(0, len(got)-60):])
	}
}

type failing struct{}

var errFull = errors.New("disk full")

func (failing) Write([]byte) (int, error) { return 0, errFull }

// World: pure.
func TestWriterPassesOnItsError(t *testing.T) {
	t.Parallel()
	w := New().Writer(failing{})
	_, err := w.Write([]byte(strings.Repeat("x\n", 100_000)))
	if !errors.Is(err, errFull) {
		t.Errorf("Write() = %v, want %v", err, errFull)
	}
	if err := w.Close(); !errors.Is(err, errFull) {
		t.Errorf("Close() = %v, want %v", err, errFull)
	}
}
