package auth

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// touchEvery is how often a last use is written at most.
const touchEvery = time.Minute

// touchLimit bounds one write behind a request.
const touchLimit = 10 * time.Second

// touches writes last uses behind the requests that caused them, so that reading does not
// wait for the database's writer. What is lost with the process is a minute of idleness.
type touches struct {
	log   *slog.Logger
	queue chan touch
	done  chan struct{}

	mu     sync.Mutex
	closed bool
	last   map[string]time.Time // so that a burst of requests queues one write
}

type touch struct {
	what  string
	write func(context.Context) error
}

func newTouches(log *slog.Logger) *touches {
	t := &touches{log: log, queue: make(chan touch, 256), done: make(chan struct{}), last: map[string]time.Time{}}
	go t.run()
	return t
}

// later has write run soon, unless the same was asked for a moment ago. When the queue is
// full it is dropped: the next request asks again.
func (t *touches) later(noun string, id int64, write func(context.Context) error) {
	what, now := fmt.Sprint(noun, " ", id), time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed || now.Sub(t.last[what]) < touchEvery {
		return
	}
	if len(t.last) > 10_000 {
		clear(t.last) // costs at most one write more for each
	}
	select {
	case t.queue <- touch{what, write}:
		t.last[what] = now
	default:
	}
}

func (t *touches) run() {
	defer close(t.done)
	for w := range t.queue {
		ctx, cancel := context.WithTimeout(context.Background(), touchLimit)
		if err := w.write(ctx); err != nil {
			t.log.WarnContext(ctx, "a last use was not recorded", "error", err)
		}
		cancel()
	}
}

func (t *touches) close() {
	t.mu.Lock()
	if !t.closed {
		t.closed = true
		close(t.queue)
	}
	t.mu.Unlock()
	<-t.done
}
