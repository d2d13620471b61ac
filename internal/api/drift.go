package api

import (
	"context"
	"time"

	"slipway.dev/slipway/internal/change"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/wire"
)

func (s *service) registerDrift() {
	register(s, "get-drift", s.getDrift)
	register(s, "check-drift", s.checkDrift)
	register(s, "repair-application", s.repairApplication)
}

func (s *service) getDrift(ctx context.Context, c slipway.Caller, in *struct {
	ApplicationPath
	Waiting
	Asked time.Time `query:"asked" doc:"With wait: hold the answer back for a look that began then or later."`
},
) (*answer[wire.Drift], error) {
	var d slipway.Drift
	err := s.until(ctx, in.Waiting, func(ctx context.Context) (news bool, err error) {
		d, err = s.View.Drift(ctx, c, in.Application)
		return d.Settled(in.Asked), err
	})
	if err != nil {
		return nil, err
	}
	return reply(wireDrift(d, in.Asked), nil)
}

func wireDrift(d slipway.Drift, asked time.Time) wire.Drift {
	out := wire.Drift{
		State: string(d.State()), Revision: d.Revision, CheckedAt: when(d.CheckedAt), LookedAt: when(d.LookedAt), Missed: d.Missed,
		Since: when(d.Since), Differences: []wire.Difference{}, Unable: d.Unable, Current: d.Settled(asked),
	}
	for _, f := range d.Found {
		out.Differences = append(out.Differences, wire.Difference{
			Object: f.Object, Component: f.Component, Kind: string(f.Kind), Path: f.Path, Applied: f.Applied, Live: f.Live,
			Hidden: f.Hidden, By: f.By, Text: f.Text(), Repairable: f.Repairable(),
		})
	}
	return out
}

// driftSummary is what a list says; nil before anything is on the cluster.
func driftSummary(a slipway.Application, d slipway.Drift) *wire.DriftSummary {
	if a.Applied == 0 || a.Kind == slipway.RunnerApplication {
		return nil
	}
	return &wire.DriftSummary{State: string(d.State()), Differences: len(d.Found), CheckedAt: when(d.CheckedAt), Missed: d.Missed}
}

func (s *service) checkDrift(ctx context.Context, c slipway.Caller, in *ApplicationPath) (*answer[wire.DriftCheck], error) {
	asked, err := s.Change.CheckDrift(ctx, c, in.Application)
	return reply(wire.DriftCheck{Asked: asked}, err)
}

func (s *service) repairApplication(ctx context.Context, c slipway.Caller, in *struct {
	ApplicationPath
	Keyed
	Body wire.Repair
},
) (*answer[wire.Accepted], error) {
	return accepted(s.Change.Repair(ctx, c, change.RepairInput{
		ApplicationID: in.Application, ExpectedRevision: &in.Body.ExpectedRevision, IdempotencyKey: in.Key,
	}))
}
