package api

import (
	"context"

	"slipway.dev/slipway/internal/change"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/wire"
)

func (s *service) planRetry(ctx context.Context, c slipway.Caller, in *struct {
	TaskPath
	From      string `query:"from" maxLength:"100" doc:"The step to begin with, of those up to the one that failed."`
	FromStart bool   `query:"from_start" doc:"Begin with the first step."`
},
) (*answer[wire.RetryPlan], error) {
	p, err := s.Change.PlanRetry(ctx, c, change.RetryInput{TaskID: in.Task, From: in.From, FromStart: in.FromStart})
	if err != nil {
		return nil, err
	}
	return reply(wireRetryPlan(p), nil)
}

func wireRetryPlan(p change.RetryPlan) wire.RetryPlan {
	out := wire.RetryPlan{
		Task: wireTask(p.Task), Change: p.Change, Attempt: p.Attempt, Steps: []wire.RetryStep{}, Stops: some(p.Stops),
		Stopped: []wire.StoppedComponent{}, Warnings: p.Warnings,
	}
	for _, x := range p.Steps {
		step := wire.RetryStep{Key: x.Key, Name: x.Name, Fate: string(x.Fate), DoneIn: x.DoneIn, Actions: []string{}, Irreversible: x.Irreversible, Maybe: x.Maybe}
		for _, a := range x.Actions {
			if x.KeptActions[a] != 0 {
				step.KeptActions = append(step.KeptActions, a)
			} else {
				step.Actions = append(step.Actions, a)
			}
		}
		out.Steps = append(out.Steps, step)
	}
	for _, st := range p.Stopped {
		out.Stopped = append(out.Stopped, wire.StoppedComponent{Component: st.Component, SinceTask: st.StoppedByTask})
	}
	return out
}

func (s *service) retryTask(ctx context.Context, c slipway.Caller, in *struct {
	TaskPath
	Keyed
	Body wire.Retry
},
) (*answer[wire.Accepted], error) {
	return accepted(s.Change.RetryTask(ctx, c, change.RetryInput{
		TaskID: in.Task, From: in.Body.From, FromStart: in.Body.FromStart, IdempotencyKey: in.Key,
	}))
}
