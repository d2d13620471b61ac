package api

import (
	"context"

	"slipway.dev/slipway/internal/change"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/wire"
)

// poolsInput is a request that names pools.
type poolsInput struct {
	ApplicationPath
	Keyed
	Body wire.PoolNames
}

func (in *poolsInput) input() change.PoolsInput {
	return change.PoolsInput{ApplicationID: in.Application, Pools: in.Body.Pools, IdempotencyKey: in.Key}
}

func (s *service) pausePools(ctx context.Context, c slipway.Caller, in *poolsInput) (*answer[wire.PoolSwitches], error) {
	return switched(s.Change.PausePools(ctx, c, in.input()))
}

func (s *service) resumePools(ctx context.Context, c slipway.Caller, in *poolsInput) (*answer[wire.PoolSwitches], error) {
	return switched(s.Change.ResumePools(ctx, c, in.input()))
}

func (s *service) forgetRunners(ctx context.Context, c slipway.Caller, in *poolsInput) (*answer[wire.PoolSwitches], error) {
	return switched(s.Change.ForgetRunners(ctx, c, in.input()))
}

func switched(pools []slipway.RunnerPool, err error) (*answer[wire.PoolSwitches], error) {
	out := wire.PoolSwitches{Pools: []wire.PoolSwitch{}}
	for _, p := range pools {
		out.Pools = append(out.Pools, wire.PoolSwitch{Ref: p.Ref(), Service: p.Service, Paused: p.Paused, Deleting: p.Deleting})
	}
	return reply(out, err)
}
