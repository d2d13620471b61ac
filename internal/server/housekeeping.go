package server

import (
	"context"
	"time"

	"slipway.dev/slipway/internal/store"
)

// keepHouse forgets what counts no more: ended sessions, old login failures, tokens of
// tasks that are over, answers to idempotent requests, runners that are gone. Every replica may do it; twice
// does no harm.
func (s *Server) keepHouse(ctx context.Context) {
	for {
		if err := s.Auth.Prune(ctx); err != nil && ctx.Err() == nil {
			s.log.WarnContext(ctx, "old sessions and tokens were not removed", "error", err)
		}
		if err := s.Change.Prune(ctx); err != nil && ctx.Err() == nil {
			s.log.WarnContext(ctx, "old idempotency keys were not removed", "error", err)
		}
		if err := s.pruneRunners(ctx); err != nil && ctx.Err() == nil {
			s.log.WarnContext(ctx, "old runners, jobs and deliveries were not removed", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Hour):
		}
	}
}

// pruneRunners drops old rows, some at a time: others want to write in between.
func (s *Server) pruneRunners(ctx context.Context) error {
	for _, old := range []struct {
		keep  time.Duration
		prune func(*store.Tx, context.Context, time.Time, int) (int64, error)
	}{
		{keepSlots, (*store.Tx).PruneSlots}, {keepJobs, (*store.Tx).PruneJobs}, {keepDeliveries, (*store.Tx).PruneDeliveries},
	} {
		for more := true; more; {
			err := s.Store.InTx(ctx, func(tx *store.Tx) error {
				n, err := old.prune(tx, ctx, tx.Now.Add(-old.keep), pruneAtOnce)
				more = n == pruneAtOnce
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}
