package storetest

import (
	"context"
	"errors"
	"time"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

func installation(w *world) {
	t := w.T
	err := w.store.Read(t.Context(), func(tx *store.Tx) error { _, err := tx.Installation(t.Context()); return err })
	w.wantKind("before the first start", err, slipway.NotFound)

	create := func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.CreateInstallation(ctx, slipway.Installation{ID: "9b2f", ExternalID: "x7"})
		return err
	}
	w.write(create)
	w.wantKind("a second installation", w.try(create), slipway.Conflict)

	done := func(ctx context.Context, tx *store.Tx) error { return tx.MarkSetupDone(ctx) }
	w.write(done)
	if err := w.try(done); !errors.Is(err, store.ErrStale) {
		t.Errorf("setup done twice: got %v, want ErrStale", err)
	}
	got := get(w, func(ctx context.Context, tx *store.Tx) (slipway.Installation, error) { return tx.Installation(ctx) })
	if got.ID != "9b2f" || got.ExternalID != "x7" || !got.SetupDone || got.CreatedAt.IsZero() {
		t.Errorf("got %+v", got)
	}
}

func replicas(w *world) {
	t := w.T
	a, b := slipway.Replica{ID: "a", Host: "one/boot", Role: "all", Version: "0.1.0"}, slipway.Replica{ID: "b", Role: "worker"}
	w.write(func(ctx context.Context, tx *store.Tx) error {
		return errors.Join(tx.AddReplica(ctx, a), tx.AddReplica(ctx, b), tx.BeatReplica(ctx, a))
	})
	dead := func(older time.Duration) []slipway.Replica {
		return get(w, func(ctx context.Context, tx *store.Tx) ([]slipway.Replica, error) { return tx.DeadReplicas(ctx, older) })
	}
	if got := dead(time.Hour); len(got) != 0 {
		t.Errorf("nobody was silent for an hour, got %v", got)
	}
	time.Sleep(2 * time.Millisecond)
	w.write(func(ctx context.Context, tx *store.Tx) error { return tx.BeatReplica(ctx, a) })
	all := get(w, func(ctx context.Context, tx *store.Tx) ([]slipway.Replica, error) { return tx.Replicas(ctx) })
	if len(all) != 2 || all[0].Host != "one/boot" || !all[0].SeenAt.After(all[1].SeenAt) {
		t.Fatalf("got %+v", all)
	}

	seen := all[1].SeenAt
	w.write(func(ctx context.Context, tx *store.Tx) error { return tx.BeatReplica(ctx, b) })
	err := w.try(func(ctx context.Context, tx *store.Tx) error { return tx.RemoveReplica(ctx, "b", seen) })
	if !errors.Is(err, store.ErrStale) {
		t.Errorf("removing one that has beaten since: got %v, want ErrStale", err)
	}
	w.write(func(ctx context.Context, tx *store.Tx) error { return tx.RemoveReplica(ctx, "b", time.Time{}) })
	err = w.try(func(ctx context.Context, tx *store.Tx) error { return tx.BeatReplica(ctx, b) })
	if !errors.Is(err, store.ErrStale) {
		t.Errorf("a beat of one that was given up: got %v, want ErrStale", err)
	}
	w.write(func(ctx context.Context, tx *store.Tx) error { return tx.RemoveOtherReplicas(ctx, "new") })
	if got := get(w, func(ctx context.Context, tx *store.Tx) ([]slipway.Replica, error) { return tx.Replicas(ctx) }); len(got) != 0 {
		t.Errorf("after RemoveOtherReplicas: got %v, want none", got)
	}
}

func leases(w *world) {
	t := w.T
	acquire := func(holder string, ttl time.Duration) bool {
		return put(w, func(ctx context.Context, tx *store.Tx) (bool, error) {
			return tx.AcquireLease(ctx, "watchdog", holder, ttl)
		})
	}
	for _, step := range []struct {
		what, holder string
		ttl          time.Duration
		want         bool
	}{
		{"a free lease is given", "a", time.Hour, true},
		{"a held one is not", "b", time.Hour, false},
		{"its holder prolongs it", "a", time.Microsecond, true},
		{"a lease that ran out is given to another", "b", time.Hour, true},
		{"and its former holder must wait", "a", time.Hour, false},
	} {
		time.Sleep(2 * time.Millisecond)
		if got := acquire(step.holder, step.ttl); got != step.want {
			t.Errorf("%s: got %t, want %t", step.what, got, step.want)
		}
	}
	w.write(func(ctx context.Context, tx *store.Tx) error { return tx.ReleaseLease(ctx, "watchdog", "a") })
	if acquire("a", time.Hour) {
		t.Error("a release by one who does not hold the lease freed it")
	}
	w.write(func(ctx context.Context, tx *store.Tx) error { return tx.ReleaseLease(ctx, "watchdog", "b") })
	if !acquire("a", time.Hour) {
		t.Error("a released lease was not given")
	}
}
