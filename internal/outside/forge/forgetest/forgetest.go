// Package forgetest is the suite that every implementation of the forge contract passes. It
// must never know which one it has: what an implementation cannot do, the contract should
// not promise.
package forgetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"slipway.dev/slipway/internal/outside/forge"
	"slipway.dev/slipway/internal/outside/forge/fake"
	"slipway.dev/slipway/internal/slipway"
)

var (
	repo  = forge.Repository{Owner: "Team", Name: "app"}
	org   = slipway.ForgeScope{Owner: "Team"}
	alone = slipway.ForgeScope{Owner: "Team", Repository: "app"}
)

// Run runs the whole suite; see RunRunners for a part of it. open returns a forge of its own for each test, and the world behind
// it; the world has no repository yet.
func Run(t *testing.T, open func(t *testing.T) (forge.Forge, *fake.GitHub)) {
	furnished := func(t *testing.T) (forge.Forge, *fake.GitHub) {
		f, world := open(t)
		world.AddRepository(repo)
		world.AddRepository(forge.Repository{Owner: "Team", Name: "other"})
		return f, world
	}
	t.Run("runners", func(t *testing.T) {
		RunRunners(t, func(t *testing.T) (forge.Runners, World) {
			f, world := furnished(t)
			return f, githubWorld(world)
		})
	})
	for _, tc := range []struct {
		name string
		test func(*testing.T, forge.Forge, *fake.GitHub)
	}{
		{"a registration lives from its request to its job's end", life},
		{"every label is sent, and no other", labels},
		{"a runner with a job cannot be removed, whatever the list says of it", busy},
		{"a name is taken, also when the reply was lost", taken},
		{"a list has all its pages", pagesOf},
		{"a refusal, an outage and a limit are told apart", problems},
		{"what is not there is told from what may not be seen", absent},
		{"jobs have their steps, times and runner", jobs},
		{"a job that was cancelled before it began has no runner", cancelled},
		{"a log is read when the job has ended, and no further than asked", logs},
		{"a rerun waits for the end of the run", rerun},
		{"one job is run again, and the others are told anew", rerunJob},
		{"runs are found by status and time", runs},
		{"deliveries that were lost are found and repeated", deliveries},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			f, world := furnished(t)
			tc.test(t, f, world)
		})
	}
}

func register(t *testing.T, f forge.Forge, s slipway.ForgeScope, name string, labels ...string) forge.Configured {
	t.Helper()
	c, err := f.Register(t.Context(), s, forge.Registration{Name: name, Labels: append([]string{"self-hosted", "linux", "X64"}, labels...)})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func online(t *testing.T, w *fake.GitHub, c forge.Configured) {
	t.Helper()
	if _, err := w.Online(c.Config); err != nil {
		t.Fatal(err)
	}
}

func want(t *testing.T, err error, p forge.Problem) {
	t.Helper()
	if !forge.Is(err, p) {
		t.Errorf("got %v (%s), want %s", err, forge.ProblemOf(err), p)
	}
	var person *slipway.Error
	if err != nil && (!errors.As(err, &person) || person.Msg == "") {
		t.Errorf("there is no sentence for people in %v", err)
	}
}

func life(t *testing.T, f forge.Forge, w *fake.GitHub) {
	for _, s := range []slipway.ForgeScope{org, alone} {
		name := "slw-" + s.Repository + "x1"
		c := register(t, f, s, name)
		if c.Config == "" || c.Runner.ID == 0 || c.Runner.Name != name || c.Runner.Online || c.Runner.Busy {
			t.Fatalf("registered %+v", c)
		}
		online(t, w, c)
		if _, err := w.Online(c.Config); err == nil {
			t.Error("a configuration is good for twice")
		}
		r, err := f.Runner(t.Context(), s, c.Runner.ID)
		if err != nil || !r.Online || r.Busy {
			t.Errorf("it is %+v, %v; want it online and idle", r, err)
		}
		job := w.Queue(repo, []string{"linux"})[0]
		if got := w.Assign(); got[c.Runner.ID] != job {
			t.Fatalf("assigned %v", got)
		}
		if r, err := f.RunnerNamed(t.Context(), s, name); err != nil || !r.Busy || r.ID != c.Runner.ID {
			t.Errorf("it is %+v, %v; want it busy", r, err)
		}
		w.Finish(job, "success")
		_, err = f.Runner(t.Context(), s, c.Runner.ID)
		want(t, err, forge.NotFound)
		all, err := f.Runners(t.Context(), s)
		if err != nil || len(all) != 0 {
			t.Errorf("left over: %v, %v", all, err)
		}
	}
	if id, err := f.DefaultGroup(t.Context(), org); err != nil || id != 1 {
		t.Errorf("DefaultGroup() = %d, %v", id, err)
	}
	if id, err := f.DefaultGroup(t.Context(), alone); err != nil || id != 0 {
		t.Errorf("DefaultGroup() of a repository = %d, %v", id, err)
	}
}

func labels(t *testing.T, f forge.Forge, _ *fake.GitHub) {
	c := register(t, f, org, "slw-l", "gpu", "Ünïcode label")
	r, err := f.Runner(t.Context(), org, c.Runner.ID)
	if d := cmp.Diff(r.Labels, []string{"self-hosted", "linux", "X64", "gpu", "Ünïcode label"}); d != "" || err != nil {
		t.Errorf("labels (-got +want), %v:\n%s", err, d)
	}
	_, err = f.Register(t.Context(), org, forge.Registration{Name: "slw-none"})
	want(t, err, forge.Invalid)
	if c, err := f.Register(t.Context(), org, forge.Registration{Name: "slw-g", Labels: []string{"x"}, Group: 7}); err != nil || c.Runner.Group != 7 {
		t.Errorf("in group 7: %+v, %v", c.Runner, err)
	}
}

func busy(t *testing.T, f forge.Forge, w *fake.GitHub) {
	c := register(t, f, org, "slw-b")
	online(t, w, c)
	job := w.Queue(repo, []string{"linux"})[0]
	w.Assign()
	w.LieAboutBusy(c.Runner.ID, false)
	want(t, f.Unregister(t.Context(), org, c.Runner.ID), forge.Busy)
	if j, err := f.Job(t.Context(), repo, job); err != nil || j.State != slipway.JobRunning {
		t.Errorf("its job is %s, %v", j.State, err)
	}
}

func taken(t *testing.T, f forge.Forge, w *fake.GitHub) {
	register(t, f, org, "slw-t")
	_, err := f.Register(t.Context(), org, forge.Registration{Name: "SLW-T", Labels: []string{"x"}})
	want(t, err, forge.Taken)

	w.Break(fake.Fault{Op: "Register", Lost: true})
	_, err = f.Register(t.Context(), org, forge.Registration{Name: "slw-lost", Labels: []string{"x"}})
	want(t, err, forge.Away)
	_, err = f.Register(t.Context(), org, forge.Registration{Name: "slw-lost", Labels: []string{"x"}})
	want(t, err, forge.Taken)
	r, err := f.RunnerNamed(t.Context(), org, "slw-lost")
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Unregister(t.Context(), org, r.ID); err != nil {
		t.Error(err)
	}
	_, err = f.RunnerNamed(t.Context(), org, "slw-lost")
	want(t, err, forge.NotFound)
}

func pagesOf(t *testing.T, f forge.Forge, w *fake.GitHub) {
	const many = 230
	for i := range many {
		if _, err := w.Register(t.Context(), org, forge.Registration{Name: fmt.Sprintf("slw-%d", i), Labels: []string{"x"}}); err != nil {
			t.Fatal(err)
		}
	}
	all, err := f.Runners(t.Context(), org)
	seen := map[string]bool{}
	for _, r := range all {
		seen[r.Name] = true
	}
	if err != nil || len(seen) != many || len(all) != many {
		t.Errorf("%d runners, %d of them different, %v; want %d", len(all), len(seen), err, many)
	}
	if r, err := f.RunnerNamed(t.Context(), org, "slw-229"); err != nil || r.Name != "slw-229" {
		t.Errorf("the last one by its name: %+v, %v", r, err)
	}
	var sets [][]string
	for range 130 {
		sets = append(sets, []string{"x"})
	}
	ids := w.Queue(repo, sets...)
	j, err := w.Job(t.Context(), repo, ids[0])
	if err != nil {
		t.Fatal(err)
	}
	if got, err := f.Jobs(t.Context(), repo, j.RunID, 0); err != nil || len(got) != len(ids) {
		t.Errorf("%d jobs, %v; want %d", len(got), err, len(ids))
	}
}

func problems(t *testing.T, f forge.Forge, w *fake.GitHub) {
	calls := map[string]func() error{
		"Register": func() error {
			_, err := f.Register(t.Context(), org, forge.Registration{Name: "slw-p", Labels: []string{"x"}})
			return err
		},
		"Runners":     func() error { _, err := f.Runners(t.Context(), org); return err },
		"Runner":      func() error { _, err := f.Runner(t.Context(), org, 1); return err },
		"Unregister":  func() error { return f.Unregister(t.Context(), org, 1) },
		"Runs":        func() error { _, err := f.Runs(t.Context(), repo, forge.RunQuery{}); return err },
		"Jobs":        func() error { _, err := f.Jobs(t.Context(), repo, 1, 0); return err },
		"Run":         func() error { _, err := f.Run(t.Context(), repo, 1); return err },
		"Job":         func() error { _, err := f.Job(t.Context(), repo, 1); return err },
		"Log":         func() error { _, err := f.Log(t.Context(), repo, 1, 1); return err },
		"RerunFailed": func() error { return f.RerunFailed(t.Context(), repo, 1) },
		"RerunJob":    func() error { return f.RerunJob(t.Context(), repo, 1) },
		"Redeliver":   func() error { return f.Redeliver(t.Context(), forge.Hook{Scope: org, ID: 1}, 1) },
		"Hooks":       func() error { _, err := f.Hooks(t.Context(), org); return err },
	}
	for name, call := range calls {
		w.Outage(true)
		if err := call(); !forge.Is(err, forge.Away) {
			t.Errorf("%s in an outage: %v", name, err)
		}
		w.Outage(false)
		w.Revoke(true)
		var e *forge.Error
		if err := call(); !forge.Is(err, forge.Refused) || !errors.As(err, &e) || e.Permission == "" {
			t.Errorf("%s with a revoked credential: %v", name, err)
		}
		w.Revoke(false)
		w.Forbid("team", true)
		if err := call(); !forge.Is(err, forge.Refused) || !errors.As(err, &e) || e.Permission == "" {
			t.Errorf("%s without a permission: %v", name, err)
		}
		w.Forbid("team", false)
	}
	// Last, because who is asked to wait may keep to it.
	w.Throttle(time.Hour)
	_, err := f.Runners(t.Context(), org)
	var e *forge.Error
	if !forge.Is(err, forge.Throttled) || !errors.As(err, &e) || e.RetryAfter < 59*time.Minute || e.RetryAfter > 2*time.Hour {
		t.Errorf("asked to wait an hour, it says %v: %+v", err, e)
	}
}

func absent(t *testing.T, f forge.Forge, w *fake.GitHub) {
	_, err := f.Runner(t.Context(), org, 1)
	want(t, err, forge.NotFound)
	want(t, f.Unregister(t.Context(), org, 1), forge.NotFound)
	_, err = f.Job(t.Context(), repo, 1)
	want(t, err, forge.NotFound)
	_, err = f.Run(t.Context(), repo, 1)
	want(t, err, forge.NotFound)
	_, err = f.Runners(t.Context(), slipway.ForgeScope{Owner: "nobody"})
	want(t, err, forge.Refused)
	w.Forbid("team", true)
	_, err = f.Runner(t.Context(), org, 1)
	want(t, err, forge.Refused)
	want(t, f.Unregister(t.Context(), org, 1), forge.Refused)
}

func jobs(t *testing.T, f forge.Forge, w *fake.GitHub) {
	c := register(t, f, org, "slw-j", "gpu")
	online(t, w, c)
	ids := w.Queue(repo, []string{"Self-Hosted", "GPU"}, []string{"arm64"})
	if j, err := f.Job(t.Context(), repo, ids[0]); err != nil || j.State != slipway.JobQueued || j.Runner != "" || !j.StartedAt.IsZero() || j.QueuedAt.IsZero() {
		t.Errorf("queued: %+v, %v", j, err)
	}
	w.Assign()
	j, err := f.Job(t.Context(), repo, ids[0])
	if err != nil || j.State != slipway.JobRunning || j.Runner != "slw-j" || j.RunnerID != c.Runner.ID || j.StartedAt.IsZero() || !j.EndedAt.IsZero() {
		t.Errorf("running: %+v, %v", j, err)
	}
	if len(j.Steps) != 1 || j.Steps[0].Name == "" || j.Steps[0].Status != "in_progress" || j.Steps[0].StartedAt.IsZero() {
		t.Errorf("its steps: %+v", j.Steps)
	}
	w.Finish(ids[0], "failure")
	all, err := f.Jobs(t.Context(), repo, j.RunID, 1)
	if err != nil || len(all) != 2 {
		t.Fatalf("jobs of the run: %+v, %v", all, err)
	}
	if a := all[0]; a.ID != ids[0] || a.State != slipway.JobCompleted || a.Conclusion != "failure" || a.EndedAt.IsZero() || a.Attempt != 1 || a.Owner != "Team" || a.Repository != "app" || a.Workflow == "" || a.URL == "" {
		t.Errorf("ended: %+v", a)
	}
	if b := all[1]; b.State != slipway.JobQueued || len(b.Labels) != 1 || b.Labels[0] != "arm64" {
		t.Errorf("the other: %+v", b)
	}
	_, err = f.Jobs(t.Context(), repo, j.RunID, 9)
	want(t, err, forge.NotFound)
}

func cancelled(t *testing.T, f forge.Forge, w *fake.GitHub) {
	id := w.Queue(repo, []string{"x"})[0]
	w.Finish(id, "cancelled")
	j, err := f.Job(t.Context(), repo, id)
	if err != nil || j.State != slipway.JobCompleted || j.Conclusion != "cancelled" || j.Runner != "" || j.RunnerID != 0 {
		t.Errorf("%+v, %v", j, err)
	}
}

func logs(t *testing.T, f forge.Forge, w *fake.GitHub) {
	id := w.Queue(repo, []string{"x"})[0]
	w.SetLog(id, strings.Repeat("line\n", 100))
	_, err := f.Log(t.Context(), repo, id, 1<<20)
	want(t, err, forge.NotFound)
	w.Finish(id, "success")
	read := func(limit int64) (string, error) {
		body, err := f.Log(t.Context(), repo, id, limit)
		if err != nil {
			t.Fatal(err)
		}
		defer body.Close()
		raw, err := io.ReadAll(body)
		return string(raw), err
	}
	if got, err := read(500); err != nil || len(got) != 500 {
		t.Errorf("%d bytes, %v; want all 500", len(got), err)
	}
	got, err := read(499)
	if len(got) != 499 {
		t.Errorf("%d bytes of at most 499", len(got))
	}
	want(t, err, forge.TooLarge)
}

func rerun(t *testing.T, f forge.Forge, w *fake.GitHub) {
	ids := w.Queue(repo, []string{"x"}, []string{"x"})
	run := mustJob(t, w, ids[0]).RunID
	w.Finish(ids[0], "failure")
	want(t, f.RerunFailed(t.Context(), repo, run), forge.Running)
	want(t, f.RerunJob(t.Context(), repo, ids[0]), forge.Running)
	w.Finish(ids[1], "success")
	if err := f.RerunFailed(t.Context(), repo, run); err != nil {
		t.Fatal(err)
	}
	r, err := f.Run(t.Context(), repo, run)
	if err != nil || r.Attempt != 2 || r.Status != "queued" || r.Conclusion != "" {
		t.Errorf("the run is %+v, %v", r, err)
	}
	all, err := f.Jobs(t.Context(), repo, run, 0)
	if err != nil || len(all) != 2 || all[0].State != slipway.JobQueued || all[1].State != slipway.JobCompleted || all[0].Attempt != 2 || all[0].ID == ids[0] || all[1].ID == ids[1] {
		t.Errorf("the second attempt: %+v, %v", all, err)
	}
	want(t, f.RerunFailed(t.Context(), repo, run), forge.Running)
	want(t, f.RerunFailed(t.Context(), repo, 1), forge.NotFound)
	w.Break(fake.Fault{Op: "RerunFailed", Problem: forge.TooLate})
	want(t, f.RerunFailed(t.Context(), repo, run), forge.TooLate)
}

func rerunJob(t *testing.T, f forge.Forge, w *fake.GitHub) {
	ids := w.Queue(repo, []string{"x"}, []string{"x"})
	w.Finish(ids[0], "cancelled")
	w.Finish(ids[1], "failure")
	if err := f.RerunJob(t.Context(), repo, ids[0]); err != nil {
		t.Fatal(err)
	}
	all, err := f.Jobs(t.Context(), repo, mustJob(t, w, ids[0]).RunID, 0)
	if err != nil || len(all) != 2 || all[0].State != slipway.JobQueued || all[1].Conclusion != "failure" {
		t.Errorf("the second attempt: %+v, %v", all, err)
	}
	want(t, f.RerunJob(t.Context(), repo, 1), forge.NotFound)
}

func mustJob(t *testing.T, w *fake.GitHub, id int64) forge.Job {
	t.Helper()
	j, err := w.Job(t.Context(), repo, id)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func runs(t *testing.T, f forge.Forge, w *fake.GitHub) {
	first := mustJob(t, w, w.Queue(repo, []string{"x"})[0])
	second := mustJob(t, w, w.Queue(repo, []string{"x"})[0])
	w.Finish(first.ID, "success")
	list := func(q forge.RunQuery) (out []int64) {
		t.Helper()
		all, err := f.Runs(t.Context(), repo, q)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range all {
			out = append(out, r.ID)
		}
		return out
	}
	if d := cmp.Diff(list(forge.RunQuery{}), []int64{second.RunID, first.RunID}); d != "" {
		t.Errorf("all, newest first (-got +want):\n%s", d)
	}
	if d := cmp.Diff(list(forge.RunQuery{Status: "queued"}), []int64{second.RunID}); d != "" {
		t.Errorf("queued (-got +want):\n%s", d)
	}
	if got := list(forge.RunQuery{Since: first.QueuedAt.Add(time.Hour)}); len(got) != 0 {
		t.Errorf("later than all: %v", got)
	}
	if got := list(forge.RunQuery{Since: first.QueuedAt.Add(-time.Hour)}); len(got) != 2 {
		t.Errorf("of the last hour: %v", got)
	}
	if r, err := f.Run(t.Context(), repo, first.RunID); err != nil || r.Status != "completed" || r.Conclusion != "success" || r.URL == "" || r.CreatedAt.IsZero() {
		t.Errorf("Run() = %+v, %v", r, err)
	}
}

func deliveries(t *testing.T, f forge.Forge, w *fake.GitHub) {
	code := 200
	var got []string
	hookID := w.AddHook(org, "https://slipway.example.com/webhooks/1", func(event, _ string, payload []byte) int {
		var p struct{ Action string }
		if err := json.Unmarshal(payload, &p); err != nil {
			t.Error(err)
		}
		got = append(got, event+" "+p.Action)
		return code
	})
	hooks, err := f.Hooks(t.Context(), org)
	if err != nil || len(hooks) != 1 || hooks[0].ID != hookID || hooks[0].URL != "https://slipway.example.com/webhooks/1" || !hooks[0].Active || len(hooks[0].Events) == 0 {
		t.Fatalf("hooks: %+v, %v", hooks, err)
	}
	if none, err := f.Hooks(t.Context(), alone); err != nil || len(none) != 0 {
		t.Errorf("hooks of the repository: %+v, %v", none, err)
	}
	w.Queue(repo, []string{"x"})
	code = 502
	w.Queue(repo, []string{"x"})
	code = 0
	w.Queue(repo, []string{"x"})
	since := time.Now().Add(-time.Hour)
	all, err := f.Deliveries(t.Context(), hooks[0], since)
	if err != nil || len(all) != 3 || all[0].At.Before(all[2].At) {
		t.Fatalf("deliveries: %+v, %v", all, err)
	}
	lost := forge.Lost(all)
	if len(lost) != 2 || lost[0].Event != "workflow_job" || lost[0].Action != "queued" || lost[0].GUID == "" {
		t.Fatalf("lost: %+v", lost)
	}
	code, got = 202, nil
	for _, l := range lost {
		if err := f.Redeliver(t.Context(), hooks[0], l.ID); err != nil {
			t.Error(err)
		}
	}
	if d := cmp.Diff(got, []string{"workflow_job queued", "workflow_job queued"}); d != "" {
		t.Errorf("delivered again (-got +want):\n%s", d)
	}
	all, err = f.Deliveries(t.Context(), hooks[0], since)
	if err != nil || len(forge.Lost(all)) != 0 || len(all) != 5 {
		t.Errorf("after that: %+v, %v", forge.Lost(all), err)
	}
	for range 120 {
		w.Queue(repo, []string{"x"})
	}
	if all, err = f.Deliveries(t.Context(), hooks[0], since); err != nil || len(all) != 125 {
		t.Errorf("%d deliveries, %v; want 125", len(all), err)
	}
	if all, err = f.Deliveries(t.Context(), hooks[0], time.Now().Add(time.Hour)); err != nil || len(all) != 0 {
		t.Errorf("%d deliveries of the future, %v", len(all), err)
	}
	want(t, f.Redeliver(t.Context(), hooks[0], 1), forge.NotFound)
}
