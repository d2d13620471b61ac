package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"slipway.dev/slipway/internal/wire"
)

// MaxWait is the longest that the server holds a question back for an answer.
const MaxWait = 25 * time.Second

// TaskFilter picks tasks; empty fields pick all.
type TaskFilter struct {
	Application int64
	State       string
	Open        bool // not ended yet
	Root        bool // not started by an action
}

// Tasks lists tasks, newest first.
func (c *Client) Tasks(ctx context.Context, f TaskFilter, p Page) ([]wire.Task, string, error) {
	q := query("state", f.State, "open", flag(f.Open), "root", flag(f.Root))
	if f.Application != 0 {
		q.Set("application", id(f.Application))
	}
	return list[wire.Task](ctx, c, "/tasks", nil, p.in(q))
}

// Task reads one task with its steps.
func (c *Client) Task(ctx context.Context, task int64) (wire.Task, error) {
	return get[wire.Task](ctx, c, "/tasks/{task}", id(task))
}

// WaitTask reads one task as soon as it is another than the one whose version is seen, or
// after wait.
func (c *Client) WaitTask(ctx context.Context, task int64, seen string, wait time.Duration) (wire.Task, error) {
	var out wire.Task
	q := waiting(wait)
	if seen != "" {
		q.Set("seen", seen)
	}
	err := c.do(ctx, request{method: http.MethodGet, path: "/tasks/{task}", args: []string{id(task)}, query: q, timeout: wait + waitTimeout}, &out)
	return out, err
}

func waiting(wait time.Duration) url.Values {
	return url.Values{"wait": {strconv.Itoa(int(min(wait, MaxWait) / time.Second))}}
}

// CancelTask asks for a task's end.
func (c *Client) CancelTask(ctx context.Context, task int64) (wire.Task, error) {
	return ask[wire.Task](ctx, c, nil, "/tasks/{task}/cancel", id(task))
}

// PlanRetry says what a retry of a task would repeat. It writes nothing.
func (c *Client) PlanRetry(ctx context.Context, task int64, in wire.Retry) (wire.RetryPlan, error) {
	var out wire.RetryPlan
	q := query("from", in.From, "from_start", flag(in.FromStart))
	err := c.do(ctx, request{method: http.MethodGet, path: "/tasks/{task}/retry", args: []string{id(task)}, query: q}, &out)
	return out, err
}

// RetryTask asks for another attempt at a task that failed or was cancelled.
func (c *Client) RetryTask(ctx context.Context, task int64, in wire.Retry, key string) (wire.Accepted, error) {
	return post[wire.Accepted](ctx, c, key, in, "/tasks/{task}/retry", id(task))
}

// StepOutput reads what is stored of a step's output.
func (c *Client) StepOutput(ctx context.Context, task, step int64) (wire.Output, error) {
	return get[wire.Output](ctx, c, "/tasks/{task}/steps/{step}/output", id(task), id(step))
}

// AddNote adds a line to a running step; only the user of actions may.
func (c *Client) AddNote(ctx context.Context, task, step int64, in wire.NewNote, key string) error {
	_, err := post[struct{}](ctx, c, key, in, "/tasks/{task}/steps/{step}/notes", id(task), id(step))
	return err
}

// CallAction asks for a primitive in the name of the action that runs in step.
func (c *Client) CallAction(ctx context.Context, step int64, in wire.NewActionCall, key string) (wire.ActionCall, error) {
	var out wire.ActionCall
	err := c.do(ctx, request{method: http.MethodPost, path: "/action-calls", body: in, key: key, step: step}, &out)
	return out, err
}

// ActionCall reads a call, as soon as it has ended or after wait.
func (c *Client) ActionCall(ctx context.Context, call int64, wait time.Duration) (wire.ActionCall, error) {
	var out wire.ActionCall
	err := c.do(ctx, request{method: http.MethodGet, path: "/action-calls/{call}", args: []string{id(call)}, query: waiting(wait), timeout: wait + waitTimeout}, &out)
	return out, err
}
