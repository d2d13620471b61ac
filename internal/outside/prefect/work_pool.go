package prefect

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"
)

// WorkPoolType is our own, so that a stock Prefect worker started on the pool warns about
// the mismatch instead of taking our runs.
const WorkPoolType = "slipway-actions"

// HeartbeatInterval is how often a worker must report; Prefect shows it offline after three
// missed ones.
const HeartbeatInterval = 30 * time.Second

// EnsureWorkPool makes the work pool, or leaves the one that is there as it is. The name
// must not begin with "prefect", which the server keeps for itself (ErrRefused).
func (c *Client) EnsureWorkPool(ctx context.Context, name, description string) error {
	// The template is empty: nothing of a run is configured through Prefect.
	err := c.call(ctx, http.MethodPost, "/work_pools/", map[string]any{
		"name": name, "type": WorkPoolType, "description": description, "base_job_template": map[string]any{},
	}, nil)
	if errors.Is(err, ErrConflict) {
		return nil
	}
	return err
}

// Heartbeat says that the worker is there. It returns ErrNotFound when the pool is gone.
func (c *Client) Heartbeat(ctx context.Context, pool, worker string) error {
	err := c.call(ctx, http.MethodPost, "/work_pools/"+url.PathEscape(pool)+"/workers/heartbeat", map[string]any{
		"name": worker, "heartbeat_interval_seconds": int(HeartbeatInterval / time.Second),
	}, nil)
	return err
}

// ScheduledRuns returns up to 50 runs of the pool that are due before the given time. It
// claims none. Runs that a living engine is about to retry are not among them.
func (c *Client) ScheduledRuns(ctx context.Context, pool string, before time.Time) ([]FlowRun, error) {
	var out []struct {
		FlowRun FlowRun `json:"flow_run"`
	}
	err := c.call(ctx, http.MethodPost, "/work_pools/"+url.PathEscape(pool)+"/get_scheduled_flow_runs", map[string]any{
		"scheduled_before": before.UTC().Format(time.RFC3339Nano), "limit": 50,
	}, &out)
	if err != nil {
		return nil, err
	}
	runs := make([]FlowRun, len(out))
	for i := range out {
		runs[i] = out[i].FlowRun
	}
	return runs, nil
}
