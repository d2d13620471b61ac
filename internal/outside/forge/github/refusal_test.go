package github

// World: answers of GitHub's, written down from its documentation and from reports, over
// loopback HTTP.

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"slipway.dev/slipway/internal/outside/forge"
	"slipway.dev/slipway/internal/outside/forge/forgetest"
	"slipway.dev/slipway/internal/slipway"
)

var team, teamApp = slipway.ForgeScope{Owner: "team"}, slipway.ForgeScope{Owner: "team", Repository: "app"}

func says(code int, message string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(map[string]string{"message": message}) // a client that has gone needs no answer
	}
}

func TestWhatARefusalTells(t *testing.T) {
	t.Parallel()
	runners := func(c *Client, t *testing.T) error { _, err := c.Runners(t.Context(), team); return err }
	for _, tc := range []struct {
		name   string
		answer http.HandlerFunc
		call   func(*Client, *testing.T) error
		want   forge.Problem
		tells  string
	}{
		{"a token that has ended", says(401, "Bad credentials"), runners, forge.Refused, "make a new token"},
		{"a permission of an organization", says(403, "Resource not accessible by personal access token", "X-Accepted-GitHub-Permissions", "organization_self_hosted_runners=read"), runners, forge.Refused,
			"organization permission Self-hosted runners: read and write (organization_self_hosted_runners=read)"},
		{"a permission of a repository", says(403, "Resource not accessible by personal access token"), func(c *Client, t *testing.T) error {
			_, err := c.Runners(t.Context(), teamApp)
			return err
		}, forge.Refused, "repository permission Administration: read and write"},
		{"an organization that is not to be seen", says(404, "Not Found"), runners, forge.Refused, "Self-hosted runners: read and write"},
		{"single sign-on", says(403, "Resource protected by organization SAML enforcement.", "X-GitHub-SSO", "required; url=https://github.com/orgs/team/sso?x=y"), runners, forge.Refused, "single sign-on"},
		{"runners that are switched off", says(403, "Self-hosted runners are disabled for this repository"), runners, forge.Refused, "GitHub says: Self-hosted runners are disabled"},
		{"logs without the permission", says(403, "Must have admin rights to Repository."), func(c *Client, t *testing.T) error {
			_, err := c.Jobs(t.Context(), forge.Repository{Owner: "team", Name: "app"}, 1, 0)
			return err
		}, forge.Refused, "Actions: read-only"},
		{"a second limit, in words alone", says(403, "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."), runners, forge.Throttled, "limit"},
		{"an outage", says(502, "Server Error"), runners, forge.Away, "a fault (502)"},
		{"an outage with a page", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(503)
			_, _ = io.WriteString(w, "<html>unicorn</html>")
		}, runners, forge.Away, "a fault (503)"},
		{"an answer that is no JSON", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }, runners, forge.Away, "cannot be asked"},
		{"an answer that breaks off", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, `{"total_count":`)
		}, runners, forge.Away, "cannot be asked"},
		{"a configuration without a secret", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(201)
			_, _ = io.WriteString(w, `{"runner":{"id":1}}`)
		}, func(c *Client, t *testing.T) error {
			_, err := c.Register(t.Context(), teamApp, forge.Registration{Name: "x", Labels: []string{"x"}})
			return err
		}, forge.Away, "without a configuration"},
		{"a group that is none", says(422, "Runner group not found"), func(c *Client, t *testing.T) error {
			_, err := c.Register(t.Context(), team, forge.Registration{Name: "x", Labels: []string{"x"}, Group: 9})
			return err
		}, forge.Invalid, "Runner group not found"},
		{"a rerun while the run is running", says(403, "This workflow is already running"), func(c *Client, t *testing.T) error {
			return c.RerunFailed(t.Context(), forge.Repository{Owner: "team", Name: "app"}, 1)
		}, forge.Running, "has not ended"},
		{"a rerun that comes too late", says(403, "Unable to retry this workflow run because it was created over a month ago"), func(c *Client, t *testing.T) error {
			return c.RerunFailed(t.Context(), forge.Repository{Owner: "team", Name: "app"}, 1)
		}, forge.TooLate, "created over a month ago"},
		{"a rerun without the permission", says(403, "Resource not accessible by personal access token"), func(c *Client, t *testing.T) error {
			return c.RerunFailed(t.Context(), forge.Repository{Owner: "team", Name: "app"}, 1)
		}, forge.Refused, "Actions: read and write"},
		{"a list that is shorter than it says", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"total_count":3,"runners":[{"id":1,"name":"a"},{"id":1,"name":"a"},{"id":2,"name":"b"}]}`)
		}, runners, forge.Away, "3 runners and lists 2"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := open(t, tc.answer, nil)
			err := tc.call(c, t)
			var person *slipway.Error
			if !forge.Is(err, tc.want) || !errors.As(err, &person) || !strings.Contains(person.Msg+" ("+person.Hint+")", tc.tells) {
				t.Errorf("got %v (%s), want %s: …%s…", err, forge.ProblemOf(err), tc.want, tc.tells)
			}
			if strings.Contains(fmt.Sprintf("%+v", err), token) {
				t.Errorf("the error shows the token: %+v", err)
			}
		})
	}
}

func TestAServerThatIsNotThere(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.NotFoundHandler())
	cred, err := ParseCredential(token)
	if err != nil {
		t.Fatal(err)
	}
	c, err := New(Options{BaseURL: s.URL, Credential: cred})
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	if _, err := c.Runners(t.Context(), team); !forge.Is(err, forge.Away) {
		t.Errorf("it says %v", err)
	}
}

// An Enterprise Server may not know the filter by name, and then sends its whole list.
func TestAServerThatIgnoresTheName(t *testing.T) {
	t.Parallel()
	c := open(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := 1
		if r.URL.Query().Get("page") == "2" {
			id = 2
		} else {
			w.Header().Set("Link", `<http://`+r.Host+r.URL.Path+`?page=2>; rel="next"`)
		}
		fmt.Fprintf(w, `{"total_count":2,"runners":[{"id":%d,"name":"slw-%d"}]}`, id, id)
	}), nil)
	if r, err := c.RunnerNamed(t.Context(), team, "slw-2"); err != nil || r.ID != 2 {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := c.RunnerNamed(t.Context(), team, "slw-"); !forge.Is(err, forge.NotFound) {
		t.Errorf("part of a name: %v", err)
	}
}

// A redirect, the log's store and another host never see the token.
func TestTheTokenStaysAtTheAPI(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var leaked []string
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if a := r.Header.Get("Authorization"); a != "" {
			leaked = append(leaked, r.URL.Path+" "+a)
		}
		_, _ = io.WriteString(w, `{"total_count":0,"runners":[]}`)
	}))
	t.Cleanup(other.Close)
	c := open(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+token {
			t.Errorf("%s came with %q", r.URL, r.Header.Get("Authorization"))
		}
		http.Redirect(w, r, other.URL+"/elsewhere?sig=s3cret", http.StatusFound)
	}), nil)
	if _, err := c.Runners(t.Context(), team); err != nil {
		t.Error(err)
	}
	body, err := c.Log(t.Context(), forge.Repository{Owner: "team", Name: "app"}, 1, 100)
	if err != nil {
		t.Fatal(err)
	}
	if err := body.Close(); err != nil {
		t.Error(err)
	}
	if len(leaked) > 0 {
		t.Errorf("leaked: %v", leaked)
	}
	other.Close()
	if _, err = c.Log(t.Context(), forge.Repository{Owner: "team", Name: "app"}, 1, 100); !forge.Is(err, forge.Away) || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("a store that is away: %v", err)
	}
}

func appCredential(t *testing.T, more string) (Credential, *rsa.PublicKey) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})))
	if err != nil {
		t.Fatal(err)
	}
	c, err := ParseCredential(`{"app":"Iv23abc"` + more + `,"private_key":` + string(text) + `}`)
	if err != nil {
		t.Fatal(err)
	}
	return c, &key.PublicKey
}

// An App proves itself, takes a token of its installation, keeps it, and takes another when
// GitHub does not like it any more.
func TestAnAppsCredential(t *testing.T) {
	t.Parallel()
	cred, public := appCredential(t, "")
	d := describe(t, githubCom)
	made, revoked := 0, ""
	mux := http.NewServeMux()
	asApp := func(h http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if err := checkAssertion(r.Header.Get("Authorization"), public); err != nil {
				t.Error(err)
				w.WriteHeader(401)
				return
			}
			h(w, r)
		}
	}
	mux.HandleFunc("GET /api/v3/orgs/team/installation", asApp(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"id":77}`) }))
	mux.HandleFunc("GET /api/v3/orgs/ada/installation", asApp(says(404, "Not Found")))
	mux.HandleFunc("GET /api/v3/users/ada/installation", asApp(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"id":78}`) }))
	mux.HandleFunc("GET /api/v3/orgs/nobody/installation", asApp(says(404, "Not Found")))
	mux.HandleFunc("GET /api/v3/users/nobody/installation", asApp(says(404, "Not Found")))
	mux.HandleFunc("POST /api/v3/app/installations/{id}/access_tokens", asApp(func(w http.ResponseWriter, r *http.Request) {
		made++
		w.WriteHeader(201)
		fmt.Fprintf(w, `{"token":"ghs_%s_%d","expires_at":%q}`, r.PathValue("id"), made, time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
	}))
	list := func(w http.ResponseWriter, r *http.Request) {
		got := r.Header.Get("Authorization")
		if !strings.HasPrefix(got, "Bearer ghs_") || got == revoked {
			says(401, "Bad credentials")(w, r)
			return
		}
		_, _ = io.WriteString(w, `{"total_count":0,"runners":[]}`)
	}
	mux.HandleFunc("GET /api/v3/orgs/team/actions/runners", list)
	mux.HandleFunc("GET /api/v3/repos/ada/app/actions/runners", list)
	mux.HandleFunc("GET /api/v3/app/hook/deliveries", asApp(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `[{"id":9000000001,"guid":"g","delivered_at":"2026-12-01T00:00:00Z","redelivery":false,"duration":0.1,"status":"OK","status_code":200,"event":"ping","action":null}]`)
	}))
	mux.HandleFunc("POST /api/v3/app/hook/deliveries/{id}/attempts", asApp(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(202)
		_, _ = io.WriteString(w, `{}`)
	}))
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	c, err := New(Options{BaseURL: s.URL, Credential: cred, Transport: &forgetest.Checking{T: t, D: d, Next: http.DefaultTransport}})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := c.Runners(t.Context(), team); err != nil {
			t.Fatal(err)
		}
	}
	if made != 1 {
		t.Errorf("%d tokens for three requests, want 1", made)
	}
	if _, err := c.Runners(t.Context(), slipway.ForgeScope{Owner: "ada", Repository: "app"}); err != nil || made != 2 {
		t.Errorf("a person's repository: %v, %d tokens", err, made)
	}
	revoked = "Bearer ghs_77_1"
	if _, err := c.Runners(t.Context(), team); !forge.Is(err, forge.Refused) {
		t.Errorf("with a revoked token: %v", err)
	}
	if _, err := c.Runners(t.Context(), team); err != nil || made != 3 {
		t.Errorf("after that: %v, %d tokens", err, made)
	}
	_, err = c.Runners(t.Context(), slipway.ForgeScope{Owner: "nobody"})
	if !forge.Is(err, forge.Refused) || !strings.Contains(err.Error(), "GitHub App at nobody") {
		t.Errorf("where it is not installed: %v", err)
	}
	all, err := c.Deliveries(t.Context(), forge.Hook{App: true}, time.Time{})
	if err != nil || len(all) != 1 || all[0].ID != 9000000001 {
		t.Errorf("the App's deliveries: %+v, %v", all, err)
	}
	if err := c.Redeliver(t.Context(), forge.Hook{App: true}, 9000000001); err != nil {
		t.Error(err)
	}
}

// checkAssertion verifies an App's proof as GitHub would.
func checkAssertion(header string, key *rsa.PublicKey) error {
	parts := strings.Split(strings.TrimPrefix(header, "Bearer "), ".")
	if len(parts) != 3 {
		return fmt.Errorf("there is no assertion in %q", header)
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if err := rsa.VerifyPKCS1v15(key, crypto.SHA256, sum[:], signature); err != nil {
		return err
	}
	raw, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return err
	}
	var claims struct {
		Iat, Exp int64
		Iss      string
	}
	if err := json.Unmarshal(raw, &claims); err != nil {
		return err
	}
	now := time.Now().Unix()
	if claims.Iss != "Iv23abc" || claims.Iat > now || claims.Exp <= now || claims.Exp-claims.Iat > 600 {
		return fmt.Errorf("claims %+v at %d", claims, now)
	}
	return nil
}

func TestParseCredential(t *testing.T) {
	t.Parallel()
	for _, good := range []string{token, " ghp_0123456789abcdefghij\n"} {
		if c, err := ParseCredential(good); err != nil || c.IsApp() {
			t.Errorf("%q: %v", good, err)
		}
	}
	with, _ := appCredential(t, `,"installation":5`)
	if !with.IsApp() || with.app.installation != 5 {
		t.Errorf("%+v", with.app)
	}
	if a, err := ParseCredential(token); err != nil || a.Key("x") == a.Key("y") || a.Key("x") == with.Key("x") || strings.Contains(a.Key("x"), token) {
		t.Errorf("keys of credentials: %v", err)
	}
	for bad, says := range map[string]string{
		"":                                   "neither a GitHub token",
		"short":                              "neither a GitHub token",
		"token: " + token:                    "neither a GitHub token",
		`{"app":"x"`:                         "cannot be read",
		`{"app":"x","privat_key":"s3"}`:      "cannot be read",
		`{"app":"","private_key":"s3"}`:      "names no App",
		`{"app":"x","private_key":"s3cret"}`: "no private key in PEM form",
		`{"app":"x","private_key":"-----BEGIN RSA PRIVATE KEY-----\nczNjcmV0\n-----END RSA PRIVATE KEY-----\n"}`: "none of RSA",
	} {
		_, err := ParseCredential(bad)
		if !slipway.Is(err, slipway.Invalid) || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "s3cret") || strings.Contains(err.Error(), token) {
			t.Errorf("%q: %v, want …%s…", bad, err, says)
		}
	}
}

// ARC#3070, ARC#470, ARC#4425, tf#3392: an Enterprise Server and a forge of a country have
// addresses of their own, and nothing of theirs may go to github.com.
func TestAPIURL(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"": "https://api.github.com/", "https://github.com": "https://api.github.com/", "https://github.com/": "https://api.github.com/", "https://api.github.com": "https://api.github.com/",
		"https://acme.ghe.com": "https://api.acme.ghe.com/", "https://api.acme.ghe.com": "https://api.acme.ghe.com/",
		"https://github.example.com": "https://github.example.com/api/v3/", "https://github.example.com:8443/api/v3/": "https://github.example.com:8443/api/v3/",
		"http://127.0.0.1:8080": "http://127.0.0.1:8080/api/v3/",
	} {
		if u, err := apiURL(in); err != nil || u.String() != want {
			t.Errorf("apiURL(%q) = %v, %v; want %s", in, u, err, want)
		}
	}
	for _, bad := range []string{"github.com", "http://github.example.com", "https://ada:s3cret@github.com", "https://github.com/team", "https://github.com?x=1", "://", "ftp://github.com"} {
		if _, err := apiURL(bad); !slipway.Is(err, slipway.Invalid) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("apiURL(%q) = %v", bad, err)
		}
	}
	if _, err := New(Options{}); !slipway.Is(err, slipway.Invalid) {
		t.Errorf("without a credential: %v", err)
	}
}
