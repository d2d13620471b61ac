package api

import (
	"context"

	"slipway.dev/slipway/internal/auth"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/wire"
)

func (s *service) registerInstallation() {
	register(s, "get-installation", s.getInstallation)
	register(s, "setup", s.setup)
}

func (s *service) getInstallation(ctx context.Context, c slipway.Caller, _ *none) (*answer[wire.Installation], error) {
	i, err := s.View.Installation(ctx)
	if err != nil {
		return nil, err
	}
	out := wire.Installation{ID: i.ID, ExternalID: i.ExternalID, Version: s.Version, CreatedAt: i.CreatedAt}
	if c.Project != "" {
		return reply(out, nil) // the processes are no business of a confined token
	}
	replicas, err := s.View.Replicas(ctx, c)
	if err != nil {
		return nil, err
	}
	for _, r := range replicas {
		out.Replicas = append(out.Replicas, wire.Replica{ID: r.ID, Host: r.Host, Role: r.Role, Version: r.Version, StartedAt: r.StartedAt, SeenAt: r.SeenAt})
	}
	return reply(out, nil)
}

func (s *service) setup(ctx context.Context, _ slipway.Caller, in *struct{ Body wire.Setup }) (*answer[wire.User], error) {
	u, err := s.Auth.MakeFirstAdministrator(ctx, exchangeOf(ctx).r, auth.SetupInput{Secret: in.Body.Secret, Username: in.Body.Username, Password: in.Body.Password})
	if err != nil {
		return nil, err
	}
	return reply(wireUser(u), nil)
}
