package api

import (
	"context"
	"maps"
	"slices"

	"slipway.dev/slipway/internal/change"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/view"
	"slipway.dev/slipway/internal/wire"
)

func (s *service) registerApplications() {
	register(s, "list-applications", s.listApplications)
	register(s, "get-application", s.getApplication)
	register(s, "list-revisions", s.listRevisions)
	register(s, "get-revision", s.getRevision)
	register(s, "validate-application", s.validateApplication)
	register(s, "plan-application", s.planApplication)
	register(s, "deploy-application", s.deployApplication)
	register(s, "delete-application", s.deleteApplication)
	register(s, "plan-rollback", s.planRollback)
	register(s, "rollback-application", s.rollbackApplication)
	register(s, "stop-components", s.stopComponents)
	register(s, "start-components", s.startComponents)
}

// ApplicationPath is the part of a request that names an application.
type ApplicationPath struct {
	Application int64 `path:"application" minimum:"1"`
}

func wireApplication(a slipway.Application) wire.Application {
	return wire.Application{
		ID: a.ID, Project: a.Project, Environment: a.Environment, Name: a.Name, Kind: string(a.Kind), Namespace: a.Namespace,
		State: string(a.State), Message: a.Message, Revision: a.Revision, Applied: a.Applied, AppVersion: a.AppVersion,
		DriverName: a.DriverName, DriverVersion: a.DriverVersion, LastChange: a.LastChange, CreatedAt: a.CreatedAt, UpdatedAt: a.UpdatedAt,
	}
}

func (s *service) listApplications(ctx context.Context, c slipway.Caller, in *struct {
	Page
	Project     string `query:"project" maxLength:"40" doc:"Only those of a project."`
	Environment string `query:"environment" maxLength:"40" doc:"Only those of an environment of that name."`
	Name        string `query:"name" maxLength:"40" doc:"Only those of that name."`
},
) (*answer[wire.List[wire.Application]], error) {
	l, err := s.View.Applications(ctx, c, view.ApplicationFilter{Project: in.Project, Environment: in.Environment, Name: in.Name}, in.view())
	return listing(l, err, func(r view.ApplicationRow) wire.Application {
		out := wireApplication(r.Application)
		out.Drift, out.RunnerPools = driftSummary(r.Application, r.Drift), r.Pools
		return out
	})
}

func (s *service) getApplication(ctx context.Context, c slipway.Caller, in *ApplicationPath) (*answer[wire.Application], error) {
	p, err := s.View.Application(ctx, c, in.Application)
	if err != nil {
		return nil, err
	}
	out := wireApplication(p.Application)
	out.Drift = driftSummary(p.Application, p.Drift)
	for _, x := range p.Components {
		w := wire.ApplicationComponent{Name: x.Name, Stopped: x.Stopped, StoppedAt: when(x.StoppedAt)}
		if x.StoppedBy != nil {
			w.StoppedByTask = x.StoppedBy.ID
		}
		out.Components = append(out.Components, w)
	}
	return reply(out, nil)
}

func (s *service) listRevisions(ctx context.Context, c slipway.Caller, in *struct {
	ApplicationPath
	Page
},
) (*answer[wire.List[wire.Revision]], error) {
	l, err := s.View.Revisions(ctx, c, in.Application, in.view())
	return listing(l, err, func(r view.RevisionRow) wire.Revision {
		return wire.Revision{
			Number: r.Number, AppVersion: r.AppVersion, DriverName: r.Driver.Name, DriverVersion: r.Driver.Version,
			DriverDigest: r.DriverDigest, CreatedBy: r.CreatedBy, CreatedAt: r.CreatedAt,
		}
	})
}

func (s *service) getRevision(ctx context.Context, c slipway.Caller, in *struct {
	ApplicationPath
	Revision int64 `path:"revision" minimum:"1"`
},
) (*answer[wire.Revision], error) {
	p, err := s.View.Revision(ctx, c, in.Application, in.Revision)
	if err != nil {
		return nil, err
	}
	r := p.Revision
	return reply(wire.Revision{
		Number: r.Number, AppVersion: r.Spec.App.Version, DriverName: r.Spec.Driver.Name, DriverVersion: r.Spec.Driver.Version,
		DriverDigest: r.DriverDigest, Source: r.Source, CreatedBy: r.CreatedBy, CreatedAt: r.CreatedAt,
	}, nil)
}

// specInput is a request with a spec to be checked.
type specInput struct {
	EnvironmentPath
	Body wire.SpecInput
}

func (in *specInput) input() change.SpecInput {
	return change.SpecInput{Project: in.Project, Environment: in.Environment, Source: []byte(in.Body.Spec), File: in.Body.File}
}

func (s *service) validateApplication(ctx context.Context, c slipway.Caller, in *specInput) (*answer[wire.Validation], error) {
	v, err := s.Change.Validate(ctx, c, in.input())
	if err != nil {
		return nil, err
	}
	return reply(wire.Validation{Name: v.Name, AppVersion: v.App.Version, DriverName: v.Driver.Name, DriverVersion: v.Driver.Version,
		Kind: string(v.Kind()), Pools: slices.Sorted(maps.Keys(v.Services))}, nil)
}

func (s *service) planApplication(ctx context.Context, c slipway.Caller, in *specInput) (*answer[wire.Plan], error) {
	p, err := s.Change.Plan(ctx, c, in.input())
	if err != nil {
		return nil, err
	}
	return reply(wirePlan(p), nil)
}

func wirePlan(p change.Plan) wire.Plan {
	out := wire.Plan{
		Application: slipway.EnvironmentRef(p.Project, p.Environment) + "/" + p.Name, Name: p.Name, Kind: string(p.Kind),
		Revision: p.Revision, NewRevision: p.NewRevision, Target: p.Target, FromVersion: p.FromVersion, Version: p.Version,
		Diff: []wire.DiffLine{}, Hooks: []wire.PlannedHook{}, Restarts: some(p.Restarts), RestartsKnown: p.RestartsKnown, RestartsWhy: p.RestartsWhy,
		Stops: some(p.Stops), Summary: p.Summary(), Warnings: p.Warnings,
	}
	for _, pool := range p.Pools {
		n := pool.Runners
		out.Pools = append(out.Pools, wire.PlannedPool{Service: pool.Service, Fate: string(pool.Fate), Free: n.Free, Busy: n.Busy, Leaving: n.Leaving})
	}
	for _, d := range p.Diff {
		out.Diff = append(out.Diff, wire.DiffLine(d))
	}
	for _, h := range p.Hooks {
		out.Hooks = append(out.Hooks, wire.PlannedHook{Hook: string(h.Hook), Mode: string(h.Mode), Actions: some(h.Actions), Irreversible: h.Irreversible})
	}
	return out
}

// some returns an empty list for none: a field that is never absent is never null.
func some(in []string) []string {
	if in == nil {
		return []string{}
	}
	return in
}

func (s *service) deployApplication(ctx context.Context, c slipway.Caller, in *struct {
	EnvironmentPath
	Keyed
	Body wire.Deploy
},
) (*answer[wire.Accepted], error) {
	a, err := s.Change.Deploy(ctx, c, change.DeployInput{
		SpecInput:        change.SpecInput{Project: in.Project, Environment: in.Environment, Source: []byte(in.Body.Spec), File: in.Body.File},
		ExpectedRevision: &in.Body.ExpectedRevision, IdempotencyKey: in.Key, Overtake: in.Body.Overtake,
	})
	return accepted(a, err)
}

func (s *service) deleteApplication(ctx context.Context, c slipway.Caller, in *struct {
	ApplicationPath
	Keyed
	Overtake bool `query:"overtake" doc:"Do not wait for the changes before this one."`
},
) (*answer[wire.Accepted], error) {
	return accepted(s.Change.Delete(ctx, c, change.DeleteInput{ApplicationID: in.Application, IdempotencyKey: in.Key, Overtake: in.Overtake}))
}

// componentsInput is a request that names components.
type componentsInput struct {
	ApplicationPath
	Keyed
	Body wire.ComponentNames
}

func (in *componentsInput) input() change.ComponentsInput {
	return change.ComponentsInput{ApplicationID: in.Application, Components: in.Body.Components, IdempotencyKey: in.Key}
}

func (s *service) stopComponents(ctx context.Context, c slipway.Caller, in *componentsInput) (*answer[wire.Accepted], error) {
	return accepted(s.Change.StopComponents(ctx, c, in.input()))
}

func (s *service) startComponents(ctx context.Context, c slipway.Caller, in *componentsInput) (*answer[wire.Accepted], error) {
	return accepted(s.Change.StartComponents(ctx, c, in.input()))
}

func accepted(a change.Accepted, err error) (*answer[wire.Accepted], error) {
	if err != nil {
		return nil, err
	}
	kind := string(a.Change.Kind)
	if kind == "" {
		kind = string(a.Task.Kind)
	}
	return reply(wire.Accepted{
		ApplicationID: a.Application.ID, Application: a.Application.Ref(), Change: a.Change.Number, Kind: kind,
		Revision: a.Change.Revision, Task: wireTask(a.Task), Warnings: a.Warnings, Repeated: a.Replayed,
	}, nil)
}
