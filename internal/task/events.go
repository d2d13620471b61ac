package task

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

const (
	// eventPoll is how soon an event of another process is seen.
	eventPoll = 500 * time.Millisecond
	eventPage = 500
	// EventsKept is how long events can be asked for again.
	EventsKept = 24 * time.Hour
	pruneEvery = time.Hour

	// subscriberBuffer is how many events may wait for one who does not read.
	subscriberBuffer = 256
)

// Resync is the kind of the event that a subscriber gets in place of those that it was too
// slow for, or that are no longer kept: whatever it shows must be read again.
const Resync = "resync"

// Events tells those in this process who wait for a change that something changed, in
// whichever process that was.
type Events struct {
	store *store.Store
	log   *slog.Logger

	mu          sync.Mutex
	subscribers map[*Subscription]struct{}
}

// NewEvents returns a broadcaster; Run makes it work.
func NewEvents(s *store.Store, log *slog.Logger) *Events {
	if log == nil {
		log = slog.Default()
	}
	return &Events{store: s, log: log, subscribers: map[*Subscription]struct{}{}}
}

// Subscription is one who waits. C is closed by Close.
type Subscription struct {
	C      <-chan slipway.Event
	ch     chan slipway.Event
	lagged bool // the next event to fit is a Resync
	events *Events
}

// Subscribe returns what happens from now on.
func (e *Events) Subscribe() *Subscription {
	s := &Subscription{ch: make(chan slipway.Event, subscriberBuffer), events: e}
	s.C = s.ch
	e.mu.Lock()
	defer e.mu.Unlock()
	e.subscribers[s] = struct{}{}
	return s
}

// SubscribeAfter returns what happened after the event of that ID, as far as it is kept,
// and what happens from now on. An event may come twice.
func (e *Events) SubscribeAfter(ctx context.Context, id int64) (*Subscription, []slipway.Event, error) {
	s := e.Subscribe() // first, so that nothing falls between
	var past []slipway.Event
	err := e.store.Read(ctx, func(tx *store.Tx) (err error) {
		// From a little before: one with a lower ID may have been committed later.
		past, err = tx.EventsAfter(ctx, max(id-eventPage/10, 0), eventPage)
		return err
	})
	if err != nil {
		s.Close()
		return nil, nil, fmt.Errorf("read past events: %w", err)
	}
	if len(past) == eventPage || len(past) == 0 || past[0].ID > id+1 {
		past = []slipway.Event{{Kind: Resync}}
	}
	return s, past, nil
}

// Close ends the subscription.
func (s *Subscription) Close() {
	s.events.mu.Lock()
	defer s.events.mu.Unlock()
	if _, ok := s.events.subscribers[s]; ok {
		delete(s.events.subscribers, s)
		close(s.ch)
	}
}

func (e *Events) publish(ev slipway.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for s := range e.subscribers {
		if s.lagged {
			select {
			case s.ch <- slipway.Event{Kind: Resync, At: ev.At}:
				s.lagged = false
			default:
				continue
			}
		}
		select {
		case s.ch <- ev:
		default:
			s.lagged = true
		}
	}
}

// Run reads the events as they are added, until ctx ends.
func (e *Events) Run(ctx context.Context) {
	poll := time.NewTicker(eventPoll)
	defer poll.Stop()
	var w window
	for started := false; !started; {
		err := e.store.Read(ctx, func(tx *store.Tx) (err error) {
			w.low, err = tx.LastEvent(ctx)
			return err
		})
		started = err == nil
		if !started && !e.wait(ctx, nil, poll.C, err) {
			return
		}
	}
	for pruned := time.Now(); ; {
		added := e.store.EventsAdded() // before the read, or one that falls between is missed
		err := e.read(ctx, &w)
		if time.Since(pruned) > pruneEvery {
			pruned = time.Now()
			e.prune(ctx)
		}
		tick := poll.C
		if !e.store.Shared() && err == nil {
			tick = nil // every event is this process's own
		}
		if !e.wait(ctx, added, tick, err) {
			return
		}
	}
}

// wait reports false when ctx has ended.
func (e *Events) wait(ctx context.Context, added <-chan struct{}, tick <-chan time.Time, err error) bool {
	if err != nil && ctx.Err() == nil {
		e.log.Warn("events could not be read", "err", err)
	}
	select {
	case <-ctx.Done():
		return false
	case <-added:
	case <-tick:
	}
	return true
}

func (e *Events) read(ctx context.Context, w *window) error {
	from := w.low
	for {
		var page []slipway.Event
		err := e.store.Read(ctx, func(tx *store.Tx) (err error) {
			page, err = tx.EventsAfter(ctx, from, eventPage)
			return err
		})
		if err != nil {
			return err
		}
		for _, ev := range page {
			if w.fresh(ev.ID, time.Now()) {
				e.publish(ev)
			}
			from = ev.ID
		}
		if len(page) < eventPage {
			break
		}
	}
	w.settle(time.Now())
	return nil
}

func (e *Events) prune(ctx context.Context) {
	err := e.store.InTx(ctx, func(tx *store.Tx) error {
		_, err := tx.PruneEvents(ctx, tx.Now.Add(-EventsKept))
		return err
	})
	if err != nil && ctx.Err() == nil {
		e.log.Warn("old events could not be removed", "err", err)
	}
}

// window tells which events are new. PostgreSQL gives out IDs before the commit, so the
// event of a slow transaction appears below ones that were read already.
//
//	… 5 6 │ 7 · 9 10      low is 6; 7, 9 and 10 were seen; 8 may still come
type window struct {
	low  int64 // everything up to here was seen, or will not come any more
	seen map[int64]time.Time
}

// gapLimit is how long an ID that was skipped is waited for. It is longer than any
// transaction of ours takes between its event and its commit; an ID that does not come by
// then was rolled back.
const gapLimit = 10 * time.Second

// fresh reports whether the ID was not seen before, and remembers it.
func (w *window) fresh(id int64, now time.Time) bool {
	if _, ok := w.seen[id]; ok || id <= w.low {
		return false
	}
	if w.seen == nil {
		w.seen = map[int64]time.Time{}
	}
	w.seen[id] = now
	return true
}

// settle moves low up, over what is complete and over gaps that are too old.
func (w *window) settle(now time.Time) {
	for len(w.seen) > 0 {
		if _, ok := w.seen[w.low+1]; !ok {
			next, at := w.lowest()
			if now.Sub(at) < gapLimit {
				return
			}
			w.low = next - 1
		}
		w.low++
		delete(w.seen, w.low)
	}
}

func (w *window) lowest() (id int64, at time.Time) {
	for i, t := range w.seen {
		if id == 0 || i < id {
			id, at = i, t
		}
	}
	return id, at
}
