package fake

import (
	"context"
	"crypto/rand"
	"math/big"
	"strings"
	"time"

	"slipway.dev/slipway/internal/outside/forge"
	"slipway.dev/slipway/internal/slipway"
)

// What a runner says and hears. GitHub's own protocol is not public, and this is not like
// it: only its effects on everybody else are.
type (
	// Greeting takes a configuration up.
	Greeting struct {
		Config  string `json:"config"`
		Version string `json:"version"`
	}
	// Session is what a runner goes on with.
	Session struct {
		Runner int64  `json:"runner"`
		Name   string `json:"name"`
		Token  string `json:"token"`
	}
	// Work is a job for a runner.
	Work struct {
		Job        int64    `json:"job"`
		Name       string   `json:"name"`
		Repository string   `json:"repository"`
		Script     []string `json:"script"`
	}
	// Progress is a runner's report on its job. An empty one is a sign of life.
	Progress struct {
		Step       *StepReport `json:"step,omitempty"`
		Log        string      `json:"log,omitempty"`        // more of it
		Conclusion string      `json:"conclusion,omitempty"` // ends the job
	}
	// StepReport is one step, begun or ended.
	StepReport struct {
		Number     int64  `json:"number"`
		Name       string `json:"name"`
		Conclusion string `json:"conclusion,omitempty"` // empty: it runs
	}
	// Orders answer a report.
	Orders struct {
		Cancel bool `json:"cancel"`
	}
)

// SetRunnerURL says where runners find this forge. Configurations that are made from then
// on have it.
func (g *GitHub) SetRunnerURL(url string) { g.set(func() { g.url = strings.TrimSuffix(url, "/") }) }

// Shuffle gives a runner any of the jobs that it may have, instead of the oldest.
func (g *GitHub) Shuffle(yes bool) { g.set(func() { g.shuffle = yes }) }

// RefuseVersion turns runners of a version away, as GitHub does with old ones.
func (g *GitHub) RefuseVersion(version string) { g.set(func() { g.tooOld[version] = true }) }

// Patience sets how long a runner with a session may be silent until it is shown as
// offline, and until its job is failed.
func (g *GitHub) Patience(offline, lost time.Duration) {
	g.set(func() { g.offlineAfter, g.lostAfter = offline, lost })
}

// Greet begins the session of a runner.
func (g *GitHub) Greet(in Greeting) (Session, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.tooOld[in.Version] {
		return Session{}, forge.Fail(forge.Refused, "runner version v"+in.Version+" is deprecated and cannot receive messages", "", nil)
	}
	r, err := g.takeUp(in.Config)
	if err != nil {
		return Session{}, err
	}
	r.token, r.Version, r.heard = rand.Text(), in.Version, g.now()
	g.sessions[r.token] = r.ID
	return Session{Runner: r.ID, Name: r.Name, Token: r.token}, nil
}

// of finds the runner of a session. A registration that was removed ends it.
func (g *GitHub) of(token string) (*runner, error) {
	g.lapse()
	r := g.runners[g.sessions[token]]
	if token == "" || r == nil {
		return nil, forge.Fail(forge.NotFound, "the runner's registration has been deleted from the server", "", nil)
	}
	r.heard, r.Online = g.now(), true
	return r, nil
}

// Ask waits for a job for a runner; nil is none yet.
func (g *GitHub) Ask(ctx context.Context, token string) (*Work, error) {
	for {
		g.mu.Lock()
		r, err := g.of(token)
		if err != nil {
			g.mu.Unlock()
			return nil, err
		}
		j := g.jobs[r.job] // it asks again, for the answer was lost
		if j == nil {
			if j = g.choose(r); j != nil {
				g.give(r, j)
			}
		}
		changed := g.changed
		g.mu.Unlock()
		if j != nil {
			return &Work{Job: j.ID, Name: j.Name, Repository: j.repo.String(), Script: j.script}, nil
		}
		select {
		case <-ctx.Done():
			return nil, nil
		case <-changed:
		}
	}
}

func (g *GitHub) choose(r *runner) *job {
	var may []*job
	for _, j := range g.sortedJobs() {
		if r.mayHave(j) {
			may = append(may, j)
		}
	}
	switch {
	case len(may) == 0:
		return nil
	case !g.shuffle:
		return may[0]
	}
	n, err := rand.Int(rand.Reader, big.NewInt(int64(len(may))))
	if err != nil {
		panic(err) // the system has no randomness
	}
	return may[n.Int64()]
}

// Report takes a runner's word on its job.
func (g *GitHub) Report(token string, id int64, p Progress) (Orders, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	r, err := g.of(token)
	if err != nil {
		return Orders{}, err
	}
	j := g.jobs[id]
	if j == nil || r.job != id {
		return Orders{}, forge.Fail(forge.NotFound, "the runner does not have this job", "", nil)
	}
	now := g.now().UTC().Truncate(time.Second)
	if p.Step != nil {
		j.step(*p.Step, now)
	}
	g.logs[id] += p.Log
	orders := Orders{Cancel: r.cancel}
	if p.Conclusion != "" {
		g.finish(id, p.Conclusion)
	}
	return orders, nil
}

// step notes a step, and that those before it have ended.
func (j *job) step(s StepReport, now time.Time) {
	for i := range j.Steps {
		if j.Steps[i].Number < s.Number && j.Steps[i].Status != "completed" {
			j.Steps[i].Status, j.Steps[i].Conclusion, j.Steps[i].EndedAt = "completed", "success", now
		}
	}
	at := -1
	for i := range j.Steps {
		if j.Steps[i].Number == s.Number {
			at = i
		}
	}
	if at < 0 {
		j.Steps = append(j.Steps, forge.Step{Number: s.Number, Name: s.Name, Status: "in_progress", StartedAt: now})
		at = len(j.Steps) - 1
	}
	if s.Conclusion != "" {
		j.Steps[at].Status, j.Steps[at].Conclusion, j.Steps[at].EndedAt = "completed", s.Conclusion, now
	}
}

// Leave ends a session, as a runner does that is stopped. Its registration stays.
func (g *GitHub) Leave(token string) {
	g.set(func() {
		if r := g.runners[g.sessions[token]]; r != nil {
			r.Online = false
		}
		delete(g.sessions, token)
	})
}

// Cancel cancels a job: one that is queued ends at once, one that runs when its runner has
// heard of it.
func (g *GitHub) Cancel(id int64) {
	g.set(func() {
		j := g.jobs[id]
		if j == nil {
			return
		}
		if r := g.runners[j.RunnerID]; j.State == slipway.JobRunning && r != nil && r.token != "" {
			r.cancel = true
			return
		}
		g.finish(id, "cancelled")
	})
}

// Tick lets time have its effect where nobody asks.
func (g *GitHub) Tick() { g.set(g.lapse) }

// ephemeralGoodFor is how long GitHub keeps the registration of a runner for one job that
// is not connected.
const ephemeralGoodFor = 24 * time.Hour

// lapse does what time alone brings about.
func (g *GitHub) lapse() {
	now := g.now()
	for _, r := range g.sortedRunners() {
		silent := now.Sub(r.heard)
		if r.token != "" && silent > g.offlineAfter {
			r.Online = false
		}
		switch {
		case r.token != "" && r.job != 0 && silent > g.lostAfter:
			g.logs[r.job] += "The self-hosted runner lost communication with the server.\n"
			g.finish(r.job, "failure")
		case r.job == 0 && !r.Online && now.Sub(later(r.heard, r.made)) > ephemeralGoodFor:
			g.drop(r.ID)
		}
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// drop ends a registration, and its session.
func (g *GitHub) drop(id int64) {
	if r := g.runners[id]; r != nil {
		delete(g.sessions, r.token)
		delete(g.runners, id)
	}
}

// change wakes those who wait for work.
func (g *GitHub) change() {
	close(g.changed)
	g.changed = make(chan struct{})
}
