package view_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
	"slipway.dev/slipway/internal/store/postgres"
	"slipway.dev/slipway/internal/store/postgres/postgrestest"
	"slipway.dev/slipway/internal/store/sqlite"
	"slipway.dev/slipway/internal/view"
)

func TestMain(m *testing.M) { postgrestest.Main(m) }

// onBoth runs a test in the world of both databases: a real SQLite file and a real
// PostgreSQL.
func onBoth(t *testing.T, run func(t *testing.T, w *world)) {
	t.Helper()
	t.Parallel()
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		run(t, newWorld(t, openSQLite(t)))
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		db, err := postgres.Open(t.Context(), postgrestest.DSN(t), postgres.Options{})
		if err != nil {
			t.Fatal(err)
		}
		closeAfter(t, db.Close)
		run(t, newWorld(t, db.Store))
	})
}

func openSQLite(t testing.TB) *store.Store {
	t.Helper()
	db, err := sqlite.Open(context.Background(), filepath.Join(t.TempDir(), "slipway.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	closeAfter(t, db.Close)
	return db.Store
}

func closeAfter(t testing.TB, end func() error) {
	t.Cleanup(func() {
		if err := end(); err != nil {
			t.Error(err)
		}
	})
}

// world is an installation with three environments and one application in each. The
// application of shop/production has a history.
type world struct {
	*testing.T
	store  *store.Store
	reader *view.Reader

	demo, dev, production slipway.Application
	upgrade               slipway.Task // of shop/production: runs, and has started a stop
	stop                  slipway.Task
	step                  slipway.Step // of the upgrade: its core hook
	ada, actions          slipway.User
}

func newWorld(t *testing.T, s *store.Store) *world {
	t.Helper()
	w := &world{T: t, store: s, reader: view.New(s)}
	ctx := t.Context()
	w.write(func(tx *store.Tx) error {
		var err error
		if w.ada, err = tx.CreateUser(ctx, slipway.User{Name: "ada", Role: slipway.Administrator, Active: true}, "hash"); err != nil {
			return err
		}
		w.actions, err = tx.CreateUser(ctx, slipway.User{Name: slipway.ActionsUser, Role: slipway.ReadWrite, Active: true, BuiltIn: true}, "")
		if err != nil {
			return err
		}
		_, err = tx.CreateDriver(ctx, driver, []byte("bundle"))
		return err
	})
	w.demo = w.application("demo", "dev", "guestbook")
	w.dev = w.application("shop", "dev", "guestbook")
	w.production = w.application("shop", "production", "guestbook")
	w.history()
	return w
}

var driver = slipway.Driver{
	Name: "guestbook", Version: "1.0.0", Digest: "sha256:5f1c", LoadedBy: "ada",
	Spec: slipway.DriverSpec{
		Name: "guestbook", Version: "1.0.0",
		Components: map[string]slipway.Component{"web": {Container: "web"}, "worker": {}},
		Services:   map[string]slipway.Service{"page": {Component: "web", Port: 8080}},
		Actions: []slipway.Action{
			{Name: "backup", Hook: slipway.Upgrade, Mode: slipway.Pre},
			{Name: "migrate", Hook: slipway.Upgrade, Mode: slipway.Core},
		},
	},
}

func (w *world) write(f func(tx *store.Tx) error) {
	w.Helper()
	if err := w.store.InTx(w.Context(), f); err != nil {
		w.Fatal(err)
	}
}

func specOf(name, version string) slipway.ApplicationSpec {
	return slipway.ApplicationSpec{
		SchemaVersion: 1, Name: name, Driver: slipway.DriverRef{Name: driver.Name, Version: driver.Version},
		App: slipway.AppRef{Version: version},
		Components: map[string]slipway.ComponentConfig{
			"web": {
				Image:   "registry.example.com/guestbook:{{ app.version }}-patched",
				Env:     map[string]string{"LOG_LEVEL": "info", "DATABASE_PASSWORD": "hunter2hunter2"},
				Secrets: map[string]string{"DATABASE_URL": "guestbook-db"},
			},
			"cache": {}, // which the driver does not know
		},
		Parameters: map[string]any{"smtp": map[string]any{"secret": "smtp-login"}},
	}
}

// application makes an environment, and in it an application that is installed at 1.0.0.
func (w *world) application(project, environment, name string) (a slipway.Application) {
	w.Helper()
	ctx := w.Context()
	w.write(func(tx *store.Tx) error {
		p, err := tx.ProjectByName(ctx, project)
		if slipway.Is(err, slipway.NotFound) {
			p, err = tx.CreateProject(ctx, slipway.Project{Name: project})
		}
		if err != nil {
			return err
		}
		e, err := tx.CreateEnvironment(ctx, slipway.Environment{ProjectID: p.ID, Name: environment, Namespace: project + "-" + environment})
		if err != nil {
			return err
		}
		for _, s := range []string{"guestbook-db", "smtp-login", "unused"} {
			if _, err := tx.PutSecret(ctx, e.ID, s, []byte("sealed"), "ada"); err != nil {
				return err
			}
		}
		a, err = tx.CreateApplication(ctx, slipway.Application{EnvironmentID: e.ID, Name: name, Kind: slipway.DriverApplication})
		return err
	})
	w.deploy(a, slipway.InstallChange, slipway.InstallTask, "1.0.0", slipway.Succeeded)
	w.write(func(tx *store.Tx) error {
		applied := store.Applied{Revision: 1, AppVersion: "1.0.0", DriverName: driver.Name, DriverVersion: driver.Version}
		if err := tx.SetApplicationApplied(ctx, a.ID, applied); err != nil {
			return err
		}
		return tx.SetApplicationState(ctx, a.ID, slipway.AppRunning, "")
	})
	return a
}

// deploy accepts one more revision of a, and its task in a state.
func (w *world) deploy(a slipway.Application, ck slipway.ChangeKind, tk slipway.TaskKind, version string, state slipway.TaskState) (t slipway.Task) {
	w.Helper()
	ctx := w.Context()
	w.write(func(tx *store.Tx) error {
		now, err := tx.Application(ctx, a.ID)
		if err != nil {
			return err
		}
		rev, err := tx.CreateRevision(ctx, slipway.Revision{ApplicationID: a.ID, Number: now.Revision + 1, Spec: specOf(a.Name, version), DriverDigest: driver.Digest, CreatedBy: "ada"})
		if err != nil {
			return err
		}
		c, err := tx.CreateChange(ctx, slipway.Change{ApplicationID: a.ID, Kind: ck, Revision: rev.Number, FromRevision: now.Revision, RequestedBy: "ada"})
		if err != nil {
			return err
		}
		if err := tx.SetApplicationWanted(ctx, a.ID, now.Revision, rev.Number, c.Number); err != nil {
			return err
		}
		t, err = tx.CreateTask(ctx, slipway.Task{Kind: tk, Title: fmt.Sprintf("%s %s to %s", tk, a.Name, version), ApplicationID: a.ID, ChangeID: c.ID, RequestedBy: "ada"})
		if err != nil || state == slipway.Queued {
			return err
		}
		epoch, err := tx.ClaimTask(ctx, t.ID, "replica")
		if err != nil || state == slipway.Running {
			return err
		}
		return tx.FinishTask(ctx, t.ID, epoch, store.TaskEnd{State: state})
	})
	return w.task(t.ID)
}

// history has shop/production upgrade to 1.1.0: the core hook runs and has stopped the
// worker by a task of its own.
func (w *world) history() {
	w.Helper()
	ctx := w.Context()
	w.upgrade = w.deploy(w.production, slipway.UpgradeChange, slipway.UpgradeTask, "1.1.0", slipway.Running)
	w.write(func(tx *store.Tx) error {
		check, err := tx.OpenStep(ctx, w.upgrade.ID, w.upgrade.Epoch, "check", "Check the change")
		if err != nil {
			return err
		}
		if err := tx.CloseStep(ctx, check.ID, w.upgrade.Epoch, slipway.StepSucceeded, ""); err != nil {
			return err
		}
		w.step, err = tx.OpenStep(ctx, w.upgrade.ID, w.upgrade.Epoch, "hook.upgrade.core", slipway.StepUpgradeCore)
		if err != nil {
			return err
		}
		if err := errors.Join(tx.SetStepOutput(ctx, w.step.ID, "stopping\n", true), tx.AddStepNote(ctx, w.step.ID, "a note")); err != nil {
			return err
		}
		if _, err := tx.CreateActionRun(ctx, slipway.ActionRun{StepID: w.step.ID, Action: "migrate", Key: "k"}); err != nil {
			return err
		}
		w.stop, err = tx.CreateTask(ctx, slipway.Task{Kind: slipway.StopTask, Title: "stop worker", ApplicationID: w.production.ID, ParentStepID: w.step.ID, Args: []byte(`{"components":["worker"]}`), RequestedBy: slipway.ActionsUser})
		if err != nil {
			return err
		}
		epoch, err := tx.ClaimTask(ctx, w.stop.ID, "replica")
		if err != nil {
			return err
		}
		if err := tx.FinishTask(ctx, w.stop.ID, epoch, store.TaskEnd{State: slipway.Succeeded}); err != nil {
			return err
		}
		return tx.SetComponentStopped(ctx, w.production.ID, "worker", w.upgrade.ID)
	})
}

func (w *world) task(id int64) (t slipway.Task) {
	w.Helper()
	err := w.store.Read(w.Context(), func(tx *store.Tx) (err error) {
		t, err = tx.Task(w.Context(), id)
		return err
	})
	if err != nil {
		w.Fatal(err)
	}
	return t
}

// The callers of the tests: an administrator, and tokens that see a part.
func (w *world) admin() slipway.Caller {
	return slipway.Caller{UserID: w.ada.ID, UserName: "ada", Role: slipway.Administrator}
}

func (w *world) confined(project, environment string) slipway.Caller {
	c := w.admin()
	c.TokenID, c.Project, c.Environment = 1, project, environment
	return c
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
