package rest

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"sync"
	"time"
)

// Kept keeps one client for each credential at each forge, by a key that does not tell the
// credential. The zero value is ready.
type Kept[C interface{ Budget() *Budget }] struct {
	mu    sync.Mutex
	known map[string]*kept[C]
}

type kept[C any] struct {
	client C
	used   time.Time
}

// unusedFor is how long a client that nobody asked for is kept. A credential that was
// replaced is never asked for again.
const unusedFor = 24 * time.Hour

// Key names a credential at a base URL without telling it.
func Key(baseURL, credential string) string {
	sum := sha256.Sum256([]byte(strings.ToLower(baseURL) + "\n" + credential))
	return hex.EncodeToString(sum[:16])
}

// Get returns the client of a key, and makes it when there is none.
func (s *Kept[C]) Get(key string, make func() (C, error)) (C, error) {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := s.known[key]; k != nil {
		k.used = now
		return k.client, nil
	}
	c, err := make()
	if err != nil {
		return c, err
	}
	if s.known == nil {
		s.known = map[string]*kept[C]{}
	}
	for old, k := range s.known {
		if now.Sub(k.used) > unusedFor {
			delete(s.known, old)
		}
	}
	s.known[key] = &kept[C]{c, now}
	return c, nil
}

// Budgets returns the budget of each client.
func (s *Kept[C]) Budgets() map[string]BudgetState {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]BudgetState{}
	for key, k := range s.known {
		out[key] = k.client.Budget().State()
	}
	return out
}
