package sqlite_test

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/pressly/goose/v3"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
	"slipway.dev/slipway/internal/store/sqlite"
	"slipway.dev/slipway/internal/store/storetest"
)

var update = flag.Bool("update", false, "write schema.sql anew")

// World of these tests: a real SQLite file.
func TestStore(t *testing.T) { storetest.Run(t, open) }

func open(t *testing.T) *store.Store {
	t.Helper()
	return openAt(t, filepath.Join(t.TempDir(), "slipway.db")).Store
}

func openAt(t *testing.T, path string) *sqlite.DB {
	t.Helper()
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{})
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

// A server that ran before the last but one step of the schema was there, but after the last.
func TestAStepThatCameLateIsMadeUpFor(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "slipway.db")
	old, err := sql.Open("sqlite", "file:"+path+"?_pragma=foreign_keys(1)")
	if err != nil {
		t.Fatal(err)
	}
	steps, err := filepath.Glob("migration/*.sql")
	if err != nil || len(steps) < 4 {
		t.Fatal(steps, err)
	}
	gap := fstest.MapFS{}
	for _, name := range steps {
		if strings.HasPrefix(filepath.Base(name), "00003") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		gap[filepath.Base(name)] = &fstest.MapFile{Data: text}
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, old, gap)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.UpTo(t.Context(), 4); err != nil {
		t.Fatal(err)
	}
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	openAt(t, path)
	now, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer now.Close()
	var applied int
	if err := now.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM goose_db_version WHERE version_id BETWEEN 1 AND 4 AND is_applied`).Scan(&applied); err != nil || applied != 4 {
		t.Errorf("%d of 4 steps are applied, %v", applied, err)
	}
}

// What an older slipway has written is all there after the schema grew.
func TestAnOlderDatabaseKeepsItsRows(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "slipway.db")
	old, err := sql.Open("sqlite", "file:"+path+"?_pragma=foreign_keys(1)")
	if err != nil {
		t.Fatal(err)
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, old, os.DirFS("migration"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.UpTo(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	for _, q := range []string{
		`INSERT INTO projects VALUES (1, 'shop', '2026-01-01T00:00:00.000000Z')`,
		`INSERT INTO environments (id, project_id, name, namespace, settings, created_at) VALUES (1, 1, 'dev', 'shop-dev', '{}', '2026-01-01T00:00:00.000000Z')`,
		`INSERT INTO applications VALUES (1, 1, 'guestbook', 'driver', 1, 1, '1.0.0', 'g', '1.0.0', 'running', '', 1, 0, '2026-01-01T00:00:00.000000Z', '2026-01-01T00:00:00.000000Z', NULL)`,
		`INSERT INTO changes VALUES (1, 1, 1, 'upgrade', 1, 0, NULL, 0, NULL, 'ada', '2026-01-01T00:00:00.000000Z')`,
		`INSERT INTO tasks VALUES (1, 'upgrade', 'upgrade', 1, 1, NULL, NULL, NULL, 'queued', 0, '', '', 'ada', '', '', NULL, '2026-01-01T00:00:00.000000Z', NULL, NULL)`,
		`UPDATE changes SET task_id = 1`,
	} {
		if _, err := old.ExecContext(t.Context(), q); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	db := openAt(t, path)
	err = db.Read(t.Context(), func(tx *store.Tx) error {
		c, err := tx.Change(t.Context(), 1)
		if err != nil {
			return err
		}
		task, err := tx.Task(t.Context(), 1)
		if c.Kind != slipway.UpgradeChange || c.TaskID != 1 || task.Attempt != 1 || task.ChangeNumber != 1 || task.RetryOf != 0 {
			t.Errorf("change = %+v, task = %+v", c, task)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestASecondProcessIsRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "slipway.db")
	first, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = sqlite.Open(t.Context(), path, sqlite.Options{})
	if !slipway.Is(err, slipway.Conflict) || !strings.Contains(err.Error(), "another slipway") {
		t.Errorf("got %v, want a refusal that names the reason", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	openAt(t, path)
}

func TestANewerDatabaseIsRefused(t *testing.T) {
	t.Parallel()
	for table, statement := range map[string]string{
		"ours":        `INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, 1)`,
		"the queue's": `INSERT INTO river_migration (line, version) VALUES ('main', 99)`,
	} {
		path := filepath.Join(t.TempDir(), "slipway.db")
		db, err := sqlite.Open(t.Context(), path, sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		err = db.InTx(t.Context(), func(tx *store.Tx) error { _, err := tx.SQL().ExecContext(t.Context(), statement); return err })
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		_, err = sqlite.Open(t.Context(), path, sqlite.Options{})
		if !slipway.Is(err, slipway.Conflict) || !strings.Contains(err.Error(), "schema 99, this slipway knows") {
			t.Errorf("a newer schema of %s: got %v, want a refusal that names both versions", table, err)
		}
	}
}

func TestTheFilesAreNobodyElses(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a b?#%.db") // also: no character of a path means anything
	openAt(t, path)
	for _, suffix := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != 0o600 {
			t.Errorf("%s has mode %o, want 600", filepath.Base(path)+suffix, got)
		}
	}
}

func TestWhatIsCommittedSurvivesAPowerCut(t *testing.T) {
	t.Parallel()
	db := openAt(t, filepath.Join(t.TempDir(), "slipway.db"))
	// Asked of the writer itself: a setting that did not arrive is not an error to SQLite.
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1", "busy_timeout": "5000"} {
		var got string
		err := db.InTx(t.Context(), func(tx *store.Tx) error {
			return tx.SQL().QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(&got)
		})
		if err != nil || got != want {
			t.Errorf("%s is %q, %v, want %q", pragma, got, err, want)
		}
	}
}

func TestATransactionInsideAnotherIsAnErrorAndNotADeadlock(t *testing.T) {
	t.Parallel()
	s := open(t)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	err := s.InTx(t.Context(), func(*store.Tx) error {
		return s.InTx(ctx, func(*store.Tx) error { return nil })
	})
	if err == nil {
		t.Error("a second writer was let in")
	}
	if err := s.InTx(t.Context(), func(*store.Tx) error { return nil }); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// TestSchema holds the schema that the migrations make against the one that is committed,
// so that a review sees what changed. Write it anew with -update.
func TestSchema(t *testing.T) {
	t.Parallel()
	s := open(t)
	var b strings.Builder
	b.WriteString("-- What the migrations make: ours, goose's and River's. Written by: go test ./internal/store/sqlite -update\n")
	err := s.Read(t.Context(), func(tx *store.Tx) error {
		rows, err := tx.SQL().QueryContext(t.Context(), `SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'
			ORDER BY tbl_name, type = 'index', name`)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var statement sql.NullString
			if err := rows.Scan(&statement); err != nil {
				return err
			}
			fmt.Fprintf(&b, "\n%s;\n", strings.TrimSpace(statement.String))
		}
		return rows.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	storetest.Golden(t, "schema.sql", b.String(), *update)
}
