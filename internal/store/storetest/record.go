package storetest

import (
	"context"
	"errors"
	"time"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

func audits(w *world) {
	t := w.T
	add := func(user, action string, id int64) {
		w.write(func(ctx context.Context, tx *store.Tx) error {
			return tx.AddAudit(ctx, slipway.Audit{User: user, Action: action, Noun: "application", NounID: id, NounName: "shop/production/guestbook",
				Remote: "10.0.0.1", RequestID: "r1", TokenID: 3, Before: []byte(`{"revision":1}`)})
		})
	}
	add("ann", "application.deploy", 1)
	add("bob", "application.delete", 1)
	add("ann", "application.deploy", 2)
	find := func(f store.AuditFilter) []slipway.Audit {
		return get(w, func(ctx context.Context, tx *store.Tx) (store.List[slipway.Audit], error) {
			return tx.Audits(ctx, f, store.Page{})
		}).Items
	}
	all := find(store.AuditFilter{})
	if len(all) != 3 || all[0].NounID != 2 || string(all[0].Before) != `{"revision":1}` || all[0].After != nil || all[0].TokenID != 3 {
		t.Errorf("got %+v, want the newest first", all)
	}
	for _, c := range []struct {
		what   string
		filter store.AuditFilter
		want   int
	}{
		{"of ann", store.AuditFilter{User: "ann"}, 2},
		{"of a noun", store.AuditFilter{Noun: "application", NounID: 1}, 2},
		{"of an action", store.AuditFilter{Action: "application.delete"}, 1},
		{"since a moment ago", store.AuditFilter{Since: time.Now().Add(-time.Minute)}, 3},
		{"since the future", store.AuditFilter{Since: time.Now().Add(time.Minute)}, 0},
	} {
		if got := len(find(c.filter)); got != c.want {
			t.Errorf("audit %s: got %d lines, want %d", c.what, got, c.want)
		}
	}
}

func idempotency(w *world) {
	t := w.T
	ann, bob := w.user("ann", slipway.ReadWrite), w.user("bob", slipway.ReadWrite)
	find := func(user int64) (i store.Idempotency, err error) {
		err = w.store.Read(t.Context(), func(tx *store.Tx) error { i, err = tx.IdempotencyFind(t.Context(), user, "k"); return err })
		return i, err
	}
	_, err := find(ann.ID)
	w.wantKind("a new key", err, slipway.NotFound)
	save := func(ctx context.Context, tx *store.Tx) error {
		return tx.IdempotencySave(ctx, store.Idempotency{UserID: ann.ID, Key: "k", InputHash: "h", Answer: []byte(`{"task":41}`)})
	}
	w.write(save)
	w.wantKind("the same key at once", w.try(save), slipway.Conflict)
	got, err := find(ann.ID)
	if err != nil || got.InputHash != "h" || string(got.Answer) != `{"task":41}` {
		t.Errorf("got %+v, %v", got, err)
	}
	_, err = find(bob.ID)
	w.wantKind("another user's key", err, slipway.NotFound)
	w.write(func(ctx context.Context, tx *store.Tx) error {
		return tx.PruneIdempotency(ctx, tx.Now.Add(time.Second))
	})
	_, err = find(ann.ID)
	w.wantKind("a pruned key", err, slipway.NotFound)
}

func events(w *world) {
	t := w.T
	add := func(kind string) error {
		return w.try(func(ctx context.Context, tx *store.Tx) error {
			err := tx.AddEvent(ctx, slipway.Event{Kind: kind, Noun: "task", NounID: 7, Project: "shop", Environment: "production"})
			if kind == "lost" {
				return errors.New("boom")
			}
			return err
		})
	}
	woken := func(c <-chan struct{}) bool {
		select {
		case <-c:
			return true
		default:
			return false
		}
	}
	waiting := w.store.EventsAdded()
	if err := add("lost"); err == nil || woken(waiting) {
		t.Error("an event that was rolled back woke somebody")
	}
	for _, kind := range []string{"a", "b", "c"} {
		if err := add(kind); err != nil {
			t.Fatal(err)
		}
	}
	if !woken(waiting) || woken(w.store.EventsAdded()) {
		t.Error("want those woken who waited before the commit, and no others")
	}
	after := func(id int64, limit int) []slipway.Event {
		return get(w, func(ctx context.Context, tx *store.Tx) ([]slipway.Event, error) {
			return tx.EventsAfter(ctx, id, limit)
		})
	}
	all := after(0, 10)
	if len(all) != 3 || all[0].Kind != "a" || all[0].NounID != 7 || all[0].Environment != "production" || all[0].At.IsZero() {
		t.Fatalf("got %+v", all)
	}
	if got := after(all[0].ID, 1); len(got) != 1 || got[0].Kind != "b" {
		t.Errorf("after the first, one: got %+v, want b", got)
	}
	if got := get(w, func(ctx context.Context, tx *store.Tx) (int64, error) { return tx.LastEvent(ctx) }); got != all[2].ID {
		t.Errorf("last event: got %d, want %d", got, all[2].ID)
	}
	n := put(w, func(ctx context.Context, tx *store.Tx) (int, error) {
		return tx.PruneEvents(ctx, tx.Now.Add(time.Second))
	})
	if n != 3 || len(after(0, 10)) != 0 {
		t.Errorf("pruned %d, left %d; want 3 and none", n, len(after(0, 10)))
	}
}

func wakeUps(w *world) {
	t := w.T
	now := time.Now()
	ask := func(when time.Time) store.WakeUp {
		t.Helper()
		return put(w, func(ctx context.Context, tx *store.Tx) (store.WakeUp, error) {
			return tx.AskWakeUp(ctx, store.WakeUp{Noun: "task", ID: 1, Queue: "default", Priority: 2}, when)
		})
	}
	next := func() time.Time {
		return get(w, func(ctx context.Context, tx *store.Tx) (time.Time, error) { return tx.NextWakeUp(ctx) })
	}
	finish := func(job int64, end store.RunEnd) (needs bool, err error) {
		end.Backoff = func(int) time.Duration { return time.Hour }
		err = w.try(func(ctx context.Context, tx *store.Tx) error {
			_, needs, err = tx.FinishWakeUp(ctx, "task", 1, job, end)
			return err
		})
		return needs, err
	}
	entry := func() (e store.WakeUp, there bool) {
		err := w.store.Read(t.Context(), func(tx *store.Tx) (err error) { e, err = tx.WakeUp(t.Context(), "task", 1); return err })
		return e, err == nil
	}
	setJob := func(job int64) {
		w.write(func(ctx context.Context, tx *store.Tx) error { return tx.SetWakeUpJob(ctx, "task", 1, job) })
	}
	if !next().IsZero() {
		t.Error("an empty list has a next wake-up")
	}

	// Asked for later, then earlier, then at once: the earliest time stands beside it.
	ask(now.Add(2 * time.Hour))
	ask(now.Add(time.Hour))
	ask(now.Add(3 * time.Hour))
	if got := next(); got.Sub(now).Round(time.Minute) != time.Hour {
		t.Errorf("next wake-up in %v, want in an hour", got.Sub(now))
	}
	first := ask(time.Time{})
	if first.Generation != 1 || first.JobID != 0 || first.NextAt.IsZero() {
		t.Errorf("got %+v, want generation 1, no job, and the hour kept", first)
	}
	setJob(11)

	// Woken while job 11 runs: another run.
	ask(time.Time{})
	needs, err := finish(11, store.RunEnd{Generation: first.Generation})
	if err != nil || !needs {
		t.Errorf("woken during the run: needs a job %t, %v; want true", needs, err)
	}
	setJob(12)
	if _, err := finish(11, store.RunEnd{}); !errors.Is(err, store.ErrStale) {
		t.Errorf("the end of a job that carries it no more: got %v, want ErrStale", err)
	}
	// Not woken, but the hour is still to come.
	e, _ := entry()
	needs, err = finish(12, store.RunEnd{Generation: e.Generation})
	if e, there := entry(); err != nil || needs || !there || e.JobID != 0 || e.NextAt.IsZero() {
		t.Errorf("a quiet end: needs %t, %v, entry %+v; want it to wait for the hour", needs, err, e)
	}

	// A failure counts, and is repeated after its back-off; woken meanwhile, within a second.
	ask(time.Time{})
	setJob(13)
	e, _ = entry()
	ask(time.Time{})
	needs, err = finish(13, store.RunEnd{Generation: e.Generation, Failed: true})
	if e, _ := entry(); err != nil || needs || e.Failures != 1 || time.Until(e.NextAt) > time.Second {
		t.Errorf("a failure: needs %t, %v, entry %+v; want a repeat within a second", needs, err, e)
	}

	// Due: it ripens, once.
	time.Sleep(1100 * time.Millisecond)
	ripe := put(w, func(ctx context.Context, tx *store.Tx) ([]store.WakeUp, error) { return tx.RipenWakeUps(ctx, 10) })
	if len(ripe) != 1 || ripe[0].ID != 1 {
		t.Fatalf("ripened %+v, want task 1", ripe)
	}
	if again := put(w, func(ctx context.Context, tx *store.Tx) ([]store.WakeUp, error) { return tx.RipenWakeUps(ctx, 10) }); len(again) != 0 {
		t.Errorf("ripened %+v once more", again)
	}
	setJob(14)
	// No job 14 is anywhere in the queue: it is lost.
	lost := put(w, func(ctx context.Context, tx *store.Tx) ([]store.WakeUp, error) { return tx.LostWakeUps(ctx, 10) })
	if len(lost) != 1 || lost[0].JobID != 14 {
		t.Errorf("lost %+v, want the one of job 14", lost)
	}
	// Cut short: at once again, and the failure is not forgotten.
	e, _ = entry()
	needs, err = finish(14, store.RunEnd{Generation: e.Generation, Stopped: true})
	if e, _ := entry(); err != nil || !needs || e.Failures != 1 {
		t.Errorf("cut short: needs %t, %v, entry %+v; want a job at once", needs, err, e)
	}
	setJob(15)
	e, _ = entry()
	needs, err = finish(15, store.RunEnd{Generation: e.Generation})
	if _, there := entry(); err != nil || needs || there {
		t.Errorf("a quiet end: needs %t, %v, entry there %t; want it gone", needs, err, there)
	}
}
