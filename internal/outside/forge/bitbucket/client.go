package bitbucket

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

// Clients keeps one client for each credential. The zero value is ready.
type Clients struct {
	Budget    rest.BudgetOptions
	Transport http.RoundTripper // nil: the default one
	UserAgent string
	Settle    time.Duration // see Options

	kept rest.Kept[*Client]
}

// For returns the client of a secret's value; the base URL is empty but in tests. It asks
// nobody yet.
func (s *Clients) For(baseURL, credential string) (*Client, error) {
	if _, err := parseCredential(credential); err != nil {
		return nil, err
	}
	return s.kept.Get(rest.Key(baseURL, strings.TrimSpace(credential)), func() (*Client, error) {
		return New(Options{BaseURL: baseURL, Credential: credential, Budget: s.Budget, Transport: s.Transport, UserAgent: s.UserAgent, Settle: s.Settle})
	})
}

// Budgets returns the budget of each client, by a key that does not tell the credential.
func (s *Clients) Budgets() map[string]rest.BudgetState { return s.kept.Budgets() }

// Options of a Client.
type Options struct {
	BaseURL    string // of the API; empty: Bitbucket Cloud's
	Credential string // an access token, or the e-mail address of an account, a colon and its API token
	Budget     rest.BudgetOptions
	Transport  http.RoundTripper
	UserAgent  string
	// Settle is how long a step that was handed out before its runner was disabled may take
	// until it shows; 0: 5 s.
	Settle time.Duration
}

// Client speaks to Bitbucket Cloud with one credential.
type Client struct {
	rest   *rest.Client
	settle time.Duration

	mu     sync.Mutex
	places map[string]place // by the scope's name
	uuids  map[int64]string // of runners, by our number
}

var (
	_ forge.Runners   = (*Client)(nil)
	_ forge.Discarder = (*Client)(nil)
)

const defaultSettle = 5 * time.Second

// New returns a client. It asks nobody yet.
func New(o Options) (*Client, error) {
	if o.BaseURL == "" {
		o.BaseURL = "https://api.bitbucket.org"
	}
	api, err := rest.Address("Bitbucket", o.BaseURL)
	if err != nil {
		return nil, err
	}
	sign, err := parseCredential(o.Credential)
	if err != nil {
		return nil, err
	}
	if o.Settle == 0 {
		o.Settle = defaultSettle
	}
	o.Budget.Forge = "Bitbucket"
	o.Budget.Registers = func(r *http.Request) bool { return r.Method == http.MethodPost }
	return &Client{
		rest: rest.NewClient(rest.Options{
			Forge: "Bitbucket", API: api, Budget: rest.NewBudget(o.Budget), Transport: o.Transport, UserAgent: o.UserAgent, Sign: sign,
		}),
		settle: o.Settle, places: map[string]place{}, uuids: map[int64]string{},
	}, nil
}

// Budget returns the budget that the client spends.
func (c *Client) Budget() *rest.Budget { return c.rest.Budget }

var (
	tokenForm = regexp.MustCompile(`^[A-Za-z0-9_.=+/-]{20,1000}$`)
	emailForm = regexp.MustCompile(`^[^\s:@]{1,200}@[^\s:@]{1,200}$`)
)

// parseCredential reads a secret's value. An error never shows it.
func parseCredential(value string) (sign func(*http.Request), err error) {
	value = strings.TrimSpace(value)
	if email, token, found := strings.Cut(value, ":"); found {
		if !emailForm.MatchString(email) || !tokenForm.MatchString(token) {
			return nil, slipway.Errorf(slipway.Invalid, "the credential is no e-mail address with an API token").
				WithHint("save you@example.com:TOKEN, with the address of the Atlassian account that the token is of")
		}
		return func(r *http.Request) { r.SetBasicAuth(email, token) }, nil
	}
	switch {
	case strings.HasPrefix(value, "ATATT"):
		return nil, slipway.Errorf(slipway.Invalid, "the credential is an API token without the account that it is of").
			WithHint("save you@example.com:TOKEN, with the address of the Atlassian account that the token is of")
	case !tokenForm.MatchString(value):
		return nil, slipway.Errorf(slipway.Invalid, "the credential is no access token of Bitbucket").
			WithHint("save the token alone, without quotes or a name before it; an API token as you@example.com:TOKEN")
	}
	return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+value) }, nil
}
