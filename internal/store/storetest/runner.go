package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

var acme = slipway.PoolSpec{
	Scope: slipway.ForgeScope{Owner: "Acme"}, Credential: "github-token", Labels: []string{"slipway"}, Architecture: slipway.AMD64,
	Replicas: 4, Idle: 5 * time.Minute, Timeout: time.Hour, WorkspaceGiB: 2,
	Schedules: []slipway.PoolSchedule{{Days: []time.Weekday{time.Monday}, From: "08:00", To: "18:00", TimeZone: "Europe/Berlin", Minimum: 1}},
	Resources: slipway.RunnerResources{CPURequest: 1000, CPULimit: 2000, MemoryRequest: 1 << 30, MemoryLimit: 4 << 30},
}

// made runs f in a writing transaction that must succeed, and returns what it made.
func made[T any](w *world, f func(ctx context.Context, tx *store.Tx) (T, error)) (out T) {
	w.Helper()
	w.write(func(ctx context.Context, tx *store.Tx) (err error) {
		out, err = f(ctx, tx)
		return err
	})
	return out
}

func (w *world) pool(service string) slipway.RunnerPool {
	w.Helper()
	a := w.application(w.environment("shop", "production"), "ci-"+service)
	return made(w, func(ctx context.Context, tx *store.Tx) (slipway.RunnerPool, error) {
		return tx.PutRunnerPool(ctx, slipway.RunnerPool{ApplicationID: a.ID, Service: service, Spec: acme}, false)
	})
}

func runnerPools(w *world) {
	t := w.T
	p := w.pool("runner")
	if p.Generation != 1 || p.Ref() != "shop/production/ci-runner/runner" || p.Namespace == "" {
		t.Errorf("a new pool: %+v", p)
	}
	if diff := cmp.Diff(acme, p.Spec); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
	put := func(change func(*slipway.RunnerPool), replace bool) slipway.RunnerPool {
		next := p
		change(&next)
		return made(w, func(ctx context.Context, tx *store.Tx) (slipway.RunnerPool, error) {
			return tx.PutRunnerPool(ctx, next, replace)
		})
	}
	if got := put(func(p *slipway.RunnerPool) { p.Spec.Replicas = 9 }, false); got.Generation != 1 || got.Spec.Replicas != 9 || got.ID != p.ID {
		t.Errorf("after a change that replaces nothing: %+v", got)
	}
	if got := put(func(p *slipway.RunnerPool) { p.Spec.Scope.Owner = "Umbrella" }, true); got.Generation != 2 {
		t.Errorf("after a change that replaces runners the generation is %d, want 2", got.Generation)
	}
	for owner, want := range map[string]int{"umbrella": 1, "UMBRELLA": 1, "acme": 0} {
		got := get(w, func(ctx context.Context, tx *store.Tx) ([]slipway.RunnerPool, error) {
			return tx.RunnerPoolsFor(ctx, slipway.GitHubHost, owner)
		})
		if len(got) != want {
			t.Errorf("%d pools for %s, want %d", len(got), owner, want)
		}
	}
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	w.write(func(ctx context.Context, tx *store.Tx) error { return tx.PoolHeard(ctx, p.ID, noon) })
	w.write(func(ctx context.Context, tx *store.Tx) error { return tx.PoolHeard(ctx, p.ID, noon.Add(-time.Hour)) })
	w.write(func(ctx context.Context, tx *store.Tx) error { return tx.SetRunnerPoolPaused(ctx, p.ID, true) })
	w.write(func(ctx context.Context, tx *store.Tx) error { return tx.SetRunnerPoolDeleting(ctx, p.ID, true) })
	got := get(w, func(ctx context.Context, tx *store.Tx) (slipway.RunnerPool, error) { return tx.RunnerPool(ctx, p.ID) })
	if !got.LastJobEvent.Equal(noon) || !got.Paused || !got.Deleting {
		t.Errorf("pool = %+v", got)
	}

	status := slipway.PoolStatus{
		PoolID: p.ID, State: slipway.PoolHeld, Why: "the token was refused", Demand: 3, CheckedAt: noon, Failures: 2, HoldUntil: noon.Add(time.Minute),
		HoldWhy: "HTTP 403", Group: 7, ListedAt: noon, ListError: "away", Version: "2.337.0", Warning: "old",
		Newest: "2.340.0", NewestAt: noon, Outdated: "runner@sha256:1", Generation: 3, CredentialVersion: 5, FailedAt: noon,
		Ledger: slipway.Ledger{CheckedAt: noon, Pods: []string{"slipway-1-x"}},
	}
	w.write(func(ctx context.Context, tx *store.Tx) error {
		return tx.SetPoolStatus(ctx, slipway.PoolStatus{PoolID: p.ID, CheckedAt: noon})
	})
	w.write(func(ctx context.Context, tx *store.Tx) error { return tx.SetPoolStatus(ctx, status) })
	all := get(w, func(ctx context.Context, tx *store.Tx) (map[int64]slipway.PoolStatus, error) {
		return tx.PoolStatuses(ctx)
	})
	if diff := cmp.Diff(map[int64]slipway.PoolStatus{p.ID: status}, all); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}

func runnerSlots(w *world) {
	t := w.T
	p := w.pool("runner")
	create := func(name string) (slipway.Slot, error) {
		var s slipway.Slot
		err := w.try(func(ctx context.Context, tx *store.Tx) (err error) {
			s, err = tx.CreateSlot(ctx, slipway.Slot{PoolID: p.ID, Generation: 1, Scope: p.Spec.Scope, Credential: "github-token", Runner: name})
			return err
		})
		return s, err
	}
	s, err := create("slipway-a")
	if err != nil || s.State != slipway.SlotWanted || s.Scope.Owner != "Acme" || s.Since.IsZero() {
		t.Fatalf("a new slot: %+v, %v", s, err)
	}
	_, err = create("slipway-a")
	w.wantKind("a name that was used", err, slipway.Conflict)

	update := func(s slipway.Slot, from slipway.SlotState) error {
		return w.try(func(ctx context.Context, tx *store.Tx) error { return tx.UpdateSlot(ctx, s, from) })
	}
	s.State, s.Failures, s.Failure = slipway.SlotRegistering, 4, "away"
	if err := update(s, slipway.SlotWanted); err != nil {
		t.Fatal(err)
	}
	if err := update(s, slipway.SlotWanted); !errors.Is(err, store.ErrStale) {
		t.Errorf("a move from a state that was left: %v, want stale", err)
	}
	s.State = slipway.SlotIdle
	if err := update(s, slipway.SlotRegistering); err == nil || errors.Is(err, store.ErrStale) {
		t.Errorf("a move that is not legal: %v", err)
	}
	s.State, s.Failures, s.Failure = slipway.SlotRegistering, 2, "away"
	if err := update(s, slipway.SlotRegistering); err != nil {
		t.Fatal(err)
	}
	got := get(w, func(ctx context.Context, tx *store.Tx) (slipway.Slot, error) {
		return tx.SlotByRunner(ctx, "slipway-a")
	})
	if got.Failures != 2 || got.Failure != "away" {
		t.Errorf("what was counted within a state: %+v", got)
	}
	for _, next := range []slipway.SlotState{slipway.SlotDraining, slipway.SlotRemoving, slipway.SlotClosed} {
		from := s.State
		s.State = next
		if err := update(s, from); err != nil {
			t.Fatal(err)
		}
	}
	open := func() []slipway.Slot {
		return get(w, func(ctx context.Context, tx *store.Tx) ([]slipway.Slot, error) { return tx.OpenSlots(ctx, p.ID) })
	}
	if got := open(); len(got) != 0 {
		t.Errorf("open slots: %+v", got)
	}
	second, err := create("slipway-b")
	if err != nil {
		t.Fatal(err)
	}
	if got := open(); len(got) != 1 || got[0].ID != second.ID {
		t.Errorf("open slots: %+v", got)
	}
	err = w.try(func(ctx context.Context, tx *store.Tx) error { return tx.DeleteRunnerPool(ctx, p.ID) })
	w.wantKind("to delete a pool with an open slot", err, slipway.Conflict)
	empty := made(w, func(ctx context.Context, tx *store.Tx) (slipway.RunnerPool, error) {
		return tx.PutRunnerPool(ctx, slipway.RunnerPool{ApplicationID: p.ApplicationID, Service: "empty", Spec: acme}, false)
	})
	retire := func(ctx context.Context, tx *store.Tx) error { return tx.RetireRunnerPool(ctx, empty.ID) }
	if err := w.try(retire); !errors.Is(err, store.ErrStale) {
		t.Errorf("to retire a pool that is wanted: %v", err)
	}
	w.write(func(ctx context.Context, tx *store.Tx) error { return tx.SetRunnerPoolDeleting(ctx, empty.ID, true) })
	w.write(retire)
	counts := get(w, func(ctx context.Context, tx *store.Tx) (map[int64]map[slipway.SlotState]int, error) {
		return tx.OpenSlotCounts(ctx)
	})
	if diff := cmp.Diff(map[int64]map[slipway.SlotState]int{p.ID: {slipway.SlotWanted: 1}}, counts); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	page := get(w, func(ctx context.Context, tx *store.Tx) (store.List[slipway.Slot], error) {
		return tx.Slots(ctx, store.SlotFilter{PoolID: p.ID}, store.Page{Limit: 1})
	})
	if len(page.Items) != 1 || page.Items[0].ID != second.ID || page.Next == "" {
		t.Errorf("the first page: %+v", page)
	}
	names := get(w, func(ctx context.Context, tx *store.Tx) (map[string]bool, error) { return tx.OpenRunners(ctx) })
	if diff := cmp.Diff(map[string]bool{"slipway-b": true}, names); diff != "" {
		t.Errorf("names of open slots (-want +got):\n%s", diff)
	}
	w.write(func(ctx context.Context, tx *store.Tx) error {
		for id, state := range map[int64]slipway.JobState{7: slipway.JobRunning, 8: slipway.JobCompleted} {
			if _, err := tx.PutJob(ctx, slipway.Job{Host: slipway.GitHubHost, ID: id, Owner: "Acme", Repository: "shop", State: state, Runner: "slipway-b"}, 0); err != nil {
				return err
			}
		}
		_, err := tx.PutJob(ctx, slipway.Job{Host: slipway.GitHubHost, ID: 9, Owner: "Acme", Repository: "shop", State: slipway.JobRunning, Runner: "slipway-a"}, 0)
		return err
	})
	jobs := get(w, func(ctx context.Context, tx *store.Tx) (map[string]slipway.Job, error) {
		return tx.JobsOfSlots(ctx, p)
	})
	if len(jobs) != 1 || jobs["slipway-b"].ID != 8 {
		t.Errorf("the jobs of open slots: %+v, want the one that came furthest, and none of a closed slot", jobs)
	}

	w.write(func(ctx context.Context, tx *store.Tx) error { return tx.ForgetSlot(ctx, second.ID, "given up by ada") })
	if got := open(); len(got) != 0 {
		t.Errorf("open slots after one was forgotten: %+v", got)
	}
	err = w.try(func(ctx context.Context, tx *store.Tx) error { return tx.ForgetSlot(ctx, second.ID, "again") })
	w.wantKind("to forget a closed slot", err, slipway.NotFound)
	n := made(w, func(ctx context.Context, tx *store.Tx) (int64, error) {
		return tx.PruneSlots(ctx, tx.Now.Add(time.Hour), 10)
	})
	if n != 2 {
		t.Errorf("%d closed slots were dropped, want 2", n)
	}
}

func forgeJobs(w *world) {
	t := w.T
	e := w.environment("shop", "production")
	now := get(w, func(_ context.Context, tx *store.Tx) (time.Time, error) { return tx.Now, nil })
	job := func(id int64, state slipway.JobState, change ...func(*slipway.Job)) slipway.Job {
		j := slipway.Job{Host: slipway.GitHubHost, ID: id, RunID: 70, Attempt: 1, Owner: "Acme", Repository: "Shop", RepositoryID: 9, Name: "test",
			Labels: []string{"slipway"}, State: state, QueuedAt: now.Add(-time.Minute)}
		for _, f := range change {
			f(&j)
		}
		return j
	}
	put := func(j slipway.Job, environment int64) bool {
		return made(w, func(ctx context.Context, tx *store.Tx) (bool, error) { return tx.PutJob(ctx, j, environment) })
	}
	for _, c := range []struct {
		what  string
		job   slipway.Job
		env   int64
		moved bool
	}{
		{"a job that is new", job(1, slipway.JobQueued), e.ID, true},
		{"the same delivery again", job(1, slipway.JobQueued), e.ID, false},
		{"the same by another connection", job(1, slipway.JobQueued), 0, true},
		{"in progress", job(1, slipway.JobRunning, func(j *slipway.Job) { j.Runner, j.RunnerID, j.QueuedAt = "slipway-a", 5, time.Time{} }), e.ID, true},
		{"queued, late", job(1, slipway.JobQueued), e.ID, false},
		{"completed without a runner's name", job(1, slipway.JobCompleted, func(j *slipway.Job) { j.Conclusion = "success" }), e.ID, true},
		{"in progress, later still", job(1, slipway.JobRunning), e.ID, false},
		{"completed before anything else of it", job(2, slipway.JobCompleted), e.ID, true},
		{"its queued, late", job(2, slipway.JobQueued), e.ID, false},
		{"another that waits", job(3, slipway.JobQueued), e.ID, true},
		{"one from the day before yesterday", job(4, slipway.JobQueued, func(j *slipway.Job) { j.QueuedAt = now.Add(-25 * time.Hour) }), 0, true},
		{"one of another owner", job(5, slipway.JobQueued, func(j *slipway.Job) { j.Owner = "umbrella" }), 0, true},
	} {
		if got := put(c.job, c.env); got != c.moved {
			t.Errorf("%s: moved %t, want %t", c.what, got, c.moved)
		}
	}
	got := get(w, func(ctx context.Context, tx *store.Tx) (slipway.Job, error) {
		return tx.Job(ctx, slipway.GitHubHost, 1)
	})
	if got.State != slipway.JobCompleted || got.Runner != "slipway-a" || got.RunnerID != 5 || got.Conclusion != "success" || got.QueuedAt.IsZero() {
		t.Errorf("job 1 in the end: %+v", got)
	}
	queued := get(w, func(ctx context.Context, tx *store.Tx) ([]store.ScopedJob, error) {
		return tx.QueuedJobs(ctx, slipway.GitHubHost, "ACME")
	})
	if len(queued) != 2 || queued[0].ID != 1 || queued[0].EnvironmentID != 0 || queued[1].ID != 3 || queued[1].EnvironmentID != e.ID {
		t.Errorf("demand: %+v", queued)
	}
	on := get(w, func(ctx context.Context, tx *store.Tx) (map[string]slipway.Job, error) {
		return tx.JobsOnRunners(ctx, e.ID, []string{"slipway-a", "slipway-b"})
	})
	if len(on) != 1 || on["slipway-a"].ID != 1 {
		t.Errorf("jobs on runners: %+v", on)
	}
	page := get(w, func(ctx context.Context, tx *store.Tx) (store.List[slipway.Job], error) {
		return tx.JobsHeard(ctx, store.HeardFilter{Owners: []store.ForgeOwner{{Host: slipway.GitHubHost, Owner: "acme"}}, EnvironmentID: e.ID}, store.Page{Limit: 2})
	})
	if len(page.Items) != 2 || page.Items[0].ID != 4 || page.Next == "" {
		t.Errorf("jobs: %+v", page)
	}
	known := get(w, func(ctx context.Context, tx *store.Tx) ([][2]string, error) {
		return tx.Repositories(ctx, slipway.GitHubHost, "acme", now.Add(-time.Hour))
	})
	if diff := cmp.Diff([][2]string{{"Acme", "Shop"}}, known); diff != "" {
		t.Errorf("known repositories (-want +got):\n%s", diff)
	}
	if n := made(w, func(ctx context.Context, tx *store.Tx) (int64, error) {
		return tx.PruneJobs(ctx, tx.Now.Add(time.Hour), 2)
	}); n != 2 {
		t.Errorf("%d jobs were dropped, want 2", n)
	}
}

// jobWords is about several words at once, and about whose word counts where.
func jobWords(w *world) {
	t := w.T
	one, two := w.environment("shop", "production"), w.environment("shop", "dev")
	now := get(w, func(_ context.Context, tx *store.Tx) (time.Time, error) { return tx.Now, nil })
	word := func(id int64, state slipway.JobState, env int64, certain bool) store.JobWord {
		j := slipway.Job{Host: slipway.GitHubHost, ID: id, RunID: 70, Attempt: 1, Owner: "acme", Repository: "shop", Labels: []string{"slipway"}, State: state}
		if state == slipway.JobQueued {
			j.QueuedAt = now.Add(-time.Minute)
		} else {
			j.Labels, j.Runner = nil, "slipway-a"
		}
		return store.JobWord{Job: j, EnvironmentID: env, Certain: certain}
	}
	const queued, running, completed = slipway.JobQueued, slipway.JobRunning, slipway.JobCompleted
	for _, c := range []struct {
		name   string
		words  []store.JobWord
		moves  []store.JobMove
		demand []int64 // the environments that may still serve the last job
	}{
		{"a life in one batch", []store.JobWord{word(1, queued, one.ID, false), word(1, running, one.ID, false), word(1, queued, one.ID, false), word(1, completed, one.ID, false)},
			[]store.JobMove{{Moved: true}, {Moved: true}, {}, {Moved: true}}, nil},
		{"one that was never queued here", []store.JobWord{word(2, running, one.ID, false), word(2, queued, one.ID, false)},
			[]store.JobMove{{Moved: true, Unseen: true}, {}}, nil},
		{"two environments hear of it", []store.JobWord{word(3, queued, one.ID, false), word(3, queued, two.ID, false)},
			[]store.JobMove{{Moved: true}, {Moved: true}}, []int64{one.ID, two.ID}},
		{"one of them is told that it is over, which is nothing to the other", []store.JobWord{word(3, completed, two.ID, false)},
			[]store.JobMove{{Moved: true}}, []int64{one.ID}},
		{"the installation is told, which counts for all", []store.JobWord{word(3, running, 0, false)}, []store.JobMove{{Moved: true}}, nil},
		{"an environment hears late what the installation knows", []store.JobWord{word(4, queued, 0, false), word(4, running, 0, false), word(4, queued, one.ID, false)},
			[]store.JobMove{{Moved: true}, {Moved: true}, {}}, nil},
		{"the forge itself says that it is over", []store.JobWord{word(5, queued, one.ID, false), word(5, queued, 0, false), word(5, completed, two.ID, true)},
			[]store.JobMove{{Moved: true}, {Moved: true}, {Moved: true}}, nil},
	} {
		got := made(w, func(ctx context.Context, tx *store.Tx) ([]store.JobMove, error) { return tx.PutJobs(ctx, c.words) })
		if diff := cmp.Diff(got, c.moves); diff != "" {
			t.Errorf("%s: got, want (-, +):\n%s", c.name, diff)
		}
		all := get(w, func(ctx context.Context, tx *store.Tx) ([]store.ScopedJob, error) {
			return tx.QueuedJobs(ctx, slipway.GitHubHost, "acme")
		})
		var demand []int64
		for _, j := range all {
			if j.ID == c.words[0].ID {
				demand = append(demand, j.EnvironmentID)
				if len(j.Labels) != 1 || j.QueuedAt.IsZero() {
					t.Errorf("%s: what it asks for was lost: %+v", c.name, j)
				}
			}
		}
		slices.Sort(demand)
		if diff := cmp.Diff(demand, c.demand); diff != "" {
			t.Errorf("%s: demand: got, want (-, +):\n%s", c.name, diff)
		}
	}
	var many []store.JobWord
	for id := range int64(200) {
		many = append(many, word(1000+id, queued, one.ID, false))
	}
	if got := made(w, func(ctx context.Context, tx *store.Tx) ([]store.JobMove, error) { return tx.PutJobs(ctx, many) }); len(got) != 200 || !got[199].Moved {
		t.Errorf("200 at once: %v", got)
	}
	if all := get(w, func(ctx context.Context, tx *store.Tx) ([]store.ScopedJob, error) {
		return tx.QueuedJobs(ctx, slipway.GitHubHost, "acme")
	}); len(all) != 200 {
		t.Errorf("%d jobs are queued, want 200", len(all))
	}
}

func connections(w *world) {
	t := w.T
	e := w.environment("shop", "production")
	c := made(w, func(ctx context.Context, tx *store.Tx) (slipway.Connection, error) {
		return tx.CreateConnection(ctx, slipway.Connection{Name: "acme", EnvironmentID: e.ID, Forge: "github", Hook: "h4sh", CreatedBy: "admin"},
			store.ConnectionSecrets{Hook: []byte("sealed")})
	})
	if c.Project != "shop" || c.Environment != "production" {
		t.Errorf("connection: %+v", c)
	}
	err := w.try(func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.CreateConnection(ctx, slipway.Connection{Name: "acme", Forge: "github", Hook: "other"}, store.ConnectionSecrets{Hook: []byte("x")})
		return err
	})
	w.wantKind("a name that is taken", err, slipway.Conflict)
	w.read(func(ctx context.Context, tx *store.Tx) error {
		got, s, err := tx.ConnectionByHook(ctx, "h4sh")
		if err == nil && (got.ID != c.ID || string(s.Hook) != "sealed" || len(s.App) != 0) {
			t.Errorf("by hook: %+v %+v", got, s)
		}
		return err
	})
	add := func(guid string) bool {
		return made(w, func(ctx context.Context, tx *store.Tx) (bool, error) {
			taken, err := tx.DeliveriesTaken(ctx, c.ID, []string{guid})
			if err != nil {
				return false, err
			}
			return !taken[guid], tx.AddDeliveries(ctx, []slipway.Delivery{{ConnectionID: c.ID, GUID: guid, Event: "workflow_job", Action: "queued", Outcome: slipway.DeliveryTaken, JobID: 1, Size: 9}})
		})
	}
	if !add("a") || add("a") || !add("b") {
		t.Error("a delivery is fresh once")
	}
	taken := get(w, func(ctx context.Context, tx *store.Tx) (map[string]bool, error) {
		return tx.DeliveriesTaken(ctx, c.ID, []string{"a", "b", "c"})
	})
	if diff := cmp.Diff(map[string]bool{"a": true, "b": true}, taken); diff != "" {
		t.Errorf("taken (-want +got):\n%s", diff)
	}
	w.write(func(ctx context.Context, tx *store.Tx) error {
		var ds []slipway.Delivery
		for i := range 150 {
			ds = append(ds, slipway.Delivery{ConnectionID: c.ID, GUID: fmt.Sprint("many-", i), Event: "ping", Outcome: slipway.DeliveryIgnored})
		}
		return tx.AddDeliveries(ctx, append(ds, slipway.Delivery{ConnectionID: c.ID, GUID: "a"}))
	})
	if ds := get(w, func(ctx context.Context, tx *store.Tx) ([]slipway.Delivery, error) {
		return tx.Deliveries(ctx, c.ID, 1000)
	}); len(ds) != 152 {
		t.Errorf("there are %d deliveries, want 152", len(ds))
	}
	err = w.try(func(ctx context.Context, tx *store.Tx) error {
		return tx.AddDeliveries(ctx, []slipway.Delivery{{ConnectionID: c.ID + 1, GUID: "z"}})
	})
	w.wantKind("a delivery of a connection that is gone", err, slipway.NotFound)
	w.write(func(ctx context.Context, tx *store.Tx) error { return tx.ConnectionHeard(ctx, c.ID, tx.Now) })
	w.write(func(ctx context.Context, tx *store.Tx) error { return tx.ConnectionRecovered(ctx, c.ID, "") })
	w.write(func(ctx context.Context, tx *store.Tx) error { return tx.ConnectionRecovered(ctx, c.ID, "HTTP 403") })
	w.read(func(ctx context.Context, tx *store.Tx) error {
		all, err := tx.Connections(ctx)
		if err == nil && (len(all) != 1 || all[0].LastDelivery.IsZero() || all[0].RecoveredAt.IsZero() || all[0].RecoverError != "HTTP 403") {
			t.Errorf("connections: %+v", all)
		}
		return err
	})
	connectionApp(w, c, e)
	w.write(func(ctx context.Context, tx *store.Tx) error { return tx.DeleteConnection(ctx, c.ID) })
	err = w.try(func(ctx context.Context, tx *store.Tx) error { return tx.DeleteConnection(ctx, c.ID) })
	w.wantKind("one that is gone", err, slipway.NotFound)
}

// connectionApp begins the making of an App twice, lets one exchange of two win, and gives
// the connection the App.
func connectionApp(w *world, c slipway.Connection, e slipway.Environment) {
	t := w.T
	begin := func(state string) slipway.AppCreation {
		return made(w, func(ctx context.Context, tx *store.Tx) (slipway.AppCreation, error) {
			return tx.PutAppCreation(ctx, slipway.AppCreation{
				ConnectionID: c.ID, EnvironmentID: e.ID, Secret: "acme-app", Organization: "acme", StateHash: []byte(state), Session: "s", UserID: 7, ExpiresAt: tx.Now.Add(time.Hour),
			})
		})
	}
	move := func(a slipway.AppCreation, asked, lost bool, why string) error {
		return w.try(func(ctx context.Context, tx *store.Tx) error {
			when := time.Time{}
			if asked {
				when = tx.Now
			}
			return tx.MoveAppCreation(ctx, a, when, lost, why)
		})
	}
	get := func() slipway.AppCreation {
		return made(w, func(ctx context.Context, tx *store.Tx) (slipway.AppCreation, error) { return tx.AppCreation(ctx, c.ID) })
	}
	first := begin("one")
	if first.Project != "shop" || first.Environment != "production" || !first.AskedAt.IsZero() || first.BegunAt.IsZero() {
		t.Errorf("begun: %+v", first)
	}
	second := begin("two")
	if err := move(first, true, false, ""); !errors.Is(err, store.ErrStale) {
		t.Errorf("the exchange of one that was begun anew: %v", err)
	}
	if err := move(second, true, false, ""); err != nil {
		t.Error(err)
	}
	if err := move(second, true, false, ""); !errors.Is(err, store.ErrStale) {
		t.Errorf("two exchanges at once: %v", err)
	}
	if err := move(get(), false, true, "no answer"); err != nil {
		t.Error(err)
	}
	if a := get(); !a.AskedAt.IsZero() || !a.Lost || a.Why != "no answer" {
		t.Errorf("after an exchange without an answer: %+v", a)
	}
	set := func() error {
		return w.try(func(ctx context.Context, tx *store.Tx) error {
			c := slipway.Connection{ID: c.ID, AppID: 4711, AppURL: "https://github.com/apps/x", AppCredential: "shop/production/acme-app"}
			return tx.SetConnectionApp(ctx, c, store.ConnectionSecrets{Hook: []byte("new"), App: []byte("key")})
		})
	}
	if err := set(); err != nil {
		t.Error(err)
	}
	if err := set(); !errors.Is(err, store.ErrStale) {
		t.Errorf("a second App: %v", err)
	}
	w.write(func(ctx context.Context, tx *store.Tx) error {
		if n, s, err := tx.HoldConnection(ctx, c.ID); err != nil || n.AppID != 4711 || string(s.App) != "key" {
			t.Errorf("held: %+v %+v, %v", n, s, err)
		}
		return tx.SetConnectionHook(ctx, c.ID, []byte("newer"))
	})
	err := w.try(func(ctx context.Context, tx *store.Tx) error { return tx.SetConnectionHook(ctx, c.ID+1, []byte("x")) })
	w.wantKind("a secret for no connection", err, slipway.NotFound)
	err = w.try(func(ctx context.Context, tx *store.Tx) error { _, _, err := tx.HoldConnection(ctx, c.ID+1); return err })
	w.wantKind("no connection to hold", err, slipway.NotFound)
	w.write(func(ctx context.Context, tx *store.Tx) error { return tx.DeleteAppCreation(ctx, c.ID) })
	err = w.try(func(ctx context.Context, tx *store.Tx) error { _, err := tx.AppCreation(ctx, c.ID); return err })
	w.wantKind("an App in the making that was forgotten", err, slipway.NotFound)
	w.read(func(ctx context.Context, tx *store.Tx) error {
		n, s, err := tx.ConnectionByHook(ctx, "h4sh")
		if err == nil && (n.AppID != 4711 || n.AppCredential != "shop/production/acme-app" || n.InstallURL() != "https://github.com/apps/x/installations/new" || string(s.App) != "key" || string(s.Hook) != "newer") {
			t.Errorf("with its App: %+v %+v", n, s)
		}
		return err
	})
}

func clusterView(w *world) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	of := func() slipway.ClusterView {
		return get(w, func(ctx context.Context, tx *store.Tx) (slipway.ClusterView, error) { return tx.ClusterView(ctx) })
	}
	if diff := cmp.Diff(slipway.ClusterView{}, of()); diff != "" {
		w.Errorf("before any look (-want +got):\n%s", diff)
	}
	want := slipway.ClusterView{RuntimeClass: true, LookedAt: noon, Missed: "the cluster does not answer", Nodes: []slipway.Node{
		{Name: "node-1", Ready: true, Architecture: slipway.AMD64, CPU: slipway.Amount{Allocatable: 4000, Requested: 500}, Taints: []string{"gpu=true:NoSchedule"}},
	}}
	for _, v := range []slipway.ClusterView{{Nodes: []slipway.Node{{Name: "old"}}}, want} {
		w.write(func(ctx context.Context, tx *store.Tx) error { return tx.SetClusterView(ctx, v) })
	}
	if diff := cmp.Diff(want, of()); diff != "" {
		w.Errorf("view (-want +got):\n%s", diff)
	}
}
