package sim

import (
	"context"
	"fmt"
	"slices"
	"time"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// Rest ends a run. Nothing fails any more, time passes, and everything must come to its
// end: jobs, pools, and then, when all pools are deleted, whatever there is of ours.
func (w *World) Rest(ctx context.Context) error {
	if err := w.heal(ctx); err != nil {
		return err
	}
	if err := w.until(ctx, 3*time.Hour, w.atRest); err != nil {
		return fmt.Errorf("at rest: %w", err)
	}
	// It must stay so, and not swing.
	if err := w.tick(ctx); err != nil {
		return err
	}
	if err := w.until(ctx, 5*time.Minute, w.atRest); err != nil {
		return fmt.Errorf("at rest, a while later: %w", err)
	}
	if err := w.secretsKept(ctx); err != nil {
		return err
	}
	if err := w.deleteAll(ctx); err != nil {
		return err
	}
	if err := w.until(ctx, time.Hour, w.nothingLeft); err != nil {
		return fmt.Errorf("after all pools were deleted: %w", err)
	}
	err := w.write(ctx, func(tx *store.Tx) error {
		for _, id := range w.pools {
			if err := tx.DeleteRunnerPool(ctx, id); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("drop the records: %w", err)
	}
	return w.secretsKept(ctx)
}

// heal ends everything that fails. What the forge could not deliver stays undelivered: it
// is for us to find.
func (w *World) heal(ctx context.Context) error {
	w.tell("=== heal")
	w.forgeDown, w.kubeDown, w.dropping = false, false, 0
	for _, n := range nodes {
		if w.lostNode[n] {
			w.setNode(n, false)
		}
	}
	if w.token == "" {
		return w.revoke(ctx)
	}
	return nil
}

// tick is one turn of a world without faults.
func (w *World) tick(ctx context.Context) error {
	for _, r := range w.forge.Registrations() {
		w.forge.LieAboutBusy(r.ID, r.Busy)
	}
	for n := len(w.inbox); n > 0; n-- {
		if err := w.take(ctx, 0); err != nil {
			return err
		}
	}
	if err := w.workAll(ctx, 1); err != nil {
		return err
	}
	for _, p := range slices.Clone(w.pods) {
		w.move(p)
	}
	w.assign()
	for _, j := range w.jobsIn(slipway.JobRunning) {
		if !w.isSilent(j) && w.now.Sub(j.StartedAt) >= 20*time.Second {
			w.forge.Finish(j.ID, "success")
		}
	}
	w.settle()
	if err := w.check(ctx); err != nil {
		return err
	}
	w.now = w.now.Add(20 * time.Second)
	return nil
}

// until has the world turn until it is as it should be. What is still wrong when the time
// is over is the error.
func (w *World) until(ctx context.Context, limit time.Duration, is func(context.Context) error) error {
	for began, end := w.now, w.now.Add(limit); ; {
		// What is still not over after a while waits for a limit of time: its steps may be large.
		if w.now.Sub(began) > 10*time.Minute {
			w.now = w.now.Add(time.Minute)
		}
		if err := w.tick(ctx); err != nil {
			return err
		}
		err := is(ctx)
		if err == nil || w.now.After(end) {
			return err
		}
	}
}

// atRest reports what is not as it should be when nothing is to be done any more.
func (w *World) atRest(ctx context.Context) error {
	s, err := w.read(ctx)
	if err != nil {
		return err
	}
	if len(w.inbox) > 0 {
		return fmt.Errorf("%d deliveries are not taken", len(w.inbox))
	}
	if running := w.jobsIn(slipway.JobRunning); len(running) > 0 {
		return fmt.Errorf("job %d still runs on %s", running[0].ID, running[0].Runner)
	}
	for _, j := range w.jobsIn(slipway.JobQueued) {
		if p, ok := w.servedBy(s, j); ok && s.status[p.ID].Why == "" {
			return fmt.Errorf("job %d %v of %s/%s waits, though pool %d (%s) serves it and states no reason",
				j.ID, j.Labels, j.Owner, j.Repository, p.ID, s.status[p.ID].State)
		}
	}
	for _, p := range s.pools {
		if err := w.poolAtRest(s, p); err != nil {
			return fmt.Errorf("pool %d: %w", p.ID, err)
		}
	}
	return w.leftovers(s)
}

// poolAtRest looks whether a pool without demand is as small as it may be, and not smaller.
func (w *World) poolAtRest(s state, p slipway.RunnerPool) error {
	n, all, open := 0, 0, len(s.slots)
	for _, slot := range s.slots {
		if slot.PoolID == p.ID {
			n++
		}
	}
	for _, other := range s.pools {
		want, _ := restsAt(other)
		all += want
	}
	want, state := restsAt(p)
	st := s.status[p.ID]
	switch {
	case n == want && st.State == state:
		return nil
	case w.ceiling > 0 && all > w.ceiling && open == w.ceiling && n < want && st.Why != "":
		return nil // there is not room for all
	}
	return fmt.Errorf("it has %d runners and is %s (%s; held for %q), want %d and %s", n, st.State, st.Why, st.HoldWhy, want, state)
}

// restsAt is how many runners a pool keeps without demand, and how it is called then.
func restsAt(p slipway.RunnerPool) (int, slipway.PoolState) {
	want := max(p.Spec.Minimum, p.Spec.Spare)
	switch {
	case p.Deleting:
		return 0, slipway.PoolDeleting
	case p.Paused:
		return 0, slipway.PoolPaused
	case p.Spec.Fixed():
		return p.Spec.Replicas, slipway.PoolReady
	case want == 0:
		return 0, slipway.PoolSleeping
	}
	return min(want, p.Spec.Replicas), slipway.PoolReady
}

// servedBy finds a pool that could serve a job: one that takes jobs at all, in an
// environment that hears of it.
func (w *World) servedBy(s state, j slipway.Job) (slipway.RunnerPool, bool) {
	for _, p := range s.pools {
		if p.Paused || p.Deleting || !p.Spec.Serves(j) {
			continue
		}
		for _, c := range w.connections {
			if c.Name == j.Owner && (c.EnvironmentID == 0 || c.EnvironmentID == p.EnvironmentID) {
				return p, true
			}
		}
	}
	return slipway.RunnerPool{}, false
}

func (w *World) deleteAll(ctx context.Context) error {
	w.tell("=== delete all pools")
	return w.write(ctx, func(tx *store.Tx) error {
		for _, id := range w.pools {
			if err := tx.SetRunnerPoolDeleting(ctx, id, true); err != nil {
				return err
			}
			if err := w.wake(ctx, tx, slipway.WakePool, id); err != nil {
				return err
			}
		}
		return nil
	})
}

// nothingLeft looks for anything of ours, and whether the records can go.
func (w *World) nothingLeft(ctx context.Context) error {
	s, err := w.read(ctx)
	if err != nil {
		return err
	}
	if len(s.slots) > 0 {
		return fmt.Errorf("slot %d is still %s: %s", s.slots[0].ID, s.slots[0].State, s.slots[0].Failure)
	}
	return w.leftovers(s)
}
