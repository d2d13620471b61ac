package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"slipway.dev/slipway/internal/observe"
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
		return fmt.Errorf("after all applications were deleted: %w", err)
	}
	return w.secretsKept(ctx)
}

// heal ends everything that fails. What the forge could not deliver stays undelivered: it
// is for us to find.
func (w *World) heal(ctx context.Context) error {
	w.tell("=== heal")
	w.kubeDown, w.dropping, w.tight, w.healed = false, 0, false, w.now
	for _, n := range nodes {
		if w.lostNode[n] {
			w.setNode(n, false)
		}
	}
	for _, h := range w.hosts {
		if h.down = false; h.token == "" {
			if err := w.revoke(ctx, h); err != nil {
				return err
			}
		}
	}
	return w.thaw(w.lives%2 == 0)
}

// tick is one turn of a world without faults.
func (w *World) tick(ctx context.Context) error {
	all, at := w.standing()
	for i, r := range all {
		at[i].LieAboutBusy(r.ID, r.Busy)
	}
	if err := w.mend(ctx); err != nil {
		return err
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
	running, where := w.jobsIn(slipway.JobRunning)
	for i, j := range running {
		if !w.isSilent(where[i], j) && w.now.Sub(j.StartedAt) >= 20*time.Second {
			where[i].finish("success")
		}
	}
	w.settle()
	if err := w.check(ctx); err != nil {
		return err
	}
	if err := w.heard(ctx); err != nil {
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
	if running, _ := w.jobsIn(slipway.JobRunning); len(running) > 0 {
		return fmt.Errorf("job %d still runs on %s", running[0].ID, running[0].Runner)
	}
	queued, at := w.jobsIn(slipway.JobQueued)
	for i, j := range queued {
		p, ok := w.servedBy(s, j)
		if !ok || s.status[p.ID].Why != "" {
			continue
		}
		if _, findable, err := w.known(ctx, p, j, at[i]); err != nil || findable {
			if err != nil {
				return err
			}
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
		want, _ := w.restsAt(other)
		all += want
	}
	want, state := w.restsAt(p)
	st := s.status[p.ID]
	switch {
	case n == want && st.State == state:
		return nil
	case w.ceiling > 0 && all > w.ceiling && open == w.ceiling && n < want && st.Why != "":
		return nil // there is not room for all
	case w.ceiling > 0 && all-want >= w.ceiling && open == w.ceiling && n == want && st.Demand > 0 && st.State == slipway.PoolFull && st.Why != "":
		return nil // its jobs wait, because the others keep all that there may be, and it says so
	}
	return fmt.Errorf("it has %d runners and is %s (%s; held for %q), want %d and %s", n, st.State, st.Why, st.HoldWhy, want, state)
}

// restsAt is how many runners a pool keeps without demand, and how it is called then.
func (w *World) restsAt(p slipway.RunnerPool) (int, slipway.PoolState) {
	want := keeps(p.Spec, w.now)
	switch {
	case p.Deleting:
		return 0, slipway.PoolDeleting
	case p.Paused:
		return 0, slipway.PoolPaused
	case want == 0:
		return 0, slipway.PoolSleeping
	}
	return want, slipway.PoolReady
}

// recoveredWithin is how long a job may wait unheard whose delivery was lost: until the
// next look for lost deliveries, and the redelivery.
const recoveredWithin = observe.RecoveryEvery + 2*time.Minute

// heard looks whether the jobs that pools could serve are known, once there was time to
// find what was lost.
func (w *World) heard(ctx context.Context) error {
	if w.now.Sub(w.healed) < recoveredWithin {
		return nil
	}
	s, err := w.read(ctx)
	if err != nil {
		return err
	}
	queued, at := w.jobsIn(slipway.JobQueued)
	for i, j := range queued {
		p, served := w.servedBy(s, j)
		if !served || w.now.Sub(j.QueuedAt) < recoveredWithin {
			continue
		}
		known, findable, err := w.known(ctx, p, j, at[i])
		if err != nil {
			return err
		}
		if findable && !known {
			return fmt.Errorf("job %d %v of %s/%s/%s waits since %s, pool %d serves it, and nobody has heard of it", j.ID, j.Labels, j.Host, j.Owner, j.Repository,
				j.QueuedAt.Format("02 15:04:05"), p.ID)
		}
	}
	return nil
}

// known reports whether a queued job is on record, and whether it can be found at all. One
// of a repository of which no word has ever come is only found by its failed deliveries.
func (w *World) known(ctx context.Context, p slipway.RunnerPool, j slipway.Job, at hostJob) (known, findable bool, err error) {
	err = w.look(ctx, func(tx *store.Tx) error {
		held, err := tx.QueuedJobs(ctx, j.Host, j.Owner)
		if err != nil {
			return err
		}
		known = slices.ContainsFunc(held, func(h store.ScopedJob) bool { return h.ID == j.ID })
		repos, err := tx.Repositories(ctx, j.Host, j.Owner, w.now.Add(-14*24*time.Hour))
		findable = p.Spec.Scope.Repository != "" || slices.Contains(repos, [2]string{j.Owner, j.Repository}) || !w.never[at] && w.losses[at] < 3
		return err
	})
	return known, findable, err
}

// servedBy finds a pool that could serve a job: one that takes jobs at all, in an
// environment that hears of it.
func (w *World) servedBy(s state, j slipway.Job) (slipway.RunnerPool, bool) {
	for _, p := range s.pools {
		if p.Paused || p.Deleting || !p.Spec.Serves(j) {
			continue
		}
		for _, c := range w.connections {
			if slipway.ForgeHost(c.BaseURL) == j.Host && (c.Name == j.Owner || c.BaseURL != "") && (c.EnvironmentID == 0 || c.EnvironmentID == p.EnvironmentID) {
				return p, true
			}
		}
	}
	return slipway.RunnerPool{}, false
}

func (w *World) deleteAll(ctx context.Context) error {
	w.tell("=== delete all")
	for _, f := range w.files {
		if err := w.remove(ctx, f); err != nil {
			return err
		}
	}
	return nil
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
	for _, f := range w.files {
		if app, _, err := w.standingOf(ctx, f); err != nil || app.ID != 0 {
			return errors.Join(err, fmt.Errorf("application %s is still there, and %s: %s", f.name, app.State, app.Message))
		}
	}
	return w.leftovers(s)
}
