package storetest

import (
	"context"
	"testing"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// Run checks a database. open returns a new, empty store that goes with the test.
func Run(t *testing.T, open func(t *testing.T) *store.Store) {
	t.Helper()
	for _, part := range []struct {
		name string
		run  func(w *world)
	}{
		{"transactions", transactions},
		{"installation", installation},
		{"replicas", replicas},
		{"leases", leases},
		{"users", users},
		{"sessions", sessions},
		{"tokens", tokens},
		{"projects and environments", projects},
		{"secrets", secrets},
		{"drivers", drivers},
		{"applications", applications},
		{"revisions", revisions},
		{"components", components},
		{"drift", drift},
		{"changes", changes},
		{"tasks", tasks},
		{"retries", retries},
		{"actions since", actionsSince},
		{"steps", steps},
		{"action runs", actionRuns},
		{"action calls", actionCalls},
		{"audit", audits},
		{"idempotency", idempotency},
		{"events", events},
		{"wake-ups", wakeUps},
		{"backups", backups},
		{"runner pools", runnerPools},
		{"runner slots", runnerSlots},
		{"forge jobs", forgeJobs},
		{"runner reads", runnerReads},
		{"runner events", runnerEvents},
		{"words of jobs", jobWords},
		{"connections", connections},
		{"cluster view", clusterView},
		{"pages", pages},
		{"races", races},
	} {
		t.Run(part.name, func(t *testing.T) {
			t.Parallel()
			part.run(&world{T: t, store: open(t)})
		})
	}
}

// world is one empty store and what tests do with it all the time.
type world struct {
	*testing.T
	store *store.Store
}

// write runs f in a transaction that must succeed.
func (w *world) write(f func(ctx context.Context, tx *store.Tx) error) {
	w.Helper()
	if err := w.try(f); err != nil {
		w.Fatal(err)
	}
}

// try runs f in a transaction and returns its error.
func (w *world) try(f func(ctx context.Context, tx *store.Tx) error) error {
	ctx := w.Context()
	return w.store.InTx(ctx, func(tx *store.Tx) error { return f(ctx, tx) })
}

// read runs f in a reading transaction that must succeed.
func (w *world) read(f func(ctx context.Context, tx *store.Tx) error) {
	w.Helper()
	ctx := w.Context()
	if err := w.store.Read(ctx, func(tx *store.Tx) error { return f(ctx, tx) }); err != nil {
		w.Fatal(err)
	}
}

// get returns what a function of the store returns.
func get[T any](w *world, f func(ctx context.Context, tx *store.Tx) (T, error)) T {
	w.Helper()
	var v T
	w.read(func(ctx context.Context, tx *store.Tx) (err error) {
		v, err = f(ctx, tx)
		return err
	})
	return v
}

// put does the same for one that writes.
func put[T any](w *world, f func(ctx context.Context, tx *store.Tx) (T, error)) T {
	w.Helper()
	var v T
	w.write(func(ctx context.Context, tx *store.Tx) (err error) {
		v, err = f(ctx, tx)
		return err
	})
	return v
}

// wantKind checks what kind of error came back.
func (w *world) wantKind(what string, err error, want slipway.Kind) {
	w.Helper()
	if got := slipway.KindOf(err); got != want {
		w.Errorf("%s: got error %v (kind %q), want kind %q", what, err, got, want)
	}
}

// The rows that most nouns need before they can be.

func (w *world) environment(project, name string) slipway.Environment {
	w.Helper()
	return put(w, func(ctx context.Context, tx *store.Tx) (slipway.Environment, error) {
		p, err := tx.ProjectByName(ctx, project)
		if slipway.Is(err, slipway.NotFound) {
			p, err = tx.CreateProject(ctx, slipway.Project{Name: project})
		}
		if err != nil {
			return slipway.Environment{}, err
		}
		return tx.CreateEnvironment(ctx, slipway.Environment{ProjectID: p.ID, Name: name, Namespace: project + "-" + name})
	})
}

func (w *world) application(e slipway.Environment, name string) slipway.Application {
	w.Helper()
	return put(w, func(ctx context.Context, tx *store.Tx) (slipway.Application, error) {
		return tx.CreateApplication(ctx, slipway.Application{EnvironmentID: e.ID, Name: name, Kind: slipway.DriverApplication,
			AppVersion: "1.0.0", DriverName: "guestbook", DriverVersion: "1.0.0"})
	})
}

func (w *world) change(a slipway.Application, kind slipway.ChangeKind) slipway.Change {
	w.Helper()
	return put(w, func(ctx context.Context, tx *store.Tx) (slipway.Change, error) {
		return tx.CreateChange(ctx, slipway.Change{ApplicationID: a.ID, Kind: kind, Revision: 1, RequestedBy: "ann"})
	})
}

func (w *world) task(a slipway.Application) slipway.Task {
	w.Helper()
	return put(w, func(ctx context.Context, tx *store.Tx) (slipway.Task, error) {
		return tx.CreateTask(ctx, slipway.Task{Kind: slipway.StopTask, Title: "stop worker of " + a.Name, ApplicationID: a.ID, RequestedBy: "ann"})
	})
}

// running returns a task that a worker has claimed.
func (w *world) running() slipway.Task {
	w.Helper()
	t := w.task(w.application(w.environment("shop", "production"), "guestbook"))
	return put(w, func(ctx context.Context, tx *store.Tx) (slipway.Task, error) {
		if _, err := tx.ClaimTask(ctx, t.ID, "replica-1"); err != nil {
			return t, err
		}
		return tx.Task(ctx, t.ID)
	})
}

func (w *world) user(name string, role slipway.Role) slipway.User {
	w.Helper()
	return put(w, func(ctx context.Context, tx *store.Tx) (slipway.User, error) {
		return tx.CreateUser(ctx, slipway.User{Name: name, Role: role, Active: true}, "$argon2id$hash")
	})
}
