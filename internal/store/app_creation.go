package store

import (
	"context"
	"fmt"
	"time"

	"slipway.dev/slipway/internal/slipway"
)

const appCreationSelect = `SELECT a.connection_id, a.environment_id, p.name, e.name, a.secret, a.organization, a.state_hash, a.session, a.user_id,
	a.begun_at, a.expires_at, a.asked_at, a.lost, a.why
	FROM app_creations a JOIN environments e ON e.id = a.environment_id JOIN projects p ON p.id = e.project_id`

func readAppCreation(scan scan) (a slipway.AppCreation, err error) {
	return a, scan(&a.ConnectionID, &a.EnvironmentID, &a.Project, &a.Environment, &a.Secret, &a.Organization, &a.StateHash, &a.Session, &a.UserID,
		at(&a.BegunAt), at(&a.ExpiresAt), at(&a.AskedAt), &a.Lost, &a.Why)
}

// PutAppCreation begins the making of an App, in place of one that was begun before. Package
// change alone writes these rows.
func (tx *Tx) PutAppCreation(ctx context.Context, a slipway.AppCreation) (slipway.AppCreation, error) {
	_, err := tx.exec(ctx, `INSERT INTO app_creations (connection_id, environment_id, secret, organization, state_hash, session, user_id, begun_at, expires_at, asked_at, lost, why)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '')
		ON CONFLICT (connection_id) DO UPDATE SET environment_id = excluded.environment_id, secret = excluded.secret, organization = excluded.organization,
			state_hash = excluded.state_hash, session = excluded.session, user_id = excluded.user_id, begun_at = excluded.begun_at,
			expires_at = excluded.expires_at, asked_at = excluded.asked_at, lost = excluded.lost, why = ''`,
		a.ConnectionID, a.EnvironmentID, a.Secret, a.Organization, a.StateHash, a.Session, a.UserID, tx.Now, a.ExpiresAt, a.AskedAt, a.Lost)
	if err != nil {
		return a, fmt.Errorf("begin the App of connection %d: %w", a.ConnectionID, orMissing(err, "there is no such connection or environment"))
	}
	return tx.AppCreation(ctx, a.ConnectionID)
}

// AppCreation returns the App that is being made for a connection, or NotFound.
func (tx *Tx) AppCreation(ctx context.Context, connectionID int64) (slipway.AppCreation, error) {
	return one(ctx, tx, fmt.Sprintf("App in the making of connection %d", connectionID), readAppCreation, appCreationSelect+` WHERE a.connection_id = ?`, connectionID)
}

// MoveAppCreation notes that the exchange of a code has begun or ended. It fails with
// ErrStale when the creation is not as it was read.
func (tx *Tx) MoveAppCreation(ctx context.Context, a slipway.AppCreation, asked time.Time, lost bool, why string) error {
	n, err := tx.exec(ctx, `UPDATE app_creations SET asked_at = ?, lost = ?, why = ? WHERE connection_id = ? AND state_hash = ?
		AND COALESCE(asked_at, begun_at) = ?`, asked, lost, why, a.ConnectionID, a.StateHash, orBegun(a))
	if err != nil {
		return fmt.Errorf("note the exchange for the App of connection %d: %w", a.ConnectionID, err)
	}
	if n == 0 {
		return stale("note the exchange for the App of connection %d", a.ConnectionID)
	}
	return nil
}

func orBegun(a slipway.AppCreation) time.Time {
	if a.AskedAt.IsZero() {
		return a.BegunAt
	}
	return a.AskedAt
}

// DeleteAppCreation forgets that an App is being made.
func (tx *Tx) DeleteAppCreation(ctx context.Context, connectionID int64) error {
	if _, err := tx.exec(ctx, `DELETE FROM app_creations WHERE connection_id = ?`, connectionID); err != nil {
		return fmt.Errorf("forget the App in the making of connection %d: %w", connectionID, err)
	}
	return nil
}
