package store

import (
	"context"
	"fmt"
	"time"

	"slipway.dev/slipway/internal/slipway"
)

const tokenColumns = `t.id, t.user_id, u.name, t.name, t.hint, t.role, t.project, t.environment, t.task_id,
	t.created_at, t.expires_at, t.last_used_at, t.revoked_at`

const tokenFrom = ` FROM tokens t JOIN users u ON u.id = t.user_id`

func readToken(scan scan) (t slipway.Token, err error) {
	return t, scan(&t.ID, &t.UserID, &t.UserName, &t.Name, &t.Hint, &t.Role, &t.Project, &t.Environment, orZero(&t.TaskID),
		at(&t.CreatedAt), at(&t.ExpiresAt), at(&t.LastUsedAt), at(&t.RevokedAt))
}

// CreateToken adds a token under its hash.
func (tx *Tx) CreateToken(ctx context.Context, t slipway.Token, hash []byte) (slipway.Token, error) {
	id, err := tx.insert(ctx, `INSERT INTO tokens (hash, user_id, name, hint, role, project, environment, task_id, created_at, expires_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id`,
		hash, t.UserID, t.Name, t.Hint, t.Role, t.Project, t.Environment, ref(t.TaskID), tx.Now, t.ExpiresAt)
	if err != nil {
		return t, fmt.Errorf("create token %s: %w", t.Name, orMissing(err, "the user or the task of the token is gone"))
	}
	return tx.Token(ctx, id)
}

func (tx *Tx) Token(ctx context.Context, id int64) (slipway.Token, error) {
	return one(ctx, tx, fmt.Sprintf("token %d", id), readToken, `SELECT `+tokenColumns+tokenFrom+` WHERE t.id = ?`, id)
}

// TokenByHash finds a token whether or not it is still valid; the caller judges that.
func (tx *Tx) TokenByHash(ctx context.Context, hash []byte) (slipway.Token, error) {
	return one(ctx, tx, "such token", readToken, `SELECT `+tokenColumns+tokenFrom+` WHERE t.hash = ?`, hash)
}

// Tokens lists the tokens of a user, or of all users when userID is 0, the newest first.
// The tokens of tasks are left out: they come and go with each reconciliation.
func (tx *Tx) Tokens(ctx context.Context, userID int64, p Page) (List[slipway.Token], error) {
	before, err := p.afterID()
	if err != nil {
		return List[slipway.Token]{}, err
	}
	w := where{}
	w.and(`t.task_id IS NULL`)
	w.andIf(userID != 0, `t.user_id = ?`, userID)
	w.andIf(before != 0, `t.id < ?`, before)
	rows, err := all(ctx, tx, readToken, `SELECT `+tokenColumns+tokenFrom+w.String()+` ORDER BY t.id DESC LIMIT ?`,
		w.with(p.more())...)
	if err != nil {
		return List[slipway.Token]{}, fmt.Errorf("list tokens: %w", err)
	}
	return list(p, rows, func(t slipway.Token) []string { return idKey(t.ID) }), nil
}

// RevokeToken ends a token. Once more is not an error.
func (tx *Tx) RevokeToken(ctx context.Context, id int64) error {
	n, err := tx.exec(ctx, `UPDATE tokens SET revoked_at = COALESCE(revoked_at, ?) WHERE id = ?`, tx.Now, id)
	if err != nil {
		return fmt.Errorf("revoke token %d: %w", id, err)
	}
	if n == 0 {
		return slipway.Errorf(slipway.NotFound, "there is no token %d", id)
	}
	return nil
}

// RevokeTokensOf ends every token of a user.
func (tx *Tx) RevokeTokensOf(ctx context.Context, userID int64) error {
	if _, err := tx.exec(ctx, `UPDATE tokens SET revoked_at = ? WHERE user_id = ? AND revoked_at IS NULL`, tx.Now, userID); err != nil {
		return fmt.Errorf("revoke the tokens of user %d: %w", userID, err)
	}
	return nil
}

// touchEvery is how often a token's last use is written at most: a busy token must not
// turn every read into a write.
const touchEvery = time.Minute

// TouchToken records that the token was used, unless that was recorded a moment ago.
func (tx *Tx) TouchToken(ctx context.Context, id int64) error {
	_, err := tx.exec(ctx, `UPDATE tokens SET last_used_at = ? WHERE id = ? AND (last_used_at IS NULL OR last_used_at <= ?)`,
		tx.Now, id, tx.Now.Add(-touchEvery))
	if err != nil {
		return fmt.Errorf("touch token %d: %w", id, err)
	}
	return nil
}

// RevokeTaskTokens ends the tokens of one task's actions.
func (tx *Tx) RevokeTaskTokens(ctx context.Context, taskID int64) error {
	if _, err := tx.exec(ctx, `UPDATE tokens SET revoked_at = ? WHERE task_id = ? AND revoked_at IS NULL`, tx.Now, taskID); err != nil {
		return fmt.Errorf("revoke the tokens of task %d: %w", taskID, err)
	}
	return nil
}

// RevokeTokensOfEndedTasks ends what a process that died could not, and returns how many.
func (tx *Tx) RevokeTokensOfEndedTasks(ctx context.Context) (int, error) {
	n, err := tx.exec(ctx, `UPDATE tokens SET revoked_at = ?
		WHERE task_id IN (SELECT id FROM tasks WHERE ended_at IS NOT NULL) AND revoked_at IS NULL`, tx.Now)
	if err != nil {
		return 0, fmt.Errorf("revoke the tokens of ended tasks: %w", err)
	}
	return int(n), nil
}
