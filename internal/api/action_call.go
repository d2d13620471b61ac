package api

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"slipway.dev/slipway/internal/change"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/wire"
)

func (s *service) registerActionCalls() {
	register(s, "call-action", s.callAction)
	register(s, "get-action-call", s.getActionCall)
}

func wireActionCall(a slipway.ActionCall) wire.ActionCall {
	return wire.ActionCall{
		ID: a.ID, Step: a.StepID, Primitive: string(a.Primitive), State: string(a.State), Task: a.ChildTask,
		Result: a.Result, Code: a.Code, Error: a.Error, CreatedAt: a.CreatedAt, EndedAt: when(a.EndedAt),
	}
}

func (s *service) callAction(ctx context.Context, c slipway.Caller, in *struct {
	Step int64  `header:"X-Slipway-Step" required:"true" minimum:"1" doc:"The hook step in which the action runs."`
	Key  string `header:"Idempotency-Key" required:"true" minLength:"1" maxLength:"200" doc:"The call: <flow run>/<run count>/<call number>. The same key is the same call."`
	Body wire.NewActionCall
},
) (*answer[wire.ActionCall], error) {
	args := in.Body.Arguments
	if args == nil {
		args = map[string]any{}
	}
	raw, err := json.Marshal(args)
	if err != nil {
		return nil, fmt.Errorf("write the arguments of %s: %w", in.Body.Primitive, err)
	}
	run, _, _ := strings.Cut(in.Key, "/")
	call, err := s.Change.ActionCall(ctx, c, change.ActionCallInput{
		StepID: in.Step, FlowRunID: run, Key: in.Key, Primitive: slipway.Primitive(in.Body.Primitive), Args: raw,
	})
	return reply(wireActionCall(call), err)
}

func (s *service) getActionCall(ctx context.Context, c slipway.Caller, in *struct {
	Call int64 `path:"call" minimum:"1"`
	Waiting
},
) (*answer[wire.ActionCall], error) {
	var call slipway.ActionCall
	err := s.until(ctx, in.Waiting, func(ctx context.Context) (over bool, err error) {
		call, err = s.View.ActionCall(ctx, c, in.Call)
		return call.State != slipway.CallRunning, err
	})
	return reply(wireActionCall(call), err)
}
