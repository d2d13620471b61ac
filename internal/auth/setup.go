package auth

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"strings"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// SetupInput makes the first administrator.
type SetupInput struct {
	Secret   string // from the setup secret's file
	Username string
	Password string
}

// SetupNeeded reports whether there is no administrator yet.
func (a *Authenticator) SetupNeeded(ctx context.Context) (bool, error) {
	var done bool
	err := a.store.Read(ctx, func(tx *store.Tx) error {
		i, err := tx.Installation(ctx)
		done = i.SetupDone
		return err
	})
	return !done && err == nil, err
}

// EnsureSetupSecret makes the one-time secret of the first start and returns its file, or
// removes what is left of it and returns "" when an administrator exists. Whoever can
// read the file owns the server anyway, so that it proves what it must.
func (a *Authenticator) EnsureSetupSecret(ctx context.Context) (path string, err error) {
	needed, err := a.SetupNeeded(ctx)
	if err != nil {
		return "", err
	}
	if !needed {
		if err := os.Remove(a.setup); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("remove the setup secret: %w", err)
		}
		return "", nil
	}
	f, err := os.OpenFile(a.setup, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		_, err := a.setupSecret()
		return a.setup, err
	} else if err != nil {
		return "", fmt.Errorf("make the setup secret: %w", err)
	}
	_, err = f.WriteString(random62(43) + "\n")
	if err := errors.Join(err, f.Close()); err != nil {
		return "", fmt.Errorf("make the setup secret: %w", err)
	}
	return a.setup, nil
}

// setupSecret reads the file. An empty secret would let everybody in, so that a file cut
// short by a full disk is refused.
func (a *Authenticator) setupSecret() (string, error) {
	b, err := os.ReadFile(a.setup)
	if err != nil {
		return "", fmt.Errorf("read the setup secret: %w", err)
	}
	s := strings.TrimSpace(string(b))
	if len(s) < 43 {
		return "", fmt.Errorf("the setup secret %s is damaged: delete it and start the server again", a.setup)
	}
	return s, nil
}

// Setup makes the first administrator with the setup secret, and signs it in.
func (a *Authenticator) Setup(ctx context.Context, w http.ResponseWriter, r *http.Request, in SetupInput) (slipway.User, error) {
	u, err := a.MakeFirstAdministrator(ctx, r, in)
	if err != nil {
		return slipway.User{}, err
	}
	return u, a.begin(ctx, w, r, u)
}

// MakeFirstAdministrator is Setup without a session, for programs. It works once.
func (a *Authenticator) MakeFirstAdministrator(ctx context.Context, r *http.Request, in SetupInput) (slipway.User, error) {
	needed, err := a.SetupNeeded(ctx)
	if err != nil {
		return slipway.User{}, err
	}
	if !needed {
		return slipway.User{}, errSetupDone
	}
	secret, err := a.setupSecret()
	if err != nil {
		return slipway.User{}, &slipway.Error{Kind: slipway.Unavailable, Err: err,
			Msg: "this server has no setup secret to compare with", Hint: "start the server again, and look where it says the secret is"}
	}
	if subtle.ConstantTimeCompare([]byte(secret), []byte(strings.TrimSpace(in.Secret))) != 1 {
		return slipway.User{}, &slipway.Error{Kind: slipway.Forbidden, Msg: "the setup secret is wrong",
			Hint: "it is in the file that the server named when it started, on the machine that answers"}
	}
	in.Username = strings.TrimSpace(in.Username)
	if err := slipway.CheckUserName(in.Username); err != nil {
		return slipway.User{}, err
	}
	hash, err := a.HashPassword(ctx, in.Password)
	if err != nil {
		return slipway.User{}, err
	}
	u, err := a.firstAdministrator(ctx, in.Username, hash, a.Remote(r))
	if err != nil {
		return slipway.User{}, err
	}
	if err := os.Remove(a.setup); err != nil && !errors.Is(err, fs.ErrNotExist) {
		// The administrator stands, and the secret opens nothing any more.
		a.log.WarnContext(ctx, "the setup secret was not removed", "error", err)
	}
	return u, nil
}

var errSetupDone = slipway.Errorf(slipway.Conflict, "this installation has its administrator already").
	WithHint("sign in, or ask an administrator for a user of your own")

func (a *Authenticator) firstAdministrator(ctx context.Context, name, hash, remote string) (u slipway.User, err error) {
	err = a.store.InTx(ctx, func(tx *store.Tx) error {
		// It is stale when another setup was first: the secret works once.
		if err := tx.MarkSetupDone(ctx); err != nil {
			if errors.Is(err, store.ErrStale) {
				return errSetupDone
			}
			return err
		}
		u, err = tx.CreateUser(ctx, slipway.User{Name: name, Role: slipway.Administrator, Active: true}, hash)
		if err != nil {
			return err
		}
		return tx.AddAudit(ctx, slipway.Audit{At: tx.Now, User: u.Name, Remote: remote, Action: "user.create", Noun: "user",
			NounID: u.ID, NounName: u.Name, After: []byte(`{"active":true,"role":"administrator"}`)})
	})
	return u, err
}
