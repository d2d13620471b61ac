package store

import (
	"context"
	"fmt"
	"time"

	"slipway.dev/slipway/internal/slipway"
)

// SaveSession writes a browser's session under the hash of its token. userID is 0 while
// nobody has signed in.
func (tx *Tx) SaveSession(ctx context.Context, hash []byte, userID int64, data []byte, expiry time.Time) error {
	_, err := tx.exec(ctx, `INSERT INTO sessions (token_hash, user_id, data, expires_at) VALUES (?, ?, ?, ?)
		ON CONFLICT (token_hash) DO UPDATE SET user_id = excluded.user_id, data = excluded.data, expires_at = excluded.expires_at`,
		hash, ref(userID), data, expiry)
	if err != nil {
		return fmt.Errorf("save a session: %w", orMissing(err, "there is no user %d", userID))
	}
	return nil
}

// FindSession returns the data of a session that has not run out, and NotFound otherwise.
func (tx *Tx) FindSession(ctx context.Context, hash []byte) ([]byte, error) {
	return one(ctx, tx, "such session", func(scan scan) (data []byte, err error) { return data, scan(&data) },
		`SELECT data FROM sessions WHERE token_hash = ? AND expires_at > ?`, hash, tx.Now)
}

func (tx *Tx) DeleteSession(ctx context.Context, hash []byte) error {
	if _, err := tx.exec(ctx, `DELETE FROM sessions WHERE token_hash = ?`, hash); err != nil {
		return fmt.Errorf("delete a session: %w", err)
	}
	return nil
}

// DeleteSessionsOf signs a user out everywhere.
func (tx *Tx) DeleteSessionsOf(ctx context.Context, userID int64) error {
	if _, err := tx.exec(ctx, `DELETE FROM sessions WHERE user_id = ?`, userID); err != nil {
		return fmt.Errorf("delete the sessions of user %d: %w", userID, err)
	}
	return nil
}

// DeleteExpiredSessions returns how many there were.
func (tx *Tx) DeleteExpiredSessions(ctx context.Context) (int, error) {
	n, err := tx.exec(ctx, `DELETE FROM sessions WHERE expires_at <= ?`, tx.Now)
	if err != nil {
		return 0, fmt.Errorf("delete expired sessions: %w", err)
	}
	return int(n), nil
}

// LoginFailure is what is remembered of failed sign-ins under one key.
type LoginFailure struct {
	Failures int
	LastAt   time.Time
}

// LoginFailures returns the zero LoginFailure for a key that has none.
func (tx *Tx) LoginFailures(ctx context.Context, key string) (LoginFailure, error) {
	f, err := one(ctx, tx, "failure", readLoginFailure, `SELECT failures, last_at FROM login_throttle WHERE key = ?`, key)
	if slipway.Is(err, slipway.NotFound) {
		return LoginFailure{}, nil
	}
	return f, err
}

func readLoginFailure(scan scan) (f LoginFailure, err error) {
	return f, scan(&f.Failures, at(&f.LastAt))
}

// RecordLoginFailure counts one more failure and returns them with it.
func (tx *Tx) RecordLoginFailure(ctx context.Context, key string) (LoginFailure, error) {
	return one(ctx, tx, "failure", readLoginFailure, `INSERT INTO login_throttle (key, failures, last_at) VALUES (?, 1, ?)
		ON CONFLICT (key) DO UPDATE SET failures = login_throttle.failures + 1, last_at = excluded.last_at
		RETURNING failures, last_at`, key, tx.Now)
}

func (tx *Tx) ClearLoginFailures(ctx context.Context, key string) error {
	if _, err := tx.exec(ctx, `DELETE FROM login_throttle WHERE key = ?`, key); err != nil {
		return fmt.Errorf("clear failed sign-ins: %w", err)
	}
	return nil
}

// PruneLoginFailures forgets keys without a failure since before.
func (tx *Tx) PruneLoginFailures(ctx context.Context, before time.Time) error {
	if _, err := tx.exec(ctx, `DELETE FROM login_throttle WHERE last_at < ?`, before); err != nil {
		return fmt.Errorf("prune failed sign-ins: %w", err)
	}
	return nil
}

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
