package client

import (
	"context"
	"net/http"

	"slipway.dev/slipway/internal/wire"
)

// Projects lists the projects that the caller sees.
func (c *Client) Projects(ctx context.Context, p Page) ([]wire.Project, string, error) {
	return list[wire.Project](ctx, c, "/projects", nil, p.in(query()))
}

// CreateProject makes a project.
func (c *Client) CreateProject(ctx context.Context, in wire.NewProject, key string) (wire.Project, error) {
	return post[wire.Project](ctx, c, key, in, "/projects")
}

// Project reads one project.
func (c *Client) Project(ctx context.Context, name string) (wire.Project, error) {
	return get[wire.Project](ctx, c, "/projects/{project}", name)
}

// DeleteProject removes a project without environments.
func (c *Client) DeleteProject(ctx context.Context, name string) error {
	return c.remove(ctx, "/projects/{project}", name)
}

// Environments lists the environments of a project, or of all when it is empty.
func (c *Client) Environments(ctx context.Context, project string, p Page) ([]wire.Environment, string, error) {
	return list[wire.Environment](ctx, c, "/environments", nil, p.in(query("project", project)))
}

// CreateEnvironment makes an environment.
func (c *Client) CreateEnvironment(ctx context.Context, in wire.NewEnvironment, key string) (wire.Environment, error) {
	return post[wire.Environment](ctx, c, key, in, "/environments")
}

// Environment reads one environment.
func (c *Client) Environment(ctx context.Context, project, environment string) (wire.Environment, error) {
	return get[wire.Environment](ctx, c, "/environments/{project}/{environment}", project, environment)
}

// SetEnvironmentSettings replaces an environment's settings.
func (c *Client) SetEnvironmentSettings(ctx context.Context, project, environment string, in wire.EnvironmentSettings) (wire.Environment, error) {
	var out wire.Environment
	err := c.do(ctx, request{method: http.MethodPatch, path: "/environments/{project}/{environment}", args: []string{project, environment}, body: in}, &out)
	return out, err
}

// DeleteEnvironment removes an environment without applications.
func (c *Client) DeleteEnvironment(ctx context.Context, project, environment string) error {
	return c.remove(ctx, "/environments/{project}/{environment}", project, environment)
}

// Secrets lists the secrets of an environment, without values.
func (c *Client) Secrets(ctx context.Context, project, environment string, p Page) ([]wire.Secret, string, error) {
	return list[wire.Secret](ctx, c, "/environments/{project}/{environment}/secrets", []string{project, environment}, p.in(query()))
}

// SetSecret gives a secret a value.
func (c *Client) SetSecret(ctx context.Context, project, environment, name string, in wire.SecretValue) (wire.Secret, error) {
	var out wire.Secret
	err := c.do(ctx, request{method: http.MethodPut, path: "/environments/{project}/{environment}/secrets/{secret}", args: []string{project, environment, name}, body: in}, &out)
	return out, err
}

// DeleteSecret removes a secret that no application uses.
func (c *Client) DeleteSecret(ctx context.Context, project, environment, name string) error {
	return c.remove(ctx, "/environments/{project}/{environment}/secrets/{secret}", project, environment, name)
}
