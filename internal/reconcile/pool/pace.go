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
)

// pace remembers when pools that a crowd waits for may be looked at again.
type pace struct {
	mu   sync.Mutex
	next map[int64]time.Time
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

// rest waits until a pool may be looked at. All wake-ups of that time are one look.
func (p *pace) rest(ctx context.Context, pool int64) error {
	p.mu.Lock()
	wait := time.Until(p.next[pool])
	p.mu.Unlock()
	if wait <= 0 {
		return nil
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
