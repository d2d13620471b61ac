package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"

	"slipway.dev/slipway/internal/slipway"
)

const (
	// txLimit bounds a transaction, so that no forgotten one keeps others out for ever.
	txLimit = time.Minute
	// waitLimit bounds the wait for a connection. It is what a transaction begun inside
	// another one runs into on SQLite.
	waitLimit = 30 * time.Second
	// beginTries is how many connections are tried for one transaction.
	beginTries = 5
)

// Store is one opened database.
type Store struct {
	write, read *sql.DB
	dialect     Dialect
	clock       func() time.Time
	queries     sync.Map // query with ? → as the dialect wants it
	added       broadcast
}

// Config is what a dialect's Open gives to New.
type Config struct {
	Write   *sql.DB
	Read    *sql.DB // may be the same pool
	Dialect Dialect
	Clock   func() time.Time // nil: the real one
}

// New returns a store over pools whose schema is up to date. Packages sqlite and
// postgres call it.
func New(c Config) *Store {
	if c.Clock == nil {
		c.Clock = time.Now
	}
	return &Store{write: c.Write, read: c.Read, dialect: c.Dialect, clock: c.Clock}
}

// Dialect names the database: sqlite or postgres.
func (s *Store) Dialect() string { return s.dialect.Name }

// Shared reports whether other processes may have the database open. Where they cannot,
// whatever is found running at the start is dead.
func (s *Store) Shared() bool { return s.dialect.Shared }

// Now is the store's clock, as a transaction begun at this moment would have it.
func (s *Store) Now() time.Time { return cut(s.clock()) }

// Ping reports whether the database answers.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.read.PingContext(ctx); err != nil {
		return fmt.Errorf("ping the database: %w", s.dialect.fault(err))
	}
	return nil
}

// Close closes both pools. Whoever opened the store closes it through package sqlite or
// postgres, which have more to let go of.
func (s *Store) Close() error {
	err := s.write.Close()
	if s.read != s.write {
		err = errors.Join(err, s.read.Close())
	}
	return err
}

// InTx runs f in a transaction that may write, and commits when f returns nil. On SQLite
// it is the only writer while it lasts, so f must be short and call nobody outside.
func (s *Store) InTx(ctx context.Context, f func(tx *Tx) error) error {
	return s.run(ctx, s.write, nil, f)
}

// Read runs f in a transaction that sees one state of the database and cannot write.
func (s *Store) Read(ctx context.Context, f func(tx *Tx) error) error {
	// Repeatable read, because one page is made of several queries and must not show two
	// moments. SQLite has it by nature and knows no levels.
	opts := &sql.TxOptions{ReadOnly: true}
	if s.dialect.Numbered {
		opts.Isolation = sql.LevelRepeatableRead
	}
	return s.run(ctx, s.read, opts, f)
}

func (s *Store) run(caller context.Context, db *sql.DB, opts *sql.TxOptions, f func(tx *Tx) error) error {
	ctx, cancel := context.WithTimeout(caller, txLimit)
	defer cancel()
	err := s.runIn(ctx, db, opts, f)
	switch {
	case err == nil || ctx.Err() == nil || slipway.Is(err, slipway.Unavailable):
		return err
	case caller.Err() == nil:
		return &slipway.Error{Kind: slipway.Unavailable, Msg: fmt.Sprintf("the database took longer than %s", txLimit),
			Hint: "repeat the request", Err: err}
	case !errors.Is(err, caller.Err()): // the driver says it in words of its own
		return fmt.Errorf("%w: %w", caller.Err(), err)
	}
	return err
}

func (s *Store) runIn(ctx context.Context, db *sql.DB, opts *sql.TxOptions, f func(tx *Tx) error) error {
	conn, raw, err := s.begin(ctx, db, opts)
	if err != nil {
		return err
	}
	defer release(conn)
	defer func() { _ = raw.Rollback() }() // fails when committed, and has no effect then

	tx := &Tx{Now: s.Now(), store: s, raw: raw}
	if err := f(tx); err != nil {
		return err
	}
	for len(tx.before) > 0 {
		last := tx.before
		tx.before = nil
		for _, b := range last {
			if err := b(ctx); err != nil {
				return err
			}
		}
	}
	if err := raw.Commit(); err != nil {
		return fmt.Errorf("commit: %w", s.dialect.fault(err))
	}
	// The connection goes back first: what follows may begin a transaction of its own.
	release(conn)
	for _, a := range tx.after {
		a()
	}
	return nil
}

// begin begins a transaction. A connection from the pool may be one that the database or
// the network has dropped, which shows only now; nothing was done yet, so another is tried.
func (s *Store) begin(ctx context.Context, db *sql.DB, opts *sql.TxOptions) (*sql.Conn, *sql.Tx, error) {
	for tries := 1; ; tries++ {
		conn, err := s.conn(ctx, db)
		if err != nil {
			return nil, nil, err
		}
		raw, err := conn.BeginTx(ctx, opts)
		if err == nil {
			return conn, raw, nil
		}
		release(conn)
		if tries == beginTries || ctx.Err() != nil || s.dialect.Sort(err) != FaultGone {
			return nil, nil, fmt.Errorf("begin: %w", s.dialect.fault(err))
		}
	}
}

// release gives a connection back to its pool. Its only error says that it was given back.
func release(conn *sql.Conn) { _ = conn.Close() }

// conn takes a connection from the pool, and bounds the wait for it without bounding what
// is then done with it.
func (s *Store) conn(ctx context.Context, db *sql.DB) (*sql.Conn, error) {
	wait, cancel := context.WithTimeout(ctx, waitLimit)
	defer cancel()
	conn, err := db.Conn(wait)
	switch {
	case err == nil:
		return conn, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case wait.Err() != nil:
		return nil, slipway.Errorf(slipway.Unavailable, "the database had no connection free for %s", waitLimit).
			WithHint("repeat the request; if it stays so, look for a transaction begun inside another one")
	}
	return nil, fmt.Errorf("connect: %w", s.dialect.fault(err))
}

// EventsAdded returns a channel that is closed at the next commit of this process that
// adds an event. Ask for it before reading the events, or one may be missed.
func (s *Store) EventsAdded() <-chan struct{} { return s.added.wait() }

// broadcast wakes everybody who waits, once.
type broadcast struct {
	mu sync.Mutex
	ch chan struct{}
}

func (b *broadcast) wait() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch == nil {
		b.ch = make(chan struct{})
	}
	return b.ch
}

func (b *broadcast) wake() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch != nil {
		close(b.ch)
		b.ch = nil
	}
}
