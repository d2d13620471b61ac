package dashboard

import (
	"bufio"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
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

// TestHeaders: what every answer tells the browser to refuse.
func TestHeaders(t *testing.T) {
	t.Parallel()
	b := settled(t).as("ada")
	for _, path := range []string{"/applications", "/sign-in", "/nothing", assetAddress("app.css")} {
		h := b.get(path).header
		for _, want := range []string{"default-src 'self'", "frame-ancestors 'none'", "form-action 'self'", "object-src 'none'"} {
			if !strings.Contains(h.Get("Content-Security-Policy"), want) {
				t.Errorf("%s: the policy lacks %s", path, want)
			}
		}
		if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("X-Request-ID") == "" {
			t.Errorf("%s: headers %v", path, h)
		}
		if got, asset := h.Get("Cache-Control"), strings.HasPrefix(path, "/assets"); asset != strings.Contains(got, "immutable") || asset == (got == "no-store") {
			t.Errorf("%s: Cache-Control %q", path, got)
		}
	}
}

// TestOtherSites: a form that another site has the browser send changes nothing.
func TestOtherSites(t *testing.T) {
	t.Parallel()
	w := settled(t)
	b := w.as("ada")
	before := w.facts()
	for _, h := range []map[string]string{
		{"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Origin": "https://evil.example"}, {"Origin": "null"},
	} {
		for _, path := range []string{"/users/kurt/deactivate", "/tokens", "/theme", "/sign-out", "/applications/shop/dev/guestbook/start"} {
			r, err := http.NewRequest(http.MethodPost, w.server.URL+path, strings.NewReader("component=worker&name=x&role=read-only&days=7"))
			w.must(err)
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			for k, v := range h {
				r.Header.Set(k, v)
			}
			if got := b.do(r); got.status != http.StatusForbidden {
				t.Errorf("POST %s with %v: %d, want 403", path, h, got.status)
			}
		}
	}
	if after := w.facts(); after != before {
		t.Errorf("something changed:\n%s\n%s", before, after)
	}
}

// TestGetsChangeNothing follows every link from the front page on, as a browser that
// fetches ahead might.
func TestGetsChangeNothing(t *testing.T) {
	t.Parallel()
	w := settled(t)
	b := w.as("ada")
	before := w.facts()
	seen := map[string]bool{}
	for queue := []string{"/applications", "/applications/shop/dev/guestbook/start", "/users/kurt/deactivate", "/tokens/1/revoke", "/tasks/1/cancel", "/sign-out"}; len(queue) > 0; {
		path := queue[0]
		queue = queue[1:]
		path, _, _ = strings.Cut(path, "#")
		if seen[path] || path == "" || strings.HasPrefix(path, "/assets/") || strings.Contains(path, "://") {
			continue
		}
		seen[path] = true
		r := b.get(path)
		if r.status >= 500 {
			t.Errorf("GET %s: %d", path, r.status)
		}
		if r.status == http.StatusOK && strings.HasPrefix(r.header.Get("Content-Type"), "text/html") {
			checkPage(t, r.body)
		}
		for _, a := range r.doc.all("a[href]") {
			queue = append(queue, a.get("href"))
		}
	}
	if len(seen) < 15 {
		t.Errorf("only %d pages were found", len(seen))
	}
	if after := w.facts(); after != before {
		t.Errorf("something changed:\n%s\n%s", before, after)
	}
}

// TestRoles: each role is offered what it may do, and refused the rest even if it asks.
func TestRoles(t *testing.T) {
	t.Parallel()
	w := settled(t)
	a, _ := w.application("shop", "dev", "other")
	open, _ := w.running(a)
	start, cancel := "form[action=/applications/shop/dev/guestbook/start]", "form[action="+taskAddress(open.ID)+"/cancel]"
	for _, tc := range []struct {
		name         string
		write, admin bool
	}{{"kurt", false, false}, {"grace", true, false}, {"ada", true, true}} {
		t.Run(tc.name, func(t *testing.T) {
			b := w.as(tc.name)
			if got := b.page("/applications/shop/dev/guestbook").has(start); got != tc.write {
				t.Errorf("Start is offered: %v, want %v", got, tc.write)
			}
			if got := b.page(taskAddress(open.ID)).has(cancel); got != tc.write {
				t.Errorf("Cancel is offered: %v, want %v", got, tc.write)
			}
			users := b.page("/users")
			if got := users.has("form[action=/users/kurt/role]"); got != tc.admin {
				t.Errorf("roles are offered: %v, want %v", got, tc.admin)
			}
			if got := users.has("nav a[href=/audit]"); got != tc.admin {
				t.Errorf("the audit is offered: %v, want %v", got, tc.admin)
			}
			if !strings.Contains(users.text(), slipway.ActionsUser) || !strings.Contains(users.text(), "built in") {
				t.Error("the built-in user is not shown")
			}
			if got := b.get("/audit").status; (got == http.StatusOK) != tc.admin {
				t.Errorf("the audit: %d", got)
			}
			if !tc.admin {
				for path, form := range map[string]url.Values{
					"/users/grace/role": {"role": {"administrator"}}, "/users/grace/deactivate": {}, "/users/slipway-actions/activate": {}, "/users/ada/password": {"password": {password}},
					"/users": {"name": {"eve"}, "role": {"administrator"}, "password": {password}},
				} {
					before := w.facts()
					r := b.post(path, form)
					if r.status != http.StatusForbidden || !r.doc.has("#problem") {
						t.Errorf("POST %s: %d, want 403 and why", path, r.status)
					}
					if after := w.facts(); after != before {
						t.Errorf("POST %s changed something", path)
					}
				}
			}
			if !tc.write {
				before := w.facts()
				for path, form := range map[string]url.Values{
					"/applications/shop/dev/guestbook/start": {"component": {"worker"}}, taskAddress(open.ID) + "/cancel": {},
				} {
					if r := b.post(path, form); r.status != http.StatusForbidden || !strings.Contains(r.doc.one(t, "#problem").text(), "needs the role") {
						t.Errorf("POST %s: %d %s", path, r.status, r.doc.text())
					}
				}
				if after := w.facts(); after != before {
					t.Errorf("something changed:\n%s\n%s", before, after)
				}
			}
		})
	}
}

// TestConfinedToken: a token of shop/dev sees nothing of shop/production, by list, by
// address, by filter or by event.
func TestConfinedToken(t *testing.T) {
	t.Parallel()
	w := settled(t)
	b := w.withToken(slipway.Administrator, "shop", "dev")
	for _, path := range []string{"/applications", "/tasks", "/applications?in=shop", "/tokens", "/drivers/guestbook/1.0.0", "/applications?in=shop%2Fproduction", "/tasks?in=shop%2Fproduction"} {
		page := b.page(path)
		main := page.one(t, "main")
		for _, form := range main.all("select") {
			for _, o := range form.all("option") {
				if o.get("value") == "shop/production" {
					t.Errorf("%s offers shop/production", path)
				}
			}
		}
		for _, list := range slices.Concat(main.all("tbody"), main.all("ul"), main.all("h1")) {
			if strings.Contains(list.text(), "production") {
				t.Errorf("%s shows shop/production:\n%s", path, list.text())
			}
		}
	}
	for _, path := range []string{"/applications/shop/production/guestbook", "/applications/shop/production/guestbook/revisions/1", "/tasks/2", "/users", "/audit"} {
		if got := b.get(path).status; got != http.StatusNotFound && got != http.StatusForbidden {
			t.Errorf("%s: %d, want it hidden", path, got)
		}
	}
	for _, path := range []string{"/applications/shop/dev/guestbook", "/tasks/1"} {
		b.page(path)
	}
	if !concerns(slipway.Event{Project: "shop", Environment: "dev"}, slipway.Caller{Project: "shop", Environment: "dev"}, "", "") ||
		concerns(slipway.Event{Project: "shop", Environment: "production"}, slipway.Caller{Project: "shop", Environment: "dev"}, "", "") {
		t.Error("events do not keep to the scope")
	}
}

func TestStartAndCancel(t *testing.T) {
	t.Parallel()
	w := settled(t)
	b := w.as("grace")
	app := b.page("/applications/shop/dev/guestbook")
	started := b.send(app, "form[action=/applications/shop/dev/guestbook/start]")
	again := b.send(app, "form[action=/applications/shop/dev/guestbook/start]")
	if started.status != http.StatusSeeOther || again.to != started.to {
		t.Fatalf("start: %d to %q, and once more to %q; want one task", started.status, started.to, again.to)
	}
	task := b.page(started.to)
	if got := task.one(t, "h1").text(); got != "Start worker of guestbook" {
		t.Errorf("the task's page is of %q", got)
	}
	if !strings.Contains(b.page("/applications/shop/dev/guestbook").text(), "being started") {
		t.Error("the application's page does not say that the worker is being started")
	}
	cancelled := b.send(task, "form[action="+started.to+"/cancel]")
	if cancelled.to != started.to {
		t.Fatalf("cancel: %d to %q", cancelled.status, cancelled.to)
	}
	page := b.page(started.to)
	if !strings.Contains(page.text(), "Cancelled by grace") || page.has("form[action="+started.to+"/cancel]") {
		t.Errorf("after the cancel:\n%s", page.text())
	}
	late := b.post(started.to+"/cancel", nil)
	if late.status != http.StatusConflict || !late.doc.has("#problem") {
		t.Errorf("a cancel that comes too late: %d", late.status)
	}
	unknown := b.post("/applications/shop/dev/guestbook/start", url.Values{"component": {"nothing"}})
	if unknown.status != http.StatusUnprocessableEntity || !unknown.doc.has("#problem") || !unknown.doc.has("#components") {
		t.Errorf("an unknown component: %d, want the page with why", unknown.status)
	}
}

func TestUsers(t *testing.T) {
	t.Parallel()
	w := settled(t)
	b := w.as("ada")
	if r := b.send(b.page("/users"), "form[action=/users]", "name", "eve", "role", "read-write", "password", password); r.to != "/users" {
		t.Fatalf("create: %d %s", r.status, r.doc.text())
	}
	weak := b.send(b.page("/users"), "form[action=/users]", "name", "mallory", "role", "read-write", "password", "short")
	if weak.status != http.StatusUnprocessableEntity || weak.doc.one(t, "#new-name").get("value") != "mallory" || strings.Contains(weak.body, `"short"`) {
		t.Errorf("a weak password: %d\n%s", weak.status, weak.doc.text())
	}
	if r := b.send(b.page("/users"), "form[action=/users/eve/role]", "role", "read-only"); r.to != "/users" {
		t.Fatalf("role: %d", r.status)
	}
	eve := w.as("eve")
	if got := eve.page("/users").one(t, ".me .pop").text(); !strings.HasPrefix(got, "Read-only") {
		t.Errorf("eve is %q, want read-only", got)
	}
	if r := b.send(b.page("/users"), "form[action=/users/eve/deactivate]"); r.to != "/users" {
		t.Fatalf("deactivate: %d", r.status)
	}
	if got := eve.get("/users").to; !strings.HasPrefix(got, "/sign-in") {
		t.Errorf("a deactivated user's next look leads to %q", got)
	}
	for _, step := range []string{"deactivate", "activate"} {
		if r := b.send(b.page("/users"), "form[action=/users/"+slipway.ActionsUser+"/"+step+"]"); r.to != "/users" {
			t.Errorf("%s the built-in user: %d %s", step, r.status, r.doc.text())
		}
	}
	// A password: another's by an administrator, one's own with the old one.
	const other = "another horse battery"
	if r := b.send(b.page("/users"), "form[action=/users/kurt/password]", "password", other); r.to != "/users" {
		t.Fatalf("set a password: %d %s", r.status, r.doc.text())
	}
	if b.page("/users").has("form[action=/users/" + slipway.ActionsUser + "/password]") {
		t.Error("a password is offered to the built-in user")
	}
	kurt := w.browser()
	if r := kurt.post("/sign-in", url.Values{"name": {"kurt"}, "password": {other}}); r.status != http.StatusSeeOther {
		t.Fatalf("the new password: %d", r.status)
	}
	page := kurt.page("/users")
	if page.has("form[action=/users/grace/password]") {
		t.Error("another's password is offered to a reader")
	}
	wrong := kurt.send(page, "form[action=/users/kurt/password]", "current", "not this one", "password", password)
	if wrong.status != http.StatusUnprocessableEntity || strings.Contains(wrong.body, "not this one") {
		t.Errorf("a wrong password of one's own: %d", wrong.status)
	}
	if r := kurt.send(page, "form[action=/users/kurt/password]", "current", other, "password", password); r.status != http.StatusSeeOther {
		t.Errorf("one's own password: %d %s", r.status, r.doc.text())
	}
	w.as("kurt")

	last := b.send(b.page("/users"), "form[action=/users/ada/deactivate]")
	if last.status != http.StatusConflict || !last.doc.has("#problem") {
		t.Errorf("deactivate the last administrator: %d, want a refusal", last.status)
	}
}

// TestTokenIsShownOnce: the value is in the answer that made it and nowhere after.
func TestTokenIsShownOnce(t *testing.T) {
	t.Parallel()
	w := settled(t)
	b := w.as("grace")
	page := b.page("/tokens")
	if !strings.Contains(page.text(), "slipway tokens create") {
		t.Error("the empty list does not teach the command")
	}
	for _, o := range page.all("#new-role option") {
		if o.get("value") == string(slipway.Administrator) {
			t.Error("a role is offered that the user has not")
		}
	}
	made := b.send(page, "form[action=/tokens]", "name", "ci", "role", "read-write", "in", "shop/dev", "days", "30")
	value := made.doc.one(t, "#new-token").text()
	if made.status != http.StatusOK || !strings.HasPrefix(value, "slw_") || made.header.Get("Cache-Control") != "no-store" {
		t.Fatalf("create: %d %q", made.status, value)
	}
	if again := b.send(page, "form[action=/tokens]", "name", "ci", "role", "read-write", "in", "shop/dev", "days", "30"); again.status != http.StatusConflict || strings.Contains(again.body, "slw_"+value[4:]) {
		t.Errorf("the form sent again: %d, want a refusal", again.status)
	}
	list := b.page("/tokens")
	if strings.Contains(list.text(), value) {
		t.Error("the list shows the value")
	}
	if row := list.one(t, "tbody tr").text(); !strings.Contains(row, "ci") || !strings.Contains(row, "shop/dev") || !strings.Contains(row, "Read/write") {
		t.Errorf("row %q", row)
	}
	program := w.browser()
	program.token = value
	program.page("/applications/shop/dev/guestbook")
	if got := program.get("/applications/shop/production/guestbook").status; got != http.StatusNotFound {
		t.Errorf("the token sees shop/production: %d", got)
	}
	revoke := list.all("tbody form")[0].get("action")
	if r := b.send(list, "form[action="+revoke+"]"); r.to != "/tokens" {
		t.Fatalf("revoke: %d", r.status)
	}
	if got := program.get("/applications").status; got == http.StatusOK {
		t.Error("the revoked token still works")
	}
	if !strings.Contains(b.page("/tokens").text(), "revoked") {
		t.Error("the list does not say revoked")
	}
	if r := b.post("/tokens", url.Values{"name": {"x"}, "role": {"read-only"}, "days": {"12345"}}); r.status != http.StatusUnprocessableEntity {
		t.Errorf("a span that is not offered: %d, want 422", r.status)
	}
}

func TestErrorPages(t *testing.T) {
	t.Parallel()
	b := settled(t).as("kurt")
	for path, want := range map[string]int{
		"/tasks/99": 404, "/tasks/x": 404, "/nothing": 404, "/applications/a/b/c": 404, "/drivers/x/1": 404,
		"/tasks?after=x": 422, "/audit": 403, "/applications?after=%00": 422,
	} {
		r := b.get(path)
		if r.status != want {
			t.Errorf("GET %s: %d, want %d", path, r.status, want)
			continue
		}
		checkPage(t, r.body)
		p := r.doc.one(t, "#problem").text()
		if !strings.Contains(p, r.header.Get("X-Request-ID")) {
			t.Errorf("GET %s: %q does not name the request", path, p)
		}
	}
}

// TestBrokenDatabase: an error of ours shows what to do and none of its cause.
func TestBrokenDatabase(t *testing.T) {
	t.Parallel()
	w := settled(t)
	b := w.as("ada")
	w.write(func(tx *store.Tx) error {
		_, err := tx.SQL().Exec("DROP TABLE component_states")
		return err
	})
	r := b.get("/applications")
	if r.status != http.StatusInternalServerError || strings.Contains(r.body, "component_states") {
		t.Errorf("%d, and the body tells the cause: %v", r.status, strings.Contains(r.body, "component_states"))
	}
	checkPage(t, r.body)
	if p := r.doc.one(t, "#problem").text(); !strings.Contains(p, "look for the request in the server's log") || !strings.Contains(p, r.header.Get("X-Request-ID")) {
		t.Errorf("problem %q", p)
	}
}

func TestTheme(t *testing.T) {
	t.Parallel()
	b := settled(t).as("kurt")
	if b.page("/drivers").has("html[data-theme]") {
		t.Error("colours are chosen before anyone chose")
	}
	r := b.send(b.page("/drivers"), "form[action=/theme]", "theme", "dark")
	if r.to != "/drivers" {
		t.Errorf("leads to %q, want back", r.to)
	}
	if page := b.page("/tasks"); !page.has("html[data-theme=dark]") || !page.has("button[value=dark][aria-pressed=true]") {
		t.Error("dark was not remembered")
	}
	b.send(b.page("/tasks"), "form[action=/theme]", "theme", "system")
	if b.page("/tasks").has("html[data-theme]") {
		t.Error("the system's colours did not come back")
	}
	if got := b.post("/theme", url.Values{"theme": {"dark"}, "return": {"//evil.example/"}}).to; got != "/applications" {
		t.Errorf("leads to %q", got)
	}
}

// TestStepOutput: what a command printed is text, whatever it is.
func TestStepOutput(t *testing.T) {
	t.Parallel()
	w := settled(t)
	a, _ := w.application("shop", "dev", "other")
	task, step := w.running(a)
	const printed = "\x1b[31m<script>alert(1)</script>\x1b[0m\nrow 1\rrow 2\n"
	w.write(func(tx *store.Tx) error { return tx.SetStepOutput(context.Background(), step.ID, printed, true) })
	b := w.as("kurt")
	page := b.page(taskAddress(task.ID))
	item := page.one(t, "#step-"+id(step.ID))
	if got, want := item.one(t, "pre").text(), "<script>alert(1)</script> row 1 row 2"; got != want {
		t.Errorf("output %q, want %q", got, want)
	}
	if item.one(t, "details summary").text() != "Show output" || !strings.Contains(item.text(), "Earlier output was cut") {
		t.Errorf("the step says %q", item.text())
	}
	raw := b.get(taskAddress(task.ID) + "/steps/" + id(step.ID) + "/output")
	if got, want := raw.body, "[earlier output was cut]\n<script>alert(1)</script>\nrow 1\nrow 2\n"; got != want {
		t.Errorf("plain output %q, want %q", got, want)
	}
	if !strings.HasPrefix(raw.header.Get("Content-Type"), "text/plain") || !strings.Contains(raw.header.Get("Content-Security-Policy"), "sandbox") {
		t.Errorf("headers %v", raw.header)
	}
}

// TestLive: a page is woken by what happens in its scope, at once the first time and then
// seldom, and by nothing else.
func TestLive(t *testing.T) {
	t.Parallel()
	w := settled(t)
	dev, _ := w.application("shop", "dev", "other")
	task, step := w.running(dev)
	b := w.as("kurt")

	main := b.page(taskAddress(task.ID)).one(t, "main")
	if main.get("hx-get") != taskAddress(task.ID) || main.get("hx-select") != "#content" {
		t.Errorf("the page asks for %q", main.get("hx-get"))
	}
	connect := b.page(taskAddress(task.ID)).one(t, "#wake").get("hx-sse:connect")
	wakes, end := b.listen(connect)
	defer end()
	elsewhere, stop := b.listen("/live?in=shop%2Fproduction")
	defer stop()
	expect(t, wakes, "the first wake", true)
	expect(t, elsewhere, "the first wake", true)

	w.write(func(tx *store.Tx) error {
		if err := tx.CloseStep(context.Background(), step.ID, task.Epoch, slipway.StepSucceeded, ""); err != nil {
			return err
		}
		return w.changed(dev, task)(tx)
	})
	expect(t, wakes, "a wake after a change", true)
	if !strings.Contains(b.page(taskAddress(task.ID)).one(t, "#step-"+id(step.ID)).text(), "Succeeded") {
		t.Error("the page does not show the end of the step")
	}
	expect(t, elsewhere, "a wake by another environment's change", false)

	for range 50 {
		w.write(w.changed(dev, task))
	}
	n := 0
	for timeout := time.After(2 * livePause); ; {
		select {
		case <-wakes:
			n++
			continue
		case <-timeout:
		}
		break
	}
	if n < 1 || n > 10 {
		t.Errorf("50 changes at once wake %d times, want few", n)
	}

	stranger := w.browser()
	if got := stranger.get("/live").status; got != http.StatusUnauthorized {
		t.Errorf("a stranger's stream: %d, want 401", got)
	}
	r, err := http.NewRequest(http.MethodGet, w.server.URL+"/tasks", nil)
	w.must(err)
	r.Header.Set("HX-Request", "true")
	if got := stranger.do(r); got.status != http.StatusUnauthorized || got.header.Get("HX-Redirect") == "" {
		t.Errorf("a live page whose session has ended: %d, HX-Redirect %q", got.status, got.header.Get("HX-Redirect"))
	}
}

// listen opens a stream and returns its wakes.
func (b *browser) listen(path string) (<-chan struct{}, func()) {
	b.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, b.server.URL+path, nil)
	b.must(err)
	client := *b.client
	client.Timeout = 0
	res, err := client.Do(r)
	b.must(err)
	if got := res.Header.Get("Content-Type"); got != "text/event-stream" {
		b.Fatalf("GET %s: %d %s", path, res.StatusCode, got)
	}
	wakes := make(chan struct{}, 100)
	go func() {
		defer res.Body.Close()
		for in := bufio.NewScanner(res.Body); in.Scan(); {
			if in.Text() == "event: wake" {
				wakes <- struct{}{}
			}
		}
	}()
	return wakes, cancel
}

func expect(t *testing.T, wakes <-chan struct{}, what string, want bool) {
	t.Helper()
	wait := 10 * time.Second
	if !want {
		wait = 3 * livePause
	}
	select {
	case <-wakes:
		if !want {
			t.Errorf("%s came", what)
		}
	case <-time.After(wait):
		if want {
			t.Errorf("%s did not come", what)
		}
	}
}

// TestApplicationFilter: the list is what the filter says, and the form shows the filter.
func TestApplicationFilter(t *testing.T) {
	t.Parallel()
	w := settled(t)
	b := w.as("kurt")
	for query, want := range map[string]int{"": 2, "?in=shop": 2, "?in=shop%2Fdev": 1, "?in=other": 0, "?state=failed": 0, "?state=running&in=shop%2Fproduction": 1} {
		page := b.page("/applications" + query)
		if got := len(page.all("tbody tr")); got != want {
			t.Errorf("%q lists %d, want %d", query, got, want)
		}
		q, err := url.ParseQuery(strings.TrimPrefix(query, "?"))
		w.must(err)
		var chosen []string
		for _, o := range page.all("#in option[selected]") {
			chosen = append(chosen, o.get("value"))
		}
		if in := q.Get("in"); in != "" && in != "other" && !slices.Equal(chosen, []string{in}) {
			t.Errorf("%q: the form shows %v", query, chosen)
		}
		if want == 0 && !strings.Contains(page.text(), "Show all") {
			t.Errorf("%q: the empty list leads nowhere", query)
		}
	}
}
