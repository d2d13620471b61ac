package github

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/google/go-github/v92/github"

	"slipway.dev/slipway/internal/outside/forge"
	"slipway.dev/slipway/internal/outside/forge/rest"
	"slipway.dev/slipway/internal/slipway"
)

// Options of a Client.
type Options struct {
	BaseURL    string // https://github.com and empty are the same; or an Enterprise Server's own
	Credential Credential
	Budget     *rest.Budget      // shared by all clients of the credential; nil: one of its own
	Transport  http.RoundTripper // nil: the default one
	UserAgent  string
}

// Client speaks to GitHub with one credential.
type Client struct {
	credential Credential
	api        *url.URL
	budget     *rest.Budget
	transport  http.RoundTripper // spends the budget, without a credential
	confirming http.RoundTripper // the same, and asks whether something has changed
	plain      *http.Client      // for logs, which lie elsewhere
	userAgent  string
	app        *github.Client // as the App itself; nil for a token

	mu            sync.Mutex
	clients       map[string]*github.Client // by the owner, in lower case; "" for a token
	installations map[string]*installation
	groups        map[string]int64 // the default group of each owner
}

var _ forge.Forge = (*Client)(nil)

const (
	callTimeout = 30 * time.Second
	// maxAnswer bounds an answer of the API: a page of a hundred runs has less than 4 MiB.
	maxAnswer = 32 << 20
	perPage   = 100
	maxPages  = 200 // a group holds 10,000 runners
)

// New returns a client. It asks nobody yet.
func New(o Options) (*Client, error) {
	api, err := apiURL(o.BaseURL)
	if err != nil {
		return nil, err
	}
	if o.Credential.token == "" && o.Credential.app == nil {
		return nil, slipway.Errorf(slipway.Invalid, "there is no credential for GitHub")
	}
	if o.Transport == nil {
		o.Transport = http.DefaultTransport
	}
	if o.Budget == nil {
		o.Budget = newBudget(rest.BudgetOptions{})
	}
	if o.UserAgent == "" {
		o.UserAgent = "slipway"
	}
	c := &Client{
		credential: o.Credential, api: api, budget: o.Budget, userAgent: o.UserAgent,
		transport: &bounded{o.Budget.Over(o.Transport)}, plain: &http.Client{Transport: o.Transport, CheckRedirect: onlyTLS},
		clients: map[string]*github.Client{}, installations: map[string]*installation{}, groups: map[string]int64{},
	}
	c.confirming = newConditional(c.transport, api.Host)
	if app := o.Credential.app; app != nil {
		// Each of its requests has a token of its own, of which GitHub could confirm nothing.
		c.app, err = c.rest(c.transport, func(context.Context) (string, error) { return app.assertion(time.Now()) }, nil)
	}
	return c, err
}

// apiURL finds the API of a GitHub: api.github.com, api.NAME.ghe.com, or SERVER/api/v3.
func apiURL(base string) (*url.URL, error) {
	if base == "" {
		base = "https://github.com"
	}
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, slipway.Errorf(slipway.Invalid, "GitHub's base URL is not of the form https://github.example.com")
	}
	if u.Scheme != "https" && !(u.Scheme == "http" && rest.Loopback(u.Hostname())) {
		return nil, slipway.Errorf(slipway.Invalid, "GitHub's base URL %s://%s is without TLS", u.Scheme, u.Host).WithHint("use https://")
	}
	host := strings.ToLower(u.Host)
	path := strings.TrimSuffix(strings.TrimSuffix(u.Path, "/"), "/api/v3")
	switch {
	case path != "":
		return nil, slipway.Errorf(slipway.Invalid, "GitHub's base URL %s://%s%s has a path", u.Scheme, u.Host, u.Path).WithHint("leave it out")
	case host == "github.com" || host == "www.github.com" || host == "api.github.com":
		return &url.URL{Scheme: "https", Host: "api.github.com", Path: "/"}, nil
	case strings.HasSuffix(host, ".ghe.com"):
		return &url.URL{Scheme: "https", Host: "api." + strings.TrimPrefix(host, "api."), Path: "/"}, nil
	}
	return &url.URL{Scheme: u.Scheme, Host: host, Path: "/api/v3/"}, nil
}

// rest returns a client of the REST API that carries a token.
func (c *Client) rest(over http.RoundTripper, token bearer, rejected func(string)) (*github.Client, error) {
	api := c.api.String()
	g, err := github.NewClient(
		github.WithHTTPClient(&http.Client{Transport: &authorised{over, c.api.Host, token, rejected}, CheckRedirect: onlyTLS}),
		github.WithURLs(&api, &api), github.WithUserAgent(c.userAgent),
		github.WithDisableRateLimitCheck(), // the budget does that, for all clients of a credential
	)
	if err != nil {
		return nil, &slipway.Error{Kind: slipway.Invalid, Msg: "GitHub's base URL cannot be used", Err: err}
	}
	return g, nil
}

// of returns the client for what belongs to an owner.
func (c *Client) of(owner string) (*github.Client, error) {
	key := ""
	token := bearer(func(context.Context) (string, error) { return c.credential.token, nil })
	var rejected func(string)
	if c.credential.app != nil {
		rejected = func(token string) { c.forget(owner, token) }
		key = strings.ToLower(owner)
		token = func(ctx context.Context) (string, error) { return c.installationToken(ctx, owner) }
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if g := c.clients[key]; g != nil {
		return g, nil
	}
	g, err := c.rest(c.confirming, token, rejected)
	if err == nil {
		c.clients[key] = g
	}
	return g, err
}

// Budget returns the budget that the client spends.
func (c *Client) Budget() *rest.Budget { return c.budget }

// onlyTLS lets redirects go anywhere with TLS, but not out of it.
func onlyTLS(r *http.Request, via []*http.Request) error {
	if len(via) >= 5 || r.URL.Scheme != "https" && !rest.Loopback(r.URL.Hostname()) {
		return http.ErrUseLastResponse
	}
	return nil
}

// bounded cuts answers that never end.
type bounded struct{ next http.RoundTripper }

func (b *bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := b.next.RoundTrip(r)
	if err == nil {
		res.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(res.Body, maxAnswer), res.Body}
	}
	return res, err
}

// pages calls list for one page after the other until there is none.
func pages(list func(o github.ListOptions) (*github.Response, error)) error {
	o := github.ListOptions{PerPage: perPage}
	for range maxPages {
		res, err := list(o)
		if err != nil {
			return err
		}
		if res.NextPage == 0 {
			return nil
		}
		o.Page = res.NextPage
	}
	return forge.Fail(forge.TooLarge, "GitHub's list has more than 20,000 entries", "", nil)
}
