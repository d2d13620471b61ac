package pool

import (
	"context"
	"errors"
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
			if err := p.rest(t.Context(), pool); err != nil {
				t.Error(err)
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
		if err := p.rest(ctx, 1); !errors.Is(err, context.Canceled) {
			t.Errorf("a rest that is broken off ends with %v", err)
		}
		p.looked(1, 0)
		if got := rested(1); got != 0 || len(p.next) != 0 {
			t.Errorf("when the crowd has gone it rests %s; %v is remembered", got, p.next)
		}
	})
}
