package task

import (
	"context"
	"testing"
	"time"

	"pgregory.net/rapid"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// World: pure.
func TestWindowShowsEachEventOnceInWhateverOrderTheyAppear(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 40).Draw(t, "events")
		start := rapid.Int64Range(0, 1000).Draw(t, "start")
		// Each ID is committed some seconds after it was given out; some never are.
		committed := make([]time.Duration, n)
		for i := range committed {
			committed[i] = time.Duration(i)*500*time.Millisecond + time.Duration(rapid.IntRange(0, 9000).Draw(t, "ms"))*time.Millisecond
			if rapid.IntRange(0, 4).Draw(t, "rolled back") == 0 {
				committed[i] = -1
			}
		}
		w, shown, t0 := window{low: start}, map[int64]int{}, time.Unix(0, 0)
		for at := time.Duration(0); at < 2*time.Minute; at += 500 * time.Millisecond {
			for i, c := range committed { // a read: what is committed by now, above low, in order
				id := start + int64(i) + 1
				if c >= 0 && c <= at && id > w.low && w.fresh(id, t0.Add(at)) {
					shown[id]++
				}
			}
			w.settle(t0.Add(at))
		}
		last := start
		for i, c := range committed {
			want := 1
			if c < 0 {
				want = 0
			} else {
				last = start + int64(i) + 1
			}
			if got := shown[start+int64(i)+1]; got != want {
				t.Errorf("event %d, committed at %s, was shown %d times, want %d", i+1, c, got, want)
			}
		}
		if len(w.seen) != 0 || w.low != last {
			t.Errorf("in the end low is %d with %d above, want %d and none", w.low, len(w.seen), last)
		}
	})
}

func TestEventsReachThoseWhoWaitInEveryProcess(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(w *world) {
		t := w.TB
		// One where they are added and, if the database is shared, one elsewhere.
		stores := []*store.Store{w.store}
		if w.store.Shared() {
			db, err := openDatabase(t.Context(), w.name, w.where)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := db.Close(); err != nil {
					t.Error(err)
				}
			})
			stores = append(stores, db.store)
		}
		w.event("before")
		var subs []*Subscription
		for _, s := range stores {
			e := w.events(s)
			sub := e.Subscribe()
			t.Cleanup(sub.Close)
			subs = append(subs, sub)
		}
		time.Sleep(500 * time.Millisecond) // let them find their place
		begun := time.Now()
		w.event("one")
		w.event("two")
		for i, sub := range subs {
			for _, want := range []string{"one", "two"} {
				if got := within(t, soon, sub.C, "an event"); got.Kind != want {
					t.Errorf("process %d got %q, want %q", i, got.Kind, want)
				}
			}
			t.Logf("process %d had both after %s", i, time.Since(begun).Round(time.Millisecond))
		}
	})
}

func TestASlowSubscriberIsToldToReadAgain(t *testing.T) {
	t.Parallel()
	e := NewEvents(nil, nil) // World: pure
	slow := e.Subscribe()
	for range subscriberBuffer + 10 {
		e.publish(slipway.Event{Kind: "x"})
	}
	for range subscriberBuffer {
		if got := <-slow.C; got.Kind != "x" {
			t.Fatalf("got %q, want x", got.Kind)
		}
	}
	e.publish(slipway.Event{Kind: "y"})
	if a, b := <-slow.C, <-slow.C; a.Kind != Resync || b.Kind != "y" {
		t.Errorf("got %q and %q, want resync and y", a.Kind, b.Kind)
	}
	slow.Close()
	slow.Close()
	if _, open := <-slow.C; open {
		t.Error("a closed subscription is open")
	}
}

func TestPastEventsCanBeAskedForAgain(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(w *world) {
		t := w.TB
		e := w.events(w.store)
		for range 3 {
			w.event("x")
		}
		sub, past, err := e.SubscribeAfter(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		defer sub.Close()
		if len(past) < 2 || past[len(past)-1].ID != 3 {
			t.Errorf("got %+v, want what came after event 1", past)
		}
		w.write(func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.PruneEvents(ctx, tx.Now.Add(time.Minute))
			return err
		})
		gone, past, err := e.SubscribeAfter(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		defer gone.Close()
		if len(past) != 1 || past[0].Kind != Resync {
			t.Errorf("got %+v, want resync", past)
		}
	})
}

// events runs a broadcaster until the test ends.
func (w *world) events(s *store.Store) *Events {
	e := NewEvents(s, w.log)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan bool)
	go func() { e.Run(ctx); close(ended) }()
	w.Cleanup(func() { cancel(); <-ended })
	return e
}

func (w *world) event(kind string) {
	w.write(func(ctx context.Context, tx *store.Tx) error {
		return tx.AddEvent(ctx, slipway.Event{Kind: kind, Noun: "x"})
	})
}
