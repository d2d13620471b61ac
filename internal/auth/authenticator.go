package auth

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/alexedwards/scs/v2"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// Config is what an Authenticator needs.
type Config struct {
	Store           *store.Store
	SecureCookies   bool           // people reach the server by TLS only
	Proxies         []netip.Prefix // whose X-Forwarded-For is believed
	TrustedOrigins  []string       // other addresses of this server's own pages: its public URL
	SetupSecretFile string
	SessionIdle     time.Duration // 0: 12 hours
	SessionLifetime time.Duration // 0: 7 days
	Log             *slog.Logger  // nil: none
}

// Authenticator answers who asks. It is safe for concurrent use. Close it.
type Authenticator struct {
	Credentials

	store    *store.Store
	sessions *scs.SessionManager
	origins  *http.CrossOriginProtection
	proxies  []netip.Prefix
	setup    string
	log      *slog.Logger
	touches  *touches
}

// New returns an Authenticator over a store whose schema is up to date.
func New(c Config) (*Authenticator, error) {
	h, err := newHasher()
	if err != nil {
		return nil, err
	}
	a := &Authenticator{
		Credentials: Credentials{h}, store: c.Store, proxies: c.Proxies, setup: c.SetupSecretFile,
		log: c.Log, origins: http.NewCrossOriginProtection(),
	}
	if a.log == nil {
		a.log = slog.New(slog.DiscardHandler)
	}
	for _, o := range c.TrustedOrigins {
		if err := a.origins.AddTrustedOrigin(o); err != nil {
			return nil, fmt.Errorf("trust the origin %s: %w", o, err)
		}
	}
	a.origins.SetDenyHandler(http.HandlerFunc(denyCrossOrigin))
	a.sessions = newSessions(c)
	a.touches = newTouches(a.log)
	return a, nil
}

// Close waits until what is written behind requests is written.
func (a *Authenticator) Close() { a.touches.close() }

// Authenticate says who sent a request: the bearer of a token, else of a session. A
// request with a token is never judged by its cookie.
func (a *Authenticator) Authenticate(ctx context.Context, r *http.Request) (slipway.Caller, error) {
	var c slipway.Caller
	var err error
	if header := r.Header.Get("Authorization"); header != "" {
		c, err = a.byToken(ctx, header)
	} else {
		c, err = a.bySession(ctx, r)
	}
	if err != nil {
		return slipway.Caller{}, err
	}
	c.Remote = a.Remote(r)
	return c, nil
}

// bearer returns the token of an Authorization header.
func bearer(header string) (string, bool) {
	scheme, value, ok := strings.Cut(header, " ")
	return strings.TrimSpace(value), ok && strings.EqualFold(scheme, "Bearer")
}

func (a *Authenticator) byToken(ctx context.Context, header string) (slipway.Caller, error) {
	value, ok := bearer(header)
	if !ok {
		return slipway.Caller{}, unauthenticated("the Authorization header holds no bearer token", "send Authorization: Bearer slw_…")
	}
	if !wellFormed(value) {
		return slipway.Caller{}, unauthenticated("the token is not one of ours, or was not copied whole", "a token begins with %s and has %d characters", tokenPrefix, tokenLength)
	}
	var t slipway.Token
	var u slipway.User
	err := a.store.Read(ctx, func(tx *store.Tx) (err error) {
		if t, err = tx.TokenByHash(ctx, hashToken(value)); err != nil {
			return err
		}
		if u, err = tx.User(ctx, t.UserID); err != nil {
			return err
		}
		return judge(t, u, tx.Now)
	})
	if slipway.Is(err, slipway.NotFound) {
		err = unauthenticated("the token is not known here", "make a new one, or look whether it belongs to another installation")
	}
	if err != nil {
		return slipway.Caller{}, err
	}
	if a.store.Now().Sub(t.LastUsedAt) > touchEvery {
		a.touches.later("token", t.ID, func(ctx context.Context) error {
			return a.store.InTx(ctx, func(tx *store.Tx) error { return tx.TouchToken(ctx, t.ID) })
		})
	}
	return slipway.Caller{
		UserID: u.ID, UserName: u.Name, Role: t.Role.Min(u.Role), TokenID: t.ID, TaskID: t.TaskID,
		Project: t.Project, Environment: t.Environment,
	}, nil
}

// judge says why a known token does not count. Its bearer has proved to hold it, so that
// saying so tells a stranger nothing.
func judge(t slipway.Token, u slipway.User, now time.Time) error {
	switch {
	case !t.RevokedAt.IsZero():
		return unauthenticated("the token was revoked", makeAnother)
	case !t.ExpiresAt.IsZero() && !now.Before(t.ExpiresAt):
		return unauthenticated("the token expired on "+t.ExpiresAt.Format(time.DateOnly), makeAnother)
	case !u.Active:
		return unauthenticated("user "+u.Name+" is deactivated", "an administrator can activate it under Users")
	}
	return nil
}

// makeAnother is read by people at a terminal as well as by those whose program has a token.
const makeAnother = "make a new one: slipway login, or for a program slipway tokens create"

func unauthenticated(msg, hint string, args ...any) error {
	if len(args) > 0 {
		hint = fmt.Sprintf(hint, args...)
	}
	return &slipway.Error{Kind: slipway.Unauthenticated, Msg: msg, Hint: hint}
}

var errNoCredentials = unauthenticated("you are not signed in", "sign in (slipway login), or send a token as Authorization: Bearer slw_…")

func denyCrossOrigin(w http.ResponseWriter, _ *http.Request) {
	http.Error(w, "This request came from another site. Open Slipway's own page and try again.", http.StatusForbidden)
}

// CrossOrigin refuses requests that another site has a browser send with our cookie.
// Requests with a token are let through: no browser adds that by itself, and Authenticate
// does not look at their cookies.
func (a *Authenticator) CrossOrigin(next http.Handler) http.Handler {
	guarded := a.origins.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, ok := bearer(r.Header.Get("Authorization")); ok {
			next.ServeHTTP(w, r)
			return
		}
		guarded.ServeHTTP(w, r)
	})
}
