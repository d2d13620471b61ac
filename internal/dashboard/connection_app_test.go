package dashboard

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"slipway.dev/slipway/internal/change"
	"slipway.dev/slipway/internal/outside/forge"
	"slipway.dev/slipway/internal/outside/forge/fake"
	"slipway.dev/slipway/internal/outside/forge/github"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// The tests here stand on a real SQLite database, with the real client of GitHub before a
// fake one over loopback HTTP.

// realClient is the client of GitHub as the server gives it to package change.
type realClient struct{ clients github.Clients }

func (c *realClient) MakeApp(ctx context.Context, baseURL, code string) (change.MadeApp, error) {
	made, err := c.clients.MakeApp(ctx, baseURL, code)
	return change.MadeApp{ID: made.ID, URL: made.URL, PrivateKey: []byte(made.PrivateKey), WebhookSecret: []byte(made.WebhookSecret)}, err
}

// github connects the world to a fake GitHub, by connections acme of shop/dev and whole of
// the installation.
func (w *world) github() (*fake.GitHub, *httptest.Server) {
	w.Helper()
	g := fake.New(nil)
	g.AddRepository(forge.Repository{Owner: "team", Name: "app"})
	server := httptest.NewServer(g.Handler())
	w.Cleanup(server.Close)
	w.change.Apps = &realClient{}
	ada := slipway.Caller{UserID: w.ada.ID, UserName: "ada", Role: slipway.Administrator}
	for _, in := range []change.CreateConnectionInput{{Name: "acme", Project: "shop", Environment: "dev", BaseURL: server.URL}, {Name: "whole", BaseURL: server.URL}} {
		_, err := w.change.CreateConnection(context.Background(), ada, in)
		w.must(err)
	}
	return g, server
}

// follow sends a form of another server's page, and returns where that leads.
func follow(t testing.TB, to string, form url.Values) (doc element, where string) {
	t.Helper()
	c := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := c.PostForm(to, form)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode >= http.StatusBadRequest {
		t.Fatalf("POST %s: %d", to, res.StatusCode)
	}
	if where := res.Header.Get("Location"); where != "" {
		return element{}, where
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, string(body)), ""
}

// begun fills in the form of a connection's App, and returns GitHub's page with the state.
func (b *browser) begun(connection string, fields ...string) reply {
	b.Helper()
	return b.send(b.page("/connections/"+connection+"/app"), "main form[method=post]", append([]string{"organization", "team"}, fields...)...)
}

// atGitHub says yes there, and returns the path that GitHub leads back to.
func (b *browser) atGitHub(server *httptest.Server, page element) string {
	b.Helper()
	form := page.one(b, "#to-github")
	doc, _ := follow(b, form.get("action"), url.Values{"manifest": {form.one(b, "input[name=manifest]").get("value")}})
	yes := doc.one(b, "form")
	values := url.Values{}
	for _, in := range yes.all("input") {
		values.Set(in.get("name"), in.get("value"))
	}
	_, back := follow(b, server.URL+yes.get("action"), values)
	if !strings.HasPrefix(back, b.server.URL+"/connections/") {
		b.Fatalf("GitHub leads back to %s", back)
	}
	return strings.TrimPrefix(back, b.server.URL)
}

func TestAnAppIsMadeThroughThePages(t *testing.T) {
	t.Parallel()
	w := settled(t)
	g, server := w.github()
	grace := w.as("grace")
	if page := w.as("kurt").page("/connections/acme"); page.has("a[href=/connections/acme/app]") {
		t.Error("a reader is offered to make an App")
	}
	if page := grace.page("/connections/acme"); !page.has("a[href=/connections/acme/app]") {
		t.Errorf("no App is offered: %s", page.text())
	}
	asked := grace.begun("acme")
	if asked.status != http.StatusOK {
		t.Fatalf("begin: %d %s", asked.status, asked.doc.text())
	}
	if got := asked.header.Get("Content-Security-Policy"); !strings.Contains(got, "form-action 'self' "+server.URL+";") && !strings.HasSuffix(got, "form-action 'self' "+server.URL) {
		t.Errorf("the policy of the one page whose form leads away: %s", got)
	}
	back := grace.atGitHub(server, asked.doc)
	made := grace.get(back)
	if made.status != http.StatusSeeOther || made.to != "/connections/acme" {
		t.Fatalf("back from GitHub: %d %s %s", made.status, made.to, made.doc.text())
	}
	page := grace.page("/connections/acme")
	if text := page.text(); !strings.Contains(text, "is made. Install it") || !page.has("#install a") || page.has("a[href=/connections/acme/app]") {
		t.Errorf("the connection with its App: %s", text)
	}
	// The App's deliveries come, signed with the secret that it was given.
	g.Queue(forge.Repository{Owner: "team", Name: "app"}, []string{"self-hosted"})
	g.Delivered()
	if text := grace.page("/connections/acme").text(); !strings.Contains(text, "workflow_job queued") {
		t.Errorf("the App's delivery: %s", text)
	}
	again := grace.get(back)
	if again.status != http.StatusConflict || !strings.Contains(again.doc.text(), "has its App already") {
		t.Errorf("the same way back: %d %s", again.status, again.doc.text())
	}
	u, err := url.Parse(back)
	w.must(err)
	for what, value := range map[string]string{"code": u.Query().Get("code"), "state": u.Query().Get("state")} {
		if value == "" || strings.Contains(w.log.String(), value) {
			t.Errorf("the %s is in the log, or was none: %q", what, value)
		}
	}
	if !strings.Contains(w.log.String(), "/connections/{name}/app/made") {
		t.Error("the log that was searched has no such request")
	}
}

func TestAnAppsCredentialIsShownUnderItsName(t *testing.T) {
	t.Parallel()
	w := settled(t)
	_, server := w.github()
	grace := w.as("grace")
	back := grace.atGitHub(server, grace.begun("acme").doc)
	_, err := w.change.SetSecret(t.Context(), slipway.Caller{UserID: w.ada.ID, UserName: "ada", Role: slipway.Administrator},
		change.SetSecretInput{Project: "shop", Environment: "dev", Name: "acme-app", Value: []byte("mine")})
	w.must(err)
	made := grace.get(back)
	if made.status != http.StatusSeeOther || made.to != "/connections/acme?renamed" {
		t.Fatalf("back from GitHub: %d %s %s", made.status, made.to, made.doc.text())
	}
	var n slipway.Connection
	w.must(w.store.Read(t.Context(), func(tx *store.Tx) (err error) {
		n, err = tx.ConnectionByName(t.Context(), "acme")
		return err
	}))
	name := fmt.Sprint("shop/dev/acme-app-", n.AppID)
	if text := grace.page(made.to).one(grace, "#renamed").text(); !strings.Contains(text, "Another secret took the name") || !strings.Contains(text, name) {
		t.Errorf("the page right after: %s", text)
	}
	if page := grace.page("/connections/acme"); page.has("#renamed") || !strings.Contains(page.one(grace, "#install").text(), "secret "+name) || !strings.Contains(page.one(grace, ".facts").text(), "credential "+name) {
		t.Errorf("the page later: %s", page.text())
	}
	if page := grace.page("/connections/whole?renamed"); page.has("#renamed") {
		t.Error("a connection without an App says where its credential is")
	}
}

func TestWhatKeepsAnAppFromComingBack(t *testing.T) {
	t.Parallel()
	w := settled(t)
	g, server := w.github()
	grace, ada := w.as("grace"), w.as("ada")
	for name, tc := range map[string]struct {
		got    reply
		status int
		says   string
	}{
		"no organization":                  {grace.begun("acme", "organization", ""), http.StatusUnprocessableEntity, "not the name of an organization"},
		"one that is a path":               {grace.begun("acme", "organization", "../x"), http.StatusUnprocessableEntity, "not the name of an organization"},
		"no environment":                   {ada.begun("whole"), http.StatusUnprocessableEntity, "environment"},
		"a connection of the installation": {grace.begun("whole", "in", "shop/dev"), http.StatusForbidden, "administrator"},
		"a reader":                         {w.as("kurt").begun("acme"), http.StatusForbidden, "read-write"},
		"back without having begun":        {grace.get("/connections/whole/app/made?code=0123456789&state=x"), http.StatusForbidden, ""},
		"back without a code":              {grace.get("/connections/acme/app/made"), http.StatusUnprocessableEntity, "code"},
	} {
		if tc.got.status != tc.status || !strings.Contains(tc.got.doc.text(), tc.says) {
			t.Errorf("%s: %d %s", name, tc.got.status, tc.got.doc.text())
		}
	}
	back := grace.atGitHub(server, grace.begun("acme").doc)
	// Somebody else's browser, and another session of the same person.
	for name, other := range map[string]*browser{"ada": ada, "another session of grace": w.as("grace")} {
		if got := other.get(back); got.status != http.StatusForbidden || !strings.Contains(got.doc.text(), "does not belong to an App that was begun here in this session") {
			t.Errorf("%s comes back: %d %s", name, got.status, got.doc.text())
		}
	}
	u, err := url.Parse(back)
	w.must(err)
	// The code goes into no other address, and the person is told what it is good for.
	if got := w.browser().get(back); got.status != http.StatusUnauthorized || !strings.Contains(got.doc.text(), "connections app acme --code CODE") ||
		strings.Contains(got.body, u.Query().Get("code")) || strings.Contains(got.body, u.Query().Get("state")) {
		t.Errorf("nobody comes back: %d %s", got.status, got.body)
	}
	if got := ada.get(back); strings.Contains(got.body, u.Query().Get("code")) || !strings.Contains(got.doc.text(), "connections app acme --code CODE") {
		t.Errorf("another session: %s", got.body)
	}
	g.Outage(true)
	if got := grace.get(back); got.status != http.StatusServiceUnavailable || !strings.Contains(got.doc.text(), "is not known") {
		t.Errorf("GitHub is away: %d %s", got.status, got.doc.text())
	}
	if text := grace.page("/connections/acme").text(); !strings.Contains(text, "has not come") {
		t.Errorf("the connection says nothing of it: %s", text)
	}
	g.Outage(false)
	g.Break(fake.Fault{Op: "ConvertApp", Lost: true})
	if got := grace.get(back); got.status != http.StatusServiceUnavailable {
		t.Errorf("the reply is lost: %d %s", got.status, got.doc.text())
	}
	got := grace.get(back)
	if got.status != http.StatusConflict || !strings.Contains(got.doc.text(), "its key cannot be fetched again") || !strings.Contains(got.doc.text(), "--app-key-file") {
		t.Errorf("after a reply that was lost: %d %s", got.status, got.doc.text())
	}
	w.must(w.store.Read(context.Background(), func(tx *store.Tx) error {
		n, err := tx.ConnectionByName(context.Background(), "acme")
		if err == nil && n.AppID != 0 {
			t.Errorf("half an App: %+v", n)
		}
		return err
	}))
}

// A session is known under one address only; the way back must lead there.
func TestAnAppIsBegunWhereGitHubLeadsBackTo(t *testing.T) {
	t.Parallel()
	w := settled(t)
	w.github()
	grace := w.as("grace")
	r, err := http.NewRequest(http.MethodPost, w.server.URL+"/connections/acme/app", strings.NewReader(url.Values{"organization": {"team"}, "in": {"shop/dev"}, "secret": {"x"}}.Encode()))
	w.must(err)
	r.Host = "other.example.com"
	here, err := url.Parse(w.server.URL)
	w.must(err)
	for _, c := range grace.client.Jar.Cookies(here) {
		r.AddCookie(c)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if got := grace.do(r); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.doc.text(), "where this session is not known") {
		t.Errorf("begun at another address: %d %s", got.status, got.doc.text())
	}
}
