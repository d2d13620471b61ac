package slipway

import (
	"slices"
	"time"
)

// Slot is one runner of a pool with its whole life on record. Its row is written before
// anything is asked for outside, and is closed only when nothing is left there.
type Slot struct {
	ID         int64
	PoolID     int64
	Generation int64      // of the pool when the slot was made
	Scope      ForgeScope // where its runner is registered, whatever the pool says by now
	Credential string     // the secret that it is registered, and cleaned up, with
	Runner     string     // the runner's name, and its pod's: unguessable, and never used again
	RunnerID   int64      // the forge's ID of the registration; 0: not known
	State      SlotState
	Since      time.Time // in State
	Job        int64     // that it runs or ran; 0: none
	Reason     string    // why it drains, in words
	Failure    string    // what kept the last attempt of its present state from succeeding; empty: nothing
	Failures   int       // in a row, in its present state
	RetryAt    time.Time // the next attempt is not made before
	Pod        string    // the UID of its pod; empty: none was made
	Node       string    // that the pod runs on
	Seen       string    // how the pod stands, in words
	Image      string    // of the runner that really runs, with its digest
	Version    string    // of the runner's program, as the forge tells
	Result     string    // how the pod ended, in words

	CreatedAt    time.Time
	RegisteredAt time.Time // it has a configuration, which can be used for an hour
	StartedAt    time.Time // the pod or machine was asked for: its Timeout counts from here
	OnlineAt     time.Time // its runner was first seen to wait for a job
	BusyAt       time.Time
	EndedAt      time.Time // its runner was first known to be over
	ClosedAt     time.Time
}

// SlotState moves as SlotMoves allows; package reconcile/pool alone moves it.
//
//	wanted ─▶ registering ─▶ launching ─▶ starting ─▶ idle ─▶ busy
//	  │           │              │            │         │       │
//	  │           └──────────────┴────────────┴─────────┴───────┤
//	  ▼                                                         ▼
//	closed ◀──────────────── removing ◀──────────────────── draining
//
// A runner in draining may turn out to have taken a job, and is busy again. One in busy may
// turn out never to have had one, and is idle again.
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
	SlotBusy:        {SlotIdle, SlotDraining},
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
