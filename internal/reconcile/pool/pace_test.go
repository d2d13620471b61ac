package pool

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// World: pure, in virtual time.
func TestAPoolThatACrowdWaitsForRestsBetweenLooks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p pace
		rested := func(pool int64) time.Duration {
			began := time.Now()
			if later, err := p.rest(t.Context(), pool); err != nil || later != 0 {
				t.Errorf("it is to come again after %s, %v", later, err)
			}
			return time.Since(began)
		}
		if got := rested(1); got != 0 {
			t.Errorf("before its first look it rests %s", got)
		}
		p.looked(1, crowd)
		p.looked(2, crowd-1)
		if got := rested(2); got != 0 {
			t.Errorf("a pool with fewer jobs rests %s", got)
		}
		time.Sleep(crowdPause / 4)
		if got, want := rested(1), crowdPause*3/4; got != want {
			t.Errorf("it rests %s, want %s", got, want)
		}
		p.looked(1, crowd)
		ctx, stop := context.WithCancel(t.Context())
		stop()
		if _, err := p.rest(ctx, 1); !errors.Is(err, context.Canceled) {
			t.Errorf("a rest that is broken off ends with %v", err)
		}
		p.looked(1, 0)
		if got := rested(1); got != 0 || len(p.next) != 0 {
			t.Errorf("when the crowd has gone it rests %s; %v is remembered", got, p.next)
		}
	})
}

// Workers are few: of many pools that a crowd waits for only some rest in theirs. World: pure,
// in virtual time.
func TestPoolsThatRestLeaveWorkersToOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p pace
		var all sync.WaitGroup
		for pool := range int64(resters) {
			p.looked(pool, crowd)
			all.Go(func() {
				if later, err := p.rest(t.Context(), pool); err != nil || later != 0 {
					t.Errorf("pool %d is to come again after %s, %v", pool, later, err)
				}
			})
		}
		synctest.Wait()
		p.looked(99, crowd)
		time.Sleep(crowdPause / 4)
		began := time.Now()
		later, err := p.rest(t.Context(), 99)
		if err != nil || later != crowdPause*3/4 || time.Since(began) != 0 {
			t.Errorf("one more keeps its worker for %s and is to come again after %s, %v; want at once and %s", time.Since(began), later, err, crowdPause*3/4)
		}
		if later, err := p.rest(t.Context(), 100); err != nil || later != 0 {
			t.Errorf("one that need not rest is to come again after %s, %v", later, err)
		}
		all.Wait()
		p.looked(99, crowd)
		if later, err := p.rest(t.Context(), 99); err != nil || later != 0 || time.Since(began) != crowdPause*7/4 {
			t.Errorf("when the others look it rests in its worker: come again after %s, %v, at %s", later, err, time.Since(began))
		}
	})
}
