package store

import (
	"context"
	"fmt"
)

// AnySecret reports whether the database holds a sealed value: then the key that sealed it
// must be there, and a new one must not take its place.
func (tx *Tx) AnySecret(ctx context.Context) (bool, error) {
	var n int64
	if err := tx.value(ctx, []any{&n}, `SELECT COUNT(*) FROM (SELECT id FROM secrets LIMIT 1) AS some`); err != nil {
		return false, fmt.Errorf("look for secrets: %w", err)
	}
	return n > 0, nil
}
