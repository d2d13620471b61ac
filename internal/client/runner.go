package client

import (
	"context"
	"net/http"
	"strconv"

	"slipway.dev/slipway/internal/wire"
)

// RunnerPools lists the runner pools of a project and an environment; empty ones do not
// narrow the list.
func (c *Client) RunnerPools(ctx context.Context, project, environment string) ([]wire.RunnerPool, error) {
	all, _, err := list[wire.RunnerPool](ctx, c, "/runner-pools", nil, query("project", project, "environment", environment))
	return all, err
}

// Actions reads the runner pools of an application, with at most limit slots and jobs of a
// kind (0: what the server thinks fit).
func (c *Client) Actions(ctx context.Context, application int64, limit int) (wire.Actions, error) {
	var out wire.Actions
	q := query()
	if limit > 0 {
		q.Set("limit", strconv.Itoa(limit))
	}
	err := c.do(ctx, request{method: http.MethodGet, path: "/applications/{application}/actions", args: []string{id(application)}, query: q}, &out)
	return out, err
}

// Slots lists the slots of an application, of one of its pools when pool is not empty,
// newest first.
func (c *Client) Slots(ctx context.Context, application int64, pool string, open bool, p Page) ([]wire.Slot, string, error) {
	return list[wire.Slot](ctx, c, "/applications/{application}/actions/slots", []string{id(application)},
		p.in(query("pool", pool, "open", flag(open))))
}

// JobFilter picks jobs; zero fields pick all.
type JobFilter struct {
	State string
	Run   int64
}

// Jobs lists the jobs that an application's pools serve, newest first.
func (c *Client) Jobs(ctx context.Context, application int64, f JobFilter, p Page) ([]wire.Job, string, error) {
	q := query("state", f.State)
	if f.Run != 0 {
		q.Set("run", id(f.Run))
	}
	return list[wire.Job](ctx, c, "/applications/{application}/actions/jobs", []string{id(application)}, p.in(q))
}

// Job reads a job and why it waits, with steps also what the forge tells of its steps.
func (c *Client) Job(ctx context.Context, host string, job int64, steps bool) (wire.Job, error) {
	var out wire.Job
	err := c.do(ctx, request{method: http.MethodGet, path: "/jobs/{host}/{job}", args: []string{host, id(job)}, query: query("steps", flag(steps))}, &out)
	return out, err
}

// LogQuery picks lines of a log; zero fields pick all.
type LogQuery struct {
	Search string
	After  int
	Limit  int
}

// JobLog fetches a part of the log of a job that has ended.
func (c *Client) JobLog(ctx context.Context, host string, job int64, f LogQuery) (wire.JobLog, error) {
	var out wire.JobLog
	q := query("search", f.Search)
	if f.After > 0 {
		q.Set("after", strconv.Itoa(f.After))
	}
	if f.Limit > 0 {
		q.Set("limit", strconv.Itoa(f.Limit))
	}
	err := c.do(ctx, request{method: http.MethodGet, path: "/jobs/{host}/{job}/log", args: []string{host, id(job)}, query: q}, &out)
	return out, err
}

// PausePools has pools take no more jobs; without names all of the application's.
func (c *Client) PausePools(ctx context.Context, application int64, in wire.PoolNames, key string) (wire.PoolSwitches, error) {
	return post[wire.PoolSwitches](ctx, c, key, in, "/applications/{application}/actions/pause", id(application))
}

// ResumePools has paused pools take jobs again.
func (c *Client) ResumePools(ctx context.Context, application int64, in wire.PoolNames, key string) (wire.PoolSwitches, error) {
	return post[wire.PoolSwitches](ctx, c, key, in, "/applications/{application}/actions/resume", id(application))
}

// ForgetRunners gives up the runners of pools that are being deleted.
func (c *Client) ForgetRunners(ctx context.Context, application int64, in wire.PoolNames, key string) (wire.PoolSwitches, error) {
	return post[wire.PoolSwitches](ctx, c, key, in, "/applications/{application}/actions/forget", id(application))
}
