package store

import (
	"context"
	"fmt"

	"slipway.dev/slipway/internal/slipway"
)

// Installation returns NotFound before the first start has made it.
func (tx *Tx) Installation(ctx context.Context) (slipway.Installation, error) {
	return one(ctx, tx, "installation in this database", func(scan scan) (i slipway.Installation, err error) {
		return i, scan(&i.ID, &i.ExternalID, at(&i.CreatedAt), &i.SetupDone)
	}, `SELECT id, external_id, created_at, setup_done FROM installation`)
}

// CreateInstallation writes the one row of this database; a second one is a Conflict.
func (tx *Tx) CreateInstallation(ctx context.Context, i slipway.Installation) (slipway.Installation, error) {
	i.CreatedAt = tx.Now
	_, err := tx.exec(ctx, `INSERT INTO installation (singleton, id, external_id, created_at, setup_done)
		VALUES (1, ?, ?, ?, ?)`, i.ID, i.ExternalID, i.CreatedAt, i.SetupDone)
	if err != nil {
		return i, fmt.Errorf("create the installation: %w", orExists(err, "this database has an installation already"))
	}
	return i, nil
}

// HoldInstallation keeps every other transaction that asks for the same waiting until this
// one ends: for what is counted over the whole installation, and must not be overdrawn.
func (tx *Tx) HoldInstallation(ctx context.Context) error {
	_, err := one(ctx, tx, "installation in this database", func(scan scan) (n int, err error) { return n, scan(&n) },
		`SELECT singleton FROM installation`+tx.forUpdate())
	return err
}

// MarkSetupDone records that the first administrator exists. A second time it is stale,
// so that one setup secret cannot make two administrators.
func (tx *Tx) MarkSetupDone(ctx context.Context) error {
	n, err := tx.exec(ctx, `UPDATE installation SET setup_done = ? WHERE setup_done = ?`, true, false)
	if err != nil {
		return fmt.Errorf("mark the setup as done: %w", err)
	}
	if n == 0 {
		return stale("mark the setup as done")
	}
	return nil
}
