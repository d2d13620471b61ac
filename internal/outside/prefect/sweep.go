package prefect

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	sweepEvery = 10 * time.Second
	// A run this young may be one whose creation is just being written down.
	sweepAfter = time.Minute
)

// Run keeps the work pool alive in Prefect and the warm spare ready, and cancels every
// scheduled run of the pool that known does not recognise: one that somebody made by
// hand in Prefect's pages is never executed. It returns when ctx ends, with nil.
//
// Known is asked with the run, so that one whose id was not stored before a crash is
// recognised by its IdempotencyKey.
func (r *Runner) Run(ctx context.Context, known func(context.Context, FlowRun) (bool, error)) error {
	if !r.NoSpare {
		r.spare.mu.Lock()
		r.spare.wanted = true
		r.spare.mu.Unlock()
		r.keepSpare()
		defer r.dropSpare()
	}
	var loops sync.WaitGroup
	loops.Go(func() { r.repeat(ctx, HeartbeatInterval, "report to Prefect", r.beat) })
	loops.Go(func() {
		r.repeat(ctx, sweepEvery, "sweep foreign runs", func(ctx context.Context) error { return r.sweep(ctx, known) })
	})
	loops.Wait()
	return nil
}

// repeat calls do at once and then every interval, and says when it begins to fail and
// when it works again, not every time.
func (r *Runner) repeat(ctx context.Context, every time.Duration, what string, do func(context.Context) error) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	failing := false
	for {
		attempt, cancel := context.WithTimeout(ctx, every)
		err := do(attempt)
		cancel()
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && !failing:
			r.log.WarnContext(ctx, "cannot "+what, "error", err)
		case err == nil && failing:
			r.log.InfoContext(ctx, "can "+what+" again")
		}
		failing = err != nil
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// beat reports the worker, and makes the pool when it is not there.
func (r *Runner) beat(ctx context.Context) error {
	if err := r.ensurePool(ctx, false); err != nil {
		return err
	}
	err := r.client.Heartbeat(ctx, r.WorkPool, r.Worker)
	if !errors.Is(err, ErrNotFound) {
		return err
	}
	if err := r.ensurePool(ctx, true); err != nil {
		return err
	}
	return r.client.Heartbeat(ctx, r.WorkPool, r.Worker)
}

// sweep cancels the pool's runs that are not ours.
func (r *Runner) sweep(ctx context.Context, known func(context.Context, FlowRun) (bool, error)) error {
	if err := r.ensurePool(ctx, false); err != nil {
		return err
	}
	runs, err := r.client.ScheduledRuns(ctx, r.WorkPool, time.Now().Add(sweepEvery))
	if err != nil {
		return err
	}
	for _, run := range runs {
		if time.Since(run.Created) < r.sweepAfter {
			continue
		}
		ours, err := known(ctx, run)
		if err != nil {
			return fmt.Errorf("look up flow run %s: %w", run.ID, err)
		}
		if ours {
			continue
		}
		_, err = r.client.SetState(ctx, run.ID, Proposal{State: State{
			Type: Cancelled, Name: "Cancelled", Message: "not created by this Slipway",
		}})
		if err != nil {
			return err
		}
		r.log.InfoContext(ctx, "cancelled a flow run that Slipway did not create", "flow_run", run.ID, "name", run.Name)
	}
	return nil
}
