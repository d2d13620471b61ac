package prefect

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheTailOfAnOutput(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "output.log")
	writer, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	say := func(text string) {
		t.Helper()
		if _, err := writer.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	p := Process{Output: path}
	tail := func(n int64) string {
		t.Helper()
		data, err := p.ReadTail(n)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}

	say("0123456789")
	trimOutput(path, 10)
	if got := tail(100); got != "0123456789" {
		t.Errorf("at the limit it is %q", got)
	}
	say("abcdef")
	trimOutput(path, 10)
	if got := tail(100); got != "bcdef" {
		t.Errorf("after a trim it is %q, want the last half of the limit", got)
	}
	say("ghij") // the writer has the file open, and goes on at its new end
	if got := tail(100); got != "bcdefghij" {
		t.Errorf("across a trim it is %q", got)
	}
	if got := tail(6); got != "efghij" {
		t.Errorf("the last six bytes are %q", got)
	}
	for range 1000 {
		say(strings.Repeat("x", 7))
		trimOutput(path, 10)
	}
	if got := len(tail(1000)); got > 15 {
		t.Errorf("%d bytes are kept, with a limit of 10", got)
	}
	if got, err := (Process{Output: filepath.Join(t.TempDir(), "none")}).ReadTail(10); err != nil || len(got) != 0 {
		t.Errorf("ReadTail() of no file = %q, %v", got, err)
	}
}
