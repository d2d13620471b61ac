package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverdatabasesql"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// DB is an opened PostgreSQL database. Close it, and not the Store in it.
type DB struct {
	*store.Store
	pool *pgxpool.Pool
	sql  *sql.DB
}

// defaultConns bounds the connections of one process when the address does not
// (pool_max_conns). Transactions are short, so few serve many requests.
const defaultConns = 20

// Options of Open. The zero value is what a server uses.
type Options struct {
	Clock func() time.Time // nil: the real one
}

// Open connects to the database of a DSN or URL and brings its schema up to date. When
// several processes start at once, one migrates and the others wait for it.
func Open(ctx context.Context, dsn string, o Options) (*DB, error) {
	// pgx's error quotes the address; it hides a password, but not in every form of it.
	c, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, slipway.Errorf(slipway.Invalid, "the address of the PostgreSQL database cannot be read").
			WithHint("write postgres://user@host:5432/slipway, with the password in a file or in PGPASSWORD")
	}
	if c.ConnConfig.ConnectTimeout == 0 {
		c.ConnConfig.ConnectTimeout = 10 * time.Second
	}
	if !strings.Contains(dsn, "pool_max_conns") {
		c.MaxConns = defaultConns
	}
	// A migration holds one connection for its lock and needs two more beside it.
	c.MaxConns = max(c.MaxConns, 4)
	p := c.ConnConfig.RuntimeParams
	if p["application_name"] == "" {
		p["application_name"] = "slipway"
	}
	// Nothing of ours holds a transaction open while it waits for the outside; one that
	// does nothing for so long belongs to a process that is gone behind a broken network,
	// and its locks must not outlive it.
	if p["idle_in_transaction_session_timeout"] == "" {
		p["idle_in_transaction_session_timeout"] = "60000"
	}
	if p["timezone"] == "" {
		p["timezone"] = "UTC"
	}
	pool, err := pgxpool.NewWithConfig(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("connect to PostgreSQL: %w", err)
	}
	db := &DB{pool: pool, sql: stdlib.OpenDBFromPool(pool)}
	if err := bringUp(ctx, db.sql); err != nil {
		err = errors.Join(unreachable(err), db.sql.Close())
		pool.Close()
		return nil, err
	}
	db.Store = store.New(store.Config{Write: db.sql, Read: db.sql, Clock: o.Clock, Dialect: store.Dialect{
		Name:       "postgres",
		Shared:     true,
		Numbered:   true,
		Time:       func(t time.Time) any { return t },
		Sort:       sortError,
		ForUpdate:  " FOR UPDATE",
		ServerTime: "SELECT clock_timestamp()",
	}})
	return db, nil
}

// unreachable says it in words when the database was not even reached.
func unreachable(err error) error {
	var connect *pgconn.ConnectError
	if !errors.As(err, &connect) {
		return fmt.Errorf("bring the database up to date: %w", err)
	}
	return &slipway.Error{Kind: slipway.Unavailable, Msg: "the PostgreSQL database cannot be reached",
		Hint: "check that it runs, and the address, user and password of the setting database", Err: err}
}

// River is the queue's way into the database. It listens on a connection of its own, so
// that a wake-up is heard when it is committed and not at the next poll.
func (db *DB) River() riverdriver.Driver[*sql.Tx] {
	return riverdatabasesql.NewWithPgxListener(db.sql, db.pool)
}

// Close closes every connection.
func (db *DB) Close() error {
	err := db.Store.Close()
	db.pool.Close()
	return err
}

func sortError(err error) store.Fault {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		switch e.Code {
		case "23505": // unique_violation
			return store.FaultUnique
		case "23503": // foreign_key_violation
			return store.FaultForeign
		case "40001", "40P01", "55P03": // serialization_failure, deadlock_detected, lock_not_available
			return store.FaultBusy
		case "57P01", "57P02", "57P03", "53300": // the server shuts down, crashed or starts; too many connections
			return store.FaultGone
		case "53100": // disk_full
			return store.FaultFull
		}
		return store.FaultOther
	}
	var connect *pgconn.ConnectError
	var network net.Error
	if errors.As(err, &connect) || errors.As(err, &network) {
		return store.FaultGone
	}
	return store.FaultOther
}
