package pool

import (
	"context"
	"errors"
	"time"

	"slipway.dev/slipway/internal/outside/forge"
	"slipway.dev/slipway/internal/slipway"
)

// mayAppear is how long a registration whose reply was lost may take until it is seen: a
// request that timed out may still be carried out.
const mayAppear = 30 * time.Second

// unregister takes a slot's registration away. Only the forge's own word on that says
// whether its runner has a job: refused because of one, the slot is busy and stays.
func (w *run) unregister(ctx context.Context, _ *outcome, in rows, s slipway.Slot) (moved bool, err error) {
	client, err := w.r.forges.open(ctx, in.pool, s.Scope, s.Credential)
	if err != nil {
		return w.notYet(ctx, s, err)
	}
	leave, ok := w.r.forges.seat(client)
	if !ok {
		return false, nil
	}
	defer leave()
	if s.RunnerID == 0 {
		known, err := client.RunnerNamed(ctx, s.Scope, s.Runner)
		switch {
		case forge.Is(err, forge.NotFound) && w.r.Store.Now().Sub(s.Since) < mayAppear:
			s.RetryAt = s.Since.Add(mayAppear)
			return false, w.write(ctx, s, slipway.SlotDraining)
		case forge.Is(err, forge.NotFound):
			return true, w.unregistered(ctx, s)
		case err != nil:
			return w.notYet(ctx, s, err)
		}
		s.RunnerID = known.ID
	}
	switch err := client.Unregister(ctx, s.Scope, s.RunnerID); {
	case err == nil, forge.Is(err, forge.NotFound):
		return true, w.unregistered(ctx, s)
	case forge.Is(err, forge.Busy):
		return w.busyAfterAll(ctx, in, client, s, err)
	default:
		return w.notYet(ctx, s, err)
	}
}

func (w *run) unregistered(ctx context.Context, s slipway.Slot) error {
	s.State = slipway.SlotRemoving
	return w.write(ctx, s, slipway.SlotDraining)
}

// busyAfterAll is what follows when a runner that was to go has a job. It goes on, unless
// there is nothing left that could, or its service is deleted: then the job is cancelled
// with its pod, and the forge takes the registration back when it has noticed.
func (w *run) busyAfterAll(ctx context.Context, in rows, client forge.Runners, s slipway.Slot, cause error) (moved bool, err error) {
	name := s.Scope.Forge.Name()
	over := !s.EndedAt.IsZero()
	if in.pool.Deleting && !over && !s.StartedAt.IsZero() {
		if w.r.NoCluster != nil {
			return w.notYet(ctx, s, w.r.NoCluster)
		}
		if err := w.r.Cluster.End(ctx, in.pool.Namespace, s.Runner); err != nil {
			return w.notYet(ctx, s, err)
		}
		over = w.r.since(absence{in.pool.ID, askedToEnd, s.Runner}, true, w.r.Store.Now()) > overAfter
	}
	if d, ok := client.(forge.Discarder); ok && over {
		if err := d.Discard(ctx, s.Scope, s.RunnerID); err != nil && !forge.Is(err, forge.NotFound) {
			return w.notYet(ctx, s, err)
		}
		return true, w.unregistered(ctx, s)
	}
	switch {
	case in.pool.Deleting:
		return w.notYet(ctx, s, forge.Fail(forge.Busy, name+" has not yet noticed that the job was cancelled with its runner", "", cause))
	case s.StartedAt.IsZero(), !s.EndedAt.IsZero():
		return w.notYet(ctx, s, forge.Fail(forge.Busy, name+" still holds a job for the runner, which has ended; it gives the job up after about ten minutes", "", cause))
	}
	s.State, s.Reason = slipway.SlotBusy, ""
	if s.BusyAt.IsZero() {
		s.BusyAt = w.r.Store.Now()
	}
	return true, w.write(ctx, s, slipway.SlotDraining)
}

// overAfter is how long the pod of a deleted pool may take to end with its job, from when
// this process first asked it to: it has a minute for telling the forge. How long the slot
// is on its way out says nothing of that, because the forge may not have answered before.
const overAfter = 2 * time.Minute

// remove asks for the end of a pod and its Secret. That they are gone is known when they
// are listed no more.
func (w *run) remove(ctx context.Context, _ *outcome, in rows, s slipway.Slot) (moved bool, err error) {
	if s.StartedAt.IsZero() {
		s.State = slipway.SlotClosed // no pod was ever asked for
		return true, w.write(ctx, s, slipway.SlotRemoving)
	}
	if w.r.NoCluster != nil {
		return w.notYet(ctx, s, w.r.NoCluster)
	}
	if err := w.r.Cluster.End(ctx, in.pool.Namespace, s.Runner); err != nil {
		return w.notYet(ctx, s, err)
	}
	w.mu.Lock()
	w.ended[s.ID] = true
	w.mu.Unlock()
	return true, nil
}

const soon, longest = 2 * time.Second, time.Minute

// notYet records why a cleanup did not succeed, and when it is tried again: after two
// seconds, four, and so on to a minute, or when the forge says.
func (w *run) notYet(ctx context.Context, s slipway.Slot, cause error) (moved bool, err error) {
	var book *bookkeeping
	if errors.As(cause, &book) || ctx.Err() != nil {
		return false, cause
	}
	wait := w.r.spread(min(soon<<min(s.Failures, 8), longest))
	var e *forge.Error
	if errors.As(cause, &e) && e.Problem == forge.Throttled {
		wait = w.r.spread(max(e.RetryAfter, time.Second))
	}
	s.Failure, s.Failures, s.RetryAt = sentence(cause), s.Failures+1, w.r.Store.Now().Add(wait)
	return false, w.write(ctx, s, s.State)
}
