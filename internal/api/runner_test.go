package api

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"slipway.dev/slipway/internal/joblog"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
	"slipway.dev/slipway/internal/wire"
)

// jobSource is a forge that has the log of job 7 and knows the steps of every job but 8.
type jobSource struct{ asked atomic.Int64 }

func (s *jobSource) Steps(_ context.Context, p slipway.RunnerPool, j slipway.Job) ([]joblog.Step, error) {
	if j.ID == 8 {
		return nil, slipway.Errorf(slipway.Unavailable, "GitHub does not answer")
	}
	return []joblog.Step{{Number: 1, Name: "Set up by " + p.Spec.Jobs(), Status: "completed", Conclusion: "success", StartedAt: time.Unix(0, 0)}}, nil
}

func (s *jobSource) Log(_ context.Context, _ slipway.RunnerPool, j slipway.Job, limit int64) (io.ReadCloser, error) {
	s.asked.Add(1)
	if j.ID != 7 || limit != joblog.MaxBytes {
		return nil, slipway.Errorf(slipway.NotFound, "GitHub has no log of this job: it runs, or the log was removed")
	}
	return io.NopCloser(strings.NewReader("2026-12-01T12:00:00Z \x1b[31mok\x1b[0m\n2026-12-01T12:00:01Z Error: boom\nmore\n")), nil
}

// runners makes a runner application with a pool, a busy slot and a closed one, a job on
// each, and a job that waits.
func (w *world) runners() (p slipway.RunnerPool) {
	w.t.Helper()
	ctx := w.t.Context()
	check(w.t, w.store.InTx(ctx, func(tx *store.Tx) error {
		project, err := tx.CreateProject(ctx, slipway.Project{Name: "shop"})
		if err != nil {
			return err
		}
		e, err := tx.CreateEnvironment(ctx, slipway.Environment{ProjectID: project.ID, Name: "dev", Namespace: "shop-dev"})
		if err != nil {
			return err
		}
		a, err := tx.CreateApplication(ctx, slipway.Application{EnvironmentID: e.ID, Name: "team-ci", Kind: slipway.RunnerApplication})
		if err != nil {
			return err
		}
		p, err = tx.PutRunnerPool(ctx, slipway.RunnerPool{ApplicationID: a.ID, Service: "runner", Spec: slipway.PoolSpec{
			Scope: slipway.ForgeScope{Owner: "acme"}, Credential: "github-token", Labels: []string{"slipway"}, Architecture: slipway.AMD64,
			Replicas: 1, Idle: 5 * time.Minute, Timeout: time.Hour,
		}}, false)
		if err != nil {
			return err
		}
		if err := tx.SetPoolStatus(ctx, slipway.PoolStatus{
			PoolID: p.ID, State: slipway.PoolFull, Why: "1 job waits", Demand: 1, CheckedAt: tx.Now, Generation: p.Generation, Group: 7, ListedAt: tx.Now, Ledger: slipway.Ledger{CheckedAt: tx.Now},
		}); err != nil {
			return err
		}
		for _, runner := range []string{"slipway-a", "slipway-b"} {
			s, err := tx.CreateSlot(ctx, slipway.Slot{PoolID: p.ID, Generation: 1, Scope: p.Spec.Scope, Credential: "github-token", Runner: runner})
			if err != nil {
				return err
			}
			moves := []slipway.SlotState{slipway.SlotRegistering, slipway.SlotLaunching, slipway.SlotStarting, slipway.SlotIdle, slipway.SlotBusy}
			if runner == "slipway-b" {
				moves = []slipway.SlotState{slipway.SlotClosed}
			}
			for _, next := range moves {
				from := s.State
				s.State, s.RegisteredAt, s.RunnerID = next, tx.Now, 40+s.ID
				if err := tx.UpdateSlot(ctx, s, from); err != nil {
					return err
				}
			}
		}
		for _, j := range []slipway.Job{
			{ID: 9, State: slipway.JobQueued}, {ID: 8, State: slipway.JobRunning, Runner: "slipway-a"}, {ID: 7, State: slipway.JobCompleted, Runner: "slipway-b", Conclusion: "failure"},
			{ID: 6, State: slipway.JobCompleted, Labels: []string{"ubuntu-latest"}},
		} {
			j.Host, j.RunID, j.Attempt, j.Owner, j.Repository, j.Name, j.QueuedAt, j.StartedAt = slipway.GitHubHost, 70, 1, "acme", "shop", fmt.Sprint("job ", j.ID), tx.Now, tx.Now
			j.URL = fmt.Sprintf("https://github.com/acme/shop/actions/runs/70/job/%d", j.ID)
			if j.Labels == nil {
				j.Labels = []string{"self-hosted", "slipway"}
			}
			if _, err := tx.PutJob(ctx, j, 0); err != nil {
				return err
			}
		}
		return nil
	}))
	return p
}

func as[T any](t *testing.T, r response) (out T) {
	t.Helper()
	if r.status != 200 {
		t.Fatalf("%d %s", r.status, r.body)
	}
	check(t, json.Unmarshal([]byte(r.body), &out))
	return out
}

// TestActions stands on a real SQLite database.
func TestActions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.runners()
	base := fmt.Sprintf("/applications/%d/actions", p.ApplicationID)
	a := as[wire.Actions](t, w.do("GET", base, w.reader, nil))
	if a.Application != "shop/dev/team-ci" || len(a.Pools) != 1 || len(a.Slots) != 1 || len(a.Closed) != 1 || len(a.Queue) != 2 || len(a.Recent) != 1 {
		t.Fatalf("%+v", a)
	}
	pool := a.Pools[0]
	if pool.State != "full" || pool.RunnerGroup != 7 || pool.Slots["busy"] != 1 || pool.Ledger.CheckedAt == nil || pool.Ledger.Pods == nil || pool.IdleSeconds != 300 {
		t.Errorf("pool %+v", pool)
	}
	if r := pool.Observed.Runners; len(r) != 1 || r[0].Name != "slipway-a" || r[0].State != "busy" || r[0].ID == 0 {
		t.Errorf("observed %+v", pool.Observed)
	}
	if s := a.Slots[0]; s.State != "busy" || s.Job != 8 || s.JobName != "job 8" || s.Service != "runner" {
		t.Errorf("slot %+v", s)
	}
	if q := a.Queue[1]; q.ID != 9 || q.Why.Code != "full" || q.Why.Pool != "shop/dev/team-ci/runner" || len(q.Why.Evidence) == 0 || q.Repository != "acme/shop" {
		t.Errorf("the job that waits: %+v", q)
	}
	if got := as[wire.List[wire.RunnerPool]](t, w.do("GET", "/runner-pools?environment=dev", w.reader, nil)); len(got.Items) != 1 || got.Items[0].Observed.Runners != nil {
		t.Errorf("pools %+v", got)
	}
	if got := as[wire.List[wire.Slot]](t, w.do("GET", base+"/slots?open=true&pool=runner", w.reader, nil)); len(got.Items) != 1 {
		t.Errorf("open slots %+v", got)
	}
	if got := as[wire.List[wire.Job]](t, w.do("GET", base+"/jobs?run=70&state=completed", w.reader, nil)); len(got.Items) != 1 || got.Items[0].Slot == 0 {
		t.Errorf("jobs %+v", got)
	}
}

// TestJobsAndTheirLogs stands on a real SQLite database with a forge of this test.
func TestJobsAndTheirLogs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.runners()
	job := as[wire.Job](t, w.do("GET", "/jobs/GitHub.com/9", w.reader, nil))
	if job.State != "queued" || job.Why.Code != "full" || job.Service != "runner" || job.Steps != nil {
		t.Errorf("job 9: %+v", job)
	}
	if got := as[wire.Job](t, w.do("GET", "/jobs/github.com/1234", w.reader, nil)); got.State != "unknown" || got.Why.Code != "unknown" || got.Why.Sentence == "" {
		t.Errorf("a job that nobody heard of: %+v", got)
	}
	if got := as[wire.Job](t, w.do("GET", "/jobs/github.com/9?steps=true", w.reader, nil)); len(got.Steps) != 1 || got.Steps[0].Name != "Set up by github-token" || got.StepsError != "" {
		t.Errorf("with steps: %+v", got)
	}
	if got := as[wire.Job](t, w.do("GET", "/jobs/github.com/8?steps=true", w.reader, nil)); got.StepsError != "GitHub does not answer" {
		t.Errorf("steps that cannot be read: %+v", got)
	}

	log := as[wire.JobLog](t, w.do("GET", "/jobs/github.com/7/log", w.reader, nil))
	if len(log.Lines) != 3 || log.Lines[0].Text != "ok" || log.Lines[0].At == nil || log.Lines[2].At != nil {
		t.Errorf("log %+v", log)
	}
	log = as[wire.JobLog](t, w.do("GET", "/jobs/github.com/7/log?search=error", w.reader, nil))
	if len(log.Lines) != 1 || log.Lines[0].Number != 2 || log.Read != 3 {
		t.Errorf("searched %+v", log)
	}
	asked := w.jobs.asked.Load()
	w.must(201, "POST", "/projects", w.admin, wire.NewProject{Name: "other"}, nil)
	var confined wire.TokenValue
	w.must(201, "POST", "/tokens", w.admin, wire.NewToken{Name: "other", Project: "other"}, &confined)
	for _, c := range []struct {
		name, path, token string
		status            int
		says              string
	}{
		{"one that runs has none yet", "/jobs/github.com/8/log", w.reader, 404, "GitHub has no log of this job"},
		{"one that nobody heard of", "/jobs/github.com/77/log", w.reader, 404, "there is no job 77"},
		{"one that no pool runs is not read with a pool's credential", "/jobs/github.com/6/log", w.reader, 409, "no pool that you see runs this job"},
		{"one of another project's", "/jobs/github.com/7/log", confined.Value, 404, "there is no job 7"},
		{"a host that is none", "/jobs/git%20hub/7/log", w.reader, 422, ""},
	} {
		if r := w.do("GET", c.path, c.token, nil); r.status != c.status || !strings.Contains(r.body, c.says) {
			t.Errorf("%s: %d %s, want %d … %s", c.name, r.status, r.body, c.status, c.says)
		}
	}
	if got := w.jobs.asked.Load(); got != asked+1 {
		t.Errorf("the forge was asked %d times for logs, want once: what is refused is not fetched", got-asked)
	}
}
