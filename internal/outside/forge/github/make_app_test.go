package github

// World: the fake behind GitHub's REST API over loopback HTTP, and between them GitHub's
// published description, which every request and response must fit; then answers written
// down from its documentation.

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"slipway.dev/slipway/internal/outside/forge"
	"slipway.dev/slipway/internal/outside/forge/fake"
	"slipway.dev/slipway/internal/outside/forge/forgetest"
	"slipway.dev/slipway/internal/slipway"
)

const manifest = `{"name":"slipway-acme","url":"https://slipway.example.com","redirect_url":"https://slipway.example.com/back","public":false,
	"hook_attributes":{"url":"https://slipway.example.com/webhooks/github/x","active":true},"default_events":["workflow_job"],
	"default_permissions":{"organization_self_hosted_runners":"write"}}`

func TestAnAppIsMadeOfItsCodeOnce(t *testing.T) {
	t.Parallel()
	for _, version := range []string{githubCom, enterpriseServer} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			world := fake.New(nil)
			world.AddRepository(forge.Repository{Owner: "team", Name: "app"})
			s := httptest.NewServer(world.Handler())
			t.Cleanup(s.Close)
			clients := &Clients{Transport: &forgetest.Checking{T: t, D: describe(t, version), Next: s.Client().Transport}}
			code, err := world.Manifest("team", manifest)
			if err != nil {
				t.Fatal(err)
			}
			made, err := clients.MakeApp(t.Context(), s.URL, code)
			if err != nil || made.ID == 0 || made.WebhookSecret == "" || made.URL != s.URL+"/github-apps/slipway-acme" {
				t.Fatalf("made: %d %q, %v", made.ID, made.URL, err)
			}
			// What was taken is a credential that works.
			credential, err := json.Marshal(map[string]string{"app": strconv.FormatInt(made.ID, 10), "private_key": made.PrivateKey})
			if err != nil {
				t.Fatal(err)
			}
			c, err := clients.For(s.URL, string(credential))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.Runners(t.Context(), slipway.ForgeScope{Owner: "team"}); err != nil {
				t.Errorf("as the App: %v", err)
			}
			if _, err := clients.MakeApp(t.Context(), s.URL, code); !forge.Is(err, forge.NotFound) {
				t.Errorf("the code once more: %v", err)
			}
			// The key is not printed by accident.
			for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
				if text := fmt.Sprintf(verb, made); strings.Contains(text, "PRIVATE") || strings.Contains(text, made.WebhookSecret) {
					t.Errorf("%s prints %.80s", verb, text)
				}
			}
		})
	}
}

func TestWhatKeepsAnAppFromBeingMade(t *testing.T) {
	t.Parallel()
	const code = "c0de-c0de-c0de"
	for _, tc := range []struct {
		name   string
		answer http.HandlerFunc
		want   forge.Problem
	}{
		{"a code that has ended", says(404, "Not Found"), forge.NotFound},
		{"a code that GitHub does not understand", says(422, "Validation Failed"), forge.Invalid},
		{"a fault of GitHub's", says(502, "Server Error for "+code), forge.Away},
		{"too many tries", says(429, "You have exceeded a secondary rate limit", "Retry-After", "60"), forge.Throttled},
		{"an answer that is none", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(201) }, forge.Away},
		{"an answer that breaks off", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write([]byte(`{"id": 1,`))
		}, forge.Away},
		{"an answer without a key", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(201)
			_, _ = w.Write([]byte(`{"id": 1}`))
		}, forge.Away},
		{"a way to elsewhere", func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(r.URL.Path, "elsewhere") {
				t.Error("the code went along with a redirect")
			}
			http.Redirect(w, r, "/elsewhere/"+code, http.StatusTemporaryRedirect)
		}, forge.Away},
	} {
		s := httptest.NewServer(tc.answer)
		t.Cleanup(s.Close)
		_, err := (&Clients{}).MakeApp(t.Context(), s.URL, code)
		if !forge.Is(err, tc.want) {
			t.Errorf("%s: %v, want %s", tc.name, err, tc.want)
		}
		if err != nil && strings.Contains(err.Error(), code) {
			t.Errorf("%s: the code is in the error: %v", tc.name, err)
		}
	}
	if _, err := (&Clients{}).MakeApp(t.Context(), "http://127.0.0.1:1", code); !forge.Is(err, forge.Away) || strings.Contains(err.Error(), code) {
		t.Errorf("nobody there: %v", err)
	}
}

// World: pure.
func TestTheAppsPageIsAtTheGitHubThatWasAsked(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ base, page, want string }{
		{"", "https://github.com/apps/slipway-acme", "https://github.com/apps/slipway-acme"},
		{"", "https://evil.example.com/apps/slipway-acme", ""},
		{"", "javascript:alert(1)", ""},
		{"", "http://github.com/apps/x", ""},
		{"https://acme.ghe.com", "https://acme.ghe.com/apps/x/", "https://acme.ghe.com/apps/x"},
		{"https://github.example.com", "https://github.example.com/github-apps/x", "https://github.example.com/github-apps/x"},
		{"https://github.example.com", "https://github.com/apps/x", ""},
	} {
		api, err := apiURL(tc.base)
		if err != nil {
			t.Fatal(err)
		}
		if got := appPage(api, tc.page); got != tc.want {
			t.Errorf("appPage(%q, %q) = %q, want %q", tc.base, tc.page, got, tc.want)
		}
	}
}
