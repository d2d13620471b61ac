package cli

import (
	"fmt"
	"sync"
	"time"
)

// waiting tells a person about something that takes more than a second, and nothing about
// what takes less.
type waiting struct {
	s           *session
	what        string
	mu          sync.Mutex
	done, total int64
	told        bool
	over        chan struct{}
	ended       chan struct{}
}

// wait begins to wait for something: "pulling oci://…". end ends it.
func (s *session) wait(what string) *waiting {
	w := &waiting{s: s, what: what, over: make(chan struct{}), ended: make(chan struct{})}
	go w.run()
	return w
}

func (w *waiting) run() {
	defer close(w.ended)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	_, live := terminal(w.s.Stderr)
	for {
		select {
		case <-w.over:
			if w.told && live {
				fmt.Fprint(w.s.Stderr, "\r\x1b[K")
			}
			return
		case <-tick.C:
		}
		if w.told && !live {
			continue // one line is enough for a log
		}
		w.mu.Lock()
		line := w.line()
		w.mu.Unlock()
		if live {
			fmt.Fprint(w.s.Stderr, "\r\x1b[K"+line)
		} else {
			w.s.say("%s", line)
		}
		w.told = true
	}
}

func (w *waiting) line() string {
	if w.total <= 0 {
		return w.what + " …"
	}
	const mib = 1 << 20
	return fmt.Sprintf("%s  %.1f of %.1f MiB", w.what, float64(w.done)/mib, float64(w.total)/mib)
}

// progress hears of bytes.
func (w *waiting) progress(done, total int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done, w.total = done, total
}

func (w *waiting) end() {
	close(w.over)
	<-w.ended
}
