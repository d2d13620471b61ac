package github

// World: the fake behind GitHub's REST API over loopback HTTP, and between them GitHub's
// published description, which every request and response must fit.

import (
	"net/http"
	"net/http/httptest"
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

const token = "github_pat_0123456789abcdefghijKLMNOP"

// open returns a client of a server, through a transport if one is given.
func open(t testing.TB, handler http.Handler, over func(http.RoundTripper) http.RoundTripper) *Client {
	t.Helper()
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	transport := s.Client().Transport
	if over != nil {
		transport = over(transport)
	}
	cred, err := ParseCredential(token)
	if err != nil {
		t.Fatal(err)
	}
	c, err := New(Options{BaseURL: s.URL, Credential: cred, Transport: transport, Budget: newBudget(rest.BudgetOptions{PerSecond: 1e6, Registrations: 1e6})})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestTheClientKeepsTheContractInGitHubsOwnWords(t *testing.T) {
	t.Parallel()
	for _, version := range []string{githubCom, enterpriseServer} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			d := describe(t, version)
			t.Run("suite", func(t *testing.T) {
				forgetest.Run(t, func(t *testing.T) (forge.Forge, *fake.GitHub) {
					world := fake.New(nil)
					return open(t, world.Handler(), func(next http.RoundTripper) http.RoundTripper { return &forgetest.Checking{T: t, D: d, Next: next} }), world
				})
			})
			wholeAPI(t, d)
		})
	}
}

// wholeAPI fails for a request that no test made: it was checked by nobody.
func wholeAPI(t *testing.T, d *forgetest.Description) {
	t.Helper()
	used := []string{
		"DELETE /orgs/{org}/actions/runners/{runner_id}", "DELETE /repos/{owner}/{repo}/actions/runners/{runner_id}",
		"GET /orgs/{org}/actions/runner-groups", "GET /orgs/{org}/actions/runners", "GET /orgs/{org}/actions/runners/{runner_id}",
		"GET /orgs/{org}/hooks", "GET /orgs/{org}/hooks/{hook_id}/deliveries", "GET /repos/{owner}/{repo}/actions/jobs/{job_id}",
		"GET /repos/{owner}/{repo}/actions/jobs/{job_id}/logs", "GET /repos/{owner}/{repo}/actions/runners", "GET /repos/{owner}/{repo}/actions/runners/{runner_id}",
		"GET /repos/{owner}/{repo}/actions/runs", "GET /repos/{owner}/{repo}/actions/runs/{run_id}", "GET /repos/{owner}/{repo}/actions/runs/{run_id}/attempts/{attempt_number}/jobs",
		"GET /repos/{owner}/{repo}/actions/runs/{run_id}/jobs", "GET /repos/{owner}/{repo}/hooks",
		"POST /orgs/{org}/actions/runners/generate-jitconfig", "POST /orgs/{org}/hooks/{hook_id}/deliveries/{delivery_id}/attempts",
		"POST /repos/{owner}/{repo}/actions/jobs/{job_id}/rerun", "POST /repos/{owner}/{repo}/actions/runners/generate-jitconfig",
		"POST /repos/{owner}/{repo}/actions/runs/{run_id}/rerun-failed-jobs",
	}
	if diff := cmp.Diff(d.Used(), used); diff != "" {
		t.Errorf("what was asked (-got +want):\n%s", diff)
	}
}

func TestHooksOfARepositoryAndOfTheApp(t *testing.T) {
	t.Parallel()
	d := describe(t, githubCom)
	world := fake.New(nil)
	repo := forge.Repository{Owner: "team", Name: "app"}
	world.AddRepository(repo)
	scope := slipway.ForgeScope{Owner: "team", Repository: "app"}
	id := world.AddHook(scope, "https://slipway.example.com/x", func(string, string, []byte) int { return 500 })
	world.Queue(repo, []string{"x"})
	c := open(t, world.Handler(), func(next http.RoundTripper) http.RoundTripper { return &forgetest.Checking{T: t, D: d, Next: next} })
	hook := forge.Hook{Scope: scope, ID: id}
	all, err := c.Deliveries(t.Context(), hook, time.Time{})
	if err != nil || len(all) != 1 {
		t.Fatalf("%+v, %v", all, err)
	}
	if err := c.Redeliver(t.Context(), hook, all[0].ID); err != nil {
		t.Error(err)
	}
	// A token cannot ask for an App's own deliveries; that is said before GitHub is asked.
	_, err = c.Deliveries(t.Context(), forge.Hook{App: true}, time.Time{})
	if !forge.Is(err, forge.Invalid) || !strings.Contains(err.Error(), "only a GitHub App") {
		t.Errorf("an App's deliveries: %v", err)
	}
}
