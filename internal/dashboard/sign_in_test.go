package dashboard

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// The tests here stand in the world of a real SQLite database with the real auth, change,
// view and events, over HTTP and without a browser.

func TestFirstStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.browser()
	if got := b.get("/applications").to; got != "/setup" {
		t.Fatalf("the first start leads to %q, want /setup", got)
	}
	page := b.page("/setup")
	wrong := b.send(page, "form[action=/setup]", "secret", "guess", "name", "ada", "password", password, "again", password)
	if wrong.status != http.StatusForbidden || !strings.Contains(wrong.doc.one(t, "#problem").text(), "setup secret is wrong") {
		t.Errorf("a wrong secret: %d %s", wrong.status, wrong.doc.text())
	}
	if got := wrong.doc.one(t, "input#name").get("value"); got != "ada" {
		t.Errorf("the form comes back with name %q, want ada", got)
	}
	if strings.Contains(wrong.body, password) || strings.Contains(wrong.body, "guess") {
		t.Error("the form comes back with what is secret")
	}
	differ := b.send(page, "form[action=/setup]", "secret", w.secret, "name", "ada", "password", password, "again", "other")
	if differ.status != http.StatusUnprocessableEntity {
		t.Errorf("two passwords that differ: %d, want 422", differ.status)
	}
	done := b.send(page, "form[action=/setup]", "secret", w.secret, "name", "ada", "password", password, "again", password)
	if done.to != "/applications" {
		t.Fatalf("setup: %d %s", done.status, done.doc.text())
	}
	if got := b.page("/applications").one(t, ".me summary").text(); !strings.HasPrefix(got, "ada") {
		t.Errorf("signed in as %q, want ada", got)
	}
	if got := w.browser().get("/setup").to; got != "/sign-in" {
		t.Errorf("the setup page afterwards leads to %q, want /sign-in", got)
	}
}

func TestSignIn(t *testing.T) {
	t.Parallel()
	w := settled(t)
	b := w.browser()
	to := b.get("/tasks?state=failed").to
	if want := "/sign-in?next=%2Ftasks%3Fstate%3Dfailed"; to != want {
		t.Fatalf("a stranger is led to %q, want %q", to, want)
	}
	page := b.page(to)
	refused := b.send(page, "form[action=/sign-in]", "name", "ada", "password", "wrong wrong wrong")
	if refused.status != http.StatusUnauthorized || !refused.doc.has("#problem[role=alert]") || strings.Contains(refused.body, "wrong wrong") {
		t.Errorf("a wrong password: %d\n%s", refused.status, refused.body)
	}
	in := b.send(refused.doc, "form[action=/sign-in]", "password", password)
	if in.status != http.StatusSeeOther || in.to != "/tasks?state=failed" {
		t.Fatalf("sign-in: %d to %q", in.status, in.to)
	}
	b.page("/tasks?state=failed")
	if got := b.get("/sign-in?next=/users").to; got != "/users" {
		t.Errorf("the sign-in of one who is signed in leads to %q, want /users", got)
	}
	if out := b.send(b.page("/applications"), "form[action=/sign-out]"); out.to != "/sign-in" {
		t.Errorf("sign-out leads to %q", out.to)
	}
	if got := b.get("/applications").to; !strings.HasPrefix(got, "/sign-in") {
		t.Errorf("after the sign-out /applications leads to %q", got)
	}
}

// TestSignInIsThrottled: the page says how long to wait.
func TestSignInIsThrottled(t *testing.T) {
	t.Parallel()
	b := settled(t).browser()
	for range 20 {
		r := b.post("/sign-in", url.Values{"name": {"ada"}, "password": {"wrong wrong wrong"}})
		if r.status == http.StatusTooManyRequests {
			if r.header.Get("Retry-After") == "" {
				t.Error("no Retry-After")
			}
			return
		}
	}
	t.Error("20 wrong passwords were all looked at")
}

func TestLocalPath(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"/tasks/4?x=1": "/tasks/4?x=1", "": "/applications", "tasks": "/applications", "//evil.example/x": "/applications",
		"https://evil.example": "/applications", `/\evil.example`: "/applications", "/\t/evil.example": "/applications",
		"/%2f/evil.example": "/%2f/evil.example", "javascript:alert(1)": "/applications", "/a b": "/a%20b",
	} {
		if got := localPath(in); got != want {
			t.Errorf("localPath(%q) = %q, want %q", in, got, want)
		}
	}
}
