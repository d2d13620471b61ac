package cli

import (
	"bytes"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// lockedBuffer is written by the waiting and read by the test.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// World: pure, with virtual time.
func TestWaitingTellsOfWhatTakesMoreThanASecond(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		takes time.Duration
		bytes bool
		want  string
	}{
		{"nothing of half a second", 500 * time.Millisecond, true, ""},
		{"one line in a log", 5 * time.Second, false, "pulling x …\n"},
		{"with the bytes, when they are known", 5 * time.Second, true, "pulling x  1.5 of 3.0 MiB\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var out lockedBuffer
				s := &session{Process: Process{Stderr: &out}}
				w := s.wait("pulling x")
				if tc.bytes {
					w.progress(3<<19, 3<<20)
				}
				time.Sleep(tc.takes) // virtual
				w.end()
				if got := out.String(); got != tc.want {
					t.Errorf("it told %q, want %q", got, tc.want)
				}
			})
		})
	}
}
