package prefect

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"time"
)

// StateType is the kind of a flow run's state. A state also has a name, which is free text:
// branch on the type, show the name.
type StateType string

// The state types of Prefect 3.
//
//	SCHEDULED ─claim─▶ PENDING ─engine─▶ RUNNING ─▶ COMPLETED │ FAILED
//	    ▲ AwaitingRetry                    │  └────▶ CRASHED (the engine, or we when it died)
//	    └──────────────────────────────────┘  └────▶ CANCELLING ─▶ CANCELLED
const (
	Scheduled  StateType = "SCHEDULED"
	Pending    StateType = "PENDING"
	Running    StateType = "RUNNING"
	Completed  StateType = "COMPLETED"
	Failed     StateType = "FAILED"
	Cancelled  StateType = "CANCELLED"
	Crashed    StateType = "CRASHED"
	Paused     StateType = "PAUSED"
	Cancelling StateType = "CANCELLING"
)

// Terminal says whether a run in this state has ended. FAILED may still be followed by a
// retry in the engine's own process, but then Prefect records AwaitingRetry in its place.
func (t StateType) Terminal() bool {
	return t == Completed || t == Failed || t == Cancelled || t == Crashed
}

// State is one state of a flow run.
type State struct {
	Type      StateType    `json:"type"`
	Name      string       `json:"name,omitempty"`
	Message   string       `json:"message,omitempty"`
	Timestamp time.Time    `json:"timestamp,omitzero"`
	Details   StateDetails `json:"state_details,omitzero"`
}

// StateDetails is what we use of a state's details.
type StateDetails struct {
	TransitionID string `json:"transition_id,omitempty"`
}

// Answer is how the server answers a proposed state.
type Answer string

// The answers. A WAIT never leaves SetState, which waits and proposes again.
const (
	Accept Answer = "ACCEPT" // the run has the proposed state
	Reject Answer = "REJECT" // the run has another state, which is returned
	Abort  Answer = "ABORT"  // someone else owns the run, or it has ended
	wait   Answer = "WAIT"
)

// Proposal is a state asked for.
type Proposal struct {
	State State
	// Force leaves the server's rules out, but for the one that protects stored results.
	Force bool
}

// SetStateResult is the server's answer to a Proposal.
type SetStateResult struct {
	Answer Answer
	State  State  // the run's state now; empty after an Abort
	Reason string // why not accepted
	// Ours is true when the state is the one proposed here: accepted now, or accepted in
	// an earlier attempt whose answer was lost.
	Ours bool
}

// SetState proposes a state. A proposal without a transition id gets one, which is kept
// through all attempts: the server answers a repeat with REJECT and the state that the
// first attempt made, so a lost answer is told apart from a lost race.
func (c *Client) SetState(ctx context.Context, flowRunID string, p Proposal) (SetStateResult, error) {
	if p.State.Details.TransitionID == "" {
		p.State.Details.TransitionID = newUUID()
	}
	in := map[string]any{"state": p.State, "force": p.Force}
	for {
		var out struct {
			State   *State `json:"state"`
			Status  Answer `json:"status"`
			Details struct {
				Reason       string  `json:"reason"`
				DelaySeconds float64 `json:"delay_seconds"`
			} `json:"details"`
		}
		if err := c.call(ctx, http.MethodPost, "/flow_runs/"+flowRunID+"/set_state", in, &out); err != nil {
			return SetStateResult{}, fmt.Errorf("propose state %s of flow run %s: %w", p.State.Type, flowRunID, err)
		}
		if out.Status == wait {
			delay := time.Duration(max(out.Details.DelaySeconds, 0.1) * float64(time.Second))
			select {
			case <-ctx.Done():
				return SetStateResult{}, fmt.Errorf("propose state %s of flow run %s: %w", p.State.Type, flowRunID, context.Cause(ctx))
			case <-time.After(delay):
				continue
			}
		}
		r := SetStateResult{Answer: out.Status, Reason: out.Details.Reason}
		if out.State != nil {
			r.State = *out.State
		}
		r.Ours = r.Answer == Accept || r.State.Details.TransitionID == p.State.Details.TransitionID
		return r, nil
	}
}

// newUUID returns a random UUID (version 4).
func newUUID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails, since Go 1.24
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[0:4], b[4:6], b[6:8], b[8:10], b[10:])
}
