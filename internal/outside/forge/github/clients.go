package github

import (
	"net/http"
	"strings"
	"sync"
	"time"
)

// Clients keeps one client for each credential at each GitHub, so that all who use a
// credential share its budget, its tokens and what it has learnt. The zero value is ready.
type Clients struct {
	Budget    BudgetOptions
	Transport http.RoundTripper // nil: the default one
	UserAgent string

	mu    sync.Mutex
	known map[string]*kept
}

type kept struct {
	client *Client
	used   time.Time
}

// unusedFor is how long a client that nobody asked for is kept. A credential that was
// replaced is never asked for again.
const unusedFor = 24 * time.Hour

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
	key, now := parsed.Key(baseURL), time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := s.known[key]; k != nil {
		k.used = now
		return k.client, nil
	}
	c, err := New(Options{BaseURL: baseURL, Credential: parsed, Budget: NewBudget(s.Budget), Transport: s.Transport, UserAgent: s.UserAgent})
	if err != nil {
		return nil, err
	}
	if s.known == nil {
		s.known = map[string]*kept{}
	}
	for old, k := range s.known {
		if now.Sub(k.used) > unusedFor {
			delete(s.known, old)
		}
	}
	s.known[key] = &kept{c, now}
	return c, nil
}

// Budgets returns the budget of each client, by a key that does not tell the credential.
func (s *Clients) Budgets() map[string]BudgetState {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make(map[string]BudgetState, len(s.known))
	for key, k := range s.known {
		out[key] = k.client.budget.State()
	}
	return out
}

// Spare reports whether requests are left for what can wait: GitHub has not asked to keep
// away, and a quarter of the hour's requests, as it counted them last, is still there.
func (c *Client) Spare() bool {
	b := c.budget.State()
	return b.Until.IsZero() && (b.Limit == 0 || b.Reset.Before(time.Now()) || b.Remaining*4 >= b.Limit)
}
