package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"modernc.org/sqlite"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// World of these tests: a real SQLite file, and the real driver beneath one that counts.

// counter counts what the driver compiles.
type counter struct {
	driver.Connector
	compiled []string
}

type countedConn struct {
	sqliteConn
	counter *counter
}

func (c *counter) Connect(ctx context.Context) (driver.Conn, error) {
	raw, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &countedConn{raw.(sqliteConn), c}, nil
}

func (c *countedConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	c.counter.compiled = append(c.counter.compiled, query)
	return c.sqliteConn.PrepareContext(ctx, query)
}

// times says how often a statement was compiled.
func (c *counter) times(query string) int {
	return len(slices.DeleteFunc(slices.Clone(c.compiled), func(q string) bool { return q != query }))
}

// counted opens a database of one connection.
func counted(t *testing.T) (*sql.DB, *counter) {
	t.Helper()
	raw, err := sqlite.NewConnector(dsn(filepath.Join(t.TempDir(), "one.db"), "rwc", "immediate", []string{"foreign_keys(1)"}))
	if err != nil {
		t.Fatal(err)
	}
	c := &counter{Connector: raw}
	db := sql.OpenDB(connector{c})
	db.SetMaxOpenConns(1)
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	run(t, db, `CREATE TABLE things (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)`)
	return db, c
}

func run(t *testing.T, db *sql.DB, query string, args ...any) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), query, args...); err != nil {
		t.Fatal(err)
	}
}

const (
	put  = `INSERT INTO things (name) VALUES (?)`
	name = `SELECT name FROM things WHERE id >= ? ORDER BY id`
)

func TestAStatementIsCompiledOnce(t *testing.T) {
	t.Parallel()
	db, c := counted(t)
	for i := range 5 {
		run(t, db, put, fmt.Sprint("thing ", i))
		var got string
		if err := db.QueryRowContext(t.Context(), name, i+1).Scan(&got); err != nil || got != fmt.Sprint("thing ", i) {
			t.Errorf("%q, %v", got, err)
		}
	}
	if put, name := c.times(put), c.times(name); put != 1 || name != 1 {
		t.Errorf("they were compiled %d and %d times", put, name)
	}
}

// A query that is asked while the rows of the same one are still read must not disturb them.
func TestTheSameQueryWithinItself(t *testing.T) {
	t.Parallel()
	db, _ := counted(t)
	for _, n := range []string{"a", "b", "c"} {
		run(t, db, put, n)
	}
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	read := func(from int, each func(string)) {
		rows, err := tx.QueryContext(t.Context(), name, from)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		for rows.Next() {
			var n string
			if err := rows.Scan(&n); err != nil {
				t.Fatal(err)
			}
			each(n)
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // the second time with statements that were kept
		var got []string
		read(1, func(outer string) { read(2, func(inner string) { got = append(got, outer+inner) }) })
		if want := []string{"ab", "ac", "bb", "bc", "cb", "cc"}; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
}

func TestWhatAConnectionKeepsIsBounded(t *testing.T) {
	t.Parallel()
	db, c := counted(t)
	query := func(i int) string { return fmt.Sprintf("SELECT %d", i) }
	for i := range 3 * keptStatements {
		run(t, db, query(i))
		run(t, db, query(0)) // is used all the time, and so stays
	}
	run(t, db, query(3*keptStatements-1))
	run(t, db, query(1))
	if first, newest, gone := c.times(query(0)), c.times(query(3*keptStatements-1)), c.times(query(1)); first != 1 || newest != 1 || gone != 2 {
		t.Errorf("the one in use, the newest and the one that waited longest were compiled %d, %d and %d times", first, newest, gone)
	}
	long := "SELECT '" + strings.Repeat("x", longestKept) + "'"
	run(t, db, long)
	run(t, db, long)
	if n := c.times(long); n != 2 {
		t.Errorf("a statement without end was compiled %d times: it is kept", n)
	}
	kept := 0
	if err := withConn(t, db, func(c *conn) { kept = c.statements.use.Len() }); err != nil || kept != keptStatements {
		t.Errorf("%d statements are kept, want %d; %v", kept, keptStatements, err)
	}
}

func withConn(t *testing.T, db *sql.DB, f func(*conn)) error {
	t.Helper()
	one, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	return one.Raw(func(c any) error { f(c.(*conn)); return nil })
}

func TestWhatAConnectionKeeps(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]bool{
		"SELECT 1": true, "\n\tinsert into x values (1)": true, "-- name: JobGet :one\nSELECT\n*": true, "WITH a AS (SELECT 1) SELECT * FROM a": true,
		"DELETE\nFROM x": true, "UPDATE /* x */ y SET z = 1": true,
		"PRAGMA foreign_keys": false, "CREATE TABLE x (y)": false, "-- nothing": false, "": false, "SELECTION": false, "VACUUM": false, "SELECT": false,
	} {
		if got := keeps(query); got != want {
			t.Errorf("keeps(%q) = %v", query, got)
		}
	}
}

func TestAKeptStatementSeesAnotherSchema(t *testing.T) {
	t.Parallel()
	db, _ := counted(t)
	run(t, db, put, "a")
	count := func() (columns int) {
		rows, err := db.QueryContext(t.Context(), `SELECT * FROM things`)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		names, err := rows.Columns()
		if err != nil || !rows.Next() {
			t.Fatal(names, err, rows.Err())
		}
		return len(names)
	}
	before := count()
	run(t, db, `ALTER TABLE things ADD COLUMN size INTEGER`)
	if after := count(); before != 2 || after != 3 {
		t.Errorf("%d columns before, and %d after one was added", before, after)
	}
}

// What fails is not kept, and harms nobody who asks the same afterwards.
func TestAStatementThatFailed(t *testing.T) {
	t.Parallel()
	db, c := counted(t)
	run(t, db, put, "a")
	if _, err := db.ExecContext(t.Context(), put, "a"); sortError(err) != store.FaultUnique {
		t.Errorf("the same name again: %v", err)
	}
	run(t, db, put, "b")
	if n := c.times(put); n != 2 {
		t.Errorf("it was compiled %d times, want once more after it failed", n)
	}
	ctx, stop := context.WithCancel(t.Context())
	endless := `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n WHERE i > ?`
	rows, err := db.QueryContext(ctx, endless, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	if !rows.Next() {
		t.Fatal(rows.Err())
	}
	stop()
	for rows.Next() {
	}
	if err := rows.Err(); !errors.Is(err, context.Canceled) {
		t.Errorf("rows of a request that has gone end with %v", err)
	}
	var first int
	if err := db.QueryRowContext(t.Context(), endless, 5).Scan(&first); err != nil || first != 6 {
		t.Errorf("the same query afterwards: %d, %v", first, err)
	}
}

// BenchmarkTransaction measures a small transaction of ours, as the store has it and with a
// driver that compiles each statement each time.
func BenchmarkTransaction(b *testing.B) {
	for _, mode := range []string{"kept", "compiled each time"} {
		b.Run(mode, func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "slipway.db")
			db, err := Open(b.Context(), path, Options{})
			if err != nil {
				b.Fatal(err)
			}
			s := db.Store
			if mode != "kept" {
				if err := db.Close(); err != nil {
					b.Fatal(err)
				}
				plain, err := sql.Open("sqlite", dsn(path, "rwc", "immediate", []string{"foreign_keys(1)", "journal_mode(WAL)", "synchronous(FULL)"}))
				if err != nil {
					b.Fatal(err)
				}
				s = store.New(store.Config{Write: plain, Read: plain, Dialect: dialect()})
			}
			b.Cleanup(func() { _ = s.Close() })
			b.ReportAllocs()
			for id := int64(1); b.Loop(); id++ {
				if err := s.InTx(b.Context(), func(tx *store.Tx) error {
					if _, err := tx.AskWakeUp(b.Context(), store.WakeUp{Noun: "task", ID: id % 100, Queue: "default", Priority: 2}, tx.Now); err != nil {
						return err
					}
					if err := tx.SetWakeUpJob(b.Context(), "task", id%100, id); err != nil {
						return err
					}
					return tx.AddEvent(b.Context(), slipway.Event{Kind: "task.changed", Noun: "task", NounID: id})
				}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
