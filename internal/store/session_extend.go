package store

import (
	"context"
	"fmt"
	"time"
)

// ExtendSession writes a session anew only if it is still there: one that was ended
// meanwhile, by a logout or a deactivation, must not come back to life.
func (tx *Tx) ExtendSession(ctx context.Context, hash, data []byte, expiry time.Time) error {
	_, err := tx.exec(ctx, `UPDATE sessions SET data = ?, expires_at = ? WHERE token_hash = ? AND expires_at > ?`,
		data, expiry, hash, tx.Now)
	if err != nil {
		return fmt.Errorf("extend a session: %w", err)
	}
	return nil
}
