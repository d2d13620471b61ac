package api

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"slipway.dev/slipway/internal/auth"
	"slipway.dev/slipway/internal/change"
	"slipway.dev/slipway/internal/redact"
	"slipway.dev/slipway/internal/secret"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/spec"
	"slipway.dev/slipway/internal/store"
	"slipway.dev/slipway/internal/store/sqlite"
	"slipway.dev/slipway/internal/task"
	"slipway.dev/slipway/internal/view"
	"slipway.dev/slipway/internal/wire"
)

// The tests of this package stand on a real SQLite database, with the real packages below
// the API. No reconciler runs: what a task does, the tests write as it would.

const password = "correct horse battery staple"

type world struct {
	t        *testing.T
	url      string
	store    *store.Store
	auth     *auth.Authenticator
	log      *logBuffer
	stopping chan struct{}
	jobs     *jobSource
	admin    string // tokens
	writer   string
	reader   string
}

// newWorld starts a server with an administrator ada, a writer wilma and a reader rex.
func newWorld(t *testing.T) *world {
	t.Helper()
	ctx := t.Context()
	dir := t.TempDir()
	db, err := sqlite.Open(ctx, filepath.Join(dir, "slipway.db"), sqlite.Options{})
	check(t, err)
	t.Cleanup(func() { db.Close() })
	check(t, db.InTx(ctx, func(tx *store.Tx) error {
		_, err := tx.CreateInstallation(ctx, slipway.Installation{ID: "0a1b", ExternalID: "ext"})
		return err
	}))
	w := &world{t: t, store: db.Store, log: &logBuffer{}, stopping: make(chan struct{}), jobs: &jobSource{}}
	log := newLog(w.log)
	w.auth, err = auth.New(auth.Config{Store: db.Store, SetupSecretFile: filepath.Join(dir, "setup-secret"), Log: log})
	check(t, err)
	t.Cleanup(w.auth.Close)
	check(t, w.auth.EnsureActionsUser(ctx))
	box, err := secret.LoadOrCreate(filepath.Join(dir, "secret.key"), true)
	check(t, err)
	events := task.NewEvents(db.Store, log)
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() { defer close(ended); events.Run(running) }()
	t.Cleanup(func() { stop(); <-ended })

	changes := &change.Service{Store: db.Store, Box: box, Credentials: w.auth.Credentials, Apps: nobody{},
		Redactor: func(values ...string) func(string) string { return redact.New(values...).String }}
	handler := Handler(Dependencies{
		Auth: w.auth, Change: changes, View: view.New(db.Store),
		Events: stream0{events}, Jobs: w.jobs, Version: "1.2.3", WebhookURL: func() string { return "https://slipway.example.com/" }, Log: log, PrefectUI: func() string { return "http://prefect.example/" }, BundleBytes: 64 << 10, RequestBytes: 8 << 10, Stopping: w.stopping,
	})
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	w.url = server.URL

	hash := hashed(t, w.auth)
	for name, u := range map[string]struct {
		role  slipway.Role
		token *string
	}{"ada": {slipway.Administrator, &w.admin}, "wilma": {slipway.ReadWrite, &w.writer}, "rex": {slipway.ReadOnly, &w.reader}} {
		var made slipway.User
		check(t, db.InTx(ctx, func(tx *store.Tx) (err error) {
			made, err = tx.CreateUser(ctx, slipway.User{Name: name, Role: u.role, Active: true}, hash)
			return err
		}))
		tok, err := changes.CreateToken(ctx, slipway.Caller{UserID: made.ID, UserName: name, Role: u.role}, change.CreateTokenInput{Name: "test"})
		check(t, err)
		*u.token = tok.Value
	}
	return w
}

// hashed returns the hash of password, which takes long on purpose, once for all tests.
func hashed(t *testing.T, a *auth.Authenticator) string {
	t.Helper()
	hashOnce.Do(func() { theHash, errHash = a.HashPassword(context.WithoutCancel(t.Context()), password) })
	check(t, errHash)
	return theHash
}

var (
	hashOnce sync.Once
	theHash  string
	errHash  error
)

func newLog(to io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(to, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// stream0 is what package server puts between the broadcaster and the API.
type stream0 struct{ events *task.Events }

func (s stream0) Subscribe(ctx context.Context, after int64) ([]slipway.Event, <-chan slipway.Event, func(), error) {
	if after == 0 {
		sub := s.events.Subscribe()
		return nil, sub.C, sub.Close, nil
	}
	sub, past, err := s.events.SubscribeAfter(ctx, after)
	if err != nil {
		return nil, nil, nil, err
	}
	return past, sub.C, sub.Close, nil
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// logBuffer keeps the log.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// response is what came back.
type response struct {
	status int
	header http.Header
	body   string
}

func (r response) problem(t *testing.T) wire.Problem {
	t.Helper()
	var p wire.Problem
	if err := json.Unmarshal([]byte(r.body), &p); err != nil || r.header.Get("Content-Type") != "application/problem+json" {
		t.Fatalf("the answer %d is no problem: %s %q", r.status, r.header.Get("Content-Type"), r.body)
	}
	return p
}

// do sends a request. A string body is sent as it is, nil not at all, the rest as JSON.
func (w *world) do(method, path, token string, body any, headers ...string) response {
	w.t.Helper()
	var in io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		in = strings.NewReader(b)
	default:
		raw, err := json.Marshal(b)
		check(w.t, err)
		in = bytes.NewReader(raw)
	}
	ctx, cancel := context.WithTimeout(w.t.Context(), 40*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, w.url+Prefix+path, in)
	check(w.t, err)
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	check(w.t, err)
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	check(w.t, err)
	return response{resp.StatusCode, resp.Header, string(raw)}
}

// must is do, with the status that is to come, decoded into into.
func (w *world) must(status int, method, path, token string, body, into any, headers ...string) response {
	w.t.Helper()
	r := w.do(method, path, token, body, headers...)
	if r.status != status {
		w.t.Fatalf("%s %s = %d %s, want %d", method, path, r.status, r.body, status)
	}
	if into != nil {
		check(w.t, json.Unmarshal([]byte(r.body), into))
	}
	return r
}

// driver is a driver without a chart to render.
func driver(t *testing.T, version string) string {
	t.Helper()
	b, err := spec.NewBundle(map[string][]byte{
		"driver.slipway.yml": []byte(`apiVersion: slipway.dev/v1
kind: ApplicationDriver
metadata:
  name: guestbook
spec:
  version: ` + version + `
  helm:
    main:
      location: ./chart
      values: values.j2.yml
  components:
    web:
      selector: {app: web}
      container: web
    worker:
      selector: {app: worker}
      container: worker
  actions:
    - {name: backup, hook: upgrade, mode: pre, location: "actions.py::backup"}
`),
		"values.j2.yml":    []byte("version: {{ app.version }}\n"),
		"actions.py":       []byte("from prefect import flow\n\n\n@flow\nasync def backup(context):\n    pass\n"),
		"chart/Chart.yaml": []byte("apiVersion: v2\nname: guestbook\nversion: 0.3.1\n"),
	})
	check(t, err)
	packed, _, err := spec.Pack(b)
	check(t, err)
	return string(packed)
}

// application is a spec of that driver.
func application(version string) string {
	return "schema_version = 1\nname = \"guestbook\"\n\n[driver]\nname = \"guestbook\"\nversion = \"1.0.0\"\n\n[app]\nversion = \"" + version + "\"\n"
}

// furnish makes shop/dev, loads the driver and deploys the application.
func (w *world) furnish() wire.Accepted {
	w.t.Helper()
	w.must(201, "POST", "/projects", w.admin, wire.NewProject{Name: "shop"}, nil)
	w.must(201, "POST", "/environments", w.admin, wire.NewEnvironment{Project: "shop", Name: "dev"}, nil)
	w.must(201, "POST", "/drivers?source=guestbook", w.admin, driver(w.t, "1.0.0"), nil, "Content-Type", "application/gzip")
	var a wire.Accepted
	w.must(202, "POST", "/environments/shop/dev/applications", w.writer, wire.Deploy{Spec: application("1.0.0")}, &a)
	return a
}

// runTask has a task run as a reconciler would, with one hook step open.
func (w *world) runTask(id int64) (epoch int64, step slipway.Step) {
	w.t.Helper()
	ctx := w.t.Context()
	check(w.t, w.store.InTx(ctx, func(tx *store.Tx) (err error) {
		if epoch, err = tx.ClaimTask(ctx, id, "test"); err != nil {
			return err
		}
		if step, err = tx.OpenStep(ctx, id, epoch, "hook.setup.pre", slipway.StepSetupPre); err != nil {
			return err
		}
		t, err := tx.Task(ctx, id)
		if err != nil {
			return err
		}
		app, err := tx.Application(ctx, t.ApplicationID)
		if err != nil {
			return err
		}
		return tx.AddEvent(ctx, slipway.Event{Kind: "task.changed", Noun: "task", NounID: id, Project: app.Project, Environment: app.Environment})
	}))
	return epoch, step
}
