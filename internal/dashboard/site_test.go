package dashboard

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// The tests here stand in the world of a real SQLite database with the real auth, change,
// view and events, over HTTP and without a browser.

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
					"/applications/shop/dev/guestbook/start": {"component": {"worker"}}, "/applications/shop/dev/guestbook/repair": {"revision": {"1"}}, taskAddress(open.ID) + "/cancel": {},
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

// A task that did not succeed is retried from its page, after what that repeats was shown.
func TestRetry(t *testing.T) {
	t.Parallel()
	w := settled(t)
	b := w.as("grace")
	started := b.send(b.page("/applications/shop/dev/guestbook"), "form[action=/applications/shop/dev/guestbook/start]")
	link := "a[href=" + started.to + "/retry]"
	if b.page(started.to).has(link) {
		t.Error("a task that has not ended offers a retry")
	}
	b.send(b.page(started.to), "form[action="+started.to+"/cancel]")
	if w.as("kurt").page(started.to).has(link) {
		t.Error("a read-only user is offered a retry")
	}
	b.page(started.to).one(t, link)
	plan := b.get(started.to + "/retry")
	checkPage(t, plan.body)
	if text := plan.doc.text(); !strings.Contains(text, "Start the components") || !strings.Contains(text, "Worker is stopped since task") {
		t.Errorf("the plan says\n%s", text)
	}
	retried, again := b.send(plan.doc, "form[action="+started.to+"/retry]"), b.send(plan.doc, "form[action="+started.to+"/retry]")
	if retried.status != http.StatusSeeOther || again.to != retried.to {
		t.Fatalf("retry: %d to %q, and once more to %q; want one task", retried.status, retried.to, again.to)
	}
	if text := b.page(retried.to).text(); !strings.Contains(text, "Attempt 2: retry of task") {
		t.Errorf("the retry's page says\n%s", text)
	}
	if text := b.page(started.to).text(); !strings.Contains(text, "Retried by task") || b.page(started.to).has(link) {
		t.Errorf("the first attempt's page says\n%s", text)
	}
	late := b.get(started.to + "/retry")
	if late.status != http.StatusConflict || !late.doc.has("#problem") {
		t.Errorf("a retry that comes too late: %d", late.status)
	}
}

// An application's page says where it can be rolled back to, or why not.
func TestRollback(t *testing.T) {
	t.Parallel()
	w := settled(t)
	const app = "/applications/shop/dev/guestbook"
	if text := w.as("grace").page(app).text(); strings.Contains(text, "Rollback") {
		t.Errorf("an application that was never anything else offers or refuses a rollback:\n%s", text)
	}
	ctx := t.Context()
	upgrade := func(digest, driver string) {
		t.Helper()
		w.write(func(tx *store.Tx) error {
			a, err := tx.Application(ctx, 1)
			if err != nil {
				return err
			}
			const source = "schema_version = 1\nname = \"guestbook\"\n[driver]\nname = \"guestbook\"\nversion = \"1.0.0\"\n[app]\nversion = \"1.0.0\"\n"
			if _, err := tx.SQL().ExecContext(ctx, "UPDATE revisions SET source = ?", source); err != nil {
				return err
			}
			s := slipway.ApplicationSpec{SchemaVersion: 1, Name: a.Name, Driver: slipway.DriverRef{Name: "guestbook", Version: driver}, App: slipway.AppRef{Version: "1.1.0"}}
			n := a.Revision + 1
			if _, err := tx.CreateRevision(ctx, slipway.Revision{ApplicationID: a.ID, Number: n, Spec: s, DriverDigest: digest, CreatedBy: "ada"}); err != nil {
				return err
			}
			c, err := tx.CreateChange(ctx, slipway.Change{ApplicationID: a.ID, Kind: slipway.UpgradeChange, Revision: n, FromRevision: a.Revision, RequestedBy: "ada"})
			if err != nil {
				return err
			}
			if err := tx.SetApplicationWanted(ctx, a.ID, a.Revision, n, c.Number); err != nil {
				return err
			}
			task, err := tx.CreateTask(ctx, slipway.Task{Kind: slipway.UpgradeTask, Title: "upgrade", ApplicationID: a.ID, ChangeID: c.ID, RequestedBy: "ada"})
			if err != nil {
				return err
			}
			epoch, err := tx.ClaimTask(ctx, task.ID, "replica")
			if err != nil {
				return err
			}
			if err := tx.FinishTask(ctx, task.ID, epoch, store.TaskEnd{State: slipway.Succeeded}); err != nil {
				return err
			}
			return tx.SetApplicationApplied(ctx, a.ID, store.Applied{Revision: n, AppVersion: "1.1.0", DriverName: "guestbook", DriverVersion: driver})
		})
	}
	upgrade(sampleDriver.Digest, "1.0.0")
	link := "a[href=" + app + "/rollback]"
	b := w.as("grace")
	page := b.page(app)
	if text := page.text(); page.has(link) || !strings.Contains(text, "Not offered: driver guestbook 1.0.0 allows no rollback") {
		t.Errorf("without a rule the page says\n%s", text)
	}

	later := sampleDriver
	later.Version, later.Spec.Version, later.Digest = "1.1.0", "1.1.0", "sha256:later"
	later.Spec.Rollbacks = []slipway.UpgradePath{{From: ">=1.1.0", To: "<1.1.0"}}
	w.write(func(tx *store.Tx) error { _, err := tx.CreateDriver(ctx, later, []byte("later")); return err })
	upgrade(later.Digest, "1.1.0")
	b.page(app).one(t, link)
	if w.as("kurt").page(app).has(link) {
		t.Error("a read-only user is offered a rollback")
	}
	plan := b.get(app + "/rollback?to=1")
	checkPage(t, plan.body)
	if text := plan.doc.text(); !strings.Contains(text, "1.1.0 → 1.0.0") || !strings.Contains(text, "Roll back to revision 1") {
		t.Errorf("the plan says\n%s", text)
	}
	done, again := b.send(plan.doc, "form[action="+app+"/rollback]"), b.send(plan.doc, "form[action="+app+"/rollback]")
	if done.status != http.StatusSeeOther || again.to != done.to {
		t.Fatalf("rollback: %d to %q, and once more to %q; want one task", done.status, done.to, again.to)
	}
	if got := b.page(done.to).one(t, "h1").text(); got != "Roll guestbook back to 1.0.0" {
		t.Errorf("the task's page is of %q", got)
	}
	if b.page(app).has(link) {
		t.Error("another rollback is offered while one runs")
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
