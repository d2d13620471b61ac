package sim

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"slipway.dev/slipway/internal/store"
)

// flight is a part of our process's work, in a goroutine of its own. It ends by itself, or
// where the process dies, or it is parked: the process is frozen in the midst of a call,
// and others go on. Only one goroutine ever moves.
type flight struct {
	ctx     context.Context
	cancel  context.CancelFunc
	mayPark bool
	parked  bool
	late    bool          // it was parked, and goes on
	stopped chan struct{} // it is parked
	resume  chan struct{}
	over    chan struct{}
	err     error
}

// fly runs f until it is over, or parked.
func (w *World) fly(ctx context.Context, mayPark bool, f func(context.Context) error) *flight {
	fl := &flight{mayPark: mayPark, stopped: make(chan struct{}), resume: make(chan struct{}), over: make(chan struct{})}
	fl.ctx, fl.cancel = context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer close(fl.over)
		defer func() {
			if p := recover(); p != nil {
				fl.err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
			}
		}()
		fl.err = f(fl.ctx)
	}()
	w.await(fl)
	return fl
}

// await lets a flight move until it is over or parked.
func (w *World) await(fl *flight) {
	w.flight = fl
	select {
	case <-fl.over:
		fl.cancel()
	case <-fl.stopped:
	}
	w.flight = nil
}

// landed returns how a flight ended. When its process died, the next one begins.
func (w *World) landed(fl *flight) error {
	if !w.dead {
		return fl.err
	}
	w.dead = false
	return w.start(context.WithoutCancel(fl.ctx))
}

// live runs a part of our process's work to its end.
func (w *World) live(ctx context.Context, f func(context.Context) error) error {
	return w.landed(w.fly(ctx, false, f))
}

// mayFreeze reports whether the process may freeze now.
func (w *World) mayFreeze() bool { return w.flight != nil && w.flight.mayPark && w.frozen == nil }

// freeze parks what goes on, until thaw.
func (w *World) freeze(where string) {
	fl := w.flight
	w.Count.Freezes++
	w.tell("FROZEN %s", where)
	fl.parked = true
	fl.stopped <- struct{}{}
	<-fl.resume
	w.tell("THAWED %s", where)
}

// deadAfter is how long a process is silent before others take over its work.
const deadAfter = 15 * time.Second

// takeOver has another process go on with the work of one that is frozen.
func (w *World) takeOver(ctx context.Context, fl *flight, u store.WakeUp) error {
	w.frozen = fl
	w.now = w.now.Add(deadAfter)
	err := w.write(ctx, func(tx *store.Tx) error { return w.setJob(ctx, tx, u) })
	if err != nil {
		return err
	}
	return w.live(ctx, w.start)
}

// thaw lets a frozen process go on, which knows nothing of what happened meanwhile. Either
// it notices at once that it was given up, or not before its next write.
func (w *World) thaw(notices bool) error {
	fl := w.frozen
	if fl == nil {
		return nil
	}
	w.frozen, fl.mayPark, fl.late = nil, false, true
	if notices {
		fl.cancel()
	}
	fl.resume <- struct{}{}
	w.await(fl)
	if fl.err != nil {
		w.tell("the frozen process ended: %v", fl.err)
	}
	return nil
}

// release ends what is left of a run that has failed.
func (w *World) release() {
	if w.frozen == nil {
		return
	}
	w.dead, w.Tracing = true, false
	_ = w.thaw(true) // it dies at its next point
	w.dead = false
}

// change hands the work to the other process that lives beside ours, with what it
// remembers. A database that is not shared has only one: there it begins anew.
func (w *World) change(ctx context.Context) error {
	if !w.store.Shared() {
		return w.live(ctx, w.start)
	}
	if w.other == nil {
		err := w.live(ctx, func(ctx context.Context) (err error) {
			w.other, err = w.begin(ctx)
			return err
		})
		if err != nil || w.other == nil {
			return err
		}
	}
	w.proc, w.other = w.other, w.proc
	return nil
}
