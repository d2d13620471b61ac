package view_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
	"slipway.dev/slipway/internal/view"
)

// runners makes a runner application with one pool of acme, two runners at most.
func (w *world) runners(project, environment, name string, change ...func(*slipway.PoolSpec)) (p slipway.RunnerPool) {
	w.Helper()
	ctx := w.Context()
	spec := slipway.PoolSpec{
		Scope: slipway.ForgeScope{Owner: "acme"}, Credential: "github-token", Labels: []string{"slipway"}, Architecture: slipway.AMD64,
		Replicas: 2, Idle: time.Minute, Timeout: time.Hour,
	}
	for _, f := range change {
		f(&spec)
	}
	w.write(func(tx *store.Tx) error {
		e, err := tx.EnvironmentByName(ctx, project, environment)
		if err != nil {
			return err
		}
		a, err := tx.CreateApplication(ctx, slipway.Application{EnvironmentID: e.ID, Name: name, Kind: slipway.RunnerApplication})
		if err != nil {
			return err
		}
		if p, err = tx.PutRunnerPool(ctx, slipway.RunnerPool{ApplicationID: a.ID, Service: "runner", Spec: spec}, false); err != nil {
			return err
		}
		return tx.SetPoolStatus(ctx, slipway.PoolStatus{PoolID: p.ID, State: slipway.PoolReady, CheckedAt: tx.Now, Generation: p.Generation})
	})
	return p
}

// slot makes a slot and moves it on, state by state.
func (w *world) slot(p slipway.RunnerPool, runner string, job int64, states ...slipway.SlotState) (s slipway.Slot) {
	w.Helper()
	ctx := w.Context()
	w.write(func(tx *store.Tx) (err error) {
		if s, err = tx.CreateSlot(ctx, slipway.Slot{PoolID: p.ID, Generation: 1, Scope: p.Spec.Scope, Credential: "github-token", Runner: runner}); err != nil {
			return err
		}
		for _, next := range states {
			from := s.State
			if s.State = next; next == slipway.SlotBusy {
				s.Job, s.BusyAt = job, tx.Now
			}
			if err := tx.UpdateSlot(ctx, s, from); err != nil {
				return err
			}
		}
		s, err = tx.Slot(ctx, s.ID)
		return err
	})
	return s
}

var toIdle = []slipway.SlotState{slipway.SlotRegistering, slipway.SlotLaunching, slipway.SlotStarting, slipway.SlotIdle}

func (w *world) job(id, environment int64, state slipway.JobState, change ...func(*slipway.Job)) {
	w.Helper()
	w.write(func(tx *store.Tx) error {
		j := slipway.Job{
			Host: slipway.GitHubHost, ID: id, RunID: id / 10, Attempt: 1, Owner: "Acme", Repository: "shop", Name: fmt.Sprintf("job %d", id),
			Labels: []string{"self-hosted", "Slipway"}, State: state, QueuedAt: tx.Now.Add(-time.Hour + time.Duration(id)*time.Second),
		}
		for _, f := range change {
			f(&j)
		}
		_, err := tx.PutJob(w.Context(), j, environment)
		return err
	})
}

func on(runner string) func(*slipway.Job) {
	return func(j *slipway.Job) { j.Runner, j.StartedAt = runner, j.QueuedAt.Add(time.Minute) }
}

func labels(l ...string) func(*slipway.Job) { return func(j *slipway.Job) { j.Labels = l } }

// TestActions: what the page of a runner application asks. World: both databases.
func TestActions(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		p := w.runners("shop", "production", "team-ci")
		busy := w.slot(p, "slipway-a", 101, append(slices.Clone(toIdle), slipway.SlotBusy)...)
		w.slot(p, "slipway-b", 0, toIdle[:3]...)
		w.slot(p, "slipway-c", 0, slipway.SlotClosed)
		w.job(101, 0, slipway.JobRunning, on("slipway-a"))
		w.job(102, p.EnvironmentID, slipway.JobQueued)
		w.job(103, 0, slipway.JobQueued)
		w.job(104, 0, slipway.JobQueued, labels("ubuntu-latest"))
		w.job(105, w.dev.EnvironmentID, slipway.JobQueued) // heard through another environment's connection
		w.job(106, 0, slipway.JobWaiting)
		w.job(90, 0, slipway.JobCompleted, on("slipway-c"))
		w.job(91, 0, slipway.JobCompleted, labels("ubuntu-latest"))

		page := must[view.ActionsPage](t)(w.reader.Actions(t.Context(), w.admin(), p.ApplicationID, view.PageSize{}))
		if len(page.Pools) != 1 || page.Pools[0].State() != slipway.PoolReady || page.Pools[0].Count(view.Starting...) != 1 || page.Pools[0].Open() != 2 {
			t.Errorf("pools: %+v", page.Pools)
		}
		if len(page.Open) != 2 || page.OpenAll != 2 || page.Open[0].Runner != "slipway-a" || page.Open[0].Runs.ID != 101 || page.Open[0].Service != "runner" {
			t.Errorf("open slots: %+v", page.Open)
		}
		if len(page.Closed) != 1 || page.Closed[0].Runner != "slipway-c" {
			t.Errorf("closed slots: %+v", page.Closed)
		}
		var queue []string
		for _, j := range page.Queue {
			queue = append(queue, fmt.Sprintf("%d %s", j.ID, j.Why.Code))
		}
		if want := []string{"101 runs", "102 starting", "103 full", "106 not-queued"}; !slices.Equal(queue, want) || page.QueueAll != 4 {
			t.Errorf("queue %v of %d, want %v", queue, page.QueueAll, want)
		}
		if page.Queue[0].Slot != busy.ID || page.Queue[0].Service != "runner" {
			t.Errorf("the running job: %+v", page.Queue[0])
		}
		if len(page.Recent) != 1 || page.Recent[0].ID != 90 || page.Recent[0].Slot == 0 {
			t.Errorf("ended jobs: %+v", page.Recent)
		}
		small := must[view.ActionsPage](t)(w.reader.Actions(t.Context(), w.admin(), p.ApplicationID, view.PageSize{Slots: 1, Jobs: 1}))
		if len(small.Open) != 1 || small.OpenAll != 2 || len(small.Queue) != 1 || small.QueueAll != 4 {
			t.Errorf("a small page: %d of %d slots, %d of %d jobs", len(small.Open), small.OpenAll, len(small.Queue), small.QueueAll)
		}
	})
}

// TestSlotsAndJobsComeInPages stands in the world of both databases.
func TestSlotsAndJobsComeInPages(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		p := w.runners("shop", "production", "team-ci")
		for i := range 5 {
			w.slot(p, fmt.Sprintf("slipway-%d", i), 0)
			w.job(int64(200+2*i), 0, slipway.JobQueued)
			w.job(int64(201+2*i), 0, slipway.JobQueued, labels("ubuntu-latest"))
		}
		var names, ids []string
		for after, more := "", true; more; more = after != "" {
			l := must[view.List[view.SlotRow]](t)(w.reader.Slots(t.Context(), w.admin(), p.ApplicationID, "runner", true, view.Page{Limit: 2, After: after}))
			for _, s := range l.Items {
				names = append(names, s.Runner)
			}
			after = l.Next
		}
		for after, more := "", true; more; more = after != "" {
			l := must[view.List[view.JobRow]](t)(w.reader.Jobs(t.Context(), w.admin(), p.ApplicationID, view.JobsFilter{State: slipway.JobQueued}, view.Page{Limit: 2, After: after}))
			for _, j := range l.Items {
				ids = append(ids, fmt.Sprint(j.ID))
			}
			after = l.Next
		}
		if got := strings.Join(names, " "); got != "slipway-4 slipway-3 slipway-2 slipway-1 slipway-0" {
			t.Errorf("slots %s", got)
		}
		if got := strings.Join(ids, " "); got != "208 206 204 202 200" {
			t.Errorf("jobs %s", got)
		}
		run := must[view.List[view.JobRow]](t)(w.reader.Jobs(t.Context(), w.admin(), p.ApplicationID, view.JobsFilter{RunID: 20}, view.Page{}))
		if len(run.Items) != 5 {
			t.Errorf("jobs of run 20: %d", len(run.Items))
		}
		if _, err := w.reader.Slots(t.Context(), w.admin(), p.ApplicationID, "nobody", false, view.Page{}); !slipway.Is(err, slipway.NotFound) {
			t.Errorf("slots of a pool that is not there: %v", err)
		}
	})
}

// TestJobAnswersWhy stands in the world of both databases.
func TestJobAnswersWhy(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		p := w.runners("shop", "production", "team-ci")
		w.runners("shop", "dev", "dev-ci", func(s *slipway.PoolSpec) { s.Labels = []string{"dev"} })
		w.slot(p, "slipway-a", 300, append(slices.Clone(toIdle), slipway.SlotBusy)...)
		w.job(300, 0, slipway.JobRunning, on("slipway-a"))
		w.job(301, 0, slipway.JobQueued)
		w.job(302, 0, slipway.JobQueued)
		w.job(303, w.dev.EnvironmentID, slipway.JobQueued)
		w.write(func(tx *store.Tx) error {
			for name, e := range map[string]int64{"whole": 0, "dev-hook": w.dev.EnvironmentID} {
				if _, err := tx.CreateConnection(ctx, slipway.Connection{Name: name, EnvironmentID: e, Forge: "github", Hook: name}, store.ConnectionSecrets{Hook: []byte("x")}); err != nil {
					return err
				}
			}
			return nil
		})
		for _, c := range []struct {
			name   string
			caller slipway.Caller
			id     int64
			known  bool
			code   view.WhyCode
			says   string
		}{
			{"one that runs on ours", w.admin(), 300, true, view.WhyRuns, "slipway-a"},
			{"the first in the queue gets the next runner", w.admin(), 301, true, view.WhyLaunching, "shop/production/team-ci/runner"},
			{"one of the wrong connection", w.admin(), 303, true, view.WhyConnection, "shop/production"},
			{"one that nobody heard of", w.admin(), 999, false, view.WhyUnknown, "nothing was heard of it"},
			{"a token of production sees it", w.confined("shop", "production"), 301, true, view.WhyLaunching, ""},
			{"and not what only dev's connection heard", w.confined("shop", "production"), 303, false, view.WhyUnknown, ""},
			{"a token of dev names no pool of production", w.confined("shop", "dev"), 303, true, view.WhyLabels, "shop/dev/dev-ci/runner comes nearest"},
			{"a token of another project sees nothing", w.confined("demo", ""), 301, false, view.WhyUnknown, ""},
		} {
			got, err := w.reader.Job(ctx, c.caller, slipway.GitHubHost, c.id)
			if err != nil || got.Known != c.known || got.Why.Code != c.code || !strings.Contains(got.Why.Sentence, c.says) {
				t.Errorf("%s: known %t, %s: %s, %v; want %t, %s: … %s …", c.name, got.Known, got.Why.Code, got.Why.Sentence, err, c.known, c.code, c.says)
			}
			all := got.Why.Sentence + strings.Join(got.Why.Evidence, "\n")
			if c.caller.Environment == "dev" && strings.Contains(all, "production") || c.caller.Project == "demo" && strings.Contains(all, "whole") {
				t.Errorf("%s: it tells of what the caller may not see: %s", c.name, all)
			}
			if !c.known && (got.Name != "" || got.Owner != "") {
				t.Errorf("%s: an unknown job has %+v", c.name, got.Job)
			}
		}
		ours := must[view.JobPage](t)(w.reader.Job(ctx, w.admin(), slipway.GitHubHost, 300))
		if ours.Slot == nil || ours.Slot.Runner != "slipway-a" || ours.Pool.ID != p.ID {
			t.Errorf("the job of slipway-a: %+v", ours)
		}
	})
}

// TestPoolsAreConfined stands in the world of both databases.
func TestPoolsAreConfined(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		p := w.runners("shop", "production", "team-ci")
		w.runners("shop", "dev", "dev-ci")
		refs := func(c slipway.Caller, f view.PoolFilter) (out []string) {
			for _, r := range must[[]view.PoolRow](t)(w.reader.RunnerPools(context.Background(), c, f)) {
				out = append(out, r.Ref())
			}
			return out
		}
		if got := refs(w.admin(), view.PoolFilter{}); len(got) != 2 {
			t.Errorf("an administrator sees %v", got)
		}
		if got := refs(w.confined("shop", "dev"), view.PoolFilter{}); !slices.Equal(got, []string{"shop/dev/dev-ci/runner"}) {
			t.Errorf("a token of dev sees %v", got)
		}
		if got := refs(w.confined("shop", "dev"), view.PoolFilter{Environment: "production"}); got != nil {
			t.Errorf("a token of dev sees of production %v", got)
		}
		for _, f := range []func(slipway.Caller) error{
			func(c slipway.Caller) error {
				_, err := w.reader.Actions(t.Context(), c, p.ApplicationID, view.PageSize{})
				return err
			},
			func(c slipway.Caller) error {
				_, err := w.reader.Slots(t.Context(), c, p.ApplicationID, "", false, view.Page{})
				return err
			},
			func(c slipway.Caller) error {
				_, err := w.reader.Jobs(t.Context(), c, p.ApplicationID, view.JobsFilter{}, view.Page{})
				return err
			},
		} {
			if err := f(w.confined("shop", "dev")); !slipway.Is(err, slipway.NotFound) {
				t.Errorf("a token of dev reads of production: %v", err)
			}
			if err := f(slipway.Caller{}); !slipway.Is(err, slipway.Unauthenticated) {
				t.Errorf("nobody reads: %v", err)
			}
		}
	})
}
