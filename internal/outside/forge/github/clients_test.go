package github

import (
	"net/http"
	"strconv"
	"testing"
	"time"
)

// World: pure.
func TestClientsAreSharedByThoseWithTheSameCredential(t *testing.T) {
	t.Parallel()
	var s Clients
	get := func(base, token string) *Client {
		t.Helper()
		c, err := s.For(base, token)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	const one, two = "ghp_0123456789abcdefghij", "ghp_9876543210abcdefghij"
	a := get("", one)
	for name, tc := range map[string]struct {
		c    *Client
		same bool
	}{
		"the same again":                       {get("", one), true},
		"with github.com written out":          {get("https://GitHub.com/", one), true},
		"another credential":                   {get("", two), false},
		"the same at a server of one's own":    {get("https://github.example.com", one), false},
		"with the blanks that a file may have": {get("", one+"\n"), true},
	} {
		if got := tc.c == a; got != tc.same {
			t.Errorf("%s: the client is the same: %t, want %t", name, got, tc.same)
		}
	}
	if _, err := s.For("", "not a token"); err == nil {
		t.Error("no credential was taken for one")
	}
	if got := len(s.Budgets()); got != 3 {
		t.Errorf("there are %d budgets, want one for each client: 3", got)
	}
}

// World: pure.
func TestClientsForgetWhatIsNotUsed(t *testing.T) {
	t.Parallel()
	var s Clients
	old, err := s.For("", "ghp_0123456789abcdefghij")
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range s.known {
		k.used = k.used.Add(-unusedFor - time.Minute)
	}
	if _, err := s.For("", "ghp_9876543210abcdefghij"); err != nil {
		t.Fatal(err)
	}
	if again, err := s.For("", "ghp_0123456789abcdefghij"); err != nil || again == old {
		t.Errorf("a client that nobody used for a day is kept: %v", err)
	}
}

// World: pure.
func TestSpareSaysWhetherThereIsRoomForWhatCanWait(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		header http.Header
		code   int
		want   bool
	}{
		"nothing is known":          {nil, 200, true},
		"half is left":              {limits("5000", "2500", time.Hour), 200, true},
		"a fifth is left":           {limits("5000", "1000", time.Hour), 200, false},
		"the hour is over":          {limits("5000", "1000", -time.Minute), 200, true},
		"GitHub asked to keep away": {http.Header{"Retry-After": {"60"}}, 429, false},
	} {
		c := &Client{budget: NewBudget(BudgetOptions{})}
		c.budget.learn(&http.Response{StatusCode: tc.code, Header: tc.header})
		if got := c.Spare(); got != tc.want {
			t.Errorf("%s: Spare() = %t, want %t", name, got, tc.want)
		}
	}
}

func limits(limit, left string, reset time.Duration) http.Header {
	h := http.Header{}
	h.Set("X-RateLimit-Limit", limit)
	h.Set("X-RateLimit-Remaining", left)
	h.Set("X-RateLimit-Reset", strconv.FormatInt(time.Now().Add(reset).Unix(), 10))
	return h
}
