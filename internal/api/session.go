package api

import (
	"cmp"
	"context"

	"slipway.dev/slipway/internal/change"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/wire"
)

func (s *service) registerSessions() {
	register(s, "login", s.login)
	register(s, "logout", s.logout)
	register(s, "whoami", s.whoami)
}

// login gives a token rather than a cookie: programs keep tokens well, and it is listed
// and revoked like any other.
func (s *service) login(ctx context.Context, c slipway.Caller, in *struct{ Body wire.Login }) (*answer[wire.Session], error) {
	u, err := s.Auth.VerifyPassword(ctx, exchangeOf(ctx).r, in.Body.Username, in.Body.Password)
	if err != nil {
		return nil, err
	}
	c.UserID, c.UserName, c.Role = u.ID, u.Name, u.Role
	t, err := s.Change.CreateToken(ctx, c, change.CreateTokenInput{Name: cmp.Or(in.Body.TokenName, "login")})
	if err != nil {
		return nil, err
	}
	return reply(wire.Session{Token: t.Value, Info: wireToken(t.Token)}, nil)
}

// logout revokes the token that was sent. A browser's session is ended as well, for who
// calls this with a cookie.
func (s *service) logout(ctx context.Context, c slipway.Caller, _ *none) (*nothing, error) {
	if c.TokenID != 0 {
		return nil, s.Change.RevokeToken(ctx, c, c.TokenID)
	}
	x := exchangeOf(ctx)
	return nil, s.Auth.Logout(ctx, x.w, x.r)
}

func (s *service) whoami(_ context.Context, c slipway.Caller, _ *none) (*answer[wire.Whoami], error) {
	return reply(wire.Whoami{User: c.UserName, Role: string(c.Role), TokenID: c.TokenID, TaskID: c.TaskID, Project: c.Project, Environment: c.Environment}, nil)
}
