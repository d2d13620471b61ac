package api

import (
	"context"

	"slipway.dev/slipway/internal/change"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/wire"
)

func (s *service) planRollback(ctx context.Context, c slipway.Caller, in *struct {
	ApplicationPath
	To int64 `query:"to" minimum:"1" doc:"The revision to go back to; absent: the one before the last move."`
},
) (*answer[wire.Plan], error) {
	p, err := s.Change.PlanRollback(ctx, c, change.RollbackInput{ApplicationID: in.Application, To: in.To})
	if err != nil {
		return nil, err
	}
	return reply(wirePlan(p), nil)
}

func (s *service) rollbackApplication(ctx context.Context, c slipway.Caller, in *struct {
	ApplicationPath
	Keyed
	Body wire.Rollback
},
) (*answer[wire.Accepted], error) {
	return accepted(s.Change.Rollback(ctx, c, change.RollbackInput{
		ApplicationID: in.Application, To: in.Body.To, ExpectedRevision: &in.Body.ExpectedRevision, IdempotencyKey: in.Key,
	}))
}
