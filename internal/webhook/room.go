package webhook

import "sync"

// room is how much of all bodies may be in memory at once, and how many of them.
type room struct {
	mu     sync.Mutex
	bytes  int64
	bodies int
}

// enter takes a place for a body, if there is one.
func (r *room) enter() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.bodies == 0 {
		return false
	}
	r.bodies--
	return true
}

// take takes n bytes, if there are as many.
func (r *room) take(n int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.bytes < n {
		return false
	}
	r.bytes -= n
	return true
}

func (r *room) give(n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bytes += n
}

// leave gives a body's place back, with its bytes.
func (r *room) leave(n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bodies++
	r.bytes += n
}
