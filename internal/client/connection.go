package client

import (
	"context"

	"slipway.dev/slipway/internal/wire"
)

// Connections lists the connections that the caller sees, of a project and an environment
// or, when they are empty, of all.
func (c *Client) Connections(ctx context.Context, project, environment string) ([]wire.Connection, error) {
	all, _, err := list[wire.Connection](ctx, c, "/connections", nil, query("project", project, "environment", environment))
	return all, err
}

// CreateConnection makes a connection. It is never repeated by itself: the secret is shown
// once, so a repeat could not give the first answer again.
func (c *Client) CreateConnection(ctx context.Context, in wire.NewConnection) (wire.ConnectionSecret, error) {
	return ask[wire.ConnectionSecret](ctx, c, in, "/connections")
}

// Connection reads one connection.
func (c *Client) Connection(ctx context.Context, name string) (wire.Connection, error) {
	return get[wire.Connection](ctx, c, "/connections/{connection}", name)
}

// DeleteConnection removes a connection.
func (c *Client) DeleteConnection(ctx context.Context, name string) error {
	return c.remove(ctx, "/connections/{connection}", name)
}

// RotateConnectionSecret gives a connection another webhook secret.
func (c *Client) RotateConnectionSecret(ctx context.Context, name string, in wire.NewConnectionSecret) (wire.ConnectionSecret, error) {
	return ask[wire.ConnectionSecret](ctx, c, in, "/connections/{connection}/secret", name)
}

// Deliveries lists the newest deliveries of a connection, the newest first.
func (c *Client) Deliveries(ctx context.Context, name string) ([]wire.Delivery, error) {
	all, _, err := list[wire.Delivery](ctx, c, "/connections/{connection}/deliveries", []string{name}, query())
	return all, err
}

// AppManifest reads what GitHub makes a connection's App from.
func (c *Client) AppManifest(ctx context.Context, name string) (wire.AppManifest, error) {
	return get[wire.AppManifest](ctx, c, "/connections/{connection}/manifest", name)
}

// TakeApp gives a connection its App. It is never repeated by itself: a code is good for
// one exchange.
func (c *Client) TakeApp(ctx context.Context, name string, in wire.TakeApp) (wire.AppTaken, error) {
	return ask[wire.AppTaken](ctx, c, in, "/connections/{connection}/app", name)
}
