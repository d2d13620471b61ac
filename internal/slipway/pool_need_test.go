package slipway

import (
	"testing"
	"time"
)

// World: pure.

var looked = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

func TestWhatAPoolNeeds(t *testing.T) {
	t.Parallel()
	type open = map[SlotState]int
	elastic := PoolSpec{Replicas: 4, Idle: time.Minute}
	with := func(f func(*PoolSpec)) RunnerPool { p := RunnerPool{Spec: elastic}; f(&p.Spec); return p }
	plain := func(*PoolSpec) {}
	fixed := with(func(s *PoolSpec) { s.Idle = 0 })
	paused := fixed
	paused.Paused = true
	for _, c := range []struct {
		name   string
		pool   RunnerPool
		demand int
		open   open
		want   int
	}{
		{"nothing of a pool without jobs", with(plain), 0, nil, 0},
		{"one runner for each job", with(plain), 3, nil, 3},
		{"no more than its limit", with(plain), 9, nil, 4},
		{"free ones serve, busy ones do not", with(plain), 3, open{SlotIdle: 1, SlotBusy: 1}, 2},
		{"those that leave hold their place", with(plain), 3, open{SlotRemoving: 3}, 1},
		{"its minimum", with(func(s *PoolSpec) { s.Minimum = 2 }), 0, nil, 2},
		{"of which busy ones are a part", with(func(s *PoolSpec) { s.Minimum = 2 }), 0, open{SlotBusy: 1}, 1},
		{"spare ones beside the busy ones", with(func(s *PoolSpec) { s.Spare = 2 }), 0, open{SlotBusy: 2}, 2},
		{"which its jobs may have", with(func(s *PoolSpec) { s.Spare = 2 }), 1, nil, 2},
		{"all that is fixed", fixed, 0, open{SlotBusy: 1, SlotWanted: 1}, 2},
		{"nothing of one that is paused", paused, 5, nil, 0},
		{"nothing below what is there", with(plain), 0, open{SlotIdle: 3}, 0},
	} {
		if got := c.pool.More(c.demand, c.open, looked); got != c.want {
			t.Errorf("%s: %d more, want %d", c.name, got, c.want)
		}
	}
}

func TestWhenAPoolIsHeld(t *testing.T) {
	t.Parallel()
	const now = time.Minute // after the look
	for _, c := range []struct {
		name   string
		pool   RunnerPool
		status PoolStatus
		held   bool
		asks   int
		left   int
	}{
		{"nothing is in its way", RunnerPool{}, PoolStatus{State: PoolScaling}, false, 2, 3},
		{"a hold", RunnerPool{}, PoolStatus{State: PoolHeld, HoldUntil: looked.Add(time.Hour)}, true, 0, 1},
		{"a hold whose time is over", RunnerPool{}, PoolStatus{State: PoolHeld, HoldUntil: looked.Add(time.Second)}, false, 2, 3},
		{"a hold before a change", RunnerPool{UpdatedAt: looked.Add(time.Second)}, PoolStatus{State: PoolHeld, HoldUntil: looked.Add(time.Hour)}, false, 2, 3},
		{"a hold of another generation", RunnerPool{Generation: 2}, PoolStatus{State: PoolHeld, HoldUntil: looked.Add(time.Hour)}, false, 2, 3},
		{"an image that was turned away", RunnerPool{}, PoolStatus{State: PoolScaling, Outdated: "runner"}, true, 0, 1},
		{"what may keep all pools from launching", RunnerPool{}, PoolStatus{State: PoolHeld, Why: "there is no cluster"}, false, 0, 3},
		{"the same before a change", RunnerPool{UpdatedAt: looked.Add(time.Second)}, PoolStatus{State: PoolHeld, Why: "there is no cluster"}, false, 2, 3},
	} {
		c.status.CheckedAt = looked
		c.pool.Spec = PoolSpec{Replicas: 4}
		open := map[SlotState]int{SlotBusy: 1, SlotIdle: 1}
		at := looked.Add(now)
		if held, asks, left := c.pool.Held(c.status, at), c.pool.Asks(c.status, open, at), c.pool.Left(c.status, open, at); held != c.held || asks != c.asks || left != c.left {
			t.Errorf("%s: held %t, it asks for %d and can take %d jobs; want %t, %d and %d", c.name, held, asks, left, c.held, c.asks, c.left)
		}
	}
}
