package client

import (
	"context"
	"net/http"

	"slipway.dev/slipway/internal/wire"
)

// Drivers lists the loaded drivers, newest version of each name first.
func (c *Client) Drivers(ctx context.Context, p Page) ([]wire.Driver, string, error) {
	return list[wire.Driver](ctx, c, "/drivers", nil, p.in(query()))
}

// LoadDriver uploads a packed bundle. source is where it came from, for people. A
// repeated load of the same bundle is harmless without any key.
func (c *Client) LoadDriver(ctx context.Context, bundle []byte, source string) (wire.Driver, error) {
	var out wire.Driver
	err := c.do(ctx, request{
		method: http.MethodPost, path: "/drivers", query: query("source", source),
		body: bundle, timeout: uploadTimeout,
	}, &out)
	return out, err
}

// Driver reads one version of a driver.
func (c *Client) Driver(ctx context.Context, name, version string) (wire.Driver, error) {
	return get[wire.Driver](ctx, c, "/drivers/{driver}/{version}", name, version)
}

// DeleteDriver removes a version that no revision in use names.
func (c *Client) DeleteDriver(ctx context.Context, name, version string) error {
	return c.remove(ctx, "/drivers/{driver}/{version}", name, version)
}
