package storetest

import (
	"context"
	"time"

	"github.com/google/go-cmp/cmp"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

func drift(w *world) {
	t := w.T
	e := w.environment("shop", "production")
	a, b := w.application(e, "guestbook"), w.application(e, "wiki")
	w.application(e, "not-applied")
	for _, app := range []slipway.Application{a, b} {
		w.write(func(ctx context.Context, tx *store.Tx) error {
			if _, err := tx.CreateRevision(ctx, slipway.Revision{ApplicationID: app.ID, Number: 1, DriverDigest: "sha256:aa"}); err != nil {
				return err
			}
			if err := tx.SetApplicationWanted(ctx, app.ID, 0, 1, 1); err != nil {
				return err
			}
			return tx.SetApplicationApplied(ctx, app.ID, store.Applied{Revision: 1, AppVersion: "1.0.0", DriverName: "guestbook", DriverVersion: "1.0.0"})
		})
	}
	of := func(id int64) slipway.Drift {
		return get(w, func(ctx context.Context, tx *store.Tx) (slipway.Drift, error) { return tx.Drift(ctx, id) })
	}
	if diff := cmp.Diff(slipway.Drift{ApplicationID: a.ID}, of(a.ID)); diff != "" {
		t.Errorf("an application that nobody has looked at (-want +got):\n%s", diff)
	}
	overdue := func(since time.Time) []int64 {
		return get(w, func(ctx context.Context, tx *store.Tx) ([]int64, error) { return tx.OverdueForDrift(ctx, since, 10) })
	}
	now := time.Date(2026, 3, 1, 12, 0, 0, 1000, time.UTC)
	if diff := cmp.Diff([]int64{a.ID, b.ID}, overdue(now)); diff != "" {
		t.Errorf("overdue before any look (-want +got):\n%s", diff)
	}

	want := slipway.Drift{
		ApplicationID: a.ID, Revision: 1, LookedAt: now, CheckedAt: now, Since: now.Add(-time.Minute),
		Found:     []slipway.Difference{{Object: "Deployment web", Component: "web", Kind: slipway.DiffChanged, Path: "replicas", Applied: "2", Live: "5", By: "kubectl"}},
		Suspected: []slipway.Difference{{Object: "Service web", Kind: slipway.DiffMissing}},
		Unable:    []string{"Widget x: the webhook knows no dry run"},
	}
	set := func(d slipway.Drift) {
		w.write(func(ctx context.Context, tx *store.Tx) error { return tx.SetDrift(ctx, d) })
	}
	set(slipway.Drift{ApplicationID: a.ID, LookedAt: now.Add(-time.Hour), Missed: "the cluster does not answer"})
	set(want)
	if diff := cmp.Diff(want, of(a.ID)); diff != "" {
		t.Errorf("drift (-want +got):\n%s", diff)
	}
	set(slipway.Drift{ApplicationID: b.ID, LookedAt: now.Add(-time.Hour), Missed: "the cluster does not answer"})
	for _, c := range []struct {
		what  string
		since time.Time
		want  []int64
	}{
		{"nobody", now.Add(-2 * time.Hour), nil},
		{"the one of an hour ago", now, []int64{b.ID}},
		{"both, the older first", now.Add(time.Second), []int64{b.ID, a.ID}},
	} {
		if diff := cmp.Diff(c.want, overdue(c.since)); diff != "" {
			t.Errorf("overdue is %s (-want +got):\n%s", c.what, diff)
		}
	}
	all := get(w, func(ctx context.Context, tx *store.Tx) (map[int64]slipway.Drift, error) {
		return tx.DriftOf(ctx, []int64{a.ID, b.ID, 999})
	})
	if diff := cmp.Diff(map[int64]slipway.Drift{a.ID: of(a.ID), b.ID: of(b.ID)}, all); diff != "" {
		t.Errorf("of several (-want +got):\n%s", diff)
	}
	counts := get(w, func(ctx context.Context, tx *store.Tx) (store.Counts, error) { return tx.Counts(ctx) })
	if counts.Drifted != 1 || counts.Unseen != 1 || !counts.OldestCheck.Equal(now) {
		t.Errorf("got %d drifted, %d unseen, oldest %s; want 1, 1, %s", counts.Drifted, counts.Unseen, counts.OldestCheck, now)
	}
	w.write(func(ctx context.Context, tx *store.Tx) error { return tx.ForgetDrift(ctx, a.ID) })
	if got := of(a.ID); !got.LookedAt.IsZero() {
		t.Errorf("got %+v after it was forgotten", got)
	}
	w.wantKind("drift of no application", w.try(func(ctx context.Context, tx *store.Tx) error {
		return tx.SetDrift(ctx, slipway.Drift{ApplicationID: 999, LookedAt: now})
	}), slipway.NotFound)

	// A change of every kind can be written, also of the newest.
	w.change(a, slipway.RepairChange)
}
