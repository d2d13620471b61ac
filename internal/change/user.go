package change

import (
	"context"
	"fmt"
	"strings"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// CreateUser makes a user who can sign in. Administrators may.
func (s *Service) CreateUser(ctx context.Context, c slipway.Caller, in CreateUserInput) (slipway.User, error) {
	if err := needWhole(c, slipway.Administrator); err != nil {
		return slipway.User{}, err
	}
	in.Name = strings.TrimSpace(in.Name)
	var f faults
	f.is("name", slipway.CheckUserName(in.Name))
	checkRole(&f, in.Role)
	hash, err := s.Credentials.HashPassword(ctx, in.Password)
	if slipway.Is(err, slipway.Invalid) {
		f.is("password", err)
	} else if err != nil {
		return slipway.User{}, err
	}
	if err := f.err("the user"); err != nil {
		return slipway.User{}, err
	}
	// The password is no part of what makes two requests the same: a fast hash of it must
	// stand nowhere.
	r := request{c, in.IdempotencyKey, "user.create", []any{in.Name, in.Role}}
	u, _, err := once(ctx, s.Store, r, func(tx *store.Tx) (slipway.User, error) {
		u, err := tx.CreateUser(ctx, slipway.User{Name: in.Name, Role: in.Role, Active: true}, hash)
		if err != nil {
			return u, err
		}
		return u, record(ctx, tx, c, deed{"user.create", "user", u.ID, u.Name, nil, userFacts(u)})
	})
	return u, err
}

func userFacts(u slipway.User) facts { return facts{"role": u.Role, "active": u.Active} }

func checkRole(f *faults, r slipway.Role) {
	if !r.Valid() {
		f.add("role", fmt.Sprintf("%q is not a role", r), "write read-only, read-write or administrator")
	}
}

// UpdateUser changes a user's role, activity or password. Administrators may; people may
// change their own password, and say the one they have.
func (s *Service) UpdateUser(ctx context.Context, c slipway.Caller, in UpdateUserInput) (slipway.User, error) {
	own := strings.EqualFold(strings.TrimSpace(in.Name), c.UserName)
	if own && in.Role == nil && in.Active == nil {
		if err := need(c, slipway.ReadOnly); err != nil {
			return slipway.User{}, err
		}
	} else if err := needWhole(c, slipway.Administrator); err != nil {
		return slipway.User{}, err
	}
	var f faults
	if in.Role != nil {
		checkRole(&f, *in.Role)
	}
	if in.Role == nil && in.Active == nil && in.Password == nil {
		f.add("body", "it changes nothing", "give a role, active or a password")
	}
	if err := f.err("the user"); err != nil {
		return slipway.User{}, err
	}
	hash, err := s.newPassword(ctx, c, in, own)
	if err != nil {
		return slipway.User{}, err
	}
	var u slipway.User
	err = s.Store.InTx(ctx, func(tx *store.Tx) error {
		before, err := tx.UserByName(ctx, in.Name)
		if err != nil {
			return err
		}
		if err := mayUpdate(before, in); err != nil {
			return err
		}
		err = keepAnAdministrator(ctx, tx, before, in, func() error {
			u, err = s.updateUser(ctx, tx, before, in, hash)
			return err
		})
		if err != nil {
			return err
		}
		after := userFacts(u)
		if hash != "" {
			after["password"] = "changed"
		}
		return record(ctx, tx, c, deed{userAction(in), "user", u.ID, u.Name, userFacts(before), after})
	})
	return u, err
}

// newPassword returns the hash of a new password, and "" when none is asked for. It is
// made before the transaction: hashing takes long on purpose.
func (s *Service) newPassword(ctx context.Context, c slipway.Caller, in UpdateUserInput, own bool) (string, error) {
	if in.Password == nil {
		return "", nil
	}
	if slipway.ReservedUser(in.Name) {
		return "", noPassword(in.Name)
	}
	if own {
		var old string
		err := s.Store.Read(ctx, func(tx *store.Tx) (err error) {
			old, err = tx.UserPasswordHash(ctx, c.UserID)
			return err
		})
		if err != nil {
			return "", err
		}
		ok, err := s.Credentials.CheckPassword(ctx, in.CurrentPassword, old)
		if err != nil {
			return "", err
		}
		if !ok {
			return "", invalid("current_password", "it is not the password that you have", "")
		}
	}
	return s.Credentials.HashPassword(ctx, *in.Password)
}

func noPassword(name string) error {
	return slipway.Errorf(slipway.Forbidden, "user %s is built in and has no password", name).
		WithHint("nobody can sign in as it; actions get a token for each task")
}

// mayUpdate holds the rules of the built-in user: it can be deactivated and be given less,
// and nothing else.
func mayUpdate(u slipway.User, in UpdateUserInput) error {
	switch {
	case !u.BuiltIn && !slipway.ReservedUser(u.Name):
		return nil
	case in.Password != nil:
		return noPassword(u.Name)
	case in.Role != nil && *in.Role == slipway.Administrator:
		return slipway.Errorf(slipway.Forbidden, "user %s is built in and cannot be an administrator", u.Name).
			WithHint("its role may be read-write or read-only")
	}
	return nil
}

// takesAdministrator reports whether a change can end a user's being an administrator.
func takesAdministrator(in UpdateUserInput) bool {
	return in.Role != nil && *in.Role != slipway.Administrator || in.Active != nil && !*in.Active
}

// keepAnAdministrator runs a change of a user, and refuses it when no active administrator
// is left. It counts afterwards, since what the user was may have been read before another
// request changed it; and it holds the administrators' rows before, in one order, so that
// two requests that take two of them away wait for each other.
func keepAnAdministrator(ctx context.Context, tx *store.Tx, u slipway.User, in UpdateUserInput, change func() error) error {
	if !takesAdministrator(in) {
		return change()
	}
	if _, err := tx.CountActiveAdministrators(ctx); err != nil {
		return err
	}
	if err := change(); err != nil {
		return err
	}
	n, err := tx.CountActiveAdministrators(ctx)
	if err == nil && n == 0 {
		return slipway.Errorf(slipway.Conflict, "%s is the last active administrator", u.Name).
			WithHint("make another user an administrator first")
	}
	return err
}

func (s *Service) updateUser(ctx context.Context, tx *store.Tx, u slipway.User, in UpdateUserInput, hash string) (slipway.User, error) {
	if in.Role != nil {
		if err := tx.SetUserRole(ctx, u.ID, *in.Role); err != nil {
			return u, err
		}
	}
	if in.Active != nil {
		if err := tx.SetUserActive(ctx, u.ID, *in.Active); err != nil {
			return u, err
		}
	}
	if hash != "" {
		if err := tx.SetUserPassword(ctx, u.ID, hash); err != nil {
			return u, err
		}
	}
	if hash != "" || in.Active != nil && !*in.Active {
		// Whoever is signed in with the old password, or should not be any more, is out.
		if err := tx.DeleteSessionsOf(ctx, u.ID); err != nil {
			return u, err
		}
	}
	return tx.User(ctx, u.ID)
}

// userAction names the audit line by what matters most in it.
func userAction(in UpdateUserInput) string {
	switch {
	case in.Active != nil && !*in.Active:
		return "user.deactivate"
	case in.Active != nil:
		return "user.activate"
	case in.Role != nil:
		return "user.role"
	}
	return "user.password"
}
