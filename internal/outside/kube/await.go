package kube

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/slipway"
)

// watched is one kind of object whose changes wake a wait.
type watched struct {
	list client.ObjectList
	in   []client.ListOption
}

// settle is the least time between two readings of a wait: one rollout is many events.
const settle = 100 * time.Millisecond

// errTimeout ends a wait whose time is up; the caller says what was waited for.
var errTimeout = errors.New("time is up")

// await reads until check says done, at every change of what is watched and, because a
// watch may die without a word, at intervals. An API server that does not answer for a
// while is waited for as well.
func (c *Client) await(ctx context.Context, timeout time.Duration, on []watched, check func(context.Context) (done bool, err error)) error {
	return c.awaitAgain(ctx, timeout, on, func(ctx context.Context) (bool, time.Duration, error) {
		done, err := check(ctx)
		return done, c.resync, err
	})
}

// awaitAgain is await for a check that knows when it wants to read again at the latest.
func (c *Client) awaitAgain(ctx context.Context, timeout time.Duration, on []watched, check func(context.Context) (done bool, again time.Duration, err error)) error {
	limit := time.NewTimer(timeout)
	defer limit.Stop()
	wake, stop := c.wakes(ctx, on)
	defer stop()
	for last := false; ; {
		begun := c.now()
		done, again, err := check(ctx)
		busy := c.now().Sub(begun)
		switch {
		case done, err != nil && !away(err):
			return err
		case last && err != nil:
			return err // the API server, and not what was waited for
		case last:
			return errTimeout
		}
		if last, err = c.rest(ctx, wake, limit.C, max(settle, busy), min(again, c.resync)); err != nil {
			return err
		}
	}
}

// rest waits for the next reason to read, and in any case for least: as long as the last
// reading took, so that a large application does not keep the API server busy with it.
// last is true when the time is up, and one reading is left.
func (c *Client) rest(ctx context.Context, wake <-chan struct{}, limit <-chan time.Time, least, again time.Duration) (last bool, err error) {
	pause, next := time.NewTimer(least), time.NewTimer(again)
	defer pause.Stop()
	defer next.Stop()
	select {
	case <-pause.C:
	case <-limit:
		return true, nil
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
	select {
	case <-wake:
	case <-next.C:
	case <-limit:
		return true, nil
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
	return false, nil
}

// away reports whether err says that the API server does not answer. Such an error has the
// server's as its cause, which a verdict of ours on what is waited for has not.
func away(err error) bool {
	var e *slipway.Error
	return errors.As(err, &e) && e.Kind == slipway.Unavailable && e.Err != nil
}

// wakes returns a channel that gets a value after changes of what is watched. stop ends
// the watches and waits for that.
func (c *Client) wakes(ctx context.Context, on []watched) (wake <-chan struct{}, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ch := make(chan struct{}, 1)
	var all sync.WaitGroup
	for _, w := range on {
		all.Go(func() { c.follow(ctx, w, ch) })
	}
	return ch, func() { cancel(); all.Wait() }
}

// follow watches one kind until ctx ends. A watch that ends or cannot be had is begun
// again after a pause; until then the readings at intervals do its work.
func (c *Client) follow(ctx context.Context, w watched, wake chan<- struct{}) {
	for try := 0; ctx.Err() == nil; try++ {
		if stream, err := c.api.Watch(ctx, w.list, w.in...); err == nil {
			if drain(ctx, stream, wake) {
				try = 0
			}
		}
		if pause(ctx, try) != nil {
			return
		}
	}
}

// drain wakes for each event of one watch, and reports whether there were any.
func drain(ctx context.Context, stream watch.Interface, wake chan<- struct{}) (some bool) {
	defer stream.Stop()
	for {
		select {
		case event, open := <-stream.ResultChan():
			if !open || event.Type == watch.Error {
				return some
			}
			some = true
			select {
			case wake <- struct{}{}:
			default: // one is waiting already
			}
		case <-ctx.Done():
			return some
		}
	}
}
