package cli

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// These tests stand in the pure world.

func TestTableCountsCharactersNotBytes(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	table(&out, []string{"NAME", "STATE", ""}, [][]string{{"café", "läuft", ""}, {"a", "x", "mark"}})
	want := "NAME  STATE\ncafé  läuft\na     x      mark\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("table() (-want +got):\n%s", diff)
	}
}

func TestTimesAsPeopleSpeakOfThem(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "now", 4 * time.Second: "now", 90 * time.Second: "90s ago", 3 * time.Minute: "3m ago",
		5 * time.Hour: "5h ago", 72 * time.Hour: "3d ago", -30 * time.Hour: "in 30h",
	} {
		if got := since(d); got != want {
			t.Errorf("since(%v) = %q, want %q", d, got, want)
		}
	}
	for d, want := range map[time.Duration]string{
		-time.Second: "0.0s", 240 * time.Millisecond: "0.2s", 59960 * time.Millisecond: "59.9s", 61 * time.Second: "1m01s", 63 * time.Minute: "1h03m",
	} {
		if got := brief(d); got != want {
			t.Errorf("brief(%v) = %q, want %q", d, got, want)
		}
	}
}
