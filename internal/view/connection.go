package view

import (
	"context"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// ConnectionFilter narrows the list of connections. Its zero value is all of them.
type ConnectionFilter struct {
	Project     string
	Environment string
}

// Connections lists the connections that the caller sees, by name: those of environments
// in its scope and, when the caller is not confined, those of the whole installation.
func (r *Reader) Connections(ctx context.Context, c slipway.Caller, f ConnectionFilter) ([]slipway.Connection, error) {
	return read(ctx, r, c, func(tx *store.Tx) ([]slipway.Connection, error) {
		all, err := tx.Connections(ctx)
		if err != nil {
			return nil, err
		}
		out := []slipway.Connection{}
		for _, n := range all {
			if seesConnection(c, n) && (f.Project == "" || f.Project == n.Project) && (f.Environment == "" || f.Environment == n.Environment) {
				out = append(out, n.SeenBy(c))
			}
		}
		return out, nil
	})
}

// Connection returns one connection.
func (r *Reader) Connection(ctx context.Context, c slipway.Caller, name string) (slipway.Connection, error) {
	return read(ctx, r, c, func(tx *store.Tx) (slipway.Connection, error) { return connection(ctx, tx, c, name) })
}

// AppCreation returns the App that is being made for a connection, or NotFound.
func (r *Reader) AppCreation(ctx context.Context, c slipway.Caller, name string) (slipway.AppCreation, error) {
	return read(ctx, r, c, func(tx *store.Tx) (slipway.AppCreation, error) {
		n, err := connection(ctx, tx, c, name)
		if err != nil {
			return slipway.AppCreation{}, err
		}
		return tx.AppCreation(ctx, n.ID)
	})
}

// recentDeliveries is how many deliveries people look at.
const recentDeliveries = 200

// Deliveries lists the newest deliveries that a connection took, the newest first.
func (r *Reader) Deliveries(ctx context.Context, c slipway.Caller, name string) ([]slipway.Delivery, error) {
	return read(ctx, r, c, func(tx *store.Tx) ([]slipway.Delivery, error) {
		n, err := connection(ctx, tx, c, name)
		if err != nil {
			return nil, err
		}
		return tx.Deliveries(ctx, n.ID, recentDeliveries)
	})
}

func connection(ctx context.Context, tx *store.Tx, c slipway.Caller, name string) (slipway.Connection, error) {
	n, err := tx.ConnectionByName(ctx, name)
	if slipway.Is(err, slipway.NotFound) || err == nil && !seesConnection(c, n) {
		return slipway.Connection{}, missing("connection %s", name)
	}
	return n.SeenBy(c), err
}

// seesConnection reports whether a connection is in the caller's scope. One of the whole
// installation is not that of a token which is confined.
func seesConnection(c slipway.Caller, n slipway.Connection) bool {
	if n.EnvironmentID == 0 {
		return c.Project == "" && c.Environment == ""
	}
	return c.Sees(n.Project, n.Environment)
}
