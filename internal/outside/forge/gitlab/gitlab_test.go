package gitlab

// World: a fake GitLab behind its REST API over loopback HTTP, and between them what GitLab
// says of that API (testdata), which every request and response must fit.

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"slipway.dev/slipway/internal/outside/forge"
	"slipway.dev/slipway/internal/outside/forge/fake"
	"slipway.dev/slipway/internal/outside/forge/forgetest"
	"slipway.dev/slipway/internal/outside/forge/rest"
	"slipway.dev/slipway/internal/slipway"
)

const token = "glpat-0123456789abcdefghij"

var (
	group   = slipway.ForgeScope{Forge: slipway.GitLab, Owner: "acme/tools"}
	project = slipway.ForgeScope{Forge: slipway.GitLab, Owner: "acme/tools", Repository: "shop"}
)

func describe(t testing.TB) *forgetest.Description {
	t.Helper()
	return forgetest.Describe(t, "testdata/gitlab.json", "/api/v4")
}

// open returns a client of a GitLab with the group and the project.
func open(t *testing.T, d *forgetest.Description) (*Client, *fake.GitLab) {
	t.Helper()
	world := fake.NewGitLab(token)
	world.Add("groups/acme")
	world.Add("groups/acme/tools")
	world.Add("projects/acme/tools/shop")
	s := httptest.NewServer(world.Handler())
	t.Cleanup(s.Close)
	c, err := New(Options{
		BaseURL: s.URL, Token: token, Settle: time.Millisecond, Budget: rest.BudgetOptions{PerSecond: 1e6, Registrations: 1e6},
		Transport: &forgetest.Checking{T: t, D: d, Next: s.Client().Transport},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c, world
}

func TestTheClientKeepsTheRunnersContractInGitLabsOwnWords(t *testing.T) {
	t.Parallel()
	d := describe(t)
	t.Run("suite", func(t *testing.T) {
		forgetest.RunRunners(t, func(t *testing.T) (forge.Runners, forgetest.World) {
			c, g := open(t, d)
			refuse := func(status int) func(bool) {
				return func(on bool) {
					if on {
						g.Refuse(status)
					} else {
						g.Refuse(0)
					}
				}
			}
			return c, forgetest.World{
				Scopes: []slipway.ForgeScope{group, project}, Hidden: slipway.ForgeScope{Forge: slipway.GitLab, Owner: "nobody"},
				Online: func(config string) error { _, err := g.Ask(config); return err },
				Give: func(config string) func() {
					job := g.Queue("acme/tools/shop", "gpu")
					if got, err := g.Ask(config); got != job {
						t.Errorf("the runner got job %d, %v", got, err)
					}
					return func() { g.Finish(job, "success") }
				},
				Lose:   func() { g.Lose(http.MethodPost) },
				Outage: refuse(http.StatusBadGateway), Revoke: refuse(http.StatusUnauthorized), Forbid: refuse(http.StatusForbidden),
				Throttle: g.Throttle,
			}
		})
	})
	used := []string{
		"DELETE /runners/{id}", "GET /groups/{id}", "GET /groups/{id}/runners", "GET /projects/{id}", "GET /projects/{id}/runners",
		"GET /runners/{id}", "GET /runners/{id}/jobs", "POST /user/runners", "PUT /runners/{id}",
	}
	if diff := cmp.Diff(d.Used(), used); diff != "" {
		t.Errorf("what was asked (-got +want):\n%s", diff)
	}
}

func TestARunnerIsRegisteredAsThePoolAsks(t *testing.T) {
	t.Parallel()
	c, g := open(t, describe(t))
	for _, tc := range []struct {
		name             string
		scope            slipway.ForgeScope
		labels           []string
		untagged, locked bool
	}{
		{"slw-group", group, []string{"gpu", "Linux"}, false, false},
		{"slw-project", project, []string{"gpu"}, false, true},
		{"slw-untagged", group, nil, true, false},
	} {
		if _, err := c.Register(t.Context(), tc.scope, forge.Registration{Name: tc.name, Labels: tc.labels, Timeout: 90 * time.Minute}); err != nil {
			t.Fatal(err)
		}
		tags, untagged, locked, paused, timeout := g.Registered(tc.name)
		if !slices.Equal(tags, tc.labels) || untagged != tc.untagged || locked != tc.locked || paused || timeout != 5400 {
			t.Errorf("%s has tags %v, untagged %t, locked %t, paused %t, timeout %d", tc.name, tags, untagged, locked, paused, timeout)
		}
	}
	finds := 0
	for _, r := range g.Sent() {
		if r == "GET /groups/acme%2Ftools" {
			finds++
		}
	}
	if finds != 1 {
		t.Errorf("the group's number was asked for %d times", finds)
	}
	if _, err := c.Register(t.Context(), group, forge.Registration{Name: "slw-short", Timeout: time.Minute}); !forge.Is(err, forge.Invalid) {
		t.Errorf("a timeout that GitLab does not take: %v", err)
	}
}

// A group that was deleted and made anew has another number.
func TestAGroupsNumberIsAskedForAgainAfterARefusal(t *testing.T) {
	t.Parallel()
	c, g := open(t, describe(t))
	if _, err := c.Register(t.Context(), group, forge.Registration{Name: "slw-1"}); err != nil {
		t.Fatal(err)
	}
	g.Add("groups/acme/tools")
	if _, err := c.Register(t.Context(), group, forge.Registration{Name: "slw-2"}); !forge.Is(err, forge.Refused) {
		t.Errorf("with the old number: %v", err)
	}
	if _, err := c.Register(t.Context(), group, forge.Registration{Name: "slw-3"}); err != nil {
		t.Errorf("with the new number: %v", err)
	}
}

func TestARunnerIsPausedBeforeItIsAskedForItsJobsAndThenDeleted(t *testing.T) {
	t.Parallel()
	c, g := open(t, describe(t))
	made, err := c.Register(t.Context(), group, forge.Registration{Name: "slw-1", Labels: []string{"gpu"}})
	if err != nil {
		t.Fatal(err)
	}
	from := len(g.Sent())
	if err := c.Unregister(t.Context(), group, made.Runner.ID); err != nil {
		t.Fatal(err)
	}
	id := strings.Fields(g.Sent()[from])[1]
	if d := cmp.Diff(g.Sent()[from:], []string{"PUT " + id, "GET " + id + "/jobs", "GET " + id + "/jobs", "DELETE " + id}); d != "" {
		t.Errorf("asked (-got +want):\n%s", d)
	}
}

// A request for a job that GitLab took up before the pause may end in a job after it.
func TestAJobThatComesWithThePauseIsFound(t *testing.T) {
	t.Parallel()
	c, g := open(t, describe(t))
	made, err := c.Register(t.Context(), group, forge.Registration{Name: "slw-1", Labels: []string{"gpu"}})
	if err != nil {
		t.Fatal(err)
	}
	job, asked := g.Queue("acme/tools/shop", "gpu"), 0
	g.Before(func(r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/jobs") {
			if asked++; asked == 2 {
				g.GiveLate(job, made.Config)
			}
		}
	})
	if err := c.Unregister(t.Context(), group, made.Runner.ID); !forge.Is(err, forge.Busy) {
		t.Errorf("Unregister() = %v", err)
	}
	if _, _, _, paused, _ := g.Registered("slw-1"); !paused || g.Job(job) != "running" {
		t.Errorf("it is paused: %t, and its job is %s", paused, g.Job(job))
	}
}

func TestEveryStateThatIsNoEndCountsAsAJob(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		status string
		busy   bool
	}{
		{"running", true}, {"canceling", true}, {"waiting_for_callback", true}, {"pending", true},
		{"success", false}, {"failed", false}, {"canceled", false},
	} {
		c, g := open(t, describe(t))
		made, err := c.Register(t.Context(), group, forge.Registration{Name: "slw-1", Labels: []string{"gpu"}})
		if err != nil {
			t.Fatal(err)
		}
		job := g.Queue("acme/tools/shop", "gpu")
		if _, err := g.Ask(made.Config); err != nil {
			t.Fatal(err)
		}
		g.Finish(job, tc.status)
		if err := c.Unregister(t.Context(), group, made.Runner.ID); forge.Is(err, forge.Busy) != tc.busy || !tc.busy && err != nil {
			t.Errorf("%s: Unregister() = %v", tc.status, err)
		}
	}
}

func TestARunnerThatHasEndedIsDiscardedWithItsJob(t *testing.T) {
	t.Parallel()
	c, g := open(t, describe(t))
	made, err := c.Register(t.Context(), group, forge.Registration{Name: "slw-1", Labels: []string{"gpu"}})
	if err != nil {
		t.Fatal(err)
	}
	g.Queue("acme/tools/shop", "gpu")
	if _, err := g.Ask(made.Config); err != nil {
		t.Fatal(err)
	}
	var d forge.Discarder = c
	if err := d.Discard(t.Context(), group, made.Runner.ID); err != nil || len(g.Names()) != 0 {
		t.Errorf("Discard() = %v, and left are %v", err, g.Names())
	}
	if err := d.Discard(t.Context(), group, made.Runner.ID); !forge.Is(err, forge.NotFound) {
		t.Errorf("once more: %v", err)
	}
}

// A server before 18 tells of no runner whether it has a job; only its removal tells.
func TestAnOlderServerTellsOfABusyRunnerWhenItIsToGo(t *testing.T) {
	t.Parallel()
	c, g := open(t, describe(t))
	g.Old()
	made, err := c.Register(t.Context(), group, forge.Registration{Name: "slw-1", Labels: []string{"gpu"}})
	if err != nil {
		t.Fatal(err)
	}
	g.Queue("acme/tools/shop", "gpu")
	if _, err := g.Ask(made.Config); err != nil {
		t.Fatal(err)
	}
	all, err := c.Runners(t.Context(), group)
	if err != nil || len(all) != 1 || !all[0].Online || all[0].Busy {
		t.Errorf("listed %+v, %v", all, err)
	}
	if err := c.Unregister(t.Context(), group, made.Runner.ID); !forge.Is(err, forge.Busy) {
		t.Errorf("Unregister() = %v", err)
	}
}

func TestARefusalNamesTheScopeAndTheRole(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		method string
		scope  slipway.ForgeScope
		do     func(*Client, slipway.ForgeScope) error
		says   []string
	}{
		{"POST", group, register, []string{"create_runner", "role Owner in the group acme/tools", "insufficient_scope"}},
		{"POST", project, register, []string{"create_runner", "role Maintainer in the project acme/tools/shop"}},
		{"PUT", group, unregister, []string{"manage_runner", "role Owner in the group acme/tools"}},
		{"GET", group, register, []string{"read_api", "find acme/tools"}},
	} {
		c, g := open(t, describe(t))
		g.RefuseOf(tc.method, http.StatusForbidden)
		err := tc.do(c, tc.scope)
		var e *slipway.Error
		if !forge.Is(err, forge.Refused) || !errors.As(err, &e) {
			t.Errorf("%s: %v", tc.method, err)
			continue
		}
		for _, w := range tc.says {
			if said := e.Msg + "; " + e.Hint; !strings.Contains(said, w) {
				t.Errorf("%s of %s: %q does not say %q", tc.method, tc.scope, said, w)
			}
		}
	}
}

func register(c *Client, s slipway.ForgeScope) error {
	_, err := c.Register(context.Background(), s, forge.Registration{Name: "slw-x", Labels: []string{"x"}})
	return err
}

func unregister(c *Client, s slipway.ForgeScope) error {
	return c.Unregister(context.Background(), s, 1)
}

// A list that was changed while it was read may lack a runner that is there.
func TestAListThatIsShorterThanGitLabSaysIsNoList(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Total", "2")
		_, _ = w.Write([]byte(`[{"id":1,"description":"slw-1","status":"online","runner_type":"group_type"}]`))
	}))
	defer s.Close()
	c, err := New(Options{BaseURL: s.URL, Token: token})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Runners(t.Context(), group); !forge.Is(err, forge.Away) {
		t.Errorf("Runners() = %v", err)
	}
}

func TestTheTokenGoesNowhereElse(t *testing.T) {
	t.Parallel()
	var got []string
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = append(got, r.Header.Get("Authorization")) }))
	defer other.Close()
	s := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer s.Close()
	c, err := New(Options{BaseURL: s.URL, Token: token})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Runners(t.Context(), group)
	if !forge.Is(err, forge.Refused) || len(got) > 0 {
		t.Errorf("a redirect: %v, followed %d times", err, len(got))
	}
	if err == nil || strings.Contains(err.Error(), token) {
		t.Errorf("the error is %v", err)
	}
}

func TestCredentialsAndAddressesAreChecked(t *testing.T) {
	t.Parallel()
	var all Clients
	for _, tc := range []struct{ base, credential, says string }{
		{"", token, ""},
		{"https://git.example.com/", token + "\n", ""},
		{"", "glpat-xyz.01.0123456789abcdef", ""},
		{"", "glrt-0123456789abcdefghij", "the token of one runner"},
		{"", "token = glpat-0123456789", "no GitLab access token"},
		{"http://git.example.com", token, "without TLS"},
		{"https://git.example.com/gitlab", token, "not of the form"},
		{"https://user:secret@git.example.com", token, "not of the form"},
	} {
		_, err := all.For(tc.base, tc.credential)
		if (err == nil) != (tc.says == "") || err != nil && (!strings.Contains(err.Error(), tc.says) || strings.Contains(err.Error(), "0123456789")) {
			t.Errorf("%s with a credential: %v, want …%s…", tc.base, err, tc.says)
		}
	}
	one, _ := all.For("", token)
	if again, err := all.For("", token); again != one || err != nil {
		t.Errorf("the same token has two clients: %v", err)
	}
	if other, err := all.For("https://git.example.com", token); other == one || err != nil {
		t.Errorf("two servers have one client: %v", err)
	}
}
