package auth

import (
	"context"
	"net/http"
	"strings"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// maxUserName is the longest name of a user that is looked for.
const maxUserName = 64

// errLogin is the one answer to every sign-in that fails.
var errLogin = unauthenticated("the name or the password is wrong", "an administrator can set a new password under Users")

// Login signs a person in and writes the session's cookie.
func (a *Authenticator) Login(ctx context.Context, w http.ResponseWriter, r *http.Request, name, password string) (slipway.User, error) {
	u, err := a.VerifyPassword(ctx, r, name, password)
	if err != nil {
		return slipway.User{}, err
	}
	return u, a.begin(ctx, w, r, u)
}

// VerifyPassword signs a person in without a session: the API gives programs a token
// instead. Whatever is wrong, the answer and the time it takes are the same: an unknown
// name, a wrong password, a deactivated user, the built-in user and one without a password
// all have one hash compared.
func (a *Authenticator) VerifyPassword(ctx context.Context, r *http.Request, name, password string) (slipway.User, error) {
	remote := a.Remote(r)
	address := throttled(remote)
	if err := a.admit(ctx, name, address); err != nil {
		return slipway.User{}, err
	}
	u, hash, err := a.candidate(ctx, name)
	if err != nil {
		return slipway.User{}, err
	}
	ok, err := a.CheckPassword(ctx, password, hash)
	if err != nil {
		return slipway.User{}, err
	}
	if !ok {
		if err := a.failed(ctx, address); err != nil {
			return slipway.User{}, err
		}
		a.log.InfoContext(ctx, "a sign-in failed", "remote", remote)
		return slipway.User{}, errLogin
	}
	err = a.store.InTx(ctx, func(tx *store.Tx) error {
		// Read again: the hash took a while, and the user may be out by now.
		now, err := tx.User(ctx, u.ID)
		if slipway.Is(err, slipway.NotFound) || err == nil && !now.Active {
			return errLogin
		} else if err != nil {
			return err
		}
		u = now
		if err := tx.ClearLoginFailures(ctx, userKey(name, address)); err != nil {
			return err
		}
		if err := tx.TouchLogin(ctx, u.ID); err != nil {
			return err
		}
		u.LastLoginAt = tx.Now
		return tx.AddAudit(ctx, slipway.Audit{At: tx.Now, User: u.Name, Remote: remote,
			Action: "user.login", Noun: "user", NounID: u.ID, NounName: u.Name})
	})
	if err != nil {
		return slipway.User{}, err
	}
	a.rehash(ctx, u.ID, password, hash)
	return u, nil
}

// candidate finds who may sign in by a name, and the hash to compare with. The hash is
// empty for everyone who may not, whatever the reason.
func (a *Authenticator) candidate(ctx context.Context, name string) (u slipway.User, hash string, err error) {
	name = strings.TrimSpace(name)
	if name == "" || len(name) > maxUserName {
		return slipway.User{}, "", nil
	}
	err = a.store.Read(ctx, func(tx *store.Tx) error {
		found, err := tx.UserByName(ctx, name)
		if err != nil {
			return err
		}
		if !found.Active || found.BuiltIn || slipway.ReservedUser(found.Name) {
			return nil
		}
		u = found
		hash, err = tx.UserPasswordHash(ctx, found.ID)
		return err
	})
	if slipway.Is(err, slipway.NotFound) {
		return slipway.User{}, "", nil
	}
	return u, hash, err
}

// rehash brings a hash to today's costs, now that the password is at hand. It is a favour:
// the sign-in does not fail with it.
func (a *Authenticator) rehash(ctx context.Context, userID int64, password, hash string) {
	if !outdated(hash) {
		return
	}
	fresh, err := a.HashPassword(ctx, password)
	if err == nil {
		err = a.store.InTx(ctx, func(tx *store.Tx) error {
			// Another password may have been set meanwhile, which must stay.
			if now, err := tx.UserPasswordHash(ctx, userID); err != nil || now != hash {
				return err
			}
			return tx.SetUserPassword(ctx, userID, fresh)
		})
	}
	if err != nil {
		a.log.WarnContext(ctx, "a password was not hashed anew", "user", userID, "error", err)
	}
}
