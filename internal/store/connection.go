package store

import (
	"context"
	"fmt"
	"time"

	"slipway.dev/slipway/internal/slipway"
)

const connectionSelect = `SELECT c.id, c.name, c.environment_id, COALESCE(pr.name, ''), COALESCE(e.name, ''), c.forge, c.base_url, c.hook,
	c.app_id, c.app_url, c.app_credential, c.created_by, c.created_at, c.last_delivery, c.recovered_at, c.recover_error
	FROM connections c LEFT JOIN environments e ON e.id = c.environment_id LEFT JOIN projects pr ON pr.id = e.project_id`

func readConnection(scan scan) (c slipway.Connection, err error) {
	return c, scan(&c.ID, &c.Name, orZero(&c.EnvironmentID), &c.Project, &c.Environment, &c.Forge, &c.BaseURL, &c.Hook,
		&c.AppID, &c.AppURL, &c.AppCredential, &c.CreatedBy, at(&c.CreatedAt), at(&c.LastDelivery), at(&c.RecoveredAt), &c.RecoverError)
}

// ConnectionSecrets are sealed values that a connection needs. Package secret alone opens
// them.
type ConnectionSecrets struct {
	Hook []byte // the secret that deliveries are signed with
	App  []byte // the App's private key; empty: it has none
}

func (tx *Tx) CreateConnection(ctx context.Context, c slipway.Connection, s ConnectionSecrets) (slipway.Connection, error) {
	id, err := tx.insert(ctx, `INSERT INTO connections (name, environment_id, forge, base_url, hook, sealed, app_id, app_sealed, created_by, created_at, recover_error)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '') RETURNING id`,
		c.Name, ref(c.EnvironmentID), c.Forge, c.BaseURL, c.Hook, s.Hook, c.AppID, s.App, c.CreatedBy, tx.Now)
	if err != nil {
		err = orExists(err, "there is a connection %s already", c.Name)
		return c, fmt.Errorf("create connection %s: %w", c.Name, orMissing(err, "there is no environment %d", c.EnvironmentID))
	}
	return tx.Connection(ctx, id)
}

// HoldConnection returns a connection with its sealed values, and keeps others from writing
// it until the transaction ends: what is sealed next may follow from what is sealed now.
func (tx *Tx) HoldConnection(ctx context.Context, id int64) (c slipway.Connection, s ConnectionSecrets, err error) {
	if s, err = tx.connectionSecrets(ctx, id, tx.forUpdate()); err != nil {
		return c, s, err
	}
	c, err = tx.Connection(ctx, id)
	return c, s, err
}

// SetConnectionHook replaces the sealed secret that deliveries are signed with, and leaves
// the App alone.
func (tx *Tx) SetConnectionHook(ctx context.Context, id int64, sealed []byte) error {
	n, err := tx.exec(ctx, `UPDATE connections SET sealed = ? WHERE id = ?`, sealed, id)
	if err != nil {
		return fmt.Errorf("set the secret of connection %d: %w", id, err)
	}
	if n == 0 {
		return slipway.Errorf(slipway.NotFound, "there is no connection %d", id)
	}
	return nil
}

// SetConnectionApp gives a connection that has none the App whose hook it is.
func (tx *Tx) SetConnectionApp(ctx context.Context, c slipway.Connection, s ConnectionSecrets) error {
	n, err := tx.exec(ctx, `UPDATE connections SET app_id = ?, app_url = ?, app_credential = ?, sealed = ?, app_sealed = ? WHERE id = ? AND app_id = 0`,
		c.AppID, c.AppURL, c.AppCredential, s.Hook, s.App, c.ID)
	if err != nil {
		return fmt.Errorf("set the App of connection %d: %w", c.ID, err)
	}
	if n == 0 {
		return stale("set the App of connection %d", c.ID)
	}
	return nil
}

func (tx *Tx) Connection(ctx context.Context, id int64) (slipway.Connection, error) {
	return one(ctx, tx, fmt.Sprintf("connection %d", id), readConnection, connectionSelect+` WHERE c.id = ?`, id)
}

func (tx *Tx) ConnectionByName(ctx context.Context, name string) (slipway.Connection, error) {
	return one(ctx, tx, "connection "+name, readConnection, connectionSelect+` WHERE c.name = ?`, name)
}

// ConnectionByHook finds the connection that a forge sends to, with its sealed values.
func (tx *Tx) ConnectionByHook(ctx context.Context, hook string) (slipway.Connection, ConnectionSecrets, error) {
	c, err := one(ctx, tx, "connection of this address", readConnection, connectionSelect+` WHERE c.hook = ?`, hook)
	if err != nil {
		return c, ConnectionSecrets{}, err
	}
	s, err := tx.ConnectionSecrets(ctx, c.ID)
	return c, s, err
}

func (tx *Tx) ConnectionSecrets(ctx context.Context, id int64) (ConnectionSecrets, error) {
	return tx.connectionSecrets(ctx, id, "")
}

func (tx *Tx) connectionSecrets(ctx context.Context, id int64, lock string) (ConnectionSecrets, error) {
	return one(ctx, tx, fmt.Sprintf("connection %d", id), func(scan scan) (s ConnectionSecrets, err error) { return s, scan(&s.Hook, &s.App) },
		`SELECT sealed, app_sealed FROM connections WHERE id = ?`+lock, id)
}

// Connections lists all connections by name. They are few.
func (tx *Tx) Connections(ctx context.Context) ([]slipway.Connection, error) {
	cs, err := all(ctx, tx, readConnection, connectionSelect+` ORDER BY c.name`)
	if err != nil {
		return nil, fmt.Errorf("list connections: %w", err)
	}
	return cs, nil
}

// DeleteConnection drops a connection with the record of its deliveries.
func (tx *Tx) DeleteConnection(ctx context.Context, id int64) error {
	n, err := tx.exec(ctx, `DELETE FROM connections WHERE id = ?`, id)
	if err != nil {
		return fmt.Errorf("delete connection %d: %w", id, err)
	}
	if n == 0 {
		return slipway.Errorf(slipway.NotFound, "there is no connection %d", id)
	}
	return nil
}

// ConnectionHeard notes when the newest delivery was taken.
func (tx *Tx) ConnectionHeard(ctx context.Context, id int64, when time.Time) error {
	if _, err := tx.exec(ctx, `UPDATE connections SET last_delivery = ? WHERE id = ? AND (last_delivery IS NULL OR last_delivery < ?)`, when, id, when); err != nil {
		return fmt.Errorf("note a delivery of connection %d: %w", id, err)
	}
	return nil
}

// ConnectionRecovered notes that lost deliveries were looked for, or why that failed.
func (tx *Tx) ConnectionRecovered(ctx context.Context, id int64, failure string) error {
	at := tx.Now
	if failure != "" {
		at = time.Time{}
	}
	if _, err := tx.exec(ctx, `UPDATE connections SET recovered_at = COALESCE(?, recovered_at), recover_error = ? WHERE id = ?`, at, failure, id); err != nil {
		return fmt.Errorf("note the look for lost deliveries of connection %d: %w", id, err)
	}
	return nil
}
