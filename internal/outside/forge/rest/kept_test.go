package rest

import (
	"errors"
	"testing"
	"time"
)

type client struct{ b *Budget }

func (c *client) Budget() *Budget { return c.b }

// World: pure.
func TestClientsAreKeptWhileTheyAreUsed(t *testing.T) {
	t.Parallel()
	var s Kept[*client]
	fresh := func() (*client, error) { return &client{NewBudget(BudgetOptions{})}, nil }
	get := func(key string) *client {
		t.Helper()
		c, err := s.Get(key, fresh)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	old := get("a")
	if get("a") != old || get("b") == old || len(s.Budgets()) != 2 {
		t.Error("one credential has two clients, or two have one")
	}
	for _, k := range s.known {
		k.used = k.used.Add(-unusedFor - time.Minute)
	}
	get("c")
	if get("a") == old || len(s.Budgets()) != 2 {
		t.Error("a client that nobody used for a day is kept")
	}
	cause := errors.New("no credential")
	if _, err := s.Get("d", func() (*client, error) { return nil, cause }); !errors.Is(err, cause) {
		t.Errorf("Get() = %v", err)
	}
	if len(s.Budgets()) != 2 {
		t.Error("what could not be made is kept")
	}
}
