package server

import (
	"context"
	"time"
)

// keepHouse forgets what counts no more: ended sessions, old login failures, tokens of
// tasks that are over, answers to idempotent requests. Every replica may do it; twice
// does no harm.
func (s *Server) keepHouse(ctx context.Context) {
	for {
		if err := s.Auth.Prune(ctx); err != nil && ctx.Err() == nil {
			s.log.WarnContext(ctx, "old sessions and tokens were not removed", "error", err)
		}
		if err := s.Change.Prune(ctx); err != nil && ctx.Err() == nil {
			s.log.WarnContext(ctx, "old idempotency keys were not removed", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Hour):
		}
	}
}
