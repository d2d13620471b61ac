package change

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"slipway.dev/slipway/internal/auth"
	"slipway.dev/slipway/internal/secret"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
	"slipway.dev/slipway/internal/store/postgres"
	"slipway.dev/slipway/internal/store/postgres/postgrestest"
	"slipway.dev/slipway/internal/store/sqlite"
)

// These tests stand in the world of a database: a real store, on SQLite unless a test says
// onBoth. Nobody reconciles: a test ends tasks by hand. Drivers are rows, but in
// driver_test.go, where they are bundles.

func TestMain(m *testing.M) { postgrestest.Main(m) }

type world struct {
	*testing.T
	s     *Service
	store *store.Store
	auth  *auth.Authenticator

	admin, writer, reader slipway.Caller
	env                   slipway.Environment

	mu    sync.Mutex
	woken []string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "slipway.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return furnish(t, db.Store)
}

// onBoth runs a test on SQLite and on PostgreSQL.
func onBoth(t *testing.T, f func(w *world)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		f(newWorld(t))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		db, err := postgres.Open(t.Context(), postgrestest.DSN(t), postgres.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
		f(furnish(t, db.Store))
	})
}

// furnish fills an empty store with what nearly every test needs.
func furnish(t *testing.T, s *store.Store) *world {
	t.Helper()
	box, err := secret.LoadOrCreate(filepath.Join(t.TempDir(), "secret.key"), true)
	if err != nil {
		t.Fatal(err)
	}
	a, err := auth.New(auth.Config{Store: s})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	w := &world{T: t, store: s, auth: a}
	w.s = &Service{Store: s, Box: box, Credentials: a.Credentials, Wake: w.wake}
	w.write(func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.CreateInstallation(ctx, slipway.Installation{ID: "i-1", ExternalID: "x"})
		return err
	})
	if err := a.EnsureActionsUser(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.admin, w.writer, w.reader = w.user("anna", slipway.Administrator), w.user("ben", slipway.ReadWrite), w.user("cleo", slipway.ReadOnly)
	w.must(w.s.CreateProject(t.Context(), w.admin, CreateProjectInput{Name: "shop"}))
	w.env, err = w.s.CreateEnvironment(t.Context(), w.admin, CreateEnvironmentInput{Project: "shop", Name: "production"})
	w.ok(err)
	w.must(w.s.SetSecret(t.Context(), w.writer, SetSecretInput{Project: "shop", Environment: "production", Name: "guestbook-db", Value: []byte("hunter2")}))
	for _, v := range []string{"1.0.0", "1.1.0", "2.0.0"} {
		w.driver(v)
	}
	return w
}

func (w *world) wake(_ context.Context, _ *store.Tx, noun string, id int64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.woken = append(w.woken, fmt.Sprintf("%s %d", noun, id))
	return nil
}

func (w *world) user(name string, role slipway.Role) slipway.Caller {
	w.Helper()
	var u slipway.User
	w.write(func(ctx context.Context, tx *store.Tx) (err error) {
		u, err = tx.CreateUser(ctx, slipway.User{Name: name, Role: role, Active: true}, "")
		return err
	})
	return slipway.Caller{UserID: u.ID, UserName: name, Role: role, Remote: "192.0.2.7", RequestID: "r-1"}
}

// driver makes a version of the driver guestbook. Version 2.0.0 has other rules.
func (w *world) driver(v string, change ...func(*slipway.DriverSpec)) {
	w.Helper()
	d := slipway.DriverSpec{
		Name: "guestbook", Version: v, SupportedVersions: ">=1.0.0 <3.0.0", Chart: slipway.ChartRef{Location: "chart"},
		Components: map[string]slipway.Component{
			"web":    {Selector: map[string]string{"app": "web"}, Container: "web", Scalable: true},
			"worker": {Selector: map[string]string{"app": "worker"}, Container: "worker"},
		},
		Actions: []slipway.Action{
			{Name: "prepare", Hook: slipway.Setup, Mode: slipway.Pre},
			{Name: "backup", Hook: slipway.Upgrade, Mode: slipway.Pre},
			{Name: "migrate", Hook: slipway.Upgrade, Mode: slipway.Core, Irreversible: v == "2.0.0"},
			{Name: "check", Hook: slipway.Upgrade, Mode: slipway.Post},
		},
		Parameters: []byte(`{"type":"object","properties":{"admin_email":{"type":"string"},"license":{"type":"string","writeOnly":true}}}`),
	}
	for _, f := range change {
		f(&d)
	}
	w.write(func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.CreateDriver(ctx, slipway.Driver{Name: d.Name, Version: v, Digest: "sha256:" + d.Name + v, Spec: d, LoadedBy: "anna"}, []byte("bundle "+v))
		return err
	})
}

func (w *world) write(f func(ctx context.Context, tx *store.Tx) error) {
	w.Helper()
	w.ok(w.store.InTx(w.Context(), func(tx *store.Tx) error { return f(w.Context(), tx) }))
}

func (w *world) read(f func(ctx context.Context, tx *store.Tx) error) {
	w.Helper()
	w.ok(w.store.Read(w.Context(), func(tx *store.Tx) error { return f(w.Context(), tx) }))
}

func (w *world) ok(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) must(_ any, err error) {
	w.Helper()
	w.ok(err)
}

// refused checks an error's kind, its words and its remedy.
func (w *world) refused(err error, kind slipway.Kind, words string) {
	w.Helper()
	e, ok := errorOf(err)
	if !ok || e.Kind != kind {
		w.Errorf("error = %v (%s), want %s with %q", err, slipway.KindOf(err), kind, words)
		return
	}
	text := e.Msg
	for _, f := range e.Fields {
		text += "\n" + f.String()
	}
	if !strings.Contains(text, words) {
		w.Errorf("error says %q, want %q in it", text, words)
	}
}

// toml writes an application.toml of the guestbook.
func toml(app, driver string, more ...string) []byte {
	return []byte(`schema_version = 1
name = "guestbook"

[driver]
name = "guestbook"
version = "` + driver + `"

[app]
version = "` + app + `"
` + strings.Join(more, "\n"))
}

// production is a spec meant for shop/production.
func production(source []byte) SpecInput {
	return SpecInput{Project: "shop", Environment: "production", Source: source, File: "guestbook.toml"}
}

// deploy asks for a spec with an expected revision.
func (w *world) deploy(expected int64, source []byte, change ...func(*DeployInput)) (Accepted, error) {
	in := DeployInput{SpecInput: production(source), ExpectedRevision: &expected}
	for _, f := range change {
		f(&in)
	}
	return w.s.Deploy(w.Context(), w.writer, in)
}

func (w *world) mustDeploy(expected int64, source []byte, change ...func(*DeployInput)) Accepted {
	w.Helper()
	a, err := w.deploy(expected, source, change...)
	w.ok(err)
	return a
}

// end runs a task to its end, as a reconciler would. applied, when not empty, is the
// application and driver version that it brought to the cluster.
func (w *world) end(a Accepted, state slipway.TaskState, applied ...string) {
	w.Helper()
	w.write(func(ctx context.Context, tx *store.Tx) error {
		epoch, err := tx.ClaimTask(ctx, a.Task.ID, "r-1")
		if err != nil {
			return err
		}
		if len(applied) == 2 {
			err := tx.SetApplicationApplied(ctx, a.Application.ID, store.Applied{Revision: a.Change.Revision, AppVersion: applied[0], DriverName: "guestbook", DriverVersion: applied[1]})
			if err != nil {
				return err
			}
		}
		return tx.FinishTask(ctx, a.Task.ID, epoch, store.TaskEnd{State: state})
	})
}

// installed deploys 1.0.0 and has it succeed.
func (w *world) installed() Accepted {
	w.Helper()
	a := w.mustDeploy(0, toml("1.0.0", "1.0.0"))
	w.end(a, slipway.Succeeded, "1.0.0", "1.0.0")
	return a
}

// audits lists the lines of an action, the newest first.
func (w *world) audits(action string) (out []slipway.Audit) {
	w.Helper()
	w.read(func(ctx context.Context, tx *store.Tx) error {
		l, err := tx.Audits(ctx, store.AuditFilter{Action: action}, store.Page{})
		out = l.Items
		return err
	})
	return out
}

// audited checks the newest line of an action: by whom, on what, and its two sides.
func (w *world) audited(action, by, name, before, after string) {
	w.Helper()
	lines := w.audits(action)
	if len(lines) == 0 {
		w.Errorf("no audit of %s", action)
		return
	}
	a := lines[0]
	if a.User != by || a.NounName != name || a.RequestID != "r-1" || a.Remote != "192.0.2.7" {
		w.Errorf("audit of %s = %+v", action, a)
	}
	if got := canonical(a.Before); got != before {
		w.Errorf("audit of %s: before = %s, want %s", action, got, before)
	}
	if got := canonical(a.After); got != after {
		w.Errorf("audit of %s: after = %s, want %s", action, got, after)
	}
}

func canonical(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		return err.Error()
	}
	out, _ := json.Marshal(v)
	return string(out)
}

// dump writes every row of every table as text, by table.
func (w *world) dump() map[string][]string {
	w.Helper()
	out := map[string][]string{}
	w.read(func(ctx context.Context, tx *store.Tx) error {
		list := `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`
		if w.store.Dialect() == "postgres" {
			list = `SELECT tablename FROM pg_tables WHERE schemaname = 'public'`
		}
		tables, err := texts(ctx, tx, list)
		if err != nil {
			return err
		}
		for _, t := range tables {
			rows, err := texts(ctx, tx, `SELECT * FROM "`+t+`"`)
			if err != nil {
				return err
			}
			slices.Sort(rows)
			out[t] = rows
		}
		return nil
	})
	return out
}

func texts(ctx context.Context, tx *store.Tx, query string) (out []string, err error) {
	rows, err := tx.SQL().QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		var line []string
		for _, v := range values {
			if b, ok := v.([]byte); ok {
				v = string(b)
			}
			line = append(line, fmt.Sprint(v))
		}
		out = append(out, strings.Join(line, "|"))
	}
	return out, rows.Err()
}
