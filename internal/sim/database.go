package sim

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"slipway.dev/slipway/internal/store"
	"slipway.dev/slipway/internal/store/postgres"
	"slipway.dev/slipway/internal/store/sqlite"
	"slipway.dev/slipway/internal/task"
)

// Database is a real database in which one run after the other takes place. To empty it
// takes much less time than to make it.
type Database struct {
	store *store.Store
	queue func(task.Options) (*task.Queue, error)
	close func() error
	clock func() time.Time // of the run that takes place; nil: between two of them
}

func (d *Database) now() time.Time {
	if d.clock == nil {
		return begin
	}
	return d.clock()
}

// SQLite makes a database in a folder.
func SQLite(ctx context.Context, dir string) (*Database, error) {
	d := &Database{}
	db, err := sqlite.Open(ctx, filepath.Join(dir, "slipway.db"), sqlite.Options{Clock: d.now})
	if err != nil {
		return nil, err
	}
	d.store, d.close = db.Store, db.Close
	d.queue = func(o task.Options) (*task.Queue, error) { return task.NewQueue(db.Store, db.River(), o) }
	return d, nil
}

// Postgres uses an empty PostgreSQL database.
func Postgres(ctx context.Context, dsn string) (*Database, error) {
	d := &Database{}
	db, err := postgres.Open(ctx, dsn, postgres.Options{Clock: d.now})
	if err != nil {
		return nil, err
	}
	d.store, d.close = db.Store, db.Close
	d.queue = func(o task.Options) (*task.Queue, error) { return task.NewQueue(db.Store, db.River(), o) }
	return d, nil
}

// Close closes the database.
func (d *Database) Close() error { return d.close() }

// empty drops all rows but those that say how far the schema has come, and has numbers
// begin anew, so that a run does not depend on those before it.
func (d *Database) empty(ctx context.Context) error {
	d.clock = nil
	return d.store.InTx(ctx, func(tx *store.Tx) error {
		tables, err := tables(ctx, tx)
		if err != nil {
			return err
		}
		if !d.store.Shared() {
			if _, err := tx.SQL().ExecContext(ctx, `PRAGMA defer_foreign_keys = ON`); err != nil {
				return err
			}
			tables = append(tables, "sqlite_sequence")
		}
		for _, t := range tables {
			statement := `DELETE FROM "` + t + `"`
			if d.store.Shared() {
				statement = `TRUNCATE "` + t + `" RESTART IDENTITY CASCADE`
			}
			if _, err := tx.SQL().ExecContext(ctx, statement); err != nil {
				return fmt.Errorf("empty table %s: %w", t, err)
			}
		}
		return nil
	})
}

// tables lists the tables that runs write to.
func tables(ctx context.Context, tx *store.Tx) (out []string, err error) {
	query := `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`
	if tx.Store().Shared() {
		query = `SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE'`
	}
	rows, err := tx.SQL().QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }() // what went wrong is in rows.Err
	for rows.Next() {
		var t string
		if err := rows.Scan(&t); err != nil {
			return nil, err
		}
		if t != "goose_db_version" && t != "river_migration" {
			out = append(out, t)
		}
	}
	return out, rows.Err()
}
