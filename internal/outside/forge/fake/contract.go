package fake

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"slipway.dev/slipway/internal/outside/forge"
	"slipway.dev/slipway/internal/slipway"
)

var _ forge.Forge = (*GitHub)(nil)

// call carries out one operation of the contract, or fails as the world wants it to.
func (g *GitHub) call(ctx context.Context, op, owner, repo string, do func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.lapse()
	g.calls[op]++
	switch {
	case g.away:
		return forge.Fail(forge.Away, "the forge is away", "", nil)
	case g.revoked:
		return forge.Fail(forge.Refused, "the credential is not accepted", "save a new one", nil).Lacks("a credential that is accepted")
	case g.throttle > 0:
		return forge.Fail(forge.Throttled, "the limit is reached", "", nil).Wait(g.throttle)
	}
	i := slices.IndexFunc(g.faults, func(f Fault) bool { return f.Op == "" || f.Op == op })
	lost := false
	if i >= 0 {
		f := g.faults[i]
		g.faults = slices.Delete(g.faults, i, i+1)
		if lost = f.Lost; !lost {
			return forge.Fail(f.Problem, "the fake was told to fail", "", nil)
		}
	}
	if owner != "" && (g.refused[strings.ToLower(owner)] || !g.owners[strings.ToLower(owner)] || repo != "" && g.repos[strings.ToLower(owner+"/"+repo)] == 0) {
		return forge.Fail(forge.Refused, "the credential may not see "+owner, "give it access", nil).Lacks("access to " + owner)
	}
	err := do()
	if lost {
		return forge.Fail(forge.Away, "the reply was lost", "", nil)
	}
	return err
}

// DefaultGroup is part of the contract, as are all methods below.
func (g *GitHub) DefaultGroup(ctx context.Context, s slipway.ForgeScope) (id int64, err error) {
	if s.Repository != "" {
		return 0, nil
	}
	return 1, g.call(ctx, "DefaultGroup", s.Owner, "", func() error { return nil })
}

// Register makes a runner that is offline until its configuration is used.
func (g *GitHub) Register(ctx context.Context, s slipway.ForgeScope, r forge.Registration) (out forge.Configured, err error) {
	err = g.call(ctx, "Register", s.Owner, s.Repository, func() error {
		if r.Name == "" || len(r.Labels) == 0 || len(r.Labels) > 100 {
			return forge.Fail(forge.Invalid, "a runner needs a name and 1 to 100 labels", "", nil)
		}
		for _, have := range g.runners {
			if sameScope(have.scope, s) && strings.EqualFold(have.Name, r.Name) {
				return forge.Fail(forge.Taken, "the name is in use", "", nil)
			}
		}
		group := r.Group
		if group == 0 {
			group = 1
		}
		n := &runner{scope: s, key: rand.Text(), made: g.now(), Runner: forge.Runner{ID: g.id(), Name: r.Name, Labels: slices.Clone(r.Labels), Group: group}}
		g.runners[n.ID] = n
		out = forge.Configured{Runner: n.Runner, Config: g.configure(n)}
		return nil
	})
	if err != nil {
		return forge.Configured{}, err
	}
	return out, nil
}

func sameScope(a, b slipway.ForgeScope) bool {
	return strings.EqualFold(a.Owner, b.Owner) && strings.EqualFold(a.Repository, b.Repository)
}

// Runners lists a scope's.
func (g *GitHub) Runners(ctx context.Context, s slipway.ForgeScope) (out []forge.Runner, err error) {
	err = g.call(ctx, "Runners", s.Owner, s.Repository, func() error {
		for _, r := range g.sortedRunners() {
			if sameScope(r.scope, s) {
				out = append(out, r.shown())
			}
		}
		return nil
	})
	return out, err
}

func (r *runner) shown() forge.Runner {
	out := r.Runner
	out.Labels = slices.Clone(r.Labels)
	if r.lie != nil {
		out.Busy = *r.lie
	}
	return out
}

// RunnerNamed finds one by its name.
func (g *GitHub) RunnerNamed(ctx context.Context, s slipway.ForgeScope, name string) (out forge.Runner, err error) {
	err = g.call(ctx, "RunnerNamed", s.Owner, s.Repository, func() error {
		for _, r := range g.sortedRunners() {
			if sameScope(r.scope, s) && strings.EqualFold(r.Name, name) {
				out = r.shown()
				return nil
			}
		}
		return notFound("runner " + name)
	})
	return out, err
}

// Runner finds one by its number.
func (g *GitHub) Runner(ctx context.Context, s slipway.ForgeScope, id int64) (out forge.Runner, err error) {
	err = g.call(ctx, "Runner", s.Owner, s.Repository, func() error {
		r := g.runners[id]
		if r == nil || !sameScope(r.scope, s) {
			return notFound(fmt.Sprintf("runner %d", id))
		}
		out = r.shown()
		return nil
	})
	return out, err
}

// Unregister refuses for a runner with a job, whatever the list says.
func (g *GitHub) Unregister(ctx context.Context, s slipway.ForgeScope, id int64) error {
	return g.call(ctx, "Unregister", s.Owner, s.Repository, func() error {
		r := g.runners[id]
		switch {
		case r == nil || !sameScope(r.scope, s):
			return notFound(fmt.Sprintf("runner %d", id))
		case r.job != 0:
			return forge.Fail(forge.Busy, "the runner has a job", "", nil)
		}
		g.drop(id)
		g.change() // who waits for work learns that it is gone
		return nil
	})
}

// Runs lists a repository's, newest first.
func (g *GitHub) Runs(ctx context.Context, repo forge.Repository, q forge.RunQuery) (out []forge.Run, err error) {
	err = g.call(ctx, "Runs", repo.Owner, repo.Name, func() error {
		for _, id := range slices.Backward(sortedKeys(g.runs)) {
			w := g.runs[id]
			if w.repo == repo && (q.Status == "" || q.Status == w.Status) && !w.CreatedAt.Before(q.Since) {
				out = append(out, w.Run)
			}
		}
		return nil
	})
	return out, err
}

// Run finds one.
func (g *GitHub) Run(ctx context.Context, repo forge.Repository, id int64) (out forge.Run, err error) {
	err = g.call(ctx, "Run", repo.Owner, repo.Name, func() error {
		w := g.runs[id]
		if w == nil || w.repo != repo {
			return notFound(fmt.Sprintf("run %d", id))
		}
		out = w.Run
		return nil
	})
	return out, err
}

// Jobs lists a run's.
func (g *GitHub) Jobs(ctx context.Context, repo forge.Repository, id int64, attempt int) (out []forge.Job, err error) {
	err = g.call(ctx, "Jobs", repo.Owner, repo.Name, func() error {
		w := g.runs[id]
		if w == nil || w.repo != repo || attempt > w.Attempt {
			return notFound(fmt.Sprintf("run %d", id))
		}
		if attempt == 0 {
			attempt = w.Attempt
		}
		for _, j := range g.sortedJobs() {
			if j.RunID == id && j.Attempt == attempt {
				out = append(out, j.Job)
			}
		}
		return nil
	})
	return out, err
}

// Job finds one.
func (g *GitHub) Job(ctx context.Context, repo forge.Repository, id int64) (out forge.Job, err error) {
	err = g.call(ctx, "Job", repo.Owner, repo.Name, func() error {
		j := g.jobs[id]
		if j == nil || j.repo != repo {
			return notFound(fmt.Sprintf("job %d", id))
		}
		out = j.Job
		return nil
	})
	return out, err
}

// Log reads the log of a job that has ended.
func (g *GitHub) Log(ctx context.Context, repo forge.Repository, id, limit int64) (out io.ReadCloser, err error) {
	err = g.call(ctx, "Log", repo.Owner, repo.Name, func() error {
		j := g.jobs[id]
		text, ok := g.logs[id]
		if j == nil || j.repo != repo || j.State != slipway.JobCompleted || !ok {
			return notFound(fmt.Sprintf("log of job %d", id))
		}
		out = io.NopCloser(&limited{strings.NewReader(text), limit})
		return nil
	})
	return out, err
}

type limited struct {
	r    io.Reader
	left int64
}

func (l *limited) Read(p []byte) (int, error) {
	if int64(len(p)) > l.left+1 {
		p = p[:l.left+1]
	}
	n, err := l.r.Read(p)
	if l.left -= int64(n); l.left < 0 {
		return n - 1, forge.Fail(forge.TooLarge, "the log is larger than is read here", "", nil)
	}
	return n, err
}

// RerunFailed begins the next attempt of a run that has ended.
func (g *GitHub) RerunFailed(ctx context.Context, repo forge.Repository, id int64) error {
	return g.call(ctx, "RerunFailed", repo.Owner, repo.Name, func() error {
		return g.rerun(repo, id, func(j *job) bool { return j.Conclusion != "success" && j.Conclusion != "skipped" })
	})
}

// RerunJob begins the next attempt of a run for one of its jobs.
func (g *GitHub) RerunJob(ctx context.Context, repo forge.Repository, id int64) error {
	return g.call(ctx, "RerunJob", repo.Owner, repo.Name, func() error {
		j := g.jobs[id]
		if j == nil || j.repo != repo {
			return notFound(fmt.Sprintf("job %d", id))
		}
		return g.rerun(repo, j.RunID, func(x *job) bool { return x == j })
	})
}

// rerunWithin is how long after its beginning GitHub takes a rerun.
const rerunWithin = 30 * 24 * time.Hour

// rerun makes the next attempt. The jobs that are not run again are told once more, with
// new numbers, as GitHub does.
func (g *GitHub) rerun(repo forge.Repository, id int64, again func(*job) bool) error {
	w := g.runs[id]
	switch {
	case w == nil || w.repo != repo:
		return notFound(fmt.Sprintf("run %d", id))
	case w.Status != "completed":
		return forge.Fail(forge.Running, "the run has not ended", "", nil)
	case g.now().Sub(w.CreatedAt) > rerunWithin:
		return forge.Fail(forge.TooLate, "the run was created over a month ago", "", nil)
	}
	var before []*job
	for _, j := range g.sortedJobs() {
		if j.RunID == id && j.Attempt == w.Attempt {
			before = append(before, j)
		}
	}
	w.Attempt++
	w.Status, w.Conclusion, w.UpdatedAt = "queued", "", g.now().UTC().Truncate(time.Second)
	for _, j := range before {
		n := g.addJob(w, JobSpec{Name: j.Name, Labels: j.Labels, Script: j.script})
		if again(j) {
			g.tell(n, "queued")
			continue
		}
		n.State, n.Conclusion, n.StartedAt, n.EndedAt = j.State, j.Conclusion, j.StartedAt, j.EndedAt
		g.tell(n, "completed")
	}
	g.change()
	return nil
}

// Hooks lists a scope's.
func (g *GitHub) Hooks(ctx context.Context, s slipway.ForgeScope) (out []forge.Hook, err error) {
	err = g.call(ctx, "Hooks", s.Owner, s.Repository, func() error {
		for _, id := range sortedKeys(g.hooks) {
			if h := g.hooks[id]; sameScope(h.Scope, s) {
				out = append(out, h.Hook)
			}
		}
		return nil
	})
	return out, err
}

// forgets is how long GitHub remembers deliveries.
const forgets = 3 * 24 * time.Hour

// Deliveries lists what a hook sent, newest first.
func (g *GitHub) Deliveries(ctx context.Context, h forge.Hook, since time.Time) (out []forge.Delivery, err error) {
	err = g.call(ctx, "Deliveries", h.Scope.Owner, h.Scope.Repository, func() error {
		for _, d := range slices.Backward(g.sent) {
			if g.isFrom(d, h) && !d.At.Before(since) && g.now().Sub(d.At) < forgets {
				out = append(out, d.Delivery)
			}
		}
		return nil
	})
	return out, err
}

func (g *GitHub) isFrom(d *delivery, h forge.Hook) bool {
	return d.hook == h.ID || h.App && g.hooks[d.hook].App
}

// Redeliver sends a delivery once more.
func (g *GitHub) Redeliver(ctx context.Context, h forge.Hook, id int64) error {
	return g.call(ctx, "Redeliver", h.Scope.Owner, h.Scope.Repository, func() error {
		for _, d := range g.sent {
			if d.ID == id && g.isFrom(d, h) && g.now().Sub(d.At) < forgets {
				g.attempt(g.hooks[d.hook], d.GUID, d.Event, d.Action, d.payload, true)
				return nil
			}
		}
		return notFound(fmt.Sprintf("delivery %d", id))
	})
}

func notFound(what string) error { return forge.Fail(forge.NotFound, "there is no "+what, "", nil) }
