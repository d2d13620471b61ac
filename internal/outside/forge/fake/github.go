package fake

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"slipway.dev/slipway/internal/outside/forge"
	"slipway.dev/slipway/internal/slipway"
)

// GitHub is a whole forge. Its methods that are not the contract's are what happens in the
// world: people queue jobs, runners come online, jobs end. It is safe for many goroutines.
type GitHub struct {
	now func() time.Time

	mu       sync.Mutex
	ids      int64
	owners   map[string]bool  // organizations, in lower case
	repos    map[string]int64 // the forge's number of each, by owner/name in lower case
	runners  map[int64]*runner
	runs     map[int64]*run
	jobs     map[int64]*job
	hooks    map[int64]*hook
	apps     []*app
	logs     map[int64]string
	sent     []*delivery
	pending  []*delivery // on their way, for a receiver that answers later
	faults   []Fault
	refused  map[string]bool // owners that the credential may not see
	revoked  bool
	away     bool
	throttle time.Duration
	calls    map[string]int
	offered  string // version of the runner program

	// Of the runner's side.
	url      string // where runners find it
	sessions map[string]int64
	changed  chan struct{} // closed, and made anew, when there may be work for a runner
	shuffle  bool
	tooOld   map[string]bool // versions that are refused
	// How long a runner may be silent: until it is shown as offline, and until its job fails.
	offlineAfter, lostAfter time.Duration

	loseDeliveries int
	undelivered    int
	delivered      *sync.Cond // when one has been tried
	hooksOver      http.RoundTripper
	latency        time.Duration
}

type runner struct {
	forge.Runner
	scope  slipway.ForgeScope
	key    string // of the configuration; empty once it was used
	job    int64
	lie    *bool // what is told in place of Busy
	made   time.Time
	token  string    // of its session; empty for one that a test moves by hand
	heard  time.Time // from it, over its session
	cancel bool      // its job was cancelled, which it is told when it next reports
}

type run struct {
	forge.Run
	repo forge.Repository
}

type job struct {
	forge.Job
	repo   forge.Repository
	script []string
}

type hook struct {
	forge.Hook
	receive func(event, guid string, payload []byte) int
	outbox  *outbox // in place of receive
}

type delivery struct {
	forge.Delivery
	hook    int64
	payload []byte
}

// Fault makes one call fail. It waits for the first call of its operation.
type Fault struct {
	Op      string        // a method of the contract; empty: any
	Problem forge.Problem // empty with Lost
	Lost    bool          // it is carried out, and the reply is lost
}

const firstID = 9_000_000_000 // beyond 32 bits, as GitHub's are

// New returns an empty forge. now is its clock; nil is the real one.
func New(now func() time.Time) *GitHub {
	if now == nil {
		now = time.Now
	}
	g := &GitHub{
		now: now, ids: firstID, owners: map[string]bool{}, repos: map[string]int64{}, runners: map[int64]*runner{}, runs: map[int64]*run{},
		jobs: map[int64]*job{}, hooks: map[int64]*hook{}, logs: map[int64]string{}, refused: map[string]bool{}, calls: map[string]int{}, offered: "2.337.0",
		sessions: map[string]int64{}, changed: make(chan struct{}), tooOld: map[string]bool{}, offlineAfter: time.Minute, lostAfter: 10 * time.Minute,
	}
	g.delivered = sync.NewCond(&g.mu)
	return g
}

func (g *GitHub) id() int64 {
	g.ids++
	return g.ids
}

// AddRepository makes a repository, and its organization.
func (g *GitHub) AddRepository(r forge.Repository) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.owners[strings.ToLower(r.Owner)] = true
	if name := strings.ToLower(r.String()); g.repos[name] == 0 {
		g.repos[name] = 4711 + int64(len(g.repos)) // apart from the other numbers, which count what happens
	}
}

// Queue begins a run of one job for each set of labels, and returns the jobs.
func (g *GitHub) Queue(r forge.Repository, labels ...[]string) []int64 {
	var all []JobSpec
	for _, l := range labels {
		all = append(all, JobSpec{Labels: l})
	}
	return g.Start(r, all...)
}

// JobSpec is a job as a workflow asks for it.
type JobSpec struct {
	Name   string   `json:"name"`
	Labels []string `json:"labels"`
	Script []string `json:"script"` // a step each, in the words of the stand-in runner
}

// Start begins a run with these jobs, and returns them.
func (g *GitHub) Start(r forge.Repository, specs ...JobSpec) []int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.now().UTC().Truncate(time.Second)
	w := &run{repo: r, Run: forge.Run{ID: g.id(), Attempt: 1, Name: "CI", Status: "queued", CreatedAt: now, UpdatedAt: now}}
	w.URL = fmt.Sprintf("https://github.com/%s/actions/runs/%d", r, w.ID)
	g.runs[w.ID] = w
	var out []int64
	for i, spec := range specs {
		if spec.Name == "" {
			spec.Name = fmt.Sprintf("job-%d", i+1)
		}
		out = append(out, g.addJob(w, spec).ID)
	}
	for _, id := range out {
		g.tell(g.jobs[id], "queued")
	}
	g.change()
	return out
}

func (g *GitHub) addJob(w *run, spec JobSpec) *job {
	now := g.now().UTC().Truncate(time.Second)
	j := &job{repo: w.repo, script: spec.Script, Job: forge.Job{
		Job: slipway.Job{
			ID: g.id(), RunID: w.ID, Attempt: w.Attempt, Owner: w.repo.Owner, Repository: w.repo.Name, Name: spec.Name,
			Labels: slices.Clone(spec.Labels), State: slipway.JobQueued, QueuedAt: now,
		},
		Workflow: w.Name, Branch: "main", URL: w.URL,
	}}
	g.jobs[j.ID] = j
	return j
}

// Online starts a runner with a configuration. Each is good for once, and for an hour.
func (g *GitHub) Online(config string) (int64, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	r, err := g.takeUp(config)
	if err != nil {
		return 0, err
	}
	r.Version = "2.337.0"
	return r.ID, nil
}

// Offline ends a runner's program, whatever it does. Its registration stays, and so does
// its job until it is finished.
func (g *GitHub) Offline(id int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if r := g.runners[id]; r != nil {
		r.Online = false
	}
}

// Assign gives queued jobs to runners that may have them, and returns which job each
// runner got. Those with a session ask for themselves.
func (g *GitHub) Assign() map[int64]int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	out := map[int64]int64{}
	for _, j := range g.sortedJobs() {
		for _, r := range g.sortedRunners() {
			if r.token == "" && r.mayHave(j) {
				g.give(r, j)
				out[r.ID] = j.ID
				break
			}
		}
	}
	return out
}

func (r *runner) mayHave(j *job) bool {
	return j.State == slipway.JobQueued && r.Online && r.job == 0 && r.scope.Covers(j.repo.Owner, j.repo.Name) && serves(r.Labels, j.Labels)
}

func (g *GitHub) give(r *runner, j *job) {
	now := g.now().UTC().Truncate(time.Second)
	r.job, r.Busy = j.ID, true
	j.State, j.Runner, j.RunnerID, j.Group, j.StartedAt = slipway.JobRunning, r.Name, r.ID, r.Group, now
	j.Steps = []forge.Step{{Number: 1, Name: "Set up job", Status: "in_progress", StartedAt: now}}
	w := g.runs[j.RunID]
	w.Status, w.UpdatedAt = "in_progress", now
	g.tell(j, "in_progress")
}

func serves(have, want []string) bool {
	if len(want) == 0 {
		return false
	}
	for _, w := range want {
		if !slices.ContainsFunc(have, func(h string) bool { return strings.EqualFold(h, w) }) {
			return false
		}
	}
	return true
}

// Finish ends a job, queued or running. Its runner's registration ends with it.
func (g *GitHub) Finish(id int64, conclusion string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.finish(id, conclusion)
}

func (g *GitHub) finish(id int64, conclusion string) {
	j := g.jobs[id]
	if j == nil || j.State == slipway.JobCompleted {
		return
	}
	now := g.now().UTC().Truncate(time.Second)
	g.drop(j.RunnerID)
	j.State, j.Conclusion, j.EndedAt = slipway.JobCompleted, conclusion, now
	for i := range j.Steps {
		if j.Steps[i].Status == "completed" {
			continue // as its runner told it
		}
		j.Steps[i].Status, j.Steps[i].Conclusion, j.Steps[i].EndedAt = "completed", conclusion, now
	}
	g.tell(j, "completed")
	w := g.runs[j.RunID]
	w.Conclusion = "success"
	for _, other := range g.jobs {
		if other.RunID != w.ID || other.Attempt != w.Attempt {
			continue
		}
		if other.State != slipway.JobCompleted {
			w.Conclusion = ""
			return
		}
		if other.Conclusion != "success" {
			w.Conclusion = other.Conclusion
		}
	}
	w.Status, w.UpdatedAt = "completed", now
	g.tellRun(w)
}

// SetLog sets the log of a job.
func (g *GitHub) SetLog(id int64, text string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.logs[id] = text
}

// AddHook makes a hook of an organization or a repository. receive is where it sends to;
// it returns the status, 0 for none.
func (g *GitHub) AddHook(s slipway.ForgeScope, url string, receive func(event, guid string, payload []byte) int) int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	h := &hook{Hook: forge.Hook{Scope: s, ID: g.id(), URL: url, Active: true, Events: []string{"workflow_job", "workflow_run"}}, receive: receive}
	g.hooks[h.ID] = h
	return h.ID
}

// Break makes a call fail.
func (g *GitHub) Break(f Fault) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.faults = append(g.faults, f)
}

// Revoke makes every call fail as with a credential that has ended; Revoke(false) heals.
func (g *GitHub) Revoke(yes bool) { g.set(func() { g.revoked = yes }) }

// Forbid takes the credential's access to an owner away.
func (g *GitHub) Forbid(owner string, yes bool) {
	g.set(func() { g.refused[strings.ToLower(owner)] = yes })
}

// Outage makes every call fail as in an outage.
func (g *GitHub) Outage(yes bool) { g.set(func() { g.away = yes }) }

// Slow makes every answer over HTTP late.
func (g *GitHub) Slow(by time.Duration) { g.set(func() { g.latency = by }) }

// Throttle makes every call be asked to wait; 0 ends it.
func (g *GitHub) Throttle(d time.Duration) { g.set(func() { g.throttle = d }) }

// LieAboutBusy makes the list tell something else than what is so.
func (g *GitHub) LieAboutBusy(id int64, busy bool) {
	g.set(func() {
		if r := g.runners[id]; r != nil {
			r.lie = &busy
		}
	})
}

func (g *GitHub) set(f func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f()
}

// Calls returns how often an operation of the contract was carried out or refused.
func (g *GitHub) Calls(op string) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.calls[op]
}

// Registrations returns all that stand, whoever may see them: what a test for leaks asks.
func (g *GitHub) Registrations() []forge.Runner {
	g.mu.Lock()
	defer g.mu.Unlock()
	var out []forge.Runner
	for _, r := range g.sortedRunners() {
		out = append(out, r.Runner)
	}
	return out
}

func (g *GitHub) sortedRunners() []*runner {
	var out []*runner
	for _, id := range sortedKeys(g.runners) {
		out = append(out, g.runners[id])
	}
	return out
}

func (g *GitHub) sortedJobs() []*job {
	var out []*job
	for _, id := range sortedKeys(g.jobs) {
		out = append(out, g.jobs[id])
	}
	return out
}

func sortedKeys[V any](m map[int64]V) []int64 {
	keys := make([]int64, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
