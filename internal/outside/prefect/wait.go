package prefect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// WaitOptions say how long to wait, and how to judge what cannot be seen from here.
type WaitOptions struct {
	// Deadline ends the run: its process is ended as by Cancel. It is a moment rather than
	// a duration, so that a restart of Slipway does not grant the time again. Zero: none.
	Deadline time.Time
	// Alive answers whether the Slipway that owns the process, on another host, still
	// lives. When it says no, a run that has not ended is declared crashed. Nil says yes.
	Alive func() bool
	// Unreachable is how long the server may not answer before Wait gives up with
	// ErrUnreachable, leaving the process as it is; 10 minutes when zero. The time counts
	// only when the process has ended: one that lives is waited for.
	Unreachable time.Duration
	// Every is the time between two looks at the run's state; 5 s when zero.
	Every time.Duration
}

// Outcome is how a run ended, as Prefect has it.
type Outcome struct {
	State StateType // Completed, Failed, Crashed or Cancelled
	Name  string    // Prefect's name for it, "TimedOut"
	// Message is the state's, without "Flow run encountered an exception: ". It is as the
	// action wrote it: redact it before it is stored or shown.
	Message string
	// FirstError is the first log record of level ERROR, when the run crashed. It may hold
	// a whole traceback: redact, then cut.
	FirstError string
	Crashed    bool
	// Expired says that the run was ended because WaitOptions.Deadline passed.
	Expired bool
	// Runs counts the engine's starts of the flow: 2 after one retry.
	Runs           int
	Started, Ended time.Time // Started is zero when the flow's code never began
}

// Wait returns when the process has ended and the run has a terminal state, and says how
// the run ended. The process may be one that this Runner started, one that an earlier
// Slipway started on this host, one of another host, or the zero value when the run was
// claimed and nobody knows by whom.
//
// When ctx ends Wait returns its error and leaves the process running.
func (r *Runner) Wait(ctx context.Context, flowRunID string, p Process, o WaitOptions) (Outcome, error) {
	o.Every = cmp.Or(o.Every, 5*time.Second)
	o.Unreachable = cmp.Or(o.Unreachable, 10*time.Minute)
	out, err := r.wait(ctx, flowRunID, p, o)
	if err != nil {
		return Outcome{}, fmt.Errorf("wait for flow run %s: %w", flowRunID, err)
	}
	return out, nil
}

func (r *Runner) wait(ctx context.Context, id string, p Process, o WaitOptions) (Outcome, error) {
	var expired bool
	if p.Known() && locate(p.Host) == here {
		var err error
		if expired, err = r.watchProcess(ctx, id, p, o); err != nil {
			return Outcome{}, err
		}
		// What the flow started must not act on after its run was declared over.
		p.killGroup(runMark(id))
		if c := r.child(id); c != nil {
			<-c.done // then its group has been ended
		}
		trimOutput(p.Output, r.OutputMax)
	} else {
		var err error
		if expired, err = r.watchState(ctx, id, p, o); err != nil {
			return Outcome{}, err
		}
	}
	// A Cancel under way has the last word on the state.
	if err := r.awaitCancel(ctx, id); err != nil {
		return Outcome{}, err
	}
	run, err := r.settle(ctx, id, p, o)
	if err != nil {
		return Outcome{}, err
	}
	out := Outcome{
		State: run.State.Type, Name: run.State.Name, Message: strings.TrimPrefix(run.State.Message, "Flow run encountered an exception: "),
		Crashed: run.State.Type == Crashed, Expired: expired && run.State.Type != Completed,
		Runs: run.RunCount, Ended: run.Ended,
	}
	if out.Runs > 0 { // Prefect fills the time in for runs that ended without a start
		out.Started = run.Started
	}
	if out.Crashed && run.FlowID != "" {
		// The state alone is worth returning when the log cannot be read.
		if out.FirstError, err = r.client.FirstError(ctx, id); err != nil {
			r.log.WarnContext(ctx, "the log of a crashed action was not read", "flow_run", id, "error", err)
		}
	}
	r.mu.Lock()
	delete(r.children, id)
	r.mu.Unlock()
	return out, nil
}

// watchProcess returns when the process has ended, having ended it when the deadline passed
// or when somebody cancelled the run in Prefect's own pages.
func (r *Runner) watchProcess(ctx context.Context, id string, p Process, o WaitOptions) (expired bool, err error) {
	look := time.NewTicker(o.Every)
	defer look.Stop()
	deadline := o.timer()
	defer deadline.Stop()
	ended := make(chan struct{})
	watch, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		if p.awaitEnd(watch) == nil {
			close(ended)
		}
	}()
	var over int // looks at which the run had ended and its process had not
	for {
		select {
		case <-ctx.Done():
			return false, context.Cause(ctx)
		case <-ended:
			return expired, nil
		case <-deadline.C:
			expired = true
			if err := r.Cancel(ctx, id, p); err != nil {
				return expired, err
			}
		case <-look.C:
			trimOutput(p.Output, r.OutputMax)
			state, err := r.glance(ctx, id)
			switch {
			case err != nil: // the process is what counts while it lives
			case state == Cancelling || state == Cancelled:
				if err := r.Cancel(ctx, id, p); err != nil {
					return expired, err
				}
			case state.Terminal():
				// The engine said its last word. It may still flush its log, but a thread of
				// the driver's must not hold the run open for ever.
				if over++; time.Duration(over)*o.Every > r.Grace {
					p.killGroup(runMark(id))
				}
			}
		}
	}
}

// watchState follows a run whose process cannot be seen from here.
func (r *Runner) watchState(ctx context.Context, id string, p Process, o WaitOptions) (expired bool, err error) {
	if p.Known() && locate(p.Host) == gone {
		return false, nil
	}
	deadline := o.timer()
	defer deadline.Stop()
	for {
		if o.Alive != nil && !o.Alive() || !p.Known() && o.Alive == nil {
			return expired, nil
		}
		if state, err := r.glance(ctx, id); err == nil && state.Terminal() {
			return expired, nil
		}
		select {
		case <-ctx.Done():
			return expired, context.Cause(ctx)
		case <-deadline.C:
			expired = true
			if err := r.Cancel(ctx, id, p); err != nil {
				return expired, err
			}
		case <-time.After(o.Every):
		}
	}
}

// glance reads the run's state once, without waiting for a server that is down.
func (r *Runner) glance(ctx context.Context, id string) (StateType, error) {
	var run FlowRun
	_, err := r.client.attempt(ctx, "GET", "/flow_runs/"+id, nil, &run)
	return run.State.Type, err
}

// settle reads the run's state, and gives it one when its process ended without.
func (r *Runner) settle(ctx context.Context, id string, p Process, o WaitOptions) (FlowRun, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, o.Unreachable, ErrUnreachable)
	defer cancel()
	run, err := r.client.GetFlowRun(ctx, id)
	if errors.Is(err, ErrNotFound) {
		// Somebody deleted it in Prefect's pages, or the database was replaced. There will
		// never be another answer, so this one must end the wait.
		return FlowRun{ID: id, State: State{Type: Crashed, Name: "Crashed",
			Message: "The flow run is not in Prefect any more, so how it ended is not known."}}, nil
	}
	if err != nil || run.State.Type.Terminal() {
		return run, err
	}
	why := r.whyEnded(run, p)
	// The record is for people. Only a server that is away is worth another try.
	if err := r.client.WriteLog(ctx, id, why); errors.Is(err, ErrUnreachable) || ctx.Err() != nil {
		return run, err
	}
	// An ABORT means that the engine's own word came first, a REJECT that the run is being
	// cancelled: either way the next reading shows it.
	proposed, err := r.client.SetState(ctx, id, Proposal{State: State{Type: Crashed, Name: "Crashed", Message: why}})
	if err != nil {
		return run, err
	}
	if run, err = r.client.GetFlowRun(ctx, id); err != nil || run.State.Type.Terminal() {
		return run, err
	}
	// A rule of the server holds the run open, although nothing is left that could end it.
	last := State{Type: Crashed, Name: "Crashed", Message: why}
	if run.State.Type == Cancelling {
		last = State{Type: Cancelled, Name: "Cancelled", Message: why}
	}
	if _, err := r.client.SetState(ctx, id, Proposal{State: last, Force: true}); err != nil {
		return run, err
	}
	if run, err = r.client.GetFlowRun(ctx, id); err == nil && !run.State.Type.Terminal() {
		err = errors.New("Prefect keeps it in state " + string(run.State.Type) + " although its process has ended: " + proposed.Reason)
	}
	return run, err
}

// child returns the process of the run when this Runner started it, else nil.
func (r *Runner) child(id string) *child {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.children[id]
}

// runMark is what every process of a run has in its environment, and no other process.
func runMark(id string) string { return "PREFECT__FLOW_RUN_ID=" + id }

// whyEnded says what is known about a process that left its run without a last state.
func (r *Runner) whyEnded(run FlowRun, p Process) string {
	c := r.child(run.ID)
	switch {
	case run.State.Type == Paused:
		return "The action suspended itself, and Slipway does not resume actions. Let it wait inside instead."
	case !p.Known():
		return "The action was claimed and never started: Slipway was stopped in between."
	case locate(p.Host) == gone:
		return "The machine or container that ran the action was restarted while the action ran."
	case locate(p.Host) == elsewhere:
		return "The Slipway that ran the action is gone."
	case c == nil:
		return "The process of the action ended without reporting a result. Slipway was restarted meanwhile, so its exit status is not known."
	}
	<-c.done
	return "The process of the action ended without reporting a result: " + exitText(c.exit) + "."
}

func (o WaitOptions) timer() *time.Timer {
	if o.Deadline.IsZero() {
		return time.NewTimer(1<<63 - 1)
	}
	return time.NewTimer(time.Until(o.Deadline))
}
