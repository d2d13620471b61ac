package view

import (
	"context"
	"strings"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// Users lists the users of the installation, the built-in one too.
func (r *Reader) Users(ctx context.Context, c slipway.Caller, p Page) (List[slipway.User], error) {
	return read(ctx, r, c, func(tx *store.Tx) (List[slipway.User], error) {
		if err := unconfined(c, "the users"); err != nil {
			return List[slipway.User]{}, err
		}
		return tx.Users(ctx, p)
	})
}

// User returns one user by name, in any mix of cases.
func (r *Reader) User(ctx context.Context, c slipway.Caller, name string) (slipway.User, error) {
	return read(ctx, r, c, func(tx *store.Tx) (slipway.User, error) {
		if err := unconfined(c, "the users"); err != nil {
			return slipway.User{}, err
		}
		return tx.UserByName(ctx, name)
	})
}

// Everybody asks for the tokens of all users.
const Everybody = "*"

// Tokens lists the tokens of a user: the caller's own when user is empty; another's, or
// Everybody's, for administrators. A confined caller sees those of its own scope only. The
// tokens of actions are in no list: each lives as long as its task.
func (r *Reader) Tokens(ctx context.Context, c slipway.Caller, user string, p Page) (List[slipway.Token], error) {
	return read(ctx, r, c, func(tx *store.Tx) (out List[slipway.Token], err error) {
		of, err := tokensOf(ctx, tx, c, user)
		if err != nil || of == nobody {
			return out, err
		}
		// A confined caller's page is filled from as many of the store's as that takes.
		for {
			part, err := tx.Tokens(ctx, of, p)
			if err != nil {
				return out, err
			}
			for _, t := range part.Items {
				if c.Sees(t.Project, t.Environment) {
					out.Items = append(out.Items, t)
				}
			}
			out.Next = part.Next
			if out.Next == "" || len(out.Items) > 0 {
				return out, nil
			}
			p.After = part.Next
		}
	})
}

// nobody is the ID of a user who has no tokens: Slipway itself.
const nobody = -1

// tokensOf returns whose tokens to list; 0 stands for everybody's.
func tokensOf(ctx context.Context, tx *store.Tx, c slipway.Caller, user string) (int64, error) {
	switch {
	case user == "" || strings.EqualFold(user, c.UserName):
		if c.UserID == 0 {
			return nobody, nil
		}
		return c.UserID, nil
	case !c.Role.Allows(slipway.Administrator):
		return 0, slipway.Errorf(slipway.Forbidden, "only an administrator may list the tokens of others").
			WithHint("list your own")
	case user == Everybody:
		return 0, nil
	}
	u, err := tx.UserByName(ctx, user)
	return u.ID, err
}
