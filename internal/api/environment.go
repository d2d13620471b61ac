package api

import (
	"context"

	"slipway.dev/slipway/internal/change"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/wire"
)

func (s *service) registerEnvironments() {
	register(s, "list-environments", s.listEnvironments)
	register(s, "create-environment", s.createEnvironment)
	register(s, "get-environment", s.getEnvironment)
	register(s, "set-environment-settings", s.setEnvironmentSettings)
	register(s, "delete-environment", s.deleteEnvironment)
}

// EnvironmentPath is the part of a request that names an environment.
type EnvironmentPath struct {
	Project     string `path:"project" maxLength:"40"`
	Environment string `path:"environment" maxLength:"40"`
}

func wireEnvironment(e slipway.Environment) wire.Environment {
	return wire.Environment{Project: e.Project, Name: e.Name, Namespace: e.Namespace, Settings: e.Settings, CreatedAt: e.CreatedAt}
}

func (s *service) listEnvironments(ctx context.Context, c slipway.Caller, in *struct {
	Page
	Project string `query:"project" maxLength:"40" doc:"Only those of a project."`
},
) (*answer[wire.List[wire.Environment]], error) {
	l, err := s.View.Environments(ctx, c, in.Project, in.view())
	return listing(l, err, wireEnvironment)
}

func (s *service) createEnvironment(ctx context.Context, c slipway.Caller, in *struct {
	Keyed
	Body wire.NewEnvironment
},
) (*answer[wire.Environment], error) {
	e, err := s.Change.CreateEnvironment(ctx, c, change.CreateEnvironmentInput{
		Project: in.Body.Project, Name: in.Body.Name, Namespace: in.Body.Namespace, Settings: in.Body.Settings, IdempotencyKey: in.Key,
	})
	return reply(wireEnvironment(e), err)
}

func (s *service) getEnvironment(ctx context.Context, c slipway.Caller, in *EnvironmentPath) (*answer[wire.Environment], error) {
	e, err := s.View.Environment(ctx, c, in.Project, in.Environment)
	return reply(wireEnvironment(e), err)
}

func (s *service) setEnvironmentSettings(ctx context.Context, c slipway.Caller, in *struct {
	EnvironmentPath
	Body wire.EnvironmentSettings
},
) (*answer[wire.Environment], error) {
	e, err := s.Change.SetEnvironmentSettings(ctx, c, in.Project, in.Environment, in.Body.Settings)
	return reply(wireEnvironment(e), err)
}

func (s *service) deleteEnvironment(ctx context.Context, c slipway.Caller, in *EnvironmentPath) (*nothing, error) {
	return nil, s.Change.DeleteEnvironment(ctx, c, in.Project, in.Environment)
}
