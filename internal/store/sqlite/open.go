package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
	"github.com/pressly/goose/v3"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
	"slipway.dev/slipway/internal/store/migrate"
)

//go:embed migration/*.sql
var migrations embed.FS

// readers bounds the connections that only read. They do not wait for the writer, nor it
// for them.
const readers = 8

// DB is an opened SQLite database. Close it, and not the Store in it.
type DB struct {
	*store.Store
	write *sql.DB
	lock  *flock.Flock
}

// Options of Open. The zero value is what a server uses.
type Options struct {
	Clock func() time.Time // nil: the real one
}

// Open opens the database in a file, makes it if there is none, and brings its schema up
// to date. A second process is refused: whoever opens the file may take it that all work
// found running in it is dead.
func Open(ctx context.Context, path string, o Options) (*DB, error) {
	lock := flock.New(path + ".lock")
	switch locked, err := lock.TryLock(); {
	case err != nil:
		return nil, fmt.Errorf("lock %s: %w", path, err)
	case !locked:
		return nil, slipway.Errorf(slipway.Conflict, "another slipway has %s open", path).
			WithHint("stop it first, or give this one another data directory")
	}
	db, err := open(ctx, path, o, lock)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return db, nil
}

func open(ctx context.Context, path string, o Options, lock *flock.Flock) (_ *DB, err error) {
	// Made before SQLite would: it holds password hashes, so it is nobody else's to read.
	// The files beside it (-wal, -shm) get the same mode.
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("make the database: %w", err)
	}
	if err := f.Close(); err != nil {
		return nil, fmt.Errorf("make the database: %w", err)
	}

	pragmas := []string{"busy_timeout(5000)", "foreign_keys(1)", "temp_store(memory)"}
	// FULL, because an answer to a request must survive a power cut and not only a crash
	// of this process.
	writing, err := newConnector(dsn(path, "rwc", "immediate", append(pragmas, "journal_mode(WAL)", "synchronous(FULL)")))
	if err != nil {
		return nil, err
	}
	reading, err := newConnector(dsn(path, "ro", "deferred", append(pragmas, "query_only(1)")))
	if err != nil {
		return nil, err
	}
	write := sql.OpenDB(writing)
	defer func() {
		if err != nil {
			err = errors.Join(err, write.Close())
		}
	}()
	// One, because SQLite has one writer: a second connection would only wait, and fail
	// when it waited too long.
	write.SetMaxOpenConns(1)
	write.SetMaxIdleConns(1)
	if err := migrate.Up(ctx, write, goose.DialectSQLite3, migrations, riversqlite.New(write)); err != nil {
		return nil, fmt.Errorf("bring %s up to date: %w", filepath.Base(path), err)
	}
	read := sql.OpenDB(reading)
	read.SetMaxOpenConns(readers)
	read.SetMaxIdleConns(readers)

	s := store.New(store.Config{Write: write, Read: read, Clock: o.Clock, Dialect: dialect()})
	return &DB{Store: s, write: write, lock: lock}, nil
}

func dialect() store.Dialect {
	return store.Dialect{
		Name: "sqlite",
		Time: func(t time.Time) any { return t.Format(store.TimeFormat) },
		Sort: sortError,
	}
}

func dsn(path, mode, txlock string, pragmas []string) string {
	q := url.Values{"mode": {mode}, "_txlock": {txlock}}
	for _, p := range pragmas {
		q.Add("_pragma", p)
	}
	return (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: q.Encode()}).String()
}

// River is the queue's way into the database. It has no connection of its own, because
// there is one writer.
func (db *DB) River() riverdriver.Driver[*sql.Tx] { return riversqlite.New(db.write) }

// Close closes the database and lets another process have it.
func (db *DB) Close() error {
	return errors.Join(db.Store.Close(), db.lock.Close())
}

func sortError(err error) store.Fault {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return store.FaultOther
	}
	switch e.Code() {
	case sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY:
		return store.FaultUnique
	case sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY:
		return store.FaultForeign
	}
	switch e.Code() & 0xff { // the primary code of an extended one
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return store.FaultBusy
	case sqlite3.SQLITE_FULL:
		return store.FaultFull
	case sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN:
		return store.FaultGone
	}
	return store.FaultOther
}
