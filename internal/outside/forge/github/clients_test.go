package github

import (
	"fmt"
	"testing"
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

func ExampleCredential_String() {
	c, err := ParseCredential("github_pat_0123456789abcdefghij")
	fmt.Printf("%v %s %+v %#v %v\n", c, c, c, c, err)
	// Output: (a credential) (a credential) (a credential) (a credential) <nil>
}
