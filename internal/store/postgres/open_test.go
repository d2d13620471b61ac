package postgres_test

import (
	"context"
	"flag"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
	"slipway.dev/slipway/internal/store/postgres"
	"slipway.dev/slipway/internal/store/postgres/postgrestest"
	"slipway.dev/slipway/internal/store/storetest"
)

var update = flag.Bool("update", false, "write schema.sql anew")

func TestMain(m *testing.M) { postgrestest.Main(m) }

// World of these tests: a real PostgreSQL.
func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) *store.Store {
		t.Helper()
		return open(t, postgrestest.Prepared(t, migrate)).Store
	})
}

func migrate(dsn string) error {
	db, err := postgres.Open(context.Background(), dsn, postgres.Options{})
	if err != nil {
		return err
	}
	return db.Close()
}

func open(t *testing.T, dsn string) *postgres.DB {
	t.Helper()
	db, err := postgres.Open(t.Context(), dsn, postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func TestProcessesThatStartAtOnceMigrateOnce(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.DSN(t)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if err := migrate(dsn); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

func TestANewerDatabaseIsRefused(t *testing.T) {
	t.Parallel()
	for table, statement := range map[string]string{
		"ours":        `INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, true)`,
		"the queue's": `INSERT INTO river_migration (line, version) VALUES ('main', 99)`,
	} {
		dsn := postgrestest.Prepared(t, migrate)
		db := open(t, dsn)
		err := db.InTx(t.Context(), func(tx *store.Tx) error { _, err := tx.SQL().ExecContext(t.Context(), statement); return err })
		if err != nil {
			t.Fatal(err)
		}
		err = migrate(dsn)
		if !slipway.Is(err, slipway.Conflict) || !strings.Contains(err.Error(), "schema 99, this slipway knows") {
			t.Errorf("a newer schema of %s: got %v, want a refusal that names both versions", table, err)
		}
	}
}

func TestErrorsNeverShowThePassword(t *testing.T) {
	t.Parallel()
	const password = "hunter2-secret"
	for what, c := range map[string]struct {
		dsn  string
		kind slipway.Kind
	}{
		"nobody listens":      {"postgres://ann:" + password + "@127.0.0.1:1/slipway?connect_timeout=2", slipway.Unavailable},
		"no such host":        {"host=nowhere.invalid user=ann password=" + password + " connect_timeout=2", slipway.Unavailable},
		"an unreadable URL":   {"postgres://ann:" + password + "@127.0.0.1:port/slipway", slipway.Invalid},
		"an unknown ssl mode": {"host=127.0.0.1 password=" + password + " sslmode=perhaps", slipway.Invalid},
	} {
		_, err := postgres.Open(t.Context(), c.dsn, postgres.Options{})
		if got := slipway.KindOf(err); got != c.kind {
			t.Errorf("%s: got %v (kind %q), want kind %q", what, err, got, c.kind)
		}
		if err != nil && strings.Contains(err.Error(), password) {
			t.Errorf("%s: the error shows the password", what)
		}
	}
}

// TestSchema holds the schema that the migrations make against the one that is committed,
// so that a review sees what changed. Write it anew with -update.
func TestSchema(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.DSN(t)
	if err := migrate(dsn); err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/pg_dump")
	if err != nil || len(found) == 0 {
		t.Fatalf("there is no pg_dump under /usr/lib/postgresql/*/bin: install the package postgresql (%v)", err)
	}
	out, err := exec.CommandContext(t.Context(), found[len(found)-1], "--schema-only", "--no-owner", "--no-privileges", dsn).Output()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("-- What the migrations make: ours, goose's and River's. Written by: go test ./internal/store/postgres -update\n")
	blank := false
	for line := range strings.Lines(string(out)) {
		// What changes with the release of pg_dump and not with the schema.
		switch {
		case strings.HasPrefix(line, "--"), strings.HasPrefix(line, `\`), strings.HasPrefix(line, "SET "), strings.HasPrefix(line, "SELECT pg_catalog.set_config"):
			continue
		case strings.TrimSpace(line) == "":
			blank = true
			continue
		}
		if blank {
			b.WriteString("\n")
			blank = false
		}
		b.WriteString(line)
	}
	storetest.Golden(t, "schema.sql", b.String(), *update)
}
