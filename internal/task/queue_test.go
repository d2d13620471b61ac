package task

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"slipway.dev/slipway/internal/store"
)

// soon is how long a test waits for what takes milliseconds on a machine of its own.
const soon = 20 * time.Second

func TestWakeUpReachesItsHandler(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(w *world) {
		t := w.TB
		q, seen := w.queue(Options{}), make(chan int64, 10)
		q.Handle("task", func(ctx context.Context, id int64) (time.Duration, error) { seen <- id; return 0, nil })
		w.start(q)
		w.wake(q, WakeUp{Noun: "task", ID: 41})
		if got := within(t, soon, seen, "the wake-up"); got != 41 {
			t.Errorf("got %d, want 41", got)
		}
		eventually(t, soon, "the entry gone", func() bool { return len(w.entries()) == 0 })
		w.wake(q, WakeUp{Noun: "task", ID: 41})
		within(t, soon, seen, "the wake-up after its entry was gone")
	})
}

func TestWakeUpsOfARolledBackTransactionAreNone(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(w *world) {
		t := w.TB
		q, seen := w.queue(Options{}), make(chan int64, 10)
		q.Handle("task", func(ctx context.Context, id int64) (time.Duration, error) { seen <- id; return 0, nil })
		w.start(q)
		boom := errors.New("boom")
		err := w.store.InTx(t.Context(), func(tx *store.Tx) error {
			if err := q.Enqueue(t.Context(), tx, WakeUp{Noun: "task", ID: 1}); err != nil {
				return err
			}
			return boom
		})
		if !errors.Is(err, boom) {
			t.Fatalf("got %v, want boom", err)
		}
		never(t, time.Second, seen, "a wake-up that was rolled back")
	})
}

func TestWakeUpsAreOneUntilOneRuns(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(w *world) {
		t := w.TB
		q := w.queue(Options{})
		began, goOn := make(chan int64, 10), make(chan bool)
		var at, most atomic.Int64
		q.Handle("task", func(ctx context.Context, id int64) (time.Duration, error) {
			most.Store(max(most.Load(), at.Add(1)))
			defer at.Add(-1)
			began <- id
			<-goOn
			return 0, nil
		})
		for range 3 { // in one transaction and in several, before anybody works
			w.wake(q, WakeUp{Noun: "task", ID: 1}, WakeUp{Noun: "task", ID: 1})
		}
		w.start(q)
		within(t, soon, began, "the first run")
		never(t, time.Second, began, "a run beside the first")

		for range 3 { // while it runs
			w.wake(q, WakeUp{Noun: "task", ID: 1})
		}
		never(t, time.Second, began, "a run beside the first, after a wake-up")
		goOn <- true
		within(t, soon, began, "the run that the wake-ups during the first one ask for")
		goOn <- true
		never(t, time.Second, began, "a third run")
		if most.Load() != 1 {
			t.Errorf("%d ran at once", most.Load())
		}
		eventually(t, soon, "the entry gone", func() bool { return len(w.entries()) == 0 })
	})
}

func TestManyWakersMissNothing(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(w *world) {
		t := w.TB
		q := w.queue(Options{})
		// What counts: the handler reads the last value that was written before its run. In
		// the end it must have read the last of all.
		var written, read [4]atomic.Int64
		q.Handle("cell", func(ctx context.Context, id int64) (time.Duration, error) {
			read[id-1].Store(written[id-1].Load())
			return 0, nil
		})
		w.start(q)
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for i := range 25 {
					id := int64(i%4) + 1
					err := w.store.InTx(context.Background(), func(tx *store.Tx) error {
						written[id-1].Add(1) // before the commit, as a row would be
						// Two at once, in turning order: transactions must not wait for each other.
						other := (id+int64(i/4))%4 + 1
						return errors.Join(q.Enqueue(context.Background(), tx, WakeUp{Noun: "cell", ID: id}),
							q.Enqueue(context.Background(), tx, WakeUp{Noun: "cell", ID: other}))
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		eventually(t, soon, "every cell read to its end", func() bool {
			for i := range written {
				if read[i].Load() != written[i].Load() {
					return false
				}
			}
			return len(w.entries()) == 0
		})
	})
}

func TestDelayedWakeUps(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(w *world) {
		t := w.TB
		q, seen := w.queue(Options{}), make(chan time.Time, 10)
		q.Handle("task", func(ctx context.Context, id int64) (time.Duration, error) { seen <- time.Now(); return 0, nil })
		w.start(q)
		due := time.Now().Add(1500 * time.Millisecond)
		w.wake(q, WakeUp{Noun: "task", ID: 1, At: time.Now().Add(time.Hour)})
		w.wake(q, WakeUp{Noun: "task", ID: 1, At: due}) // the earlier one counts
		if got := within(t, soon, seen, "the delayed wake-up"); got.Before(due) {
			t.Errorf("it came %s too early", due.Sub(got))
		}
		// One at once takes nothing from one for later.
		due = time.Now().Add(1500 * time.Millisecond)
		w.wake(q, WakeUp{Noun: "task", ID: 1, At: due})
		w.wake(q, WakeUp{Noun: "task", ID: 1})
		if got := within(t, soon, seen, "the one at once"); got.After(due) {
			t.Errorf("the one at once came %s late", got.Sub(due))
		}
		if got := within(t, soon, seen, "the later one"); got.Before(due) {
			t.Errorf("the later one came %s too early", due.Sub(got))
		}
	})
}

func TestAHandlerMayAskToLookAgain(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(w *world) {
		t := w.TB
		q, seen := w.queue(Options{}), make(chan time.Time, 10)
		q.Handle("task", func(ctx context.Context, id int64) (time.Duration, error) {
			seen <- time.Now()
			return 300 * time.Millisecond, nil
		})
		q.Handle("clock", func(ctx context.Context, id int64) (time.Duration, error) { seen <- time.Now(); return 0, nil })
		w.wake(q, WakeUp{Noun: "task", ID: 1})
		w.start(q)
		last := within(t, soon, seen, "the first look")
		for range 3 {
			now := within(t, soon, seen, "another look")
			if d := now.Sub(last); d < 250*time.Millisecond {
				t.Errorf("looked again after %s, want 300ms", d)
			}
			last = now
		}
	})
}

func TestPeriodicWakeUps(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(w *world) {
		t := w.TB
		q, seen := w.queue(Options{}), make(chan int64, 10)
		q.Handle("clock", func(ctx context.Context, id int64) (time.Duration, error) { seen <- id; return 0, errOdd(id) })
		q.Periodic("clock", 2, 300*time.Millisecond)
		w.start(q)
		for range 3 {
			within(t, soon, seen, "a periodic look")
		}
	})
}

func errOdd(id int64) error {
	if id%2 == 1 {
		return errors.New("odd")
	}
	return nil
}

func TestFailuresAreRepeatedAndLoggedOnce(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(w *world) {
		t := w.TB
		var log lockedBuffer
		w.log = slog.New(slog.NewTextHandler(&log, nil))
		q, seen := w.queue(Options{}), make(chan time.Time, 10)
		var n atomic.Int64
		q.Handle("task", func(ctx context.Context, id int64) (time.Duration, error) {
			seen <- time.Now()
			switch n.Add(1) {
			case 1:
				return 0, errors.New("the disk is full")
			case 2:
				panic("a bug")
			}
			return 0, nil
		})
		w.start(q)
		w.wake(q, WakeUp{Noun: "task", ID: 1})
		first := within(t, soon, seen, "the first run")
		second := within(t, soon, seen, "the run after the error")
		third := within(t, soon, seen, "the run after the panic")
		if a, b := second.Sub(first), third.Sub(second); a < 700*time.Millisecond || b < 1400*time.Millisecond {
			t.Errorf("repeated after %s and %s, want about 1 s and 2 s", a, b)
		}
		eventually(t, soon, "the entry gone", func() bool { return len(w.entries()) == 0 })
		text := log.String()
		if got := strings.Count(text, "the disk is full"); got != 1 {
			t.Errorf("the error was logged %d times, want once:\n%s", got, text)
		}
		if !strings.Contains(text, "a bug") || !strings.Contains(text, "queue_test.go") {
			t.Errorf("the panic was not logged with its place:\n%s", text)
		}
	})
}

func TestAWakeUpEndsABackoff(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(w *world) {
		t := w.TB
		q, seen := w.queue(Options{}), make(chan int64, 10)
		var fail atomic.Bool
		fail.Store(true)
		q.Handle("task", func(ctx context.Context, id int64) (time.Duration, error) {
			seen <- id
			if fail.Load() {
				return 0, errors.New("no")
			}
			return 0, nil
		})
		w.start(q)
		w.wake(q, WakeUp{Noun: "task", ID: 1})
		for range 3 { // the next repeat is now some four seconds away
			within(t, soon, seen, "a failing run")
		}
		eventually(t, soon, "the failure written", func() bool { e := w.entries(); return len(e) == 1 && e[0].Failures == 3 })
		fail.Store(false)
		w.wake(q, WakeUp{Noun: "task", ID: 1})
		within(t, 2*time.Second, seen, "the run that was asked for")
		eventually(t, soon, "the entry gone", func() bool { return len(w.entries()) == 0 })
	})
}

func TestUnknownNounsWaitForAReleaseThatKnowsThem(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(w *world) {
		t := w.TB
		old := w.queue(Options{BeatEvery: 200 * time.Millisecond})
		old.Handle("task", func(ctx context.Context, id int64) (time.Duration, error) { return 0, nil })
		w.start(old)
		w.wake(old, WakeUp{Noun: "pool", ID: 7})
		time.Sleep(1500 * time.Millisecond)
		if e := w.entries(); len(e) != 1 || e[0].Noun != "pool" {
			t.Fatalf("got entries %+v, want that of the unknown noun", e)
		}
		next, seen := w.queue(Options{}), make(chan int64, 1)
		next.Handle("pool", func(ctx context.Context, id int64) (time.Duration, error) { seen <- id; return 0, nil })
		if !w.store.Shared() { // a second process would have to wait for the first
			w.stop(old)
			old.halt = make(chan struct{}) // the clean-up stops it again
			old.work = nil
		}
		w.start(next)
		within(t, soon, seen, "the wake-up that an older release did not know")
	})
}

func TestNestedWorkIsNotStarvedByThoseWhoWaitForIt(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(w *world) {
		t := w.TB
		q := w.queue(Options{Workers: 2})
		var done [5]chan bool
		for i := range done {
			done[i] = make(chan bool, 1)
		}
		ended := make(chan int64, 10)
		q.Handle("root", func(ctx context.Context, id int64) (time.Duration, error) {
			err := w.store.InTx(ctx, func(tx *store.Tx) error { return q.Enqueue(ctx, tx, WakeUp{Noun: "child", ID: id, Nested: true}) })
			if err != nil {
				return 0, err
			}
			select {
			case <-done[id-1]:
				ended <- id
				return 0, nil
			case <-ctx.Done():
				return 0, ctx.Err()
			}
		})
		q.Handle("child", func(ctx context.Context, id int64) (time.Duration, error) { done[id-1] <- true; return 0, nil })
		w.start(q)
		for id := range int64(5) {
			w.wake(q, WakeUp{Noun: "root", ID: id + 1})
		}
		for range 5 {
			within(t, soon, ended, "the end of a root")
		}
	})
}

func TestStopCutsShortAndTheNextStartGoesOn(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(w *world) {
		t := w.TB
		first, began := w.queue(Options{}), make(chan int64, 1)
		first.Handle("task", func(ctx context.Context, id int64) (time.Duration, error) {
			began <- id
			<-ctx.Done()
			return 0, ctx.Err()
		})
		if err := first.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.wake(first, WakeUp{Noun: "task", ID: 1})
		within(t, soon, began, "the first run")
		w.stop(first)
		if e := w.entries(); len(e) != 1 || e[0].Failures != 0 || e[0].JobID == 0 {
			t.Fatalf("got entries %+v, want one with a job and without a failure", e)
		}
		second, seen := w.queue(Options{}), make(chan int64, 1)
		second.Handle("task", func(ctx context.Context, id int64) (time.Duration, error) { seen <- id; return 0, nil })
		w.start(second)
		within(t, soon, seen, "the run that was cut short")
	})
}

func TestALostJobIsCarriedAnew(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(w *world) {
		t := w.TB
		enqueuer := w.queue(Options{})
		w.wake(enqueuer, WakeUp{Noun: "task", ID: 1})
		w.write(func(ctx context.Context, tx *store.Tx) error { // as a leader of an older release may do
			_, err := tx.SQL().ExecContext(ctx, `DELETE FROM river_job`)
			return err
		})
		q, seen := w.queue(Options{}), make(chan int64, 1)
		q.Handle("task", func(ctx context.Context, id int64) (time.Duration, error) { seen <- id; return 0, nil })
		w.start(q)
		within(t, soon, seen, "the wake-up whose job was gone")
	})
}

// World: a real PostgreSQL that drops every connection.
func TestBrokenConnectionsAreMended(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "postgres")
	q, seen := w.queue(Options{}), make(chan int64, 10)
	q.Handle("task", func(ctx context.Context, id int64) (time.Duration, error) { seen <- id; return 0, nil })
	w.start(q)
	w.wake(q, WakeUp{Noun: "task", ID: 1})
	within(t, soon, seen, "the wake-up before")
	for range 2 {
		err := w.store.InTx(t.Context(), func(tx *store.Tx) error {
			_, err := tx.SQL().ExecContext(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
				WHERE datname = current_database() AND pid <> pg_backend_pid()`)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, soon, "a wake-up can be written", func() bool {
			return w.store.InTx(t.Context(), func(tx *store.Tx) error { return q.Enqueue(t.Context(), tx, WakeUp{Noun: "task", ID: 2}) }) == nil
		})
		within(t, soon, seen, "the wake-up after")
	}
	select {
	case <-q.Lost():
		t.Error("the process believes that it was given up")
	default:
	}
}

func TestRiverIsQuiet(t *testing.T) {
	t.Parallel() // World: pure
	var b lockedBuffer
	q := &Queue{log: slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{Level: slog.LevelInfo}))}
	log := q.riverLog().WithGroup("g").With("a", 1)
	log.Info("started")
	log.Warn("stopping")
	log.Error("cannot fetch")
	log.Error("cannot fetch")
	got := b.String()
	if strings.Contains(got, "started") || !strings.Contains(got, "INFO msg=stopping") || strings.Count(got, "WARN msg=\"cannot fetch\"") != 1 {
		t.Errorf("got\n%s\nwant no start, the stop for information and one warning", got)
	}
}

func TestAStaleWriteIsReadAgainSoonAndQuietly(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(w *world) {
		t := w.TB
		var log lockedBuffer
		w.log = slog.New(slog.NewTextHandler(&log, nil))
		q, seen := w.queue(Options{}), make(chan int64, 10)
		var n atomic.Int64
		q.Handle("task", func(ctx context.Context, id int64) (time.Duration, error) {
			seen <- id
			if n.Add(1) == 1 {
				return 0, store.ErrStale
			}
			return 0, nil
		})
		w.start(q)
		w.wake(q, WakeUp{Noun: "task", ID: 1})
		within(t, soon, seen, "the first run")
		within(t, soon, seen, "the second run")
		if got := log.String(); strings.Contains(got, "repeated") {
			t.Errorf("a stale write was reported:\n%s", got)
		}
	})
}

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
