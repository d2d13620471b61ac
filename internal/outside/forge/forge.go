package forge

import (
	"context"
	"io"
	"time"

	"slipway.dev/slipway/internal/slipway"
)

// Forge is one forge through one credential. It is safe for use by many goroutines.
//
// Every method may fail with Refused, Throttled or Away; the comments name the others. A
// method that lists returns everything or an error.
type Forge interface {
	Runners
	Jobs
	Hooks
}

// Runners are registrations.
type Runners interface {
	// DefaultGroup finds the group that runners of an organization belong to when none is
	// named. A repository has none, and is answered with 0.
	DefaultGroup(ctx context.Context, scope slipway.ForgeScope) (int64, error)
	// Register makes a registration for one job and returns its configuration, once: it
	// cannot be asked for again. A reply may be lost: the name is then looked up, removed, and
	// not used again. A forge that keeps names apart fails with Taken when one is in use.
	Register(ctx context.Context, scope slipway.ForgeScope, r Registration) (Configured, error)
	// Runners lists all registrations of a scope.
	Runners(ctx context.Context, scope slipway.ForgeScope) ([]Runner, error)
	// Runner returns one, or NotFound.
	Runner(ctx context.Context, scope slipway.ForgeScope, id int64) (Runner, error)
	// RunnerNamed returns the one of exactly this name, or NotFound when the whole list has
	// none.
	RunnerNamed(ctx context.Context, scope slipway.ForgeScope, name string) (Runner, error)
	// Unregister takes a registration away, and with it every chance that the runner is
	// given a job. It fails with Busy when it has one, which is the only word on that to be
	// trusted, and with NotFound when there is no such registration any more.
	Unregister(ctx context.Context, scope slipway.ForgeScope, id int64) error
}

// Discarder is a forge that would take the job of a runner that has ended for running until
// the job's own time is up, and lets the registration go all the same.
type Discarder interface {
	// Discard takes away the registration of a runner of which is known that it has ended. It
	// fails with NotFound when there is none any more.
	Discard(ctx context.Context, scope slipway.ForgeScope, id int64) error
}

// Jobs are what runners run.
type Jobs interface {
	// Runs lists the runs of a repository, newest first.
	Runs(ctx context.Context, repo Repository, q RunQuery) ([]Run, error)
	// Run returns one, or NotFound.
	Run(ctx context.Context, repo Repository, id int64) (Run, error)
	// Jobs lists the jobs of an attempt of a run, with their steps. Attempt 0 is the newest.
	Jobs(ctx context.Context, repo Repository, run int64, attempt int) ([]Job, error)
	// Job returns one, or NotFound.
	Job(ctx context.Context, repo Repository, id int64) (Job, error)
	// Log returns the log of a job that has ended, or NotFound while it runs and when the
	// forge has removed it. The caller closes it; reading fails with TooLarge after limit
	// bytes.
	Log(ctx context.Context, repo Repository, job int64, limit int64) (io.ReadCloser, error)
	// RerunFailed runs the failed jobs of a run, and those that need them, once more. It
	// fails with Running until the whole run has ended, and with TooLate when the forge
	// will never take it any more.
	RerunFailed(ctx context.Context, repo Repository, run int64) error
	// RerunJob runs one job, and those that need it, once more. It fails as RerunFailed.
	RerunJob(ctx context.Context, repo Repository, job int64) error
}

// Hooks tell of deliveries that did not arrive.
type Hooks interface {
	// Hooks lists the hooks of a scope.
	Hooks(ctx context.Context, scope slipway.ForgeScope) ([]Hook, error)
	// Deliveries lists what a hook sent since a time, newest first, as far back as the
	// forge remembers.
	Deliveries(ctx context.Context, hook Hook, since time.Time) ([]Delivery, error)
	// Redeliver asks for a delivery once more. It keeps its GUID. It fails with NotFound
	// when the forge has forgotten it.
	Redeliver(ctx context.Context, hook Hook, delivery int64) error
}

// Registration is a runner that is to be.
type Registration struct {
	Name    string        // unguessable, and never used before
	Labels  []string      // all of them: nothing is added
	Group   int64         // 0: the default one
	Timeout time.Duration // the most that its job may take, for forges that bound it by runner; 0: no bound
}

// Configured is a registration that was made.
type Configured struct {
	Runner Runner
	// Config is the secret with which a runner takes up the registration, within the hour.
	Config string
}

// Runner is a registration as the forge shows it.
type Runner struct {
	ID      int64
	Name    string
	Online  bool
	Busy    bool // late by up to a minute, and sometimes wrong
	Labels  []string
	Group   int64
	Version string // of its program; empty: it was not told
}

// Named is the runner of exactly this name in a forge's whole list, or NotFound.
func Named(all []Runner, name, forge string) (Runner, error) {
	for _, r := range all {
		if r.Name == name {
			return r, nil
		}
	}
	return Runner{}, Fail(NotFound, forge+" has no runner of the name "+name, "", nil)
}

// Repository names a repository.
type Repository struct{ Owner, Name string }

func (r Repository) String() string { return r.Owner + "/" + r.Name }

// RunQuery narrows a list of runs.
type RunQuery struct {
	Status string    // queued, in_progress, completed; empty: any
	Since  time.Time // created at this time or later; zero: any
}

// Run is one run of a workflow.
type Run struct {
	ID         int64
	Attempt    int
	Name       string
	Status     string
	Conclusion string
	CreatedAt  time.Time
	UpdatedAt  time.Time
	URL        string
}

// Job is a job with what only the forge's lists tell.
type Job struct {
	slipway.Job
	RunnerID int64
	Group    int64
	Workflow string
	Branch   string
	URL      string
	Steps    []Step
}

// Step is one step of a job.
type Step struct {
	Number     int64
	Name       string
	Status     string
	Conclusion string
	StartedAt  time.Time
	EndedAt    time.Time
}

// Hook is where a forge sends deliveries from. The zero ID with App set is the one hook of
// the App that the credential belongs to.
type Hook struct {
	Scope  slipway.ForgeScope
	App    bool
	ID     int64
	URL    string // where it sends to
	Active bool
	Events []string
}

// Delivery is one attempt to deliver.
type Delivery struct {
	ID         int64
	GUID       string
	At         time.Time
	Event      string
	Action     string
	Code       int // that it was answered with; 0: there was no answer
	Redelivery bool
}

// Arrived reports whether the delivery was taken.
func (d Delivery) Arrived() bool { return d.Code >= 200 && d.Code < 300 }

// Lost returns the deliveries of which no attempt arrived, each once, oldest first. A
// redelivery keeps the GUID, so attempts belong together by it.
func Lost(all []Delivery) []Delivery {
	arrived := map[string]bool{}
	for _, d := range all {
		arrived[d.GUID] = arrived[d.GUID] || d.Arrived()
	}
	newest := map[string]Delivery{}
	var order []string
	for _, d := range all {
		if arrived[d.GUID] {
			continue
		}
		if have, ok := newest[d.GUID]; !ok || d.At.After(have.At) {
			if !ok {
				order = append(order, d.GUID)
			}
			newest[d.GUID] = d
		}
	}
	out := make([]Delivery, 0, len(order))
	for _, guid := range order {
		out = append(out, newest[guid])
	}
	sortByTime(out)
	return out
}
