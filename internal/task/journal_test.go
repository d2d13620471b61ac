package task

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// journal runs one over a store until the test ends.
func (w *world) journal(s *store.Store, replica string) *Journal {
	j := NewJournal(s, w.events(s), replica, w.log)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan bool)
	go func() { j.Watch(ctx); close(ended) }()
	w.Cleanup(func() { cancel(); <-ended })
	return j
}

func (w *world) newTask() (id int64) {
	w.Helper()
	w.write(func(ctx context.Context, tx *store.Tx) error {
		t, err := tx.CreateTask(ctx, slipway.Task{Kind: slipway.UpgradeTask, Title: "upgrade"})
		id = t.ID
		return err
	})
	return id
}

func TestARunWritesItsSteps(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(w *world) {
		t := w.TB
		j, id := w.journal(w.store, "a"), w.newTask()
		sub := j.events.Subscribe()
		defer sub.Close()
		time.Sleep(500 * time.Millisecond) // let it find its place
		r, err := j.Claim(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if r.Task.State != slipway.Running || r.Task.Epoch != 1 || r.Task.Holder != "a" {
			t.Errorf("claimed %+v, want it running in epoch 1 at a", r.Task)
		}
		s, err := r.Step("check", "Check the change")
		if err != nil {
			t.Fatal(err)
		}
		err = errors.Join(s.Note("a line"), s.SetOutput("output", true), s.Close(slipway.StepFailed, "no"),
			r.Finish(store.TaskEnd{State: slipway.Failed, Error: "no"}))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{TaskChanged, StepChanged, StepChanged, StepChanged, StepChanged, TaskChanged} {
			if ev := within(t, soon, sub.C, "an event of the task"); ev.Kind != want || ev.NounID != id {
				t.Errorf("got event %+v, want %s of task %d", ev, want, id)
			}
		}
		if _, err := j.Claim(t.Context(), id); !errors.Is(err, ErrOver) || !errors.Is(err, store.ErrStale) {
			t.Errorf("claiming a task that is over: got %v, want ErrOver, which is stale", err)
		}
	})
}

func TestCancellationReachesTheRun(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(w *world) {
		t := w.TB
		// Asked for in this process, and in another one where the database is shared.
		here := w.journal(w.store, "here")
		journals := map[string]*Journal{"here": here}
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
			journals["elsewhere"] = w.journal(db.store, "elsewhere")
		}
		time.Sleep(500 * time.Millisecond) // let them find their place
		for where, j := range journals {
			id := w.newTask()
			r, err := j.Claim(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			other, err := j.Claim(t.Context(), w.newTask())
			if err != nil {
				t.Fatal(err)
			}
			begun := time.Now()
			w.write(func(ctx context.Context, tx *store.Tx) error { _, err := RequestCancel(ctx, tx, id, "ann"); return err })
			within(t, soon, r.Context().Done(), "the cancellation "+where)
			t.Logf("%s: after %s", where, time.Since(begun).Round(time.Millisecond))
			if !r.Cancelled() || !strings.Contains(context.Cause(r.Context()).Error(), "ann") {
				t.Errorf("%s: the cause is %v, want a cancellation by ann", where, context.Cause(r.Context()))
			}
			// How it ends can still be written.
			if err := r.Finish(store.TaskEnd{State: slipway.Cancelled}); err != nil {
				t.Errorf("%s: %v", where, err)
			}
			if other.Context().Err() != nil {
				t.Errorf("%s: another run was cancelled too", where)
			}
			r.Close()
			other.Close()
		}
	})
}

func TestACancellationOutlivesTheProcess(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(w *world) {
		t := w.TB
		j, id := NewJournal(w.store, NewEvents(w.store, w.log), "a", w.log), w.newTask()
		first, err := j.Claim(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		w.write(func(ctx context.Context, tx *store.Tx) error { _, err := RequestCancel(ctx, tx, id, "ann"); return err })
		first.Close() // it dies before it hears
		second, err := j.Claim(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		defer second.Close()
		if !second.Cancelled() {
			t.Error("the next claim knows nothing of the cancellation")
		}
	})
}

func TestALostTaskEndsItsRun(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(w *world) {
		t := w.TB
		j, id := NewJournal(w.store, NewEvents(w.store, w.log), "a", w.log), w.newTask()
		r, err := j.Claim(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		s, err := r.Step("apply", "Install the chart")
		if err != nil {
			t.Fatal(err)
		}
		w.write(func(ctx context.Context, tx *store.Tx) error { _, err := tx.ClaimTask(ctx, id, "b"); return err })
		for what, write := range map[string]func() error{
			"note":   func() error { return s.Note("x") },
			"output": func() error { return s.SetOutput("x", false) },
			"close":  func() error { return s.Close(slipway.StepSucceeded, "") },
			"step":   func() error { _, err := r.Step("ready", "Wait"); return err },
			"finish": func() error { return r.Finish(store.TaskEnd{State: slipway.Succeeded}) },
			"write":  func() error { return r.Write(func(ctx context.Context, tx *store.Tx) error { return nil }) },
		} {
			if err := write(); !errors.Is(err, store.ErrStale) {
				t.Errorf("%s after the task was lost: got %v, want ErrStale", what, err)
			}
		}
		if cause := context.Cause(r.Context()); !errors.Is(cause, ErrLostTask) {
			t.Errorf("the run's context ended with %v, want ErrLostTask", cause)
		}
	})
}

func TestBackoffGrowsToAMinute(t *testing.T) {
	t.Parallel() // World: pure
	for failures, want := range map[int]time.Duration{0: time.Second, 1: time.Second, 2: 2 * time.Second, 6: 32 * time.Second,
		7: time.Minute, 1000: time.Minute} {
		if got := backoff(failures); got < want*8/10 || got > want*12/10 {
			t.Errorf("after %d failures: %s, want %s and a fifth more or less", failures, got, want)
		}
	}
}
