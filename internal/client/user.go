package client

import (
	"context"
	"net/http"

	"slipway.dev/slipway/internal/wire"
)

// Users lists the users.
func (c *Client) Users(ctx context.Context, p Page) ([]wire.User, string, error) {
	return list[wire.User](ctx, c, "/users", nil, p.in(query()))
}

// CreateUser makes a user.
func (c *Client) CreateUser(ctx context.Context, in wire.NewUser, key string) (wire.User, error) {
	return post[wire.User](ctx, c, key, in, "/users")
}

// User reads one user.
func (c *Client) User(ctx context.Context, name string) (wire.User, error) {
	return get[wire.User](ctx, c, "/users/{user}", name)
}

// ChangeUser changes what in names.
func (c *Client) ChangeUser(ctx context.Context, name string, in wire.UserChange) (wire.User, error) {
	var out wire.User
	err := c.do(ctx, request{method: http.MethodPatch, path: "/users/{user}", args: []string{name}, body: in}, &out)
	return out, err
}

// Everybody asks for the tokens of all users.
const Everybody = "*"

// Tokens lists the caller's tokens or, for an administrator, those of user or Everybody.
func (c *Client) Tokens(ctx context.Context, user string, p Page) ([]wire.Token, string, error) {
	return list[wire.Token](ctx, c, "/tokens", nil, p.in(query("user", user)))
}

// CreateToken makes a token. It is never repeated by itself: the value is stored nowhere,
// so a repeat could not give the first answer again.
func (c *Client) CreateToken(ctx context.Context, in wire.NewToken) (wire.TokenValue, error) {
	return ask[wire.TokenValue](ctx, c, in, "/tokens")
}

// RevokeToken ends a token.
func (c *Client) RevokeToken(ctx context.Context, token int64) error {
	return c.remove(ctx, "/tokens/{token}", id(token))
}
