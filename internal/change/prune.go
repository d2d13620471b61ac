package change

import (
	"context"
	"time"

	"slipway.dev/slipway/internal/store"
)

// AnswersKept is how long the answer under an idempotency key is kept.
const AnswersKept = 7 * 24 * time.Hour

// Prune forgets old answers under idempotency keys. A server calls it now and then.
func (s *Service) Prune(ctx context.Context) error {
	return s.Store.InTx(ctx, func(tx *store.Tx) error {
		return tx.PruneIdempotency(ctx, tx.Now.Add(-AnswersKept))
	})
}
