package webhook

import (
	"context"
	"sync"
	"time"

	"slipway.dev/slipway/internal/change"
)

// hookFresh is how long a connection is taken to be as it was read: so late a secret that
// was withdrawn, or a connection that was deleted, stops counting.
const hookFresh = time.Second

// hooks remembers the connections that deliveries come to, for a moment: in a burst they
// all come to the same one, and to read and unseal it for each would cost more than the
// delivery. What does not exist is not remembered.
type hooks struct {
	find func(ctx context.Context, hook string) (change.Hook, error)
	now  func() time.Time

	mu    sync.Mutex
	known map[string]remembered
}

type remembered struct {
	hook  change.Hook
	until time.Time
}

func (h *hooks) get(ctx context.Context, hook string) (change.Hook, error) {
	h.mu.Lock()
	r, ok := h.known[hook]
	h.mu.Unlock()
	if ok && h.now().Before(r.until) {
		return r.hook, nil
	}
	found, err := h.find(ctx, hook)
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil {
		delete(h.known, hook)
		return change.Hook{}, err
	}
	if h.known == nil {
		h.known = map[string]remembered{}
	}
	h.known[hook] = remembered{found, h.now().Add(hookFresh)}
	return found, nil
}
