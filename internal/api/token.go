package api

import (
	"context"
	"time"

	"slipway.dev/slipway/internal/change"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/wire"
)

func (s *service) registerTokens() {
	register(s, "list-tokens", s.listTokens)
	register(s, "create-token", s.createToken)
	register(s, "revoke-token", s.revokeToken)
}

func wireToken(t slipway.Token) wire.Token {
	return wire.Token{
		ID: t.ID, User: t.UserName, Name: t.Name, Hint: t.Hint, Role: string(t.Role), Project: t.Project, Environment: t.Environment,
		TaskID: t.TaskID, CreatedAt: t.CreatedAt, ExpiresAt: when(t.ExpiresAt), LastUsedAt: when(t.LastUsedAt), RevokedAt: when(t.RevokedAt),
	}
}

func (s *service) listTokens(ctx context.Context, c slipway.Caller, in *struct {
	Page
	User string `query:"user" maxLength:"64" doc:"Those of another user, or * for everybody's; for administrators."`
},
) (*answer[wire.List[wire.Token]], error) {
	l, err := s.View.Tokens(ctx, c, in.User, in.view())
	return listing(l, err, wireToken)
}

func (s *service) createToken(ctx context.Context, c slipway.Caller, in *struct {
	Keyed
	Body wire.NewToken
},
) (*answer[wire.TokenValue], error) {
	t, err := s.Change.CreateToken(ctx, c, change.CreateTokenInput{
		User: in.Body.User, Name: in.Body.Name, Role: slipway.Role(in.Body.Role), Project: in.Body.Project, Environment: in.Body.Environment,
		ExpiresIn: time.Duration(in.Body.ExpiresIn) * time.Second, IdempotencyKey: in.Key,
	})
	if err != nil {
		return nil, err
	}
	return reply(wire.TokenValue{Value: t.Value, Info: wireToken(t.Token)}, nil)
}

func (s *service) revokeToken(ctx context.Context, c slipway.Caller, in *struct {
	Token int64 `path:"token" minimum:"1"`
},
) (*nothing, error) {
	return nil, s.Change.RevokeToken(ctx, c, in.Token)
}
