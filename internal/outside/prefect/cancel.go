package prefect

import (
	"context"
	"errors"
	"fmt"
)

// Cancel ends the run: TERM to the process's group, KILL after RunnerConfig.Grace, then the
// state CANCELLED. A run that completed before the signal stays COMPLETED, and one that had
// ended before the call keeps its state. It may be repeated.
//
// A process of another host cannot be signalled from here: the run becomes CANCELLING, and
// the Slipway that waits for it there ends it.
func (r *Runner) Cancel(ctx context.Context, flowRunID string, p Process) error {
	r.mu.Lock()
	for other := r.cancelling[flowRunID]; other != nil; other = r.cancelling[flowRunID] {
		r.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return fmt.Errorf("cancel flow run %s: %w", flowRunID, context.Cause(ctx))
		}
		r.mu.Lock()
	}
	over := make(chan struct{})
	r.cancelling[flowRunID] = over
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		delete(r.cancelling, flowRunID)
		r.mu.Unlock()
		close(over)
	}()
	if err := r.cancel(ctx, flowRunID, p); err != nil {
		return fmt.Errorf("cancel flow run %s: %w", flowRunID, err)
	}
	return nil
}

func (r *Runner) cancel(ctx context.Context, id string, p Process) error {
	before, glanceErr := r.glance(ctx, id)
	if p.Known() && locate(p.Host) == elsewhere {
		if before.Terminal() {
			return nil
		}
		_, err := r.client.SetState(ctx, id, Proposal{State: State{Type: Cancelling, Name: "Cancelling"}})
		return err
	}
	// The process first: it must end also while Prefect is down.
	if err := p.endGroup(ctx, r.Grace, runMark(id)); err != nil {
		return err
	}
	if glanceErr == nil && before.Terminal() && before != Cancelled {
		return nil
	}
	run, err := r.client.GetFlowRun(ctx, id)
	if errors.Is(err, ErrNotFound) {
		return nil // deleted in Prefect: there is no state to set
	}
	if err != nil || run.State.Type == Completed || run.State.Type == Cancelled {
		return err
	}
	// By force, because the engine answers a TERM by forcing CRASHED. The process is gone,
	// so nothing is said after this.
	_, err = r.client.SetState(ctx, id, Proposal{Force: true, State: State{
		Type: Cancelled, Name: "Cancelled", Message: "Slipway ended the action.",
	}})
	return err
}

// awaitCancel returns when no Cancel of the run is under way.
func (r *Runner) awaitCancel(ctx context.Context, id string) error {
	r.mu.Lock()
	over := r.cancelling[id]
	r.mu.Unlock()
	if over == nil {
		return nil
	}
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
