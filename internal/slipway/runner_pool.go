package slipway

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// RunnerPool is a service of a runner application: up to Replicas single-use runners for
// the jobs of one organization or repository of a forge.
type RunnerPool struct {
	ID            int64
	ApplicationID int64
	EnvironmentID int64
	Project       string
	Environment   string
	Application   string // the application's name
	Namespace     string // of the application
	Service       string // the service's name in application.toml
	Spec          PoolSpec
	Generation    int64 // counts the changes that runners must be replaced for
	Paused        bool
	Deleting      bool
	LastJobEvent  time.Time // of any job that the pool serves; idle time counts from it
	CreatedAt     time.Time
	UpdatedAt     time.Time
}

// Ref writes the pool as people do: shop/production/team-ci/runner.
func (p RunnerPool) Ref() string {
	return EnvironmentRef(p.Project, p.Environment) + "/" + p.Application + "/" + p.Service
}

// PoolSpec is what a team asks for, checked and with its defaults filled in. It is stored
// as JSON with the revision's pool.
type PoolSpec struct {
	Scope          ForgeScope      `json:"scope"`
	Credential     string          `json:"credential"`                // the secret that runners are registered with
	JobsCredential string          `json:"jobs_credential,omitempty"` // the secret that jobs and logs are read with; empty: Credential
	Labels         []string        `json:"labels"`                    // as written; GitHub folds case, and so does Serves
	Architecture   Architecture    `json:"architecture"`
	Replicas       int             `json:"replicas"`            // the most jobs at once
	Minimum        int             `json:"min_replicas"`        // runners that are kept whatever the demand
	Spare          int             `json:"spare,omitempty"`     // free runners that are kept beside the busy ones
	Schedules      []PoolSchedule  `json:"schedules,omitempty"` // other values of Minimum and Spare at some times of the week
	Idle           time.Duration   `json:"idle_ns"`             // 0: a fixed pool of Replicas runners
	Timeout        time.Duration   `json:"timeout_ns"`          // a runner's whole life, from its start
	Priority       int             `json:"priority,omitempty"`  // under a shared ceiling the higher comes first
	Resources      RunnerResources `json:"resources"`           // of one runner, its Docker daemon and its sandbox together
	WorkspaceGiB   int             `json:"workspace_size_gib"`  // temporary disk of one job
	NodeName       string          `json:"node_name,omitempty"` // the only node its runners may be on; empty: any
	SpotRetries    int             `json:"spot_retries"`        // of a job whose machine was taken away
	Cache          bool            `json:"cache,omitempty"`     // the reference's placeholder for a shared cache
}

// RunnerResources is the budget of one slot: CPU in millicores, memory in bytes.
type RunnerResources struct {
	CPURequest    int64 `json:"cpu_request_m"`
	CPULimit      int64 `json:"cpu_limit_m"`
	MemoryRequest int64 `json:"memory_request"`
	MemoryLimit   int64 `json:"memory_limit"`
}

// PoolSchedule keeps other minimums in a window of the week. Of several that hold at once
// the highest value counts.
type PoolSchedule struct {
	Days     []time.Weekday `json:"days"`
	From     string         `json:"from"`      // 08:00, in TimeZone
	To       string         `json:"to"`        // 18:00; not after From: on the next day
	TimeZone string         `json:"time_zone"` // Europe/Berlin
	Minimum  int            `json:"min_replicas"`
	Spare    int            `json:"spare"`
}

// Fixed reports whether the pool keeps all its runners whatever the demand.
func (s PoolSpec) Fixed() bool { return s.Idle == 0 }

// Jobs is the secret that jobs and logs are read with.
func (s PoolSpec) Jobs() string {
	if s.JobsCredential != "" {
		return s.JobsCredential
	}
	return s.Credential
}

// Architecture is the processor that a pool's runners have.
type Architecture string

const (
	AMD64 Architecture = "amd64"
	ARM64 Architecture = "arm64"
)

// Label is the architecture as GitHub writes it among a runner's labels.
func (a Architecture) Label() string {
	if a == ARM64 {
		return "ARM64"
	}
	return "X64"
}

// bitbucketLabel is the system with the architecture as Bitbucket writes it.
func (a Architecture) bitbucketLabel() string {
	if a == ARM64 {
		return "linux.arm64"
	}
	return "linux"
}

// RunnerLabels are all labels that the pool's runners are registered with. A registration
// has exactly what it is sent, so the labels that GitHub's own installer adds are in it; a
// GitLab runner has the tags that were written; on Bitbucket the two are there that its own
// dialogue adds.
func (s PoolSpec) RunnerLabels() []string {
	if s.Scope.Forge == GitLab {
		return slices.Clone(s.Labels)
	}
	all := []string{"self-hosted", "linux", s.Architecture.Label()}
	if s.Scope.Forge == Bitbucket {
		all = []string{"self.hosted", s.Architecture.bitbucketLabel()}
	}
	for _, l := range s.Labels {
		if !slices.ContainsFunc(all, func(have string) bool { return strings.EqualFold(have, l) }) {
			all = append(all, l)
		}
	}
	return all
}

// Serves reports whether a job may run on the pool: its repository is in scope, and each
// of its labels is one of the runners', without regard to case. A job without labels asks
// for a group, which its delivery does not name, so it is nobody's.
func (s PoolSpec) Serves(j Job) bool {
	if !s.Scope.Forge.TellsJobs() || len(j.Labels) == 0 || j.Host != "" && j.Host != s.Scope.Host() || !s.Scope.Covers(j.Owner, j.Repository) {
		return false
	}
	return len(s.Lacks(j)) == 0
}

// PoolOrder compares two pools that could both serve a job: the lesser is asked first. One
// of a repository comes before one of the organization; then the higher priority; then
// fewer labels, so that jobs that need less leave rare runners alone; then the older pool.
func PoolOrder(a, b RunnerPool) int {
	wide := func(p RunnerPool) int {
		if p.Spec.Scope.Repository != "" {
			return 0
		}
		return 1
	}
	return cmp.Or(
		cmp.Compare(wide(a), wide(b)),
		-cmp.Compare(a.Spec.Priority, b.Spec.Priority),
		cmp.Compare(len(a.Spec.Labels), len(b.Spec.Labels)),
		cmp.Compare(a.ID, b.ID),
	)
}

// Lacks lists the labels of a job that the pool's runners do not have, as the job writes
// them.
func (s PoolSpec) Lacks(j Job) (missing []string) {
	have := s.RunnerLabels()
	for _, l := range j.Labels {
		if !slices.ContainsFunc(have, func(h string) bool { return strings.EqualFold(h, l) }) {
			missing = append(missing, l)
		}
	}
	return missing
}

// PoolState is what people read first about a pool. Package reconcile/pool alone moves it.
type PoolState string

const (
	PoolSleeping PoolState = "sleeping" // no runner, and no job that needs one
	PoolReady    PoolState = "ready"    // as many runners as are needed
	PoolScaling  PoolState = "scaling"  // runners come or go
	PoolFull     PoolState = "full"     // jobs wait for a runner to end its own
	PoolHeld     PoolState = "held"     // runners are needed and cannot be launched; Why says the cause
	PoolPaused   PoolState = "paused"
	PoolDeleting PoolState = "deleting"
)

// Kinds of events of a pool. Their noun is the pool.
const (
	EventPool        = "pool.changed" // it, how it stands, or one of its slots
	EventPoolChecked = "pool.checked" // it was looked at, and nothing else is new
)

// PoolStatus is how a pool stands, as its reconciler last wrote it.
type PoolStatus struct {
	PoolID    int64
	State     PoolState
	Why       string // beside State, in words; may be empty
	Demand    int    // queued jobs that fall to the pool
	CheckedAt time.Time
	Failures  int // launches in a row that failed
	HoldUntil time.Time
	HoldWhy   string
	Group     int64     // the default runner group that was discovered; 0: not yet, or none
	ListedAt  time.Time // the forge's registrations were last listed whole
	ListError string    // why the last list failed, in words; empty: it did not
	Version   string    // of the oldest runner program that was seen
	Warning   string    // of what will go wrong, such as a runner program near GitHub's minimum
	Newest    string    // version of the runner program that the forge offers; empty: not known
	NewestAt  time.Time // when Newest was first seen
	Outdated  string    // the runner image that the forge turned away as too old; empty: none
	Ledger    Ledger

	// Failures count for this generation of the pool and this version of its credential: a
	// change of either starts over.
	Generation        int64
	CredentialVersion int64
	FailedAt          time.Time // the newest of Failures
}

// Ledger is what a sweep of a pool found that does not belong together. Empty lists are
// the promise that nothing leaks.
type Ledger struct {
	CheckedAt     time.Time `json:"checked_at"`
	Pods          []string  `json:"pods,omitempty"`          // pods without a slot
	Registrations []string  `json:"registrations,omitempty"` // registrations without a slot
	Slots         []string  `json:"slots,omitempty"`         // slots that should have a pod and have none
}
