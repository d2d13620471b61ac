package auth

import (
	"context"
	"fmt"

	"slipway.dev/slipway/internal/store"
)

// Prune forgets what counts no more: sessions that ran out, failed sign-ins of long ago,
// and the tokens of tasks that ended while nobody could revoke them. A server calls it at
// its start and now and then.
func (a *Authenticator) Prune(ctx context.Context) error {
	err := a.store.InTx(ctx, func(tx *store.Tx) error {
		if _, err := tx.RevokeTokensOfEndedTasks(ctx); err != nil {
			return err
		}
		if _, err := tx.DeleteExpiredSessions(ctx); err != nil {
			return err
		}
		return tx.PruneLoginFailures(ctx, tx.Now.Add(-forgetAfter))
	})
	if err != nil {
		return fmt.Errorf("prune sessions and tokens: %w", err)
	}
	return nil
}
