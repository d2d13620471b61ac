package auth

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/alexedwards/scs/v2"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

const (
	sessionUser = "user" // the session's user ID
	sessionSeen = "seen" // when its idle time was last put back, in Unix seconds
)

// newSessions makes the manager by hand: scs.New would start a goroutine, which nothing
// can end, for a store in memory that is not ours.
func newSessions(c Config) *scs.SessionManager {
	s := &scs.SessionManager{
		IdleTimeout: cmp.Or(c.SessionIdle, 12*time.Hour), Lifetime: cmp.Or(c.SessionLifetime, 7*24*time.Hour),
		Store: sessionStore{c.Store}, HashTokenInStore: true, Codec: scs.GobCodec{},
		Cookie: scs.SessionCookie{Name: "slipway_session", HttpOnly: true, SameSite: http.SameSiteLaxMode, Path: "/", Persist: true},
	}
	if c.SecureCookies {
		// The prefix has browsers refuse a cookie of this name that is not Secure or that
		// another host of the domain has set.
		s.Cookie.Secure, s.Cookie.Name = true, "__Host-slipway_session"
	}
	return s
}

// load reads a request's session; without one, or with one that has ended, it is empty.
func (a *Authenticator) load(ctx context.Context, r *http.Request) (_ context.Context, token string, err error) {
	if c, err := r.Cookie(a.sessions.Cookie.Name); err == nil && len(c.Value) <= 64 {
		token = c.Value
	}
	ctx, err = a.sessions.Load(ctx, token)
	if err != nil {
		return nil, "", fmt.Errorf("load a session: %w", err)
	}
	return ctx, token, nil
}

func (a *Authenticator) bySession(ctx context.Context, r *http.Request) (slipway.Caller, error) {
	sctx, token, err := a.load(ctx, r)
	if err != nil {
		return slipway.Caller{}, err
	}
	id := a.sessions.GetInt64(sctx, sessionUser)
	if id == 0 {
		return slipway.Caller{}, errNoCredentials
	}
	var u slipway.User
	err = a.store.Read(ctx, func(tx *store.Tx) (err error) {
		u, err = tx.User(ctx, id)
		return err
	})
	switch {
	case slipway.Is(err, slipway.NotFound):
		return slipway.Caller{}, errNoCredentials
	case err != nil:
		return slipway.Caller{}, err
	case !u.Active:
		// Its sessions were deleted with the deactivation; this is for the request that was
		// under way, and for whoever deactivates users by other means.
		return slipway.Caller{}, errNoCredentials
	}
	session := base64.RawURLEncoding.EncodeToString(hashToken(token))
	if seen := time.Unix(a.sessions.GetInt64(sctx, sessionSeen), 0); time.Since(seen) > touchEvery {
		a.touches.later("session "+session, 0, func(ctx context.Context) error { return a.extend(ctx, token) })
	}
	return slipway.Caller{UserID: u.ID, UserName: u.Name, Role: u.Role, SessionID: session}, nil
}

// extend puts back a session's idle time.
func (a *Authenticator) extend(ctx context.Context, token string) error {
	ctx, err := a.sessions.Load(ctx, token)
	if err != nil || a.sessions.GetInt64(ctx, sessionUser) == 0 {
		return err // it ended meanwhile
	}
	a.sessions.Put(ctx, sessionSeen, time.Now().Unix())
	_, _, err = a.sessions.Commit(withExtending(ctx))
	return err
}

func withExtending(ctx context.Context) context.Context {
	return context.WithValue(ctx, extending{}, true)
}

// begin starts a session of its own for a user, never one that the browser brought: a
// token that someone planted before the sign-in must not become a signed-in one.
func (a *Authenticator) begin(ctx context.Context, w http.ResponseWriter, r *http.Request, u slipway.User) error {
	if err := a.end(ctx, r); err != nil {
		return err
	}
	ctx, err := a.sessions.Load(ctx, "")
	if err != nil {
		return fmt.Errorf("begin a session: %w", err)
	}
	a.sessions.Put(ctx, sessionUser, u.ID)
	a.sessions.Put(ctx, sessionSeen, time.Now().Unix())
	token, expiry, err := a.sessions.Commit(context.WithValue(ctx, sessionOwner{}, u.ID))
	if err != nil {
		return fmt.Errorf("begin a session: %w", err)
	}
	a.sessions.WriteSessionCookie(ctx, w, token, expiry)
	return nil
}

// end deletes the session that a request carries, if any.
func (a *Authenticator) end(ctx context.Context, r *http.Request) error {
	ctx, token, err := a.load(ctx, r)
	if err != nil || token == "" {
		return err
	}
	if err := a.sessions.Destroy(ctx); err != nil {
		return fmt.Errorf("end a session: %w", err)
	}
	return nil
}

// Logout ends the session of a request and has the browser drop its cookie. Without a
// session it does only that.
func (a *Authenticator) Logout(ctx context.Context, w http.ResponseWriter, r *http.Request) error {
	if err := a.end(ctx, r); err != nil {
		return err
	}
	a.sessions.WriteSessionCookie(ctx, w, "", time.Time{})
	return nil
}

// sessionStore keeps sessions in our database, under the hash that scs makes of a token.
type sessionStore struct{ store *store.Store }

type (
	extending    struct{} // in a context: write the session only if it is still there
	sessionOwner struct{} // in a context: the user whom a new session belongs to
)

func (s sessionStore) FindCtx(ctx context.Context, hash string) (data []byte, found bool, err error) {
	err = s.store.Read(ctx, func(tx *store.Tx) error {
		data, err = tx.FindSession(ctx, []byte(hash))
		return err
	})
	if slipway.Is(err, slipway.NotFound) {
		return nil, false, nil
	}
	return data, err == nil, err
}

func (s sessionStore) CommitCtx(ctx context.Context, hash string, data []byte, expiry time.Time) error {
	return s.store.InTx(ctx, func(tx *store.Tx) error {
		if ctx.Value(extending{}) != nil {
			return tx.ExtendSession(ctx, []byte(hash), data, expiry)
		}
		owner, _ := ctx.Value(sessionOwner{}).(int64)
		return tx.SaveSession(ctx, []byte(hash), owner, data, expiry)
	})
}

func (s sessionStore) DeleteCtx(ctx context.Context, hash string) error {
	return s.store.InTx(ctx, func(tx *store.Tx) error { return tx.DeleteSession(ctx, []byte(hash)) })
}

var errNeedsContext = errors.New("a session needs the request's context")

// scs asks for these three as well, and uses the ones above when they are there.
func (sessionStore) Find(string) ([]byte, bool, error)      { return nil, false, errNeedsContext }
func (sessionStore) Commit(string, []byte, time.Time) error { return errNeedsContext }
func (sessionStore) Delete(string) error                    { return errNeedsContext }
