package task

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/riverqueue/river/riverdriver"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
	"slipway.dev/slipway/internal/store/postgres"
	"slipway.dev/slipway/internal/store/postgres/postgrestest"
	"slipway.dev/slipway/internal/store/sqlite"
)

func TestMain(m *testing.M) { child(); postgrestest.Main(m) }

// world is one database with whatever queues a test starts on it.
type world struct {
	testing.TB
	name, where string
	store       *store.Store
	db          database
	log         *slog.Logger
}

var replicas atomic.Int64

// eachDatabase runs a test on a real SQLite file and on a real PostgreSQL.
func eachDatabase(t *testing.T, f func(w *world)) {
	t.Helper()
	for _, name := range []string{"sqlite", "postgres"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f(newWorld(t, name))
		})
	}
}

func newWorld(tb testing.TB, name string) *world {
	tb.Helper()
	where := filepath.Join(tb.TempDir(), "slipway.db")
	if name == "postgres" {
		where = postgrestest.Prepared(tb, func(dsn string) error {
			db, err := postgres.Open(context.Background(), dsn, postgres.Options{})
			if err != nil {
				return err
			}
			return db.Close()
		})
	}
	db, err := openDatabase(context.Background(), name, where)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := db.Close(); err != nil {
			tb.Error(err)
		}
	})
	return &world{TB: tb, name: name, where: where, store: db.store, db: db, log: slog.New(slog.NewTextHandler(tb.Output(), &slog.HandlerOptions{Level: slog.LevelInfo}))}
}

// queue returns a queue that is not started.
func (w *world) queue(o Options) *Queue {
	w.Helper()
	o.Replica = slipway.Replica{ID: fmt.Sprintf("replica-%d", replicas.Add(1)), Role: "all"}
	o.Log = w.log
	if o.Grace == 0 {
		o.Grace = 100 * time.Millisecond
	}
	q, err := NewQueue(w.store, w.db.River(), o)
	if err != nil {
		w.Fatal(err)
	}
	return q
}

// start starts a queue that stops with the test.
func (w *world) start(q *Queue) {
	w.Helper()
	if err := q.Start(context.Background()); err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { w.stop(q) })
}

func (w *world) stop(q *Queue) {
	w.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := q.Stop(ctx); err != nil {
		w.Error(err)
	}
}

func (w *world) wake(q *Queue, wakeUps ...WakeUp) {
	w.Helper()
	w.write(func(ctx context.Context, tx *store.Tx) error {
		for _, u := range wakeUps {
			if err := q.Enqueue(ctx, tx, u); err != nil {
				return err
			}
		}
		return nil
	})
}

func (w *world) write(f func(ctx context.Context, tx *store.Tx) error) {
	w.Helper()
	ctx := context.Background()
	if err := w.store.InTx(ctx, func(tx *store.Tx) error { return f(ctx, tx) }); err != nil {
		w.Fatal(err)
	}
}

// entries is the list of wake-ups.
func (w *world) entries() (out []store.WakeUp) {
	w.Helper()
	ctx := context.Background()
	err := w.store.Read(ctx, func(tx *store.Tx) (err error) { out, err = tx.WakeUps(ctx); return err })
	if err != nil {
		w.Fatal(err)
	}
	return out
}

// within waits for something that must come.
func within[T any](tb testing.TB, d time.Duration, c <-chan T, what string) T {
	tb.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(d):
		tb.Fatalf("%s did not come within %s", what, d)
		panic("unreachable")
	}
}

// never fails when something comes that must not.
func never[T any](tb testing.TB, d time.Duration, c <-chan T, what string) {
	tb.Helper()
	select {
	case v := <-c:
		tb.Errorf("%s came: %v", what, v)
	case <-time.After(d):
	}
}

// eventually waits for a condition that must come true.
func eventually(tb testing.TB, d time.Duration, what string, f func() bool) {
	tb.Helper()
	for deadline := time.Now().Add(d); !f(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			tb.Fatalf("after %s still not: %s", d, what)
		}
	}
}

// database is one of the two, opened.
type database struct {
	store *store.Store
	opened
}

type opened interface {
	River() riverdriver.Driver[*sql.Tx]
	Close() error
}

func openDatabase(ctx context.Context, name, where string) (database, error) {
	if name == "postgres" {
		db, err := postgres.Open(ctx, where, postgres.Options{})
		if err != nil {
			return database{}, err
		}
		return database{db.Store, db}, nil
	}
	db, err := sqlite.Open(ctx, where, sqlite.Options{})
	if err != nil {
		return database{}, err
	}
	return database{db.Store, db}, nil
}
