package pool

import (
	"context"
	"errors"
	"time"

	"slipway.dev/slipway/internal/outside/forge"
	"slipway.dev/slipway/internal/slipway"
)

// begin registers a runner and launches its pod. That the forge is about to be asked is on
// record. The configuration is nowhere but in this call: when it is cut short, the slot is
// found registering or launching, and goes.
func (w *run) begin(ctx context.Context, out *outcome, in rows, s slipway.Slot) (moved bool, err error) {
	client, err := w.r.forges.open(ctx, in.pool, s.Scope, s.Credential)
	if err != nil {
		return w.notRegistered(ctx, out, s, err)
	}
	leave, ok := w.r.forges.seat(client)
	if !ok {
		return w.notRegistered(ctx, out, s, forge.Fail(forge.Throttled, "other pools of the same credential are being registered", "", nil).Wait(time.Second))
	}
	defer leave()
	out.mu.Lock()
	stop := out.failure != ""
	out.mu.Unlock()
	if stop { // the one before was refused, and this one would be
		s.Failure, s.RetryAt = "it waits for the one before it", w.r.Store.Now()
		return false, w.write(ctx, s, slipway.SlotRegistering)
	}
	began := w.r.Store.Now()
	made, err := client.Register(ctx, s.Scope, forge.Registration{
		Name: s.Runner, Labels: in.pool.Spec.RunnerLabels(), Group: s.Scope.Group, Timeout: in.pool.Spec.Timeout,
	})
	if err != nil {
		return w.notRegistered(ctx, out, s, err)
	}
	now := w.r.Store.Now()
	w.r.Metrics.phase("registered", now.Sub(began))
	out.mu.Lock()
	out.group = made.Runner.Group
	out.mu.Unlock()
	s.RunnerID, s.RegisteredAt, s.StartedAt, s.State = made.Runner.ID, now, now, slipway.SlotLaunching
	if err := w.write(ctx, s, slipway.SlotRegistering); err != nil {
		return true, err
	}
	return true, w.launch(ctx, out, in, s, made.Config)
}

// notRegistered records why a registration was not made, or may have been.
func (w *run) notRegistered(ctx context.Context, out *outcome, s slipway.Slot, cause error) (moved bool, err error) {
	var book *bookkeeping
	if errors.As(cause, &book) || ctx.Err() != nil {
		return false, cause
	}
	hold, counts := refusal(cause, w.r.spread)
	out.failed(sentence(cause), hold, counts)
	w.r.Metrics.launch(string(forge.ProblemOf(cause)))
	switch forge.ProblemOf(cause) {
	case forge.Refused, forge.Throttled, forge.Invalid, forge.NotFound:
		// Nothing was made: the slot keeps its name and tries again.
		s.Failure, s.Failures, s.RetryAt = sentence(cause), s.Failures+1, w.r.Store.Now().Add(hold)
		return false, w.write(ctx, s, slipway.SlotRegistering)
	}
	why := "it is not known whether the forge registered its runner: " + sentence(cause)
	if forge.Is(cause, forge.Taken) {
		why = "its name is in use: the reply to an earlier request was lost"
	}
	return true, w.write(ctx, drain(s, why), slipway.SlotRegistering)
}

// launch asks for the pod. One that fails is not tried again with this configuration: the
// slot goes, and another takes its place under another name.
func (w *run) launch(ctx context.Context, out *outcome, in rows, s slipway.Slot, config string) error {
	began := w.r.Store.Now()
	uid, err := w.r.Cluster.Launch(ctx, Launch{Pool: in.pool, Slot: s, Config: config})
	if err != nil && ctx.Err() == nil && slipway.Is(err, slipway.Unavailable) {
		uid, err = w.r.Cluster.Launch(ctx, Launch{Pool: in.pool, Slot: s, Config: config})
	}
	if err != nil {
		if ctx.Err() != nil {
			return err // the next run finds the slot launching
		}
		w.r.Metrics.launch("pod refused")
		w.r.Log.WarnContext(ctx, "a runner pod was not launched", "pool", in.pool.Ref(), "slot", s.ID, "error", err)
		// A quota that is full is of runners on their way out, and is no fault of the pool.
		throttled := slipway.Is(err, slipway.Throttled)
		hold := time.Duration(0)
		if throttled {
			hold = 5 * time.Second
		}
		out.failed(sentence(err), hold, !throttled)
		return w.write(ctx, drain(s, "its pod was not launched: "+sentence(err)), slipway.SlotLaunching)
	}
	w.r.Metrics.launch("launched")
	w.r.Metrics.phase("launched", w.r.Store.Now().Sub(began))
	s.Pod, s.State = uid, slipway.SlotStarting
	return w.write(ctx, s, slipway.SlotLaunching)
}

// spread adds up to a fifth, so that what was refused together is not asked together.
func (r *Reconciler) spread(d time.Duration) time.Duration {
	return d + time.Duration(r.Scatter()*float64(d)/5)
}
