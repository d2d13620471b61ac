package github

// World: GitHub's published description of its API, in testdata.

import (
	"net/http"
	"strings"
	"testing"

	"slipway.dev/slipway/internal/outside/forge/forgetest"
)

const prefix = "/api/v3"

// The descriptions in testdata: of github.com, and of the oldest Enterprise Server that is
// still described.
const githubCom, enterpriseServer = "api.github.com", "ghes-3.17"

func describe(t testing.TB, name string) *forgetest.Description {
	t.Helper()
	return forgetest.Describe(t, "testdata/"+name+".json.gz", prefix)
}

// A check that lets everything pass would show nothing.
func TestTheDescriptionRefusesWhatGitHubDoesNotDescribe(t *testing.T) {
	t.Parallel()
	d := describe(t, githubCom)
	for _, tc := range []struct{ name, method, path, body, says string }{
		{"a path that is none", "GET", "/orgs/team/actions/walkers", "", "describes no"},
		{"a method that is none", "PUT", "/orgs/team/actions/runners", "", "describes no"},
		{"a parameter that is none", "GET", "/orgs/team/actions/runners?nom=x", "", "no parameter nom"},
		{"a parameter of another type", "GET", "/orgs/team/actions/runners?per_page=many", "", "per_page"},
		{"a number in the path that is none", "GET", "/orgs/team/actions/runners/abc", "", "runner_id"},
		{"a body without labels", "POST", "/orgs/team/actions/runners/generate-jitconfig", `{"name":"x","runner_group_id":1}`, "labels"},
		{"a body with a group that is text", "POST", "/orgs/team/actions/runners/generate-jitconfig", `{"name":"x","runner_group_id":"1","labels":["x"]}`, "runner_group_id"},
		{"a body with more than it may have", "POST", "/orgs/team/actions/runners/generate-jitconfig", `{"name":"x","runner_group_id":1,"labels":["x"],"more":1}`, "has no more"},
		{"a body where none is taken", "DELETE", "/orgs/team/actions/runners/1", `{"x":1}`, "takes no body"},
	} {
		r, err := http.NewRequestWithContext(t.Context(), tc.method, "http://127.0.0.1"+prefix+tc.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Request(r, []byte(tc.body)); err == nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v, want …%s…", tc.name, err, tc.says)
		}
	}
	for _, tc := range []struct {
		name, path, body string
		code             int
		says             string
	}{
		{"a status that is none", "/orgs/team/actions/runners", "{}", 299, "does not answer with 299"},
		{"an id that is text", "/orgs/team/actions/runners", `{"total_count":1,"runners":[{"id":"1","labels":[]}]}`, 200, "/runners/0/id"},
		{"no JSON", "/orgs/team/actions/runners", "<html>", 200, "without JSON"},
	} {
		r, err := http.NewRequestWithContext(t.Context(), "GET", "http://127.0.0.1"+prefix+tc.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Response(r, tc.code, []byte(tc.body)); err == nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v, want …%s…", tc.name, err, tc.says)
		}
	}
}
