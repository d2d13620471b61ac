package client

import (
	"context"

	"slipway.dev/slipway/internal/wire"
)

// Installation asks which Slipway answers.
func (c *Client) Installation(ctx context.Context) (wire.Installation, error) {
	return get[wire.Installation](ctx, c, "/installation")
}

// Setup makes the first administrator.
func (c *Client) Setup(ctx context.Context, in wire.Setup) (wire.User, error) {
	return ask[wire.User](ctx, c, in, "/setup")
}

// Login exchanges a password for a token.
func (c *Client) Login(ctx context.Context, in wire.Login) (wire.Session, error) {
	return ask[wire.Session](ctx, c, in, "/login")
}

// Logout revokes the client's own token.
func (c *Client) Logout(ctx context.Context) error {
	_, err := ask[struct{}](ctx, c, nil, "/logout")
	return err
}

// Whoami asks who the server takes the client for.
func (c *Client) Whoami(ctx context.Context) (wire.Whoami, error) {
	return get[wire.Whoami](ctx, c, "/whoami")
}
