package pool

import (
	"context"
	"sync"
	"time"
)

const (
	// crowd is how many jobs must wait for a pool for its looks to be paced. So many wait
	// because its runners are all taken, and each of their deliveries wakes it.
	crowd = 1000
	// crowdPause is how long such a pool rests between two looks. A look reads all that
	// wait: without a rest a burst of deliveries would keep a processor reading.
	crowdPause = time.Second
	// resters is how many pools at once may rest in the worker that is to look at them. So
	// all wake-ups of that time are one look; but workers are few, and other work wants them.
	resters = 5
)

// pace remembers when pools that a crowd waits for may be looked at again.
type pace struct {
	mu      sync.Mutex
	next    map[int64]time.Time
	resting int // pools that do so in their workers
}

// looked notes how many jobs waited at a look that has ended.
func (p *pace) looked(pool int64, waiting int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.next, pool)
	if waiting >= crowd {
		if p.next == nil {
			p.next = map[int64]time.Time{}
		}
		p.next[pool] = time.Now().Add(crowdPause)
	}
}

// rest waits until a pool may be looked at. Where too many rest already it does not wait,
// and says when to come again: wake-ups of that time are a run each then, which does nothing.
func (p *pace) rest(ctx context.Context, pool int64) (later time.Duration, err error) {
	p.mu.Lock()
	wait := time.Until(p.next[pool])
	full := p.resting >= resters
	if wait > 0 && !full {
		p.resting++
	}
	p.mu.Unlock()
	switch {
	case wait <= 0:
		return 0, nil
	case full:
		return wait, nil
	}
	defer func() {
		p.mu.Lock()
		p.resting--
		p.mu.Unlock()
	}()
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
		return 0, nil
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}
