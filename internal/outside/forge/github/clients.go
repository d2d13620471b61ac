package github

import (
	"net/http"
	"strings"

	"slipway.dev/slipway/internal/outside/forge/rest"
)

// Clients keeps one client for each credential at each GitHub, so that all who use a
// credential share its budget, its tokens and what it has learnt. The zero value is ready.
type Clients struct {
	Budget    rest.BudgetOptions
	Transport http.RoundTripper // nil: the default one
	UserAgent string

	kept rest.Kept[*Client]
}

// For returns the client of a secret's value at a base URL. It asks nobody yet.
func (s *Clients) For(baseURL, credential string) (*Client, error) {
	parsed, err := ParseCredential(credential)
	if err != nil {
		return nil, err
	}
	baseURL = strings.ToLower(strings.TrimSuffix(baseURL, "/"))
	if baseURL == "https://github.com" {
		baseURL = ""
	}
	return s.kept.Get(parsed.Key(baseURL), func() (*Client, error) {
		return New(Options{BaseURL: baseURL, Credential: parsed, Budget: newBudget(s.Budget), Transport: s.Transport, UserAgent: s.UserAgent})
	})
}

// Budgets returns the budget of each client, by a key that does not tell the credential.
func (s *Clients) Budgets() map[string]rest.BudgetState { return s.kept.Budgets() }

// Spare reports whether requests are left for what can wait.
func (c *Client) Spare() bool { return c.budget.Spare() }

// newBudget is a budget with GitHub's own counting of registrations.
func newBudget(o rest.BudgetOptions) *rest.Budget {
	o.Forge = "GitHub"
	o.Registers = func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/generate-jitconfig") }
	return rest.NewBudget(o)
}
