package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"slipway.dev/slipway/internal/slipway"
)

// Tx is one transaction, with the queries as its methods. It belongs to one goroutine.
type Tx struct {
	// Now is the one time of this transaction, in UTC and no finer than both databases
	// store.
	Now time.Time

	store     *Store
	raw       *sql.Tx
	before    []func(context.Context) error
	after     []func()
	bag       map[any]any
	woken     bool
	toldPools map[int64]bool // pools of which an event was added
}

// SQL is the transaction beneath, for the queue that enqueues in it and for a view that
// needs a query of its own.
func (tx *Tx) SQL() *sql.Tx { return tx.raw }

// Store is the store that began the transaction.
func (tx *Tx) Store() *Store { return tx.store }

// BeforeCommit has f run when the work of the transaction is done and it is about to be
// committed; an error of f rolls it back. Whoever locks rows for several callers does so
// here, in one order, so that two transactions cannot wait for each other.
func (tx *Tx) BeforeCommit(f func(context.Context) error) { tx.before = append(tx.before, f) }

// AfterCommit has f run once the transaction is durable. It is for waking others, not
// for work: if the process dies in between, f never runs.
func (tx *Tx) AfterCommit(f func()) { tx.after = append(tx.after, f) }

// Attached returns what was attached to the transaction under key, which it makes the
// first time. It lets a package gather, over a whole transaction, what it does at its end.
func (tx *Tx) Attached(key any, make func() any) any {
	if v, ok := tx.bag[key]; ok {
		return v
	}
	if tx.bag == nil {
		tx.bag = map[any]any{}
	}
	tx.bag[key] = make()
	return tx.bag[key]
}

// sql returns the query as the dialect wants it. Queries are few and fixed, so each is
// translated once.
func (tx *Tx) sql(query string) string {
	if !tx.store.dialect.Numbered {
		return query
	}
	q, ok := tx.store.queries.Load(query)
	if !ok {
		q, _ = tx.store.queries.LoadOrStore(query, tx.store.dialect.rebind(query))
	}
	return q.(string) //nolint:forcetypeassert // nothing else is stored
}

// exec runs a statement and returns how many rows it touched.
func (tx *Tx) exec(ctx context.Context, query string, args ...any) (int64, error) {
	args, err := tx.bind(args)
	if err != nil {
		return 0, err
	}
	res, err := tx.raw.ExecContext(ctx, tx.sql(query), args...)
	if err != nil {
		return 0, tx.store.dialect.fault(err)
	}
	n, err := res.RowsAffected()
	if err != nil {
		return 0, tx.store.dialect.fault(err)
	}
	return n, nil
}

// value runs a query of one row and scans it. It returns sql.ErrNoRows when there is none.
func (tx *Tx) value(ctx context.Context, dest []any, query string, args ...any) error {
	args, err := tx.bind(args)
	if err != nil {
		return err
	}
	return tx.store.dialect.fault(tx.raw.QueryRowContext(ctx, tx.sql(query), args...).Scan(dest...))
}

// insert runs an INSERT … RETURNING id.
func (tx *Tx) insert(ctx context.Context, query string, args ...any) (id int64, err error) {
	return id, tx.value(ctx, []any{&id}, query, args...)
}

// scan is what a row and rows have in common.
type scan func(dest ...any) error

// one returns the row that a query finds. what names it for the reader when there is none.
func one[T any](ctx context.Context, tx *Tx, what string, read func(scan) (T, error), query string, args ...any) (T, error) {
	var zero T
	args, err := tx.bind(args)
	if err != nil {
		return zero, err
	}
	v, err := read(tx.raw.QueryRowContext(ctx, tx.sql(query), args...).Scan)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return zero, slipway.Errorf(slipway.NotFound, "there is no %s", what)
	case err != nil:
		return zero, fmt.Errorf("read %s: %w", what, tx.store.dialect.fault(err))
	}
	return v, nil
}

// all returns every row that a query finds.
func all[T any](ctx context.Context, tx *Tx, read func(scan) (T, error), query string, args ...any) ([]T, error) {
	args, err := tx.bind(args)
	if err != nil {
		return nil, err
	}
	rows, err := tx.raw.QueryContext(ctx, tx.sql(query), args...)
	if err != nil {
		return nil, tx.store.dialect.fault(err)
	}
	defer func() { _ = rows.Close() }() // what went wrong is in rows.Err
	var out []T
	for rows.Next() {
		v, err := read(rows.Scan)
		if err != nil {
			return nil, tx.store.dialect.fault(err)
		}
		out = append(out, v)
	}
	return out, tx.store.dialect.fault(rows.Err())
}

// forUpdate makes a SELECT hold its rows until the end of the transaction.
func (tx *Tx) forUpdate() string { return tx.store.dialect.ForUpdate }

// serverTime is the clock that all processes share: the database's where it has one.
// Heartbeats and leases are measured by it, because machines' clocks differ.
func (tx *Tx) serverTime(ctx context.Context) (time.Time, error) {
	if tx.store.dialect.ServerTime == "" {
		return tx.Now, nil
	}
	var t time.Time
	err := tx.value(ctx, []any{at(&t)}, tx.store.dialect.ServerTime)
	return t, err
}
