package sim

import (
	"context"
	"fmt"
	"strings"
	"time"

	"slipway.dev/slipway/internal/outside/forge"
	"slipway.dev/slipway/internal/outside/forge/fake"
	"slipway.dev/slipway/internal/slipway"
)

// host is one forge: github.com, or an Enterprise Server with the same names and, since
// both count from the same number, the same IDs.
type host struct {
	*fake.GitHub
	base       string // empty: github.com
	credential string // the secret that holds its token
	token      string // the one that it accepts
	saved      int    // tokens so far
	down       bool
	repos      []forge.Repository
	silent     map[int64]time.Time // jobs whose runner is gone, since when
}

// hostJob names a job: its number alone does not.
type hostJob struct {
	host *host
	id   int64
}

// registration is one that we made.
type registration struct {
	host  *host
	scope slipway.ForgeScope
	at    time.Time
}

func (w *World) newHost(base, credential string, repos ...forge.Repository) *host {
	h := &host{GitHub: fake.New(func() time.Time { return w.now }), base: base, credential: credential, repos: repos, silent: map[int64]time.Time{}}
	for _, r := range repos {
		h.AddRepository(r)
	}
	return h
}

// name is how jobs are kept by.
func (h *host) name() string { return slipway.ForgeHost(h.base) }

// at is the host at a base URL.
func (w *World) at(base string) *host {
	for _, h := range w.hosts {
		if h.base == base {
			return h
		}
	}
	panic("nobody can know of a forge at " + base)
}

// some is one of the hosts, the first one more often.
func (w *World) some(n int) *host {
	if n%4 == 3 {
		return w.hosts[1]
	}
	return w.hosts[0]
}

func (w *World) queue(h *host, r forge.Repository, labels ...[]string) {
	for _, id := range h.Queue(r, labels...) {
		w.jobs = append(w.jobs, hostJob{h, id})
		w.Count.Jobs++
	}
}

// job is what its forge knows of a job.
func (w *World) job(at hostJob) (slipway.Job, bool) {
	for _, r := range at.host.repos {
		if j, err := at.host.Job(context.Background(), r, at.id); err == nil {
			j.Host, j.Job.RunnerID = at.host.name(), j.RunnerID
			return j.Job, true
		}
	}
	return slipway.Job{}, false
}

// jobsIn lists the jobs in a state.
func (w *World) jobsIn(s slipway.JobState) (in []slipway.Job, at []hostJob) {
	for _, x := range w.jobs {
		if j, ok := w.job(x); ok && j.State == s {
			in, at = append(in, j), append(at, x)
		}
	}
	return in, at
}

// isSilent reports whether the runner of a job is gone: then it cannot end well.
func (w *World) isSilent(at hostJob, j slipway.Job) bool {
	r, ok := at.host.runner(j.Runner)
	return !ok || !r.Online
}

// assign has the forges give jobs to runners.
func (w *World) assign() {
	for _, h := range w.hosts {
		given := h.Assign()
		for _, runner := range sortedKeys(given) {
			w.tell("%s: runner %d has job %d", h.name(), runner, given[runner])
		}
	}
}

// runner is the forge's truth about a runner of this name.
func (h *host) runner(name string) (forge.Runner, bool) {
	for _, r := range h.Registrations() {
		if strings.EqualFold(r.Name, name) {
			return r, true
		}
	}
	return forge.Runner{}, false
}

// runner finds one of ours at the forge where it was registered.
func (w *World) runner(name string) (forge.Runner, bool) {
	reg, ok := w.registrations[strings.ToLower(name)]
	if !ok {
		return forge.Runner{}, false
	}
	return reg.host.runner(name)
}

// standing lists the registrations of every host with where they are.
func (w *World) standing() (rs []forge.Runner, at []*host) {
	for _, h := range w.hosts {
		for _, r := range h.Registrations() {
			rs, at = append(rs, r), append(at, h)
		}
	}
	return rs, at
}

// registered notes a registration of ours: its name may never come again, and its
// configuration is a secret.
func (w *World) registered(h *host, name string, s slipway.ForgeScope, c forge.Configured) {
	key := strings.ToLower(name)
	if _, used := w.registrations[key]; used {
		w.violate("the runner name %s was used twice", name)
	}
	w.registrations[key] = registration{h, s, w.now}
	if c.Config != "" {
		w.secrets = append(w.secrets, c.Config)
	}
}

// ours reports whether a registration of this name is ours.
func (w *World) ours(name string) bool {
	_, ok := w.registrations[strings.ToLower(name)]
	return ok
}

// young is how late a list of the forge may be.
const young = 30 * time.Second

// withoutYoung leaves out what was registered just now.
func (w *World) withoutYoung(rs []forge.Runner) []forge.Runner {
	var old []forge.Runner
	for _, r := range rs {
		if reg, ok := w.registrations[strings.ToLower(r.Name)]; !ok || w.now.Sub(reg.at) >= young {
			old = append(old, r)
		}
	}
	return old
}

// steal has somebody else's runner, with every label, take the next job.
func (w *World) steal(ctx context.Context) error {
	w.strangers++
	h := w.hosts[0]
	c, err := h.Register(ctx, slipway.ForgeScope{Owner: "acme"}, forge.Registration{
		Name: fmt.Sprintf("stranger-%d", w.strangers), Labels: []string{"self-hosted", "linux", "X64", "slipway", "big"},
	})
	if err != nil {
		return err
	}
	_, err = h.Online(c.Config)
	w.assign()
	return err
}

// leave has the forge drop the registration of a runner of ours that is offline.
func (w *World) leave(ctx context.Context, n int) error {
	var offline []string
	all, _ := w.standing()
	for _, r := range all {
		if w.ours(r.Name) && !r.Online && !r.Busy {
			offline = append(offline, strings.ToLower(r.Name))
		}
	}
	name, ok := pick(offline, n)
	if !ok {
		return nil
	}
	reg := w.registrations[name]
	r, _ := reg.host.runner(name)
	err := reg.host.Unregister(ctx, reg.scope, r.ID)
	if forge.Is(err, forge.NotFound) {
		return nil
	}
	return err
}

// rerun runs a run again that has ended: its jobs come back under new numbers.
func (w *World) rerun(ctx context.Context, n int) error {
	js, at := w.jobsIn(slipway.JobCompleted)
	if len(js) == 0 {
		return nil
	}
	j, h := js[n%len(js)], at[n%len(js)].host
	r := forge.Repository{Owner: j.Owner, Name: j.Repository}
	if err := h.RerunJob(ctx, r, j.ID); err != nil {
		return nil //nolint:nilerr // its run has not ended: nobody can run it again
	}
	again, err := h.Jobs(ctx, r, j.RunID, 0)
	for _, a := range again {
		w.jobs = append(w.jobs, hostJob{h, a.ID})
	}
	return err
}
