package prefect

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// FlowRun is what we use of a flow run.
type FlowRun struct {
	ID                string    `json:"id"`
	Name              string    `json:"name"`
	FlowID            string    `json:"flow_id"`
	DeploymentID      string    `json:"deployment_id"`
	IdempotencyKey    string    `json:"idempotency_key"`
	InfrastructurePID string    `json:"infrastructure_pid"`
	Tags              []string  `json:"tags"`
	State             State     `json:"state"`
	RunCount          int       `json:"run_count"` // 2 after one retry
	Created           time.Time `json:"created"`
	Started           time.Time `json:"start_time"` // zero until the engine began
	Ended             time.Time `json:"end_time"`
}

// Deployment is one action of one driver bundle, as Prefect knows it. A bundle that changes
// is another deployment: one that has runs is never edited.
type Deployment struct {
	Name       string // unique in its flow: "1.0.0-5f1c3a9d2b7e"
	FlowID     string
	WorkPool   string
	Entrypoint string // "actions.py:upgrade"; shown, never used to find code
	Version    string
	Tags       []string
}

// RunRequest asks for one flow run. Prefect stores all of it and shows it to everyone who
// can open its pages, so it must hold references only: no token, no secret, no data.
type RunRequest struct {
	Key    string // makes a repeat return the same run
	Name   string
	Params map[string]any // must match the function's parameters exactly
	Tags   []string
	Labels map[string]string
}

// EnsureFlow returns the id of the flow with this name, which it makes when there is none.
// A name may not contain any of / % & < >.
func (c *Client) EnsureFlow(ctx context.Context, name string) (id string, err error) {
	var out struct{ ID string }
	if err := c.call(ctx, http.MethodPost, "/flows/", map[string]any{"name": name}, &out); err != nil {
		return "", fmt.Errorf("make flow %q: %w", name, err)
	}
	return out.ID, nil
}

// EnsureDeployment returns the id of the deployment with this flow and name, which it makes
// or updates. Scheduled runs of it survive the update.
func (c *Client) EnsureDeployment(ctx context.Context, d Deployment) (id string, err error) {
	var out struct{ ID string }
	err = c.call(ctx, http.MethodPost, "/deployments/", map[string]any{
		"name": d.Name, "flow_id": d.FlowID, "work_pool_name": d.WorkPool, "entrypoint": d.Entrypoint,
		"version": d.Version, "tags": nonNil(d.Tags), "description": "An action of a driver. Slipway runs it; a run made here by hand is cancelled.",
		// Prefect would answer 409 to parameters that do not fit the schema; what fits was
		// checked when the driver was loaded.
		"parameter_openapi_schema": map[string]any{"type": "object", "properties": map[string]any{}}, "enforce_parameter_schema": false,
		"paused": false,
	}, &out)
	if err != nil {
		return "", fmt.Errorf("make deployment %q: %w", d.Name, err)
	}
	return out.ID, nil
}

// CreateFlowRun asks for a run of the deployment, due now. With the key of an earlier
// request it returns that request's run. It returns ErrNotFound when there is no such
// deployment.
func (c *Client) CreateFlowRun(ctx context.Context, deploymentID string, r RunRequest) (FlowRun, error) {
	if r.Params == nil {
		r.Params = map[string]any{}
	}
	in := map[string]any{"name": r.Name, "parameters": r.Params, "idempotency_key": r.Key, "tags": nonNil(r.Tags)}
	if len(r.Labels) > 0 {
		in["labels"] = r.Labels
	}
	var run FlowRun
	if err := c.call(ctx, http.MethodPost, "/deployments/"+deploymentID+"/create_flow_run", in, &run); err != nil {
		return FlowRun{}, fmt.Errorf("make flow run %q: %w", r.Key, err)
	}
	return run, nil
}

// GetFlowRun reads a run. It returns ErrNotFound when there is none.
func (c *Client) GetFlowRun(ctx context.Context, id string) (FlowRun, error) {
	var run FlowRun
	if err := c.call(ctx, http.MethodGet, "/flow_runs/"+id, nil, &run); err != nil {
		return FlowRun{}, fmt.Errorf("read flow run %s: %w", id, err)
	}
	return run, nil
}

// PatchFlowRun records which process runs it: "host:pid", shown in Prefect's pages.
func (c *Client) PatchFlowRun(ctx context.Context, id, infrastructurePID string) error {
	err := c.call(ctx, http.MethodPatch, "/flow_runs/"+id, map[string]any{"infrastructure_pid": infrastructurePID}, nil)
	if err != nil {
		return fmt.Errorf("record the process of flow run %s: %w", id, err)
	}
	return nil
}

// SetLabels adds labels to a run; a key that exists gets the new value.
func (c *Client) SetLabels(ctx context.Context, id string, labels map[string]string) error {
	if err := c.call(ctx, http.MethodPatch, "/flow_runs/"+id+"/labels", labels, nil); err != nil {
		return fmt.Errorf("label flow run %s: %w", id, err)
	}
	return nil
}

// nonNil makes a nil slice an empty JSON list; Prefect refuses null.
func nonNil(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}
