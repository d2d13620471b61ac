package dashboard

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"slipway.dev/slipway/internal/auth"
	"slipway.dev/slipway/internal/change"
	"slipway.dev/slipway/internal/secret"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
	"slipway.dev/slipway/internal/store/sqlite"
	"slipway.dev/slipway/internal/task"
	"slipway.dev/slipway/internal/view"
	"slipway.dev/slipway/internal/webhook"
)

// world is a server of the pages over a real SQLite database, with the real auth, change,
// view and events. No reconciler runs: tests move tasks themselves.
type world struct {
	testing.TB
	store  *store.Store
	auth   *auth.Authenticator
	change *change.Service
	server *httptest.Server
	secret string // of the first start
	log    journal

	ada, grace, kurt slipway.User // administrator, read/write, read-only
}

// journal keeps what the pages log.
type journal struct {
	mu   sync.Mutex
	text strings.Builder
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(b)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

const password = "correct horse battery"

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{TB: t}
	dir := t.TempDir()
	db, err := sqlite.Open(context.Background(), filepath.Join(dir, "slipway.db"), sqlite.Options{})
	w.must(err)
	w.store = db.Store
	t.Cleanup(func() { w.must(db.Close()) })
	w.write(func(tx *store.Tx) error {
		_, err := tx.CreateInstallation(context.Background(), slipway.Installation{ID: "i", ExternalID: "e"})
		return err
	})
	w.auth, err = auth.New(auth.Config{Store: w.store, SetupSecretFile: filepath.Join(dir, "setup-secret")})
	w.must(err)
	t.Cleanup(w.auth.Close)
	file, err := w.auth.EnsureSetupSecret(context.Background())
	w.must(err)
	first, err := os.ReadFile(file)
	w.must(err)
	w.secret = strings.TrimSpace(string(first))
	box, err := secret.LoadOrCreate(filepath.Join(dir, "secret.key"), true)
	w.must(err)
	w.change = &change.Service{Store: w.store, Box: box, Credentials: w.auth.Credentials}

	events := task.NewEvents(w.store, nil)
	ctx, stop := context.WithCancel(context.Background())
	ran := make(chan struct{})
	go func() { defer close(ran); events.Run(ctx) }()
	t.Cleanup(func() { stop(); <-ran })
	pages := http.NewServeMux()
	door := webhook.New(webhook.Config{Change: w.change})
	took := make(chan struct{})
	go func() { defer close(took); door.Run(ctx) }()
	t.Cleanup(func() { stop(); <-took })
	pages.Handle("/webhooks/", door)
	pages.Handle("/", Handler(Dependencies{
		Auth: w.auth, Change: w.change, View: view.New(w.store), Jobs: forgeOfTests{}, Version: "test", URL: func() string { return w.server.URL }, Log: slog.New(slog.NewTextHandler(&w.log, nil)), PrefectUI: func() string { return "http://127.0.0.1:4200" },
		Subscribe: func() (<-chan slipway.Event, func()) { s := events.Subscribe(); return s.C, s.Close },
		Stopping:  ctx.Done(),
	}))
	w.server = httptest.NewServer(pages)
	t.Cleanup(w.server.Close)
	t.Cleanup(stop) // first: the streams end with it
	return w
}

// settled is a world after the first start: with people, environments, a driver, and an
// application in each environment.
func settled(t testing.TB) *world {
	t.Helper()
	w := newWorld(t)
	ctx := context.Background()
	hash, err := w.auth.HashPassword(ctx, password)
	w.must(err)
	w.write(func(tx *store.Tx) error {
		if err := tx.MarkSetupDone(ctx); err != nil {
			return err
		}
		for _, u := range []struct {
			into *slipway.User
			name string
			role slipway.Role
		}{{&w.ada, "ada", slipway.Administrator}, {&w.grace, "grace", slipway.ReadWrite}, {&w.kurt, "kurt", slipway.ReadOnly}} {
			made, err := tx.CreateUser(ctx, slipway.User{Name: u.name, Role: u.role, Active: true}, hash)
			if err != nil {
				return err
			}
			*u.into = made
		}
		_, err := tx.CreateUser(ctx, slipway.User{Name: slipway.ActionsUser, Role: slipway.ReadWrite, Active: true, BuiltIn: true}, "")
		if err != nil {
			return err
		}
		d := sampleDriver
		_, err = tx.CreateDriver(ctx, d, []byte("bundle"))
		return err
	})
	w.environment("shop", "dev")
	w.environment("shop", "production")
	w.application("shop", "dev", "guestbook")
	w.application("shop", "production", "guestbook")
	return w
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) write(f func(tx *store.Tx) error) {
	w.Helper()
	w.must(w.store.InTx(context.Background(), f))
}

func (w *world) environment(project, name string) {
	w.Helper()
	ctx := context.Background()
	w.write(func(tx *store.Tx) error {
		p, err := tx.ProjectByName(ctx, project)
		if slipway.Is(err, slipway.NotFound) {
			p, err = tx.CreateProject(ctx, slipway.Project{Name: project})
		}
		if err != nil {
			return err
		}
		_, err = tx.CreateEnvironment(ctx, slipway.Environment{ProjectID: p.ID, Name: name, Namespace: project + "-" + name})
		return err
	})
}

// application makes one that runs at 1.0.0 and whose worker is stopped by its install.
func (w *world) application(project, environment, name string) (a slipway.Application, install slipway.Task) {
	w.Helper()
	ctx := context.Background()
	w.write(func(tx *store.Tx) error {
		e, err := tx.EnvironmentByName(ctx, project, environment)
		if err != nil {
			return err
		}
		if a, err = tx.CreateApplication(ctx, slipway.Application{EnvironmentID: e.ID, Name: name, Kind: slipway.DriverApplication}); err != nil {
			return err
		}
		s := slipway.ApplicationSpec{SchemaVersion: 1, Name: name, Driver: slipway.DriverRef{Name: "guestbook", Version: "1.0.0"}, App: slipway.AppRef{Version: "1.0.0"}}
		if _, err := tx.CreateRevision(ctx, slipway.Revision{ApplicationID: a.ID, Number: 1, Spec: s, DriverDigest: sampleDriver.Digest, CreatedBy: "ada"}); err != nil {
			return err
		}
		c, err := tx.CreateChange(ctx, slipway.Change{ApplicationID: a.ID, Kind: slipway.InstallChange, Revision: 1, RequestedBy: "ada"})
		if err != nil {
			return err
		}
		if err := tx.SetApplicationWanted(ctx, a.ID, 0, 1, c.Number); err != nil {
			return err
		}
		install, err = tx.CreateTask(ctx, slipway.Task{Kind: slipway.InstallTask, Title: "install " + name, ApplicationID: a.ID, ChangeID: c.ID, RequestedBy: "ada"})
		if err != nil {
			return err
		}
		epoch, err := tx.ClaimTask(ctx, install.ID, "replica")
		if err != nil {
			return err
		}
		if err := tx.FinishTask(ctx, install.ID, epoch, store.TaskEnd{State: slipway.Succeeded}); err != nil {
			return err
		}
		if err := tx.SetComponentStopped(ctx, a.ID, "worker", install.ID); err != nil {
			return err
		}
		if err := tx.SetApplicationApplied(ctx, a.ID, store.Applied{Revision: 1, AppVersion: "1.0.0", DriverName: "guestbook", DriverVersion: "1.0.0"}); err != nil {
			return err
		}
		return tx.SetApplicationState(ctx, a.ID, slipway.AppRunning, "")
	})
	return a, install
}

// running makes a task that runs its first step.
func (w *world) running(a slipway.Application) (t slipway.Task, s slipway.Step) {
	w.Helper()
	ctx := context.Background()
	w.write(func(tx *store.Tx) error {
		var err error
		t, err = tx.CreateTask(ctx, slipway.Task{Kind: slipway.StartTask, Title: "start worker of " + a.Name, ApplicationID: a.ID, Args: []byte(`{"components":["worker"]}`), RequestedBy: "ada"})
		if err != nil {
			return err
		}
		if t.Epoch, err = tx.ClaimTask(ctx, t.ID, "replica"); err != nil {
			return err
		}
		s, err = tx.OpenStep(ctx, t.ID, t.Epoch, "check", "Look around")
		return err
	})
	return t, s
}

// changed tells the pages that a task of an application has changed.
func (w *world) changed(a slipway.Application, t slipway.Task) func(tx *store.Tx) error {
	return func(tx *store.Tx) error {
		return tx.AddEvent(context.Background(), slipway.Event{Kind: "step.changed", Noun: "task", NounID: t.ID, Project: a.Project, Environment: a.Environment})
	}
}

// browser is someone who looks at pages and sends forms, without scripts.
type browser struct {
	*world
	client *http.Client
	token  string
}

func (w *world) browser() *browser {
	jar, err := cookiejar.New(nil)
	w.must(err)
	return &browser{world: w, client: &http.Client{
		Jar: jar, Timeout: 20 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// as signs someone in.
func (w *world) as(name string) *browser {
	w.Helper()
	b := w.browser()
	r := b.post("/sign-in", url.Values{"name": {name}, "password": {password}})
	if r.status != http.StatusSeeOther {
		w.Fatalf("sign in as %s: %d\n%s", name, r.status, r.body)
	}
	return b
}

// withToken asks with a token of ada's, confined to a project and an environment.
func (w *world) withToken(role slipway.Role, project, environment string) *browser {
	w.Helper()
	c := slipway.Caller{UserID: w.ada.ID, UserName: "ada", Role: slipway.Administrator}
	made, err := w.change.CreateToken(context.Background(), c, change.CreateTokenInput{Name: "t", Role: role, Project: project, Environment: environment})
	w.must(err)
	b := w.browser()
	b.token = made.Value
	return b
}

type reply struct {
	status int
	header http.Header
	body   string
	to     string // where a redirect leads
	doc    element
}

func (b *browser) get(path string) reply {
	b.Helper()
	r, err := http.NewRequest(http.MethodGet, b.server.URL+path, nil)
	b.must(err)
	return b.do(r)
}

func (b *browser) post(path string, form url.Values) reply {
	b.Helper()
	r, err := http.NewRequest(http.MethodPost, b.server.URL+path, strings.NewReader(form.Encode()))
	b.must(err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	return b.do(r)
}

func (b *browser) do(r *http.Request) reply {
	b.Helper()
	if b.token != "" {
		r.Header.Set("Authorization", "Bearer "+b.token)
	}
	res, err := b.client.Do(r)
	b.must(err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	b.must(err)
	return reply{res.StatusCode, res.Header, string(body), res.Header.Get("Location"), parse(b, string(body))}
}

// page gets a page that must be there and be sound.
func (b *browser) page(path string) element {
	b.Helper()
	r := b.get(path)
	if r.status != http.StatusOK {
		b.Fatalf("GET %s: %d\n%s", path, r.status, r.doc.text())
	}
	checkPage(b, r.body)
	return r.doc
}

// send sends the only form of a page that a selector finds, as it is filled in, with the
// given fields changed.
func (b *browser) send(page element, selector string, fields ...string) reply {
	b.Helper()
	form := page.one(b, selector)
	values := url.Values{}
	for _, in := range form.all("input") {
		values.Set(in.get("name"), in.get("value"))
	}
	for _, in := range form.all("select") {
		for _, o := range in.all("option[selected]") {
			values.Set(in.get("name"), o.get("value"))
		}
	}
	for i := 0; i+1 < len(fields); i += 2 {
		if !values.Has(fields[i]) && !form.has("select[name="+fields[i]+"]") && !form.has("button[name="+fields[i]+"]") {
			b.Fatalf("the form %s has no field %q", selector, fields[i])
		}
		values.Set(fields[i], fields[i+1])
	}
	for _, all := range values {
		for i := range all {
			all[i] = strings.ReplaceAll(all[i], "\n", "\r\n") // as browsers send them
		}
	}
	return b.post(form.get("action"), values)
}

// facts counts what a request might have changed.
func (w *world) facts() string {
	w.Helper()
	var out string
	err := w.store.Read(context.Background(), func(tx *store.Tx) error {
		for _, table := range []string{"audit", "tasks", "users", "tokens", "applications", "events", "changes", "sessions", "idempotency", "component_states"} {
			var n int
			if err := tx.SQL().QueryRow("SELECT COUNT(*) FROM " + table).Scan(&n); err != nil {
				return err
			}
			out += fmt.Sprintf("%s %d, ", table, n)
		}
		return nil
	})
	w.must(err)
	return out
}
