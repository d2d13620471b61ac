package store

import (
	"context"
	"fmt"
	"time"

	"slipway.dev/slipway/internal/slipway"
)

// Idempotency is the answer that was given to a request with an idempotency key.
type Idempotency struct {
	UserID    int64
	Key       string
	InputHash string // tells a repeat from another request under the same key
	Answer    []byte // JSON
	CreatedAt time.Time
}

// IdempotencyFind returns the answer that a key of this user got, and NotFound for a new
// key.
func (tx *Tx) IdempotencyFind(ctx context.Context, userID int64, key string) (Idempotency, error) {
	return one(ctx, tx, "answer under this key", func(scan scan) (i Idempotency, err error) {
		return i, scan(&i.UserID, &i.Key, &i.InputHash, &i.Answer, at(&i.CreatedAt))
	}, `SELECT user_id, key, input_hash, answer, created_at FROM idempotency WHERE user_id = ? AND key = ?`, userID, key)
}

// IdempotencySave keeps the answer, in the transaction that it tells of. Of two equal
// requests at once the second is a Conflict; it finds the answer when it is repeated.
func (tx *Tx) IdempotencySave(ctx context.Context, i Idempotency) error {
	_, err := tx.exec(ctx, `INSERT INTO idempotency (user_id, key, input_hash, answer, created_at) VALUES (?, ?, ?, ?, ?)`,
		i.UserID, i.Key, i.InputHash, rawJSON(i.Answer), tx.Now)
	switch {
	case faultOf(err) == FaultUnique:
		return &slipway.Error{Kind: slipway.Conflict, Msg: "a request with this idempotency key has just been made",
			Hint: "repeat it to get its answer", Err: err}
	case err != nil:
		return fmt.Errorf("keep the answer under an idempotency key: %w", err)
	}
	return nil
}

// PruneIdempotency forgets the answers from before a time.
func (tx *Tx) PruneIdempotency(ctx context.Context, before time.Time) error {
	if _, err := tx.exec(ctx, `DELETE FROM idempotency WHERE created_at < ?`, before); err != nil {
		return fmt.Errorf("prune idempotency keys: %w", err)
	}
	return nil
}
