package api

import (
	"context"

	"slipway.dev/slipway/internal/change"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/wire"
)

func (s *service) registerUsers() {
	register(s, "list-users", s.listUsers)
	register(s, "create-user", s.createUser)
	register(s, "get-user", s.getUser)
	register(s, "change-user", s.changeUser)
}

// UserPath is the part of a request that names a user.
type UserPath struct {
	User string `path:"user" maxLength:"64"`
}

func wireUser(u slipway.User) wire.User {
	return wire.User{Name: u.Name, Role: string(u.Role), Active: u.Active, BuiltIn: u.BuiltIn, CreatedAt: u.CreatedAt, LastLoginAt: when(u.LastLoginAt)}
}

func (s *service) listUsers(ctx context.Context, c slipway.Caller, in *Page) (*answer[wire.List[wire.User]], error) {
	l, err := s.View.Users(ctx, c, in.view())
	return listing(l, err, wireUser)
}

func (s *service) createUser(ctx context.Context, c slipway.Caller, in *struct {
	Keyed
	Body wire.NewUser
},
) (*answer[wire.User], error) {
	u, err := s.Change.CreateUser(ctx, c, change.CreateUserInput{
		Name: in.Body.Name, Role: slipway.Role(in.Body.Role), Password: in.Body.Password, IdempotencyKey: in.Key,
	})
	return reply(wireUser(u), err)
}

func (s *service) getUser(ctx context.Context, c slipway.Caller, in *UserPath) (*answer[wire.User], error) {
	u, err := s.View.User(ctx, c, in.User)
	return reply(wireUser(u), err)
}

func (s *service) changeUser(ctx context.Context, c slipway.Caller, in *struct {
	UserPath
	Body wire.UserChange
},
) (*answer[wire.User], error) {
	update := change.UpdateUserInput{Name: in.User, Active: in.Body.Active, Password: in.Body.Password, CurrentPassword: in.Body.CurrentPassword}
	if in.Body.Role != nil {
		r := slipway.Role(*in.Body.Role)
		update.Role = &r
	}
	u, err := s.Change.UpdateUser(ctx, c, update)
	return reply(wireUser(u), err)
}
