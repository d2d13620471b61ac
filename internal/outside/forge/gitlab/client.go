package gitlab

import (
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"

	"slipway.dev/slipway/internal/outside/forge"
	"slipway.dev/slipway/internal/outside/forge/rest"
	"slipway.dev/slipway/internal/slipway"
)

// Clients keeps one client for each token at each GitLab. The zero value is ready.
type Clients struct {
	Budget    rest.BudgetOptions
	Transport http.RoundTripper // nil: the default one
	UserAgent string
	Settle    time.Duration // see Options

	kept rest.Kept[*Client]
}

// For returns the client of a secret's value at a base URL. It asks nobody yet.
func (s *Clients) For(baseURL, credential string) (*Client, error) {
	token, err := parseToken(credential)
	if err != nil {
		return nil, err
	}
	return s.kept.Get(rest.Key(baseURL, token), func() (*Client, error) {
		return New(Options{BaseURL: baseURL, Token: token, Budget: s.Budget, Transport: s.Transport, UserAgent: s.UserAgent, Settle: s.Settle})
	})
}

// Budgets returns the budget of each client, by a key that does not tell the token.
func (s *Clients) Budgets() map[string]rest.BudgetState { return s.kept.Budgets() }

// Options of a Client.
type Options struct {
	BaseURL   string // of a server of one's own; empty: gitlab.com
	Token     string // of a person, a group or a project
	Budget    rest.BudgetOptions
	Transport http.RoundTripper
	UserAgent string
	// Settle is how long GitLab may take to hand out a job that it was asked for before the
	// runner was paused; 0: 2 s.
	Settle time.Duration
}

// Client speaks to one GitLab with one token.
type Client struct {
	rest   *rest.Client
	settle time.Duration

	mu  sync.Mutex
	ids map[string]int64 // GitLab's numbers of groups and projects, by their path
}

var _ forge.Runners = (*Client)(nil)

const defaultSettle = 2 * time.Second

// New returns a client. It asks nobody yet.
func New(o Options) (*Client, error) {
	if o.BaseURL == "" {
		o.BaseURL = "https://gitlab.com"
	}
	api, err := rest.Address("GitLab", o.BaseURL)
	if err != nil {
		return nil, err
	}
	token, err := parseToken(o.Token)
	if err != nil {
		return nil, err
	}
	if o.Settle == 0 {
		o.Settle = defaultSettle
	}
	o.Budget.Forge = "GitLab"
	o.Budget.Registers = func(r *http.Request) bool { return r.Method == http.MethodPost }
	return &Client{
		rest: rest.NewClient(rest.Options{
			Forge: "GitLab", API: api.JoinPath("api", "v4"), Budget: rest.NewBudget(o.Budget), Transport: o.Transport, UserAgent: o.UserAgent,
			Sign: func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) },
		}),
		settle: o.Settle, ids: map[string]int64{},
	}, nil
}

// Budget returns the budget that the client spends.
func (c *Client) Budget() *rest.Budget { return c.rest.Budget }

var tokenForm = regexp.MustCompile(`^[A-Za-z0-9_.-]{20,400}$`)

// parseToken reads a secret's value. An error never shows it.
func parseToken(value string) (string, error) {
	value = strings.TrimSpace(value)
	switch {
	case strings.HasPrefix(value, "glrt-"):
		return "", slipway.Errorf(slipway.Invalid, "the credential is the token of one runner, and runners are to be made with it").
			WithHint("save an access token of a group or a project, with the scopes create_runner, manage_runner and read_api")
	case !tokenForm.MatchString(value):
		return "", slipway.Errorf(slipway.Invalid, "the credential is no GitLab access token").
			WithHint("save the token alone, without quotes or a name before it")
	}
	return value, nil
}
