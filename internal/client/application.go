package client

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"slipway.dev/slipway/internal/wire"
)

// ApplicationFilter picks applications; empty fields pick all.
type ApplicationFilter struct{ Project, Environment, Name string }

// Applications lists applications.
func (c *Client) Applications(ctx context.Context, f ApplicationFilter, p Page) ([]wire.Application, string, error) {
	return list[wire.Application](ctx, c, "/applications", nil,
		p.in(query("project", f.Project, "environment", f.Environment, "name", f.Name)))
}

// Application reads one application, with its components.
func (c *Client) Application(ctx context.Context, application int64) (wire.Application, error) {
	return get[wire.Application](ctx, c, "/applications/{application}", id(application))
}

// Validate checks a spec.
func (c *Client) Validate(ctx context.Context, project, environment string, in wire.SpecInput) (wire.Validation, error) {
	return ask[wire.Validation](ctx, c, in, "/environments/{project}/{environment}/applications:validate", project, environment)
}

// Plan says what a deploy of a spec would do. It writes nothing.
func (c *Client) Plan(ctx context.Context, project, environment string, in wire.SpecInput) (wire.Plan, error) {
	return ask[wire.Plan](ctx, c, in, "/environments/{project}/{environment}/applications:plan", project, environment)
}

// Deploy asks for a spec to be made true.
func (c *Client) Deploy(ctx context.Context, project, environment string, in wire.Deploy, key string) (wire.Accepted, error) {
	return post[wire.Accepted](ctx, c, key, in, "/environments/{project}/{environment}/applications", project, environment)
}

// DeleteApplication asks for an application to be removed.
func (c *Client) DeleteApplication(ctx context.Context, application int64, overtake bool, key string) (wire.Accepted, error) {
	if key == "" {
		key = NewKey()
	}
	q := query()
	if overtake {
		q.Set("overtake", "true")
	}
	var out wire.Accepted
	err := c.do(ctx, request{method: http.MethodDelete, path: "/applications/{application}", args: []string{id(application)}, query: q, key: key}, &out)
	return out, err
}

// Revisions lists an application's revisions, newest first.
func (c *Client) Revisions(ctx context.Context, application int64, p Page) ([]wire.Revision, string, error) {
	return list[wire.Revision](ctx, c, "/applications/{application}/revisions", []string{id(application)}, p.in(query()))
}

// Revision reads one revision, with its TOML.
func (c *Client) Revision(ctx context.Context, application, number int64) (wire.Revision, error) {
	return get[wire.Revision](ctx, c, "/applications/{application}/revisions/{revision}", id(application), id(number))
}

// PlanRollback says what a rollback would do; to 0 leaves the revision to the server. It
// writes nothing.
func (c *Client) PlanRollback(ctx context.Context, application, to int64) (wire.Plan, error) {
	var out wire.Plan
	q := query()
	if to != 0 {
		q.Set("to", id(to))
	}
	err := c.do(ctx, request{method: http.MethodGet, path: "/applications/{application}/rollback", args: []string{id(application)}, query: q}, &out)
	return out, err
}

// Rollback asks for the content of an earlier revision.
func (c *Client) Rollback(ctx context.Context, application int64, in wire.Rollback, key string) (wire.Accepted, error) {
	return post[wire.Accepted](ctx, c, key, in, "/applications/{application}/rollback", id(application))
}

// StopComponents asks for components to be stopped.
func (c *Client) StopComponents(ctx context.Context, application int64, in wire.ComponentNames, key string) (wire.Accepted, error) {
	return post[wire.Accepted](ctx, c, key, in, "/applications/{application}/components/stop", id(application))
}

// StartComponents asks for components to be started.
func (c *Client) StartComponents(ctx context.Context, application int64, in wire.ComponentNames, key string) (wire.Accepted, error) {
	return post[wire.Accepted](ctx, c, key, in, "/applications/{application}/components/start", id(application))
}

// Drift reads in what the cluster differs from what was applied. With asked it waits, no
// longer than wait, for a look that began then or later.
func (c *Client) Drift(ctx context.Context, application int64, asked time.Time, wait time.Duration) (wire.Drift, error) {
	var out wire.Drift
	q := query()
	if !asked.IsZero() {
		q = waiting(wait)
		q.Set("asked", asked.Format(time.RFC3339Nano))
	}
	err := c.do(ctx, request{method: http.MethodGet, path: "/applications/{application}/drift", args: []string{id(application)}, query: q, timeout: wait + waitTimeout}, &out)
	return out, err
}

// CheckDrift asks for the cluster to be compared now.
func (c *Client) CheckDrift(ctx context.Context, application int64) (wire.DriftCheck, error) {
	return ask[wire.DriftCheck](ctx, c, nil, "/applications/{application}/drift/check", id(application))
}

// Repair asks for what drifted to be put back.
func (c *Client) Repair(ctx context.Context, application int64, in wire.Repair, key string) (wire.Accepted, error) {
	return post[wire.Accepted](ctx, c, key, in, "/applications/{application}/repair", id(application))
}

// AuditFilter picks lines of the audit; empty fields pick all.
type AuditFilter struct{ User, Action, Noun string }

// Audit lists who did what, newest first.
func (c *Client) Audit(ctx context.Context, f AuditFilter, p Page) ([]wire.Audit, string, error) {
	return list[wire.Audit](ctx, c, "/audit", nil, p.in(query("user", f.User, "action", f.Action, "noun", f.Noun)))
}

func flag(set bool) string {
	if !set {
		return ""
	}
	return strconv.FormatBool(set)
}
