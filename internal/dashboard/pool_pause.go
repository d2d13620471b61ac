package dashboard

import (
	"context"
	"fmt"

	"slipway.dev/slipway/internal/change"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/view"
)

func (s *site) doPause(r *request) error  { return s.switchPools(r, s.Change.PausePools) }
func (s *site) doResume(r *request) error { return s.switchPools(r, s.Change.ResumePools) }

// switchPools pauses or resumes one pool of an application, or all where none is named, and
// shows its page.
func (s *site) switchPools(r *request, do func(context.Context, slipway.Caller, change.PoolsInput) ([]slipway.RunnerPool, error)) error {
	m, err := s.applicationOf(r)
	if err != nil {
		return err
	}
	in := change.PoolsInput{ApplicationID: m.Application.ID, IdempotencyKey: r.form("key")}
	if pool := r.form("pool"); pool != "" {
		in.Pools = []string{pool}
	}
	if _, err := do(r.Context(), r.caller, in); err != nil {
		f := r.fault(err)
		return s.showApplication(r, &f)
	}
	r.redirect(applicationAddress(m.Application))
	return nil
}

// pauseQuestion says what becomes of the runners of a pool that is paused.
func pauseQuestion(p view.PoolRow) string {
	free, busy := p.Count(slipway.SlotIdle)+p.Count(view.Starting...), p.Count(slipway.SlotBusy)
	s := "It takes no more jobs, also after later deploys, until it is resumed."
	if free > 0 {
		s += fmt.Sprintf(" %s at once.", goes(free, "free runner"))
	}
	switch {
	case busy == 1:
		s += " 1 busy runner ends its job first."
	case busy > 1:
		s += fmt.Sprintf(" %d busy runners end their jobs first.", busy)
	}
	return s
}

func goes(n int, noun string) string {
	if n == 1 {
		return "1 " + noun + " goes"
	}
	return count(n, noun) + " go"
}

// pausable counts the pools that are not paused, and those that are. What is being deleted
// is neither.
func pausable(pools []view.PoolRow) (active, paused int) {
	for _, p := range pools {
		switch {
		case p.Deleting:
		case p.Paused:
			paused++
		default:
			active++
		}
	}
	return active, paused
}

// poolPath is the application of a pool.
func poolPath(p view.PoolRow) string {
	return address("applications", p.Project, p.Environment, p.Application)
}
