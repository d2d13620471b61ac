package pool

import (
	"context"
	"sync"
	"testing"
	"time"

	"slipway.dev/slipway/internal/outside/forge"
	"slipway.dev/slipway/internal/outside/forge/fake"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// another adds a pool to the scene's application.
func (s *scene) another(service string, change ...func(*slipway.RunnerPool)) (p slipway.RunnerPool) {
	s.Helper()
	p = slipway.RunnerPool{ApplicationID: s.app.ID, Service: service, Spec: s.pool.Spec}
	for _, f := range change {
		f(&p)
	}
	s.write(func(ctx context.Context, tx *store.Tx) (err error) {
		p, err = tx.PutRunnerPool(ctx, p, false)
		return err
	})
	return p
}

// decided is a run that has looked and decided, and not yet written anything.
func (s *scene) decided(id int64) (*run, *decision) {
	s.Helper()
	w := &run{r: s.r, id: id, ended: map[int64]bool{}}
	first, err := s.r.places(s.Context(), id)
	s.must(err)
	seen, err := w.look(s.Context(), first)
	s.must(err)
	in, err := s.r.read(s.Context(), id)
	s.must(err)
	d := w.decide(in, seen)
	return w, &d
}

// TestPoolsThatLookAtOnceKeepTheirCommonCeiling has many pools decide before any of them
// writes, and then all write at once. World: fake, over SQLite and over a real PostgreSQL.
func TestPoolsThatLookAtOnceKeepTheirCommonCeiling(t *testing.T) {
	t.Parallel()
	const ceiling = 3
	for name, open := range map[string]func(*testing.T, ...func(*slipway.PoolSpec)) *scene{"sqlite": newScene, "postgres": newPostgresScene} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, func(p *slipway.PoolSpec) { p.Minimum = 2 })
			s.change = append(s.change, func(c *Config) { c.MaxRunners = ceiling })
			s.restart()
			pools := []slipway.RunnerPool{s.pool}
			for _, service := range []string{"b", "c", "d", "e", "f"} {
				pools = append(pools, s.another(service))
			}
			var ids []int64
			for _, p := range pools {
				ids = append(ids, p.ID)
				// None leaves room to the others: nothing could be launched when they were looked at last.
				s.stands(p, func(status *slipway.PoolStatus) { status.State, status.Why = slipway.PoolHeld, "there is no cluster" })
			}
			var all sync.WaitGroup
			begin, wanted := make(chan struct{}), 0
			errs := make([]error, len(ids))
			for i, id := range ids {
				w, d := s.decided(id)
				wanted += len(d.create)
				all.Go(func() {
					<-begin
					errs[i] = w.commit(t.Context(), d)
				})
			}
			if wanted <= ceiling {
				t.Fatalf("only %d runners are wanted: nothing is shown", wanted)
			}
			close(begin)
			all.Wait()
			open := 0
			for i, id := range ids {
				s.must(errs[i])
				s.must(s.store.Read(t.Context(), func(tx *store.Tx) error {
					slots, err := tx.OpenSlots(t.Context(), id)
					open += len(slots)
					return err
				}))
			}
			if open != ceiling {
				t.Errorf("%d runners under a ceiling of %d", open, ceiling)
			}
		})
	}
}

// TestAPoolThatIsMadeSmallerWhileItDecidesLaunchesNoMore holds the pool's own limit the same
// way. World: fake, over SQLite.
func TestAPoolThatIsMadeSmallerWhileItDecidesLaunchesNoMore(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(context.Context, *store.Tx, slipway.RunnerPool) error
		want   int
	}{
		"smaller": {func(ctx context.Context, tx *store.Tx, p slipway.RunnerPool) error {
			p.Spec.Replicas = 1
			_, err := tx.PutRunnerPool(ctx, p, false)
			return err
		}, 1},
		"paused": {func(ctx context.Context, tx *store.Tx, p slipway.RunnerPool) error {
			return tx.SetRunnerPoolPaused(ctx, p.ID, true)
		}, 0},
		"deleted": {func(ctx context.Context, tx *store.Tx, p slipway.RunnerPool) error {
			return tx.SetRunnerPoolDeleting(ctx, p.ID, true)
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, func(p *slipway.PoolSpec) { p.Minimum = 2 })
			w, d := s.decided(s.pool.ID)
			s.write(func(ctx context.Context, tx *store.Tx) error { return c.change(ctx, tx, s.pool) })
			s.must(w.commit(t.Context(), d))
			if got := len(s.slots()); got != c.want {
				t.Errorf("%d slots, want %d", got, c.want)
			}
		})
	}
}

// TestAScheduleCountsUnderTheCommonCeiling: what a pool keeps by its schedule is asked for
// like what it keeps always. World: fake, over SQLite.
func TestAScheduleCountsUnderTheCommonCeiling(t *testing.T) {
	t.Parallel()
	always := slipway.PoolSchedule{
		Days: []time.Weekday{0, 1, 2, 3, 4, 5, 6}, From: "00:00", To: "24:00", TimeZone: "Europe/Berlin", Minimum: 2,
	}
	s := newScene(t, func(p *slipway.PoolSpec) { p.Schedules = []slipway.PoolSchedule{always} })
	s.change = append(s.change, func(c *Config) { c.MaxRunners = 3 })
	s.restart()
	w, d := s.decided(s.pool.ID)
	s.must(w.commit(t.Context(), d))
	if got := len(s.slots()); got != 2 {
		t.Errorf("%d slots, want the 2 of the schedule", got)
	}
}

// stands writes how a pool was found at a look a moment ago.
func (s *scene) stands(p slipway.RunnerPool, change func(*slipway.PoolStatus)) {
	s.Helper()
	status := slipway.PoolStatus{PoolID: p.ID, State: slipway.PoolReady, CheckedAt: s.time(), Generation: p.Generation, CredentialVersion: 1}
	change(&status)
	s.write(func(ctx context.Context, tx *store.Tx) error { return tx.SetPoolStatus(ctx, status) })
}

// created is how many slots a pool makes when it looks, decides and commits.
func (s *scene) created(id int64) (n int) {
	s.Helper()
	w, d := s.decided(id)
	s.must(w.commit(s.Context(), d))
	s.must(s.store.Read(s.Context(), func(tx *store.Tx) error {
		slots, err := tx.OpenSlots(s.Context(), id)
		n = len(slots)
		return err
	}))
	return n
}

// TestWhatOtherPoolsKeepCountsUnderTheCommonCeiling: a pool with a lower priority that looks
// first leaves to the others what they keep without a job, unless they cannot use it. World:
// fake, over SQLite.
func TestWhatOtherPoolsKeepCountsUnderTheCommonCeiling(t *testing.T) {
	t.Parallel()
	always := slipway.PoolSchedule{Days: []time.Weekday{0, 1, 2, 3, 4, 5, 6}, From: "00:00", To: "24:00", TimeZone: "UTC", Minimum: 3}
	fixed := func(p *slipway.PoolSpec) { p.Idle = 0 }
	ready := func(*slipway.PoolStatus) {}
	for name, c := range map[string]struct {
		high  func(*slipway.PoolSpec)
		stand func(*slipway.PoolStatus)
		pool  func(context.Context, *store.Tx, int64) error
		want  int
	}{
		"fixed":              {fixed, ready, nil, 0},
		"of GitLab":          {func(p *slipway.PoolSpec) { p.Idle, p.Scope.Forge = 0, slipway.GitLab }, ready, nil, 0},
		"minimum":            {func(p *slipway.PoolSpec) { p.Minimum = 2 }, ready, nil, 1},
		"spare":              {func(p *slipway.PoolSpec) { p.Spare = 1 }, ready, nil, 2},
		"schedule":           {func(p *slipway.PoolSpec) { p.Schedules = []slipway.PoolSchedule{always} }, ready, nil, 0},
		"demand and minimum": {func(p *slipway.PoolSpec) { p.Minimum = 1 }, func(s *slipway.PoolStatus) { s.Demand = 2 }, nil, 1},
		"nothing":            {func(*slipway.PoolSpec) {}, ready, nil, 3},
		"on hold":            {fixed, func(s *slipway.PoolStatus) { s.State, s.HoldUntil = slipway.PoolHeld, s.CheckedAt.Add(time.Hour) }, nil, 3},
		"held without end":   {fixed, func(s *slipway.PoolStatus) { s.State, s.Why = slipway.PoolHeld, "its namespace is being prepared" }, nil, 3},
		"image turned away":  {fixed, func(s *slipway.PoolStatus) { s.Outdated = "runner@sha256:1" }, nil, 3},
		"another image was":  {fixed, func(s *slipway.PoolStatus) { s.Outdated = "runner@sha256:0" }, nil, 0},
		"paused":             {fixed, ready, func(ctx context.Context, tx *store.Tx, id int64) error { return tx.SetRunnerPoolPaused(ctx, id, true) }, 3},
		"deleted": {fixed, ready, func(ctx context.Context, tx *store.Tx, id int64) error {
			return tx.SetRunnerPoolDeleting(ctx, id, true)
		}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, func(p *slipway.PoolSpec) { p.Replicas, p.Priority = 3, 10 }, c.high)
			s.change = append(s.change, func(c *Config) { c.MaxRunners = 3 })
			s.restart()
			low := s.another("low", func(p *slipway.RunnerPool) {
				p.Spec = slipway.PoolSpec{
					Scope: slipway.ForgeScope{Owner: "acme"}, Credential: "github-token", Labels: []string{"other"}, Architecture: slipway.AMD64,
					Replicas: 3, Timeout: time.Hour, WorkspaceGiB: 2,
				}
			})
			s.stands(s.pool, c.stand)
			if c.pool != nil {
				s.pass(time.Second)
				s.write(func(ctx context.Context, tx *store.Tx) error { return c.pool(ctx, tx, s.pool.ID) })
			}
			if got := s.created(low.ID); got != c.want {
				t.Errorf("the pool of lower priority makes %d runners under a ceiling of 3, want %d", got, c.want)
			}
		})
	}
}

// TestAPoolThatTriesAnewIsNotFull has what held it back be repaired under a ceiling that has
// room: it launches at once. World: fake, over SQLite.
func TestAPoolThatTriesAnewIsNotFull(t *testing.T) {
	t.Parallel()
	for name, repair := range map[string]func(*scene){
		"a new credential": func(s *scene) { s.setSecret("github-token", "ghp_1111111111111111111111111111111111111111") },
		"a change": func(s *scene) {
			s.write(func(ctx context.Context, tx *store.Tx) error {
				_, err := tx.PutRunnerPool(ctx, s.pool, false)
				return err
			})
		},
		"a resume": func(s *scene) {
			s.write(func(ctx context.Context, tx *store.Tx) error { return tx.SetRunnerPoolPaused(ctx, s.pool.ID, false) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, func(p *slipway.PoolSpec) { p.Idle = 0 })
			s.change = append(s.change, func(c *Config) { c.MaxRunners = 10 })
			s.restart()
			s.stands(s.pool, func(p *slipway.PoolStatus) {
				p.State, p.Failures, p.HoldUntil, p.HoldWhy = slipway.PoolHeld, 6, s.time().Add(15*time.Minute), "refused"
			})
			s.pass(time.Second)
			if got := s.created(s.pool.ID); got != 0 {
				t.Fatalf("held, it makes %d runners", got)
			}
			if got := s.status(); got.State != slipway.PoolHeld || got.Why != "refused" {
				t.Errorf("held, it is %s: %s", got.State, got.Why)
			}
			s.pass(time.Second)
			repair(s)
			if got := s.created(s.pool.ID); got != 2 {
				t.Errorf("repaired, it makes %d runners, want 2; it is %s: %s", got, s.status().State, s.status().Why)
			}
		})
	}
}

// TestPoolsUnderACeilingShareByPriority has fixed pools live under a ceiling: the one that is
// served first is not the one that looks first, and what is left is not left unused. World:
// fake, over SQLite.
func TestPoolsUnderACeilingShareByPriority(t *testing.T) {
	t.Parallel()
	s := newScene(t, func(p *slipway.PoolSpec) { p.Idle, p.Replicas, p.Priority = 0, 2, 10 })
	s.change = append(s.change, func(c *Config) { c.MaxRunners = 3 })
	s.restart()
	low := s.another("low", func(p *slipway.RunnerPool) { p.Spec.Replicas, p.Spec.Priority = 3, 0 })
	for range 30 {
		s.kube.live()
		s.lookAt(low.ID)
		s.look()
		s.pass(2 * time.Second)
	}
	first := s.slots()
	s.pool = low
	if high, rest := len(first), len(s.slots()); high != 2 || rest != 1 {
		t.Errorf("under a ceiling of 3 they have %d and %d runners, want 2 and 1", high, rest)
	}
}

// lookAt is one run for another pool than the scene's own.
func (s *scene) lookAt(id int64) {
	s.Helper()
	own := s.pool.ID
	s.pool.ID = id
	defer func() { s.pool.ID = own }()
	s.look()
}

// TestAHeldPoolLeavesItsJobsToAnother has the first of two pools that serve a job be unable
// to launch: for a credential that is refused, and for an image that the forge turned away.
// World: fake, over SQLite.
func TestAHeldPoolLeavesItsJobsToAnother(t *testing.T) {
	t.Parallel()
	for name, hold := range map[string]func(*slipway.PoolStatus, time.Time){
		"its launches fail":     func(p *slipway.PoolStatus, now time.Time) { p.HoldUntil, p.HoldWhy = now.Add(time.Minute), "refused" },
		"its image is outdated": func(p *slipway.PoolStatus, _ time.Time) { p.Outdated = "runner@sha256:1" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, func(p *slipway.PoolSpec) { p.Priority = 5 })
			other := s.another("other", func(p *slipway.RunnerPool) { p.Spec.Priority = 0 })
			demand := func() [2]int {
				var out [2]int
				for i, id := range []int64{s.pool.ID, other.ID} {
					in, err := s.r.read(t.Context(), id)
					s.must(err)
					out[i] = len(in.demand)
				}
				return out
			}
			s.look()
			s.lookAt(other.ID)
			s.pass(time.Second)
			s.queueJobs(3)
			s.heard()
			if got := demand(); got != [2]int{2, 1} {
				t.Fatalf("demand of a pool of two runners and of the next: %v", got)
			}
			status := s.status()
			hold(&status, s.time())
			s.write(func(ctx context.Context, tx *store.Tx) error { return tx.SetPoolStatus(ctx, status) })
			if got := demand(); got != [2]int{1, 2} {
				t.Errorf("demand when the first launches nothing: %v; what fits into the next one must go there", got)
			}
			s.setPool(func(p *slipway.RunnerPool) { p.Spec.Labels = []string{"slipway", "more"} })
			if got := demand(); got[0] != 2 {
				t.Errorf("demand after the first was changed, and tries anew: %v", got)
			}
		})
	}
}

// TestAPoolThatStopsLaunchingWakesTheNext has the wake-up be in the transaction that stops
// it. World: fake, over SQLite.
func TestAPoolThatStopsLaunchingWakesTheNext(t *testing.T) {
	t.Parallel()
	s := newScene(t, func(p *slipway.PoolSpec) { p.Priority, p.Replicas = 5, 1 })
	other := s.another("other", func(p *slipway.RunnerPool) { p.Spec.Priority, p.Spec.Credential = 0, "other-token" })
	s.setSecret("other-token", "ghp_1111111111111111111111111111111111111111")
	s.look()
	woken := func() bool {
		var found bool
		s.must(s.store.Read(t.Context(), func(tx *store.Tx) error {
			var n int
			err := tx.SQL().QueryRowContext(t.Context(), `SELECT COUNT(*) FROM wakeups WHERE noun = 'pool' AND noun_id = ?`, other.ID).Scan(&n)
			found = n > 0
			return err
		}))
		return found
	}
	s.queueJobs(1)
	s.heard()
	if woken() {
		t.Fatal("the other pool is woken already: nothing is shown")
	}
	s.github.Break(fake.Fault{Op: "Register", Problem: forge.Refused})
	s.look()
	if !woken() {
		t.Error("the next pool is left asleep")
	}
	s.lookAt(other.ID)
	if n := s.kube.count(); n != 1 {
		t.Errorf("%d pods, want the next pool's", n)
	}
}

// TestAPoolThatFailsAfterAChangePassesItsJobsOn: it was changed after its last look, and in
// this one its image turns out to be turned away. World: fake, over SQLite.
func TestAPoolThatFailsAfterAChangePassesItsJobsOn(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.kube.broken, s.kube.outdated = "exit code 7", true
	s.queueJobs(1)
	s.heard()
	s.look()
	s.kube.live()
	s.pass(time.Second)
	s.write(func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.PutRunnerPool(ctx, s.pool, false)
		return err
	})
	s.pass(time.Second)
	_, d := s.decided(s.pool.ID)
	if d.status.Outdated == "" {
		t.Fatal("its image is not turned away: nothing is shown")
	}
	if !d.passOn {
		t.Error("it is held, and the next pool is left asleep")
	}
}
