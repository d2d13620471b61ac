// Package client speaks the API of a Slipway: one method for each of its operations.
//
// The CLI is built on it, and so are the tests that stand in a user's place. What the
// server refuses comes back as [*Error] with everything the server said; a server that
// cannot be reached is an [*Unreachable], so that a caller can tell "no" from "no answer".
//
// The package decides nothing and prints nothing. It never follows a redirect, which
// could carry the token to another host, and never puts the token in an error.
package client

import (
	"cmp"
	"context"
	"crypto/rand"
	"net/http"
	"net/url"
	"strings"
	"time"

	"slipway.dev/slipway/internal/wire"
)

// Options says whom to speak to.
type Options struct {
	URL       string // the server's base: https://slipway.example.com
	Token     string // may be empty: only setup and login work then
	UserAgent string
	Transport http.RoundTripper // nil: http.DefaultTransport
}

// Client speaks to one server. It may be used by several goroutines.
type Client struct {
	base, token, agent string
	http               *http.Client
	observe            func(method, path string) // for the test that compares with the description
}

// New returns a client of the server at o.URL. It does not call it yet.
func New(o Options) (*Client, error) {
	u, err := url.Parse(strings.TrimRight(o.URL, "/"))
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil {
		// The URL itself is not repeated: people paste ones with passwords.
		return nil, &BadURL{}
	}
	return &Client{
		base:  u.String() + "/api/v1",
		token: o.Token,
		agent: cmp.Or(o.UserAgent, "slipway-client"),
		http: &http.Client{
			Transport:     o.Transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// BadURL says that the server's URL cannot be used.
type BadURL struct{}

func (*BadURL) Error() string {
	return "the server's URL must look like https://slipway.example.com, without user or password"
}

const (
	// ordinaryTimeout bounds a request that the server answers at once. Checks of a spec
	// may render a chart, which takes seconds on a busy machine.
	ordinaryTimeout = time.Minute
	// uploadTimeout bounds a driver's upload, with its check on the server.
	uploadTimeout = 5 * time.Minute
	// waitTimeout is what a long poll may take over the time that it asked for.
	waitTimeout = 15 * time.Second
	// maxAnswer is the largest answer that is read.
	maxAnswer = 32 << 20
)

// NewKey returns an idempotency key that was never used before.
func NewKey() string { return rand.Text() }

// All collects every page of a listing; list is called with each cursor in turn.
func All[T any](ctx context.Context, list func(ctx context.Context, p Page) ([]T, string, error)) ([]T, error) {
	var all []T
	for p := (Page{Limit: wire.MaxLimit}); ; {
		items, next, err := list(ctx, p)
		if err != nil {
			return nil, err
		}
		all = append(all, items...)
		if next == "" || next == p.Cursor {
			return all, nil
		}
		p.Cursor = next
	}
}

// Page picks a page of a listing. The zero Page is the first one, of the server's size.
type Page struct {
	Limit  int
	Cursor string
}
