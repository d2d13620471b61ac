package slipway

import (
	"slices"
	"strings"
	"time"
)

// RunnerPool is a service of a runner application: up to Replicas single-use runners for
// the jobs of one organization or repository of a forge.
type RunnerPool struct {
	ID            int64
	ApplicationID int64
	Service       string // the service's name in application.toml
	Spec          PoolSpec
	Generation    int64 // counts the changes that runners must be replaced for
	Paused        bool
	Deleting      bool
	LastJobEvent  time.Time // of any job that the pool serves; idle time counts from it
}

// PoolSpec is what a team asks for, checked and with its defaults filled in.
type PoolSpec struct {
	Scope        ForgeScope
	Labels       []string // as written; GitHub folds case, and so does Serves
	Architecture Architecture
	Replicas     int           // the most jobs at once
	Minimum      int           // runners that are kept whatever the demand
	Spare        int           // free runners that are kept beside the busy ones
	Idle         time.Duration // 0: a fixed pool of Replicas runners
	Timeout      time.Duration // a runner's whole life, from its start
	Priority     int           // under a shared ceiling the higher comes first
}

// Fixed reports whether the pool keeps all its runners whatever the demand.
func (s PoolSpec) Fixed() bool { return s.Idle == 0 }

// ForgeScope is where runners are registered: an organization, or one repository of it.
type ForgeScope struct {
	Owner      string
	Repository string // empty: the whole organization
	Group      int64  // runner group; 0: the default one
}

// Covers reports whether jobs of a repository may come to runners of this scope. Names are
// compared as the forge does, without regard to case.
func (s ForgeScope) Covers(owner, repository string) bool {
	return strings.EqualFold(s.Owner, owner) && (s.Repository == "" || strings.EqualFold(s.Repository, repository))
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

// RunnerLabels are all labels that the pool's runners are registered with. A registration
// has exactly what it is sent, so the labels that GitHub's own installer adds are in it.
func (s PoolSpec) RunnerLabels() []string {
	all := []string{"self-hosted", "linux", s.Architecture.Label()}
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
	if len(j.Labels) == 0 || !s.Scope.Covers(j.Owner, j.Repository) {
		return false
	}
	have := s.RunnerLabels()
	for _, l := range j.Labels {
		if !slices.ContainsFunc(have, func(h string) bool { return strings.EqualFold(h, l) }) {
			return false
		}
	}
	return true
}

// Job is one job of a forge as its deliveries and lists have told. Its state only moves
// forward: deliveries come doubled, late and out of order.
type Job struct {
	ID         int64 // the forge's
	RunID      int64
	Attempt    int
	Owner      string
	Repository string
	Name       string
	Labels     []string
	State      JobState
	Runner     string // the name of the runner that has it; empty until it runs
	Conclusion string
	QueuedAt   time.Time
	StartedAt  time.Time
	EndedAt    time.Time
	SeenAt     time.Time // the newest word of it
}

// JobState is how far a job has come.
type JobState string

const (
	JobWaiting   JobState = "waiting" // for an approval or for its turn: no demand yet
	JobQueued    JobState = "queued"  // the only state that is demand
	JobRunning   JobState = "in_progress"
	JobCompleted JobState = "completed"
)

var jobRank = map[JobState]int{JobWaiting: 1, JobQueued: 2, JobRunning: 3, JobCompleted: 4}

// Before reports whether a job in state s may move on to next. The same state again, and
// one that the job has left behind, are old news.
func (s JobState) Before(next JobState) bool { return jobRank[s] < jobRank[next] }

// MaxQueued is how long a job counts as demand. GitHub gives up a job that was queued for
// as long.
const MaxQueued = 24 * time.Hour

// Slot is one runner of a pool with its whole life on record. Its row is written before
// anything is asked for outside, and is closed only when nothing is left there.
type Slot struct {
	ID         int64
	PoolID     int64
	Generation int64  // of the pool when the slot was made
	Runner     string // the runner's name: unguessable, and never used again
	RunnerID   int64  // the forge's ID of the registration; 0: not known
	State      SlotState
	Since      time.Time // in State
	Job        int64     // that it runs or ran; 0: none
	Reason     string    // why it drains, in words
	CreatedAt  time.Time
	StartedAt  time.Time // the pod or machine was asked for: its Timeout counts from here
}

// SlotState moves as SlotMoves allows; package reconcile/pool alone moves it.
//
//	wanted ─▶ registering ─▶ launching ─▶ starting ─▶ idle ─▶ busy
//	  │           │              │            │         │       │
//	  │           └──────────────┴────────────┴─────────┴───────┤
//	  ▼                                                         ▼
//	closed ◀──────────────── removing ◀──────────────────── draining
//
// A runner in draining may turn out to have taken a job, and is busy again.
type SlotState string

const (
	SlotWanted      SlotState = "wanted"      // the row exists, nothing outside
	SlotRegistering SlotState = "registering" // the forge was, or is about to be, asked for a configuration
	SlotLaunching   SlotState = "launching"   // the pod or machine was, or is about to be, asked for
	SlotStarting    SlotState = "starting"    // it exists; its runner has not been seen
	SlotIdle        SlotState = "idle"        // its runner waits for a job
	SlotBusy        SlotState = "busy"        // its runner has a job, and is never ended by us
	SlotDraining    SlotState = "draining"    // its registration is being taken away
	SlotRemoving    SlotState = "removing"    // no registration is left; the pod or machine is being taken away
	SlotClosed      SlotState = "closed"      // nothing is left outside
)

// SlotMoves are the legal moves of a slot.
var SlotMoves = map[SlotState][]SlotState{
	SlotWanted:      {SlotRegistering, SlotClosed},
	SlotRegistering: {SlotLaunching, SlotDraining},
	SlotLaunching:   {SlotStarting, SlotDraining},
	SlotStarting:    {SlotIdle, SlotBusy, SlotDraining},
	SlotIdle:        {SlotBusy, SlotDraining},
	SlotBusy:        {SlotDraining},
	SlotDraining:    {SlotBusy, SlotRemoving},
	SlotRemoving:    {SlotClosed},
}

// MayMove reports whether a slot in state s may move to next.
func (s SlotState) MayMove(next SlotState) bool { return slices.Contains(SlotMoves[s], next) }

// Free reports whether a slot in this state has, or will have, a runner for one more job.
func (s SlotState) Free() bool {
	switch s {
	case SlotWanted, SlotRegistering, SlotLaunching, SlotStarting, SlotIdle:
		return true
	}
	return false
}
