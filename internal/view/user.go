package view

import (
	"context"

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

// Tokens lists the caller's tokens, or everybody's when an administrator asks for all. A
// confined caller sees those of its own scope only. The tokens of actions are in no list:
// each lives as long as its task.
func (r *Reader) Tokens(ctx context.Context, c slipway.Caller, all bool, p Page) (List[slipway.Token], error) {
	return read(ctx, r, c, func(tx *store.Tx) (out List[slipway.Token], err error) {
		user := c.UserID
		if all {
			if !c.Role.Allows(slipway.Administrator) {
				return out, slipway.Errorf(slipway.Forbidden, "only an administrator may list the tokens of others").
					WithHint("list your own")
			}
			user = 0
		} else if user == 0 {
			return out, nil // nobody in the database: Slipway itself
		}
		// A confined caller's page is filled from as many of the store's as that takes.
		for {
			part, err := tx.Tokens(ctx, user, p)
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
