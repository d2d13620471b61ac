package bitbucket

// World: a fake Bitbucket behind its REST API over loopback HTTP, and between them what is
// known of that API (testdata), which every request and response must fit.

import (
	"encoding/json"
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

const token = "ATCTT0123456789abcdefghij"

var (
	workspace  = slipway.ForgeScope{Forge: slipway.Bitbucket, Owner: "acme"}
	repository = slipway.ForgeScope{Forge: slipway.Bitbucket, Owner: "acme", Repository: "shop"}
)

// open returns a client of a Bitbucket with the workspace and the repository.
func open(t *testing.T, d *forgetest.Description) (*Client, *fake.Bitbucket) {
	t.Helper()
	world := fake.NewBitbucket("Bearer " + token)
	world.Add("acme")
	world.Add("acme/shop")
	s := httptest.NewServer(world.Handler())
	t.Cleanup(s.Close)
	c, err := New(Options{
		BaseURL: s.URL, Credential: token, Settle: time.Millisecond, Budget: rest.BudgetOptions{PerSecond: 1e6, Registrations: 1e6},
		Transport: &forgetest.Checking{T: t, D: d, Next: s.Client().Transport},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c, world
}

func described(t *testing.T) *forgetest.Description {
	t.Helper()
	return forgetest.Describe(t, "testdata/bitbucket.json", "")
}

func TestTheClientKeepsTheRunnersContractOnBitbucket(t *testing.T) {
	t.Parallel()
	d := described(t)
	t.Run("suite", func(t *testing.T) {
		forgetest.RunRunners(t, func(t *testing.T) (forge.Runners, forgetest.World) {
			c, b := open(t, d)
			refuse := func(status int) func(bool) {
				return func(on bool) {
					if on {
						b.RefuseOf("", status)
					} else {
						b.RefuseOf("", 0)
					}
				}
			}
			return c, forgetest.World{
				Scopes: []slipway.ForgeScope{workspace, repository}, Hidden: slipway.ForgeScope{Forge: slipway.Bitbucket, Owner: "nobody"},
				Online: func(config string) error { _, err := b.Ask(config); return err },
				Give: func(config string) func() {
					step := b.Queue("acme/shop", "gpu")
					if got, err := b.Ask(config); got != step {
						t.Errorf("the runner got step %d, %v", got, err)
					}
					return func() { b.Finish(step) }
				},
				Lose:   func() { b.Lose(http.MethodPost) },
				Outage: refuse(http.StatusBadGateway), Revoke: refuse(http.StatusUnauthorized), Forbid: refuse(http.StatusForbidden),
				Throttle: b.Throttle,
			}
		})
	})
	var used []string
	for _, at := range []string{"/repositories/{workspace}/{repo_slug}", "/workspaces/{workspace}"} {
		runners := "/internal" + at + "/pipelines-config/runners"
		used = append(used, "GET /2.0"+at, "GET "+runners, "POST "+runners, "GET "+runners+"/{runner_uuid}", "DELETE "+runners+"/{runner_uuid}", "PUT "+runners+"/{runner_uuid}/state")
	}
	slices.Sort(used)
	if diff := cmp.Diff(d.Used(), used); diff != "" {
		t.Errorf("what was asked (-got +want):\n%s", diff)
	}
}

func registered(t *testing.T, c *Client, s slipway.ForgeScope, name string) forge.Configured {
	t.Helper()
	made, err := c.Register(t.Context(), s, forge.Registration{Name: name, Labels: []string{"self.hosted", "linux", "gpu"}})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func TestARegistrationHasWhatTheProgramIsStartedWith(t *testing.T) {
	t.Parallel()
	c, b := open(t, described(t))
	for _, s := range []slipway.ForgeScope{workspace, repository} {
		name := "slw-" + s.String()
		made := registered(t, c, s, name)
		var told map[string]string
		if err := json.Unmarshal([]byte(made.Config), &told); err != nil {
			t.Fatal(err)
		}
		want := []string{"account_uuid", "oauth_client_id", "oauth_client_secret", "runner_uuid"}
		if s.Repository != "" {
			want = append(want, "repository_uuid")
		}
		for _, key := range want {
			if told[key] == "" {
				t.Errorf("%s: it is not told %s", s, key)
			}
		}
		if len(told) != len(want) || !slices.Equal(b.Labels(name), []string{"self.hosted", "linux", "gpu"}) {
			t.Errorf("%s: it is told %d values, and has the labels %v", s, len(told), b.Labels(name))
		}
	}
	finds := 0
	for _, r := range b.Sent() {
		if r == "GET /2.0/workspaces/acme" {
			finds++
		}
	}
	if finds != 1 {
		t.Errorf("the workspace was looked up %d times: once for its own scope, and the repository names it", finds)
	}
}

func TestARunnerIsDisabledBeforeItsStepIsLookedFor(t *testing.T) {
	t.Parallel()
	c, b := open(t, described(t))
	made := registered(t, c, workspace, "slw-1")
	from := len(b.Sent())
	if err := c.Unregister(t.Context(), workspace, made.Runner.ID); err != nil {
		t.Fatal(err)
	}
	got := b.Sent()[from:]
	_, at, _ := strings.Cut(strings.TrimSuffix(got[0], "/state"), " ")
	if d := cmp.Diff(got, []string{"PUT " + at + "/state", "GET " + at, "GET " + at, "DELETE " + at}); d != "" {
		t.Errorf("asked (-got +want):\n%s", d)
	}
}

// A step that was handed out just before its runner was disabled may show after that.
func TestAStepThatComesWithTheEndIsFound(t *testing.T) {
	t.Parallel()
	c, b := open(t, described(t))
	made := registered(t, c, workspace, "slw-1")
	step, looks := b.Queue("acme/shop", "gpu"), 0
	b.Before(func(r *http.Request) {
		if r.Method == http.MethodGet {
			if looks++; looks == 2 {
				b.GiveLate(step, made.Config)
			}
		}
	})
	if err := c.Unregister(t.Context(), workspace, made.Runner.ID); !forge.Is(err, forge.Busy) {
		t.Errorf("Unregister() = %v", err)
	}
	if got := b.Step(step); got != "IN_PROGRESS" || len(b.Names()) != 1 {
		t.Errorf("its step is %s, and registered are %v", got, b.Names())
	}
	b.Queue("acme/shop", "gpu")
	b.Finish(step)
	if got, err := b.Ask(made.Config); got != 0 || err != nil {
		t.Errorf("disabled, it got step %d, %v", got, err)
	}
	// It is still there for the pool: its step may be seen to end.
	if r, err := c.Runner(t.Context(), workspace, made.Runner.ID); err != nil || !r.Online || r.Busy {
		t.Errorf("disabled and without a step it is %+v, %v", r, err)
	}
}

func TestARunnerThatWasNotDisabledIsNotRemoved(t *testing.T) {
	t.Parallel()
	c, b := open(t, described(t))
	made := registered(t, c, workspace, "slw-1")
	b.Stubborn()
	if err := c.Unregister(t.Context(), workspace, made.Runner.ID); !forge.Is(err, forge.Away) || len(b.Names()) != 1 {
		t.Errorf("Unregister() = %v, and registered are %v", err, b.Names())
	}
}

// Another process knows a runner by our number alone.
func TestARunnerIsFoundByItsNumber(t *testing.T) {
	t.Parallel()
	d := described(t)
	c, b := open(t, d)
	made := registered(t, c, repository, "slw-1")
	c.mu.Lock()
	clear(c.uuids)
	c.mu.Unlock()
	if r, err := c.Runner(t.Context(), repository, made.Runner.ID); err != nil || r.Name != "slw-1" {
		t.Errorf("it is %+v, %v", r, err)
	}
	// What the workspace has is none of the repository's.
	if _, err := c.Runner(t.Context(), workspace, made.Runner.ID); !forge.Is(err, forge.NotFound) {
		t.Errorf("in the workspace it is %v", err)
	}
	if err := c.Discard(t.Context(), repository, made.Runner.ID); err != nil || len(b.Names()) != 0 {
		t.Errorf("Discard() = %v", err)
	}
	if err := c.Discard(t.Context(), repository, made.Runner.ID); !forge.Is(err, forge.NotFound) {
		t.Errorf("once more: %v", err)
	}
}

func TestARefusalNamesTheScopes(t *testing.T) {
	t.Parallel()
	c, b := open(t, described(t))
	b.RefuseOf(http.MethodPost, http.StatusForbidden)
	_, err := c.Register(t.Context(), repository, forge.Registration{Name: "slw-x", Labels: []string{"x"}})
	var e *slipway.Error
	if !forge.Is(err, forge.Refused) || !errors.As(err, &e) || !strings.Contains(e.Hint, "write:runner:bitbucket") || !strings.Contains(e.Hint, "administrator of the repository acme/shop") ||
		!strings.Contains(e.Msg, "privilege scopes") {
		t.Errorf("it says %v; %+v", err, e)
	}
}

func answering(t *testing.T, list string) *Client {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/2.0/") {
			_, _ = w.Write([]byte(`{"uuid":"{11111111-1111-1111-1111-111111111111}"}`))
			return
		}
		_, _ = w.Write([]byte(list))
	}))
	t.Cleanup(s.Close)
	c, err := New(Options{BaseURL: s.URL, Credential: token})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAListThatCannotBeBelievedIsNone(t *testing.T) {
	t.Parallel()
	one := `{"uuid":"{22222222-2222-2222-2222-222222222222}","name":"slw-1","state":{"status":"ONLINE","step":null}}`
	for list, ok := range map[string]bool{
		`{"values":[` + one + `]}`:          true,
		`{"values":[]}`:                     true,
		`{}`:                                false,
		`{"values":[` + one + `],"size":2}`: false,
		`{"values":[{"uuid":"1","name":"slw-1"}]}`:                                                   false,
		`{"values":[` + one + `],"next":"https://evil.example.com"}`:                                 false,
		`{"values":[` + one + `,` + strings.Replace(one, "222222222222}", "333333333333}", 1) + `]}`: false,
	} {
		got, err := answering(t, list).Runners(t.Context(), workspace)
		if ok && (err != nil || len(got) > 0 && got[0].Busy) || !ok && !forge.Is(err, forge.Away) {
			t.Errorf("%s: %+v, %v", list, got, err)
		}
	}
}

// An answer that names no workspace beside the repository is no end.
func TestARepositoryIsFoundWithItsWorkspace(t *testing.T) {
	t.Parallel()
	c := answering(t, `{"values":[]}`)
	p, err := c.place(t.Context(), repository)
	if err != nil || p.workspace == "" || p.repository == "" || !strings.Contains(p.runners(), "/internal/repositories/%7B11111111-") {
		t.Errorf("it is %+v, %v", p, err)
	}
}

func TestCredentialsAreCheckedAndSigned(t *testing.T) {
	t.Parallel()
	var all Clients
	for _, tc := range []struct{ credential, says string }{
		{token + "\n", ""},
		{"anna@example.com:ATATT3xFfGF0123456789_abc=DEF", ""},
		{"ATATT3xFfGF0123456789_abc", "without the account"},
		{"anna:ATATT3xFfGF0123456789_abc", "no e-mail address"},
		{"anna@example.com:short", "no e-mail address"},
		{`"0123456789abcdefghij0123456789"`, "no access token"},
	} {
		_, err := all.For("", tc.credential)
		if (err == nil) != (tc.says == "") || err != nil && (!strings.Contains(err.Error(), tc.says) || strings.Contains(err.Error(), "0123456789")) {
			t.Errorf("a credential: %v, want …%s…", err, tc.says)
		}
	}
	one, _ := all.For("", token)
	if again, err := all.For("", " "+token); again != one || err != nil {
		t.Errorf("the same token has two clients: %v", err)
	}
	for credential, want := range map[string]string{token: "Bearer " + token, "a@b.c:0123456789abcdefghij": "Basic YUBiLmM6MDEyMzQ1Njc4OWFiY2RlZmdoaWo="} {
		sign, err := parseCredential(credential)
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		if sign(r); r.Header.Get("Authorization") != want {
			t.Errorf("signed with %s", r.Header.Get("Authorization"))
		}
	}
}
