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
	limit := time.NewTimer(timeout)
	defer limit.Stop()
	wake, stop := c.wakes(ctx, on)
	defer stop()
	for {
		done, err := check(ctx)
		if done || err != nil && !slipway.Is(err, slipway.Unavailable) {
			return err
		}
		pause := time.NewTimer(settle)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return context.Cause(ctx)
		}
		next := time.NewTimer(c.resync)
		select {
		case <-wake:
		case <-next.C:
		case <-limit.C:
			next.Stop()
			if err != nil {
				return err // the API server, and not what was waited for
			}
			return errTimeout
		case <-ctx.Done():
			next.Stop()
			return context.Cause(ctx)
		}
		next.Stop()
	}
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
