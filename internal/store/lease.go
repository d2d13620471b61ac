package store

import (
	"context"
	"fmt"
	"time"
)

// AcquireLease gives a name to one holder for ttl, or prolongs it for the same holder. It
// reports false when another holder's lease has not run out.
func (tx *Tx) AcquireLease(ctx context.Context, name, holder string, ttl time.Duration) (bool, error) {
	now, err := tx.serverTime(ctx)
	if err != nil {
		return false, fmt.Errorf("acquire lease %s: %w", name, err)
	}
	n, err := tx.exec(ctx, `INSERT INTO leases (name, holder, expires_at) VALUES (?, ?, ?)
		ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at
		WHERE leases.holder = excluded.holder OR leases.expires_at < ?`, name, holder, now.Add(ttl), now)
	if err != nil {
		return false, fmt.Errorf("acquire lease %s: %w", name, err)
	}
	return n > 0, nil
}

// ReleaseLease lets go of a name. It does nothing when another holds it by now.
func (tx *Tx) ReleaseLease(ctx context.Context, name, holder string) error {
	if _, err := tx.exec(ctx, `DELETE FROM leases WHERE name = ? AND holder = ?`, name, holder); err != nil {
		return fmt.Errorf("release lease %s: %w", name, err)
	}
	return nil
}
