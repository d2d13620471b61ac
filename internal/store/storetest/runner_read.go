package storetest

import (
	"context"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// runnerReads: what pages ask of slots and jobs, in pages, and only what was heard of
// through connections that concern the environment.
func runnerReads(w *world) {
	t := w.T
	p := w.pool("runner")
	var slots []slipway.Slot
	for _, name := range []string{"slipway-a", "slipway-b", "slipway-c"} {
		slots = append(slots, made(w, func(ctx context.Context, tx *store.Tx) (slipway.Slot, error) {
			return tx.CreateSlot(ctx, slipway.Slot{PoolID: p.ID, Generation: 1, Scope: p.Spec.Scope, Credential: "github-token", Runner: name})
		}))
	}
	closed := slots[1]
	closed.State = slipway.SlotClosed
	w.write(func(ctx context.Context, tx *store.Tx) error { return tx.UpdateSlot(ctx, closed, slipway.SlotWanted) })

	names := func(f store.SlotFilter, p store.Page) (out []string, next string) {
		l := get(w, func(ctx context.Context, tx *store.Tx) (store.List[slipway.Slot], error) { return tx.Slots(ctx, f, p) })
		for _, s := range l.Items {
			out = append(out, s.Runner)
		}
		return out, l.Next
	}
	first, next := names(store.SlotFilter{ApplicationID: p.ApplicationID}, store.Page{Limit: 2})
	rest, end := names(store.SlotFilter{ApplicationID: p.ApplicationID}, store.Page{Limit: 2, After: next})
	if diff := cmp.Diff([]string{"slipway-c", "slipway-b", "slipway-a"}, append(first, rest...)); diff != "" || end != "" {
		t.Errorf("pages of slots (-want +got), end %q:\n%s", end, diff)
	}
	for _, c := range []struct {
		f    store.SlotFilter
		want []string
	}{
		{store.SlotFilter{PoolID: p.ID, Open: true}, []string{"slipway-c", "slipway-a"}},
		{store.SlotFilter{PoolID: p.ID, Closed: true}, []string{"slipway-b"}},
		{store.SlotFilter{ApplicationID: p.ApplicationID + 1}, nil},
	} {
		if got, _ := names(c.f, store.Page{}); !slices.Equal(got, c.want) {
			t.Errorf("slots of %+v: %v, want %v", c.f, got, c.want)
		}
	}
	open := get(w, func(ctx context.Context, tx *store.Tx) ([]slipway.Slot, error) {
		return tx.OpenSlotsOf(ctx, p.ApplicationID)
	})
	if len(open) != 2 || open[0].Runner != "slipway-a" {
		t.Errorf("open slots of the application: %+v", open)
	}
	by := get(w, func(ctx context.Context, tx *store.Tx) (map[string]slipway.Slot, error) {
		return tx.SlotsByRunner(ctx, []string{"slipway-b", "slipway-x"})
	})
	if len(by) != 1 || by["slipway-b"].ID != closed.ID {
		t.Errorf("by runner: %+v", by)
	}

	now := get(w, func(_ context.Context, tx *store.Tx) (time.Time, error) { return tx.Now, nil })
	put := func(id int64, owner string, environment int64, state slipway.JobState) {
		w.write(func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.PutJob(ctx, slipway.Job{
				Host: slipway.GitHubHost, ID: id, RunID: 7 + id%2, Owner: owner, Repository: "shop", Labels: []string{"slipway"},
				State: state, QueuedAt: now.Add(-time.Duration(id) * time.Minute),
			}, environment)
			return err
		})
	}
	put(1, "Acme", 0, slipway.JobQueued)
	put(2, "acme", p.EnvironmentID, slipway.JobRunning)
	put(3, "acme", p.EnvironmentID+1, slipway.JobQueued)
	put(4, "umbrella", 0, slipway.JobQueued)
	put(5, "acme", 0, slipway.JobCompleted)
	acmes := store.HeardFilter{Owners: []store.ForgeOwner{{Host: slipway.GitHubHost, Owner: "ACME"}}, EnvironmentID: p.EnvironmentID}
	heard := func(f store.HeardFilter, p store.Page) (ids []int64, next string) {
		l := get(w, func(ctx context.Context, tx *store.Tx) (store.List[slipway.Job], error) {
			return tx.JobsHeard(ctx, f, p)
		})
		for _, j := range l.Items {
			ids = append(ids, j.ID)
		}
		return ids, l.Next
	}
	head, next := heard(acmes, store.Page{Limit: 2})
	tail, _ := heard(acmes, store.Page{Limit: 2, After: next})
	if diff := cmp.Diff([]int64{5, 2, 1}, append(head, tail...)); diff != "" {
		t.Errorf("jobs heard (-want +got):\n%s", diff)
	}
	both := acmes
	both.Owners = append(both.Owners, store.ForgeOwner{Host: slipway.GitHubHost, Owner: "Umbrella"})
	both.State = slipway.JobQueued
	if got, _ := heard(both, store.Page{}); !slices.Equal(got, []int64{4, 1}) {
		t.Errorf("queued jobs of two owners: %v", got)
	}
	if got, _ := heard(store.HeardFilter{EnvironmentID: p.EnvironmentID}, store.Page{}); got != nil {
		t.Errorf("jobs of no owner: %v", got)
	}
	scopes := get(w, func(ctx context.Context, tx *store.Tx) ([][]int64, error) {
		return tx.ScopesOf(ctx, []slipway.Job{{Host: slipway.GitHubHost, ID: 3}, {Host: "elsewhere", ID: 1}, {Host: slipway.GitHubHost, ID: 1}})
	})
	if diff := cmp.Diff([][]int64{{p.EnvironmentID + 1}, nil, {0}}, scopes); diff != "" {
		t.Errorf("scopes (-want +got):\n%s", diff)
	}
	waiting := get(w, func(ctx context.Context, tx *store.Tx) ([]slipway.Job, error) {
		return tx.OpenJobsHeard(ctx, acmes, now.Add(-time.Hour), 10)
	})
	if len(waiting) != 2 || waiting[0].ID != 2 || waiting[1].ID != 1 {
		t.Errorf("open jobs, the longest waiting first: %+v", waiting)
	}
	if waiting[0].RunID != 0 || waiting[0].State != slipway.JobRunning || len(waiting[0].Labels) != 1 {
		t.Errorf("an open job has what it asks for and no more: %+v", waiting[0])
	}
	w.read(func(ctx context.Context, tx *store.Tx) error {
		gone := slipway.Job{Host: "elsewhere", ID: 1}
		err := tx.FillJobs(ctx, []*slipway.Job{&waiting[0], &gone, &waiting[1]})
		if waiting[0].RunID != 7 || waiting[1].RunID != 8 || gone.RunID != 0 {
			t.Errorf("filled: %+v %+v", waiting, gone)
		}
		return err
	})
	earlier := get(w, func(ctx context.Context, tx *store.Tx) ([]slipway.Job, error) {
		return tx.QueuedBefore(ctx, waiting[1])
	})
	if len(earlier) != 1 || earlier[0].ID != 3 {
		t.Errorf("queued before job 1: %+v", earlier)
	}
}

// runnerEvents: pages hear of a pool once in a transaction, when something of it is new.
func runnerEvents(w *world) {
	t := w.T
	p := w.pool("runner")
	var seen int64
	kinds := func() (out []string) {
		for _, e := range get(w, func(ctx context.Context, tx *store.Tx) ([]slipway.Event, error) { return tx.EventsAfter(ctx, seen, 50) }) {
			seen = e.ID
			if e.Noun == "pool" {
				if e.NounID != p.ID || e.Project != "shop" || e.Environment != "production" || e.At.IsZero() {
					t.Errorf("event %+v", e)
				}
				out = append(out, e.Kind)
			}
		}
		return out
	}
	want := func(what string, kind ...string) {
		w.Helper()
		if got := kinds(); !slices.Equal(got, kind) {
			t.Errorf("%s: events %v, want %v", what, got, kind)
		}
	}
	kinds()
	var slot slipway.Slot
	w.write(func(ctx context.Context, tx *store.Tx) (err error) {
		for _, name := range []string{"slipway-a", "slipway-b"} {
			if slot, err = tx.CreateSlot(ctx, slipway.Slot{PoolID: p.ID, Scope: p.Spec.Scope, Runner: name}); err != nil {
				return err
			}
		}
		return nil
	})
	want("two slots at once", slipway.EventPool)
	slot.State = slipway.SlotRegistering
	w.write(func(ctx context.Context, tx *store.Tx) error { return tx.UpdateSlot(ctx, slot, slipway.SlotWanted) })
	want("a slot that moves", slipway.EventPool)
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	status := slipway.PoolStatus{PoolID: p.ID, State: slipway.PoolReady, CheckedAt: noon}
	set := func(change func(*slipway.PoolStatus)) {
		change(&status)
		w.write(func(ctx context.Context, tx *store.Tx) error { return tx.SetPoolStatus(ctx, status) })
	}
	set(func(*slipway.PoolStatus) {})
	want("the first status", slipway.EventPool)
	set(func(s *slipway.PoolStatus) { s.CheckedAt = noon.Add(2 * time.Second) })
	want("the same two seconds later")
	set(func(s *slipway.PoolStatus) { s.CheckedAt = noon.Add(30 * time.Second) })
	want("the same half a minute later", slipway.EventPoolChecked)
	set(func(s *slipway.PoolStatus) { s.Ledger.Pods = []string{"stray"} })
	want("a stray", slipway.EventPool)
	w.write(func(ctx context.Context, tx *store.Tx) error { return tx.SetRunnerPoolPaused(ctx, p.ID, true) })
	want("paused", slipway.EventPool)
}
