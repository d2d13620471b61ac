package api

import (
	"context"

	"slipway.dev/slipway/internal/change"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/view"
	"slipway.dev/slipway/internal/wire"
)

func (s *service) registerSecrets() {
	register(s, "list-secrets", s.listSecrets)
	register(s, "set-secret", s.setSecret)
	register(s, "delete-secret", s.deleteSecret)
}

// SecretPath is the part of a request that names a secret.
type SecretPath struct {
	EnvironmentPath
	Secret string `path:"secret" maxLength:"40"`
}

func wireSecret(x slipway.Secret) wire.Secret {
	return wire.Secret{Name: x.Name, Version: x.Version, UpdatedBy: x.UpdatedBy, CreatedAt: x.CreatedAt, UpdatedAt: x.UpdatedAt}
}

func (s *service) listSecrets(ctx context.Context, c slipway.Caller, in *struct {
	EnvironmentPath
	Page
},
) (*answer[wire.List[wire.Secret]], error) {
	l, err := s.View.Secrets(ctx, c, in.Project, in.Environment, in.view())
	return listing(l, err, func(r view.SecretRow) wire.Secret {
		x := wireSecret(r.Secret)
		x.UsedBy = r.UsedBy
		return x
	})
}

func (s *service) setSecret(ctx context.Context, c slipway.Caller, in *struct {
	SecretPath
	Body wire.SecretValue
},
) (*answer[wire.Secret], error) {
	x, err := s.Change.SetSecret(ctx, c, change.SetSecretInput{Project: in.Project, Environment: in.Environment, Name: in.Secret, Value: []byte(in.Body.Value)})
	return reply(wireSecret(x), err)
}

func (s *service) deleteSecret(ctx context.Context, c slipway.Caller, in *SecretPath) (*nothing, error) {
	return nil, s.Change.DeleteSecret(ctx, c, in.Project, in.Environment, in.Secret)
}
