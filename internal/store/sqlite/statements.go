package sqlite

import (
	"container/list"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"

	"modernc.org/sqlite"
)

// The driver compiles a statement each time that it runs, which takes longer than to run
// most of ours. So each connection keeps those that it compiled, for whoever asks: our own
// queries, the queue's and the views'.

const (
	// keptStatements bounds what a connection keeps. All of ours are some 300, and what a
	// burst repeats is about thirty.
	keptStatements = 128
	// longestKept bounds the text of one, and so its memory.
	longestKept = 8 << 10
)

// keeps reports whether a statement is worth keeping. What changes the schema is not
// repeated, and SQLite compiles a PRAGMA each time anyway.
func keeps(query string) bool {
	if len(query) > longestKept {
		return false
	}
	query = strings.TrimSpace(query)
	for strings.HasPrefix(query, "--") { // River names its queries so
		_, query, _ = strings.Cut(query, "\n")
		query = strings.TrimSpace(query)
	}
	end := strings.IndexFunc(query, func(r rune) bool { return !unicode.IsLetter(r) })
	switch strings.ToUpper(query[:max(end, 0)]) {
	case "SELECT", "INSERT", "UPDATE", "DELETE", "WITH":
		return true
	}
	return false
}

// connector opens connections that keep their statements.
type connector struct{ driver.Connector }

func newConnector(dsn string) (driver.Connector, error) {
	c, err := sqlite.NewConnector(dsn)
	if err != nil {
		return nil, fmt.Errorf("read the address of the database: %w", err)
	}
	return connector{c}, nil
}

func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	raw, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err //nolint:wrapcheck // database/sql compares what drivers return
	}
	own, ok := raw.(sqliteConn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("the SQLite driver's %T lacks what we need of it", raw), raw.Close())
	}
	return &conn{sqliteConn: own, statements: statements{kept: map[string]*list.Element{}}}, nil
}

// sqliteConn is what is needed of the driver's connection.
type sqliteConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

// sqliteStatement is what is needed of the driver's statement.
type sqliteStatement interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// conn is one connection with the statements that it keeps. Package database/sql lets one
// goroutine at a time use it, with the rows that are read from it.
type conn struct {
	sqliteConn
	statements statements
}

// ExecContext runs a statement that returns no rows.
func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	s, err := c.take(ctx, query)
	if err != nil {
		return nil, err
	}
	res, err := s.ExecContext(ctx, args)
	if err != nil {
		_ = s.Close()   // repeats the error
		return nil, err //nolint:wrapcheck // as above
	}
	return res, c.statements.put(query, s)
}

// QueryContext runs a statement that returns rows. It is kept again when they are closed:
// until then the same query, asked once more, needs a statement of its own.
func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	s, err := c.take(ctx, query)
	if err != nil {
		return nil, err
	}
	r, err := s.QueryContext(ctx, args)
	if err != nil {
		_ = s.Close()   // repeats the error
		return nil, err //nolint:wrapcheck // as above
	}
	return &rows{Rows: r, conn: c, query: query, statement: s}, nil
}

// take returns a compiled statement that nobody else uses.
func (c *conn) take(ctx context.Context, query string) (sqliteStatement, error) {
	if s := c.statements.take(query); s != nil {
		return s, nil
	}
	s, err := c.PrepareContext(ctx, query)
	if err != nil {
		return nil, err //nolint:wrapcheck // as above
	}
	own, ok := s.(sqliteStatement)
	if !ok {
		return nil, errors.Join(fmt.Errorf("the SQLite driver's %T lacks what we need of it", s), s.Close())
	}
	return own, nil
}

// Close closes the connection and what it keeps.
func (c *conn) Close() error {
	return errors.Join(c.statements.close(), c.sqliteConn.Close())
}

// rows gives its statement back when it is closed.
type rows struct {
	driver.Rows
	conn      *conn
	query     string
	statement sqliteStatement
	failed    bool
}

func (r *rows) Next(dest []driver.Value) error {
	err := r.Rows.Next(dest)
	r.failed = r.failed || err != nil && !errors.Is(err, io.EOF)
	return err //nolint:wrapcheck // database/sql compares it with io.EOF
}

func (r *rows) Close() error {
	if r.statement == nil {
		return nil
	}
	s := r.statement
	r.statement = nil
	if err := r.Rows.Close(); err != nil || r.failed {
		_ = s.Close() // repeats the error
		return err    //nolint:wrapcheck // as above
	}
	return r.conn.statements.put(r.query, s)
}

// statements keeps compiled statements by their text, those used last.
type statements struct {
	kept map[string]*list.Element
	use  list.List // of statement, the one used last in front
}

type statement struct {
	query string
	sqliteStatement
}

// take takes a statement out, or returns nil.
func (k *statements) take(query string) sqliteStatement {
	e := k.kept[query]
	if e == nil {
		return nil
	}
	delete(k.kept, query)
	return k.use.Remove(e).(statement).sqliteStatement //nolint:forcetypeassert // nothing else is in it
}

// put keeps a statement that is not in use, and closes the one that has waited longest
// when there are too many.
func (k *statements) put(query string, s sqliteStatement) error {
	if k.kept[query] != nil || !keeps(query) {
		return s.Close() //nolint:wrapcheck // as above
	}
	k.kept[query] = k.use.PushFront(statement{query, s})
	if k.use.Len() <= keptStatements {
		return nil
	}
	last := k.use.Remove(k.use.Back()).(statement) //nolint:forcetypeassert // nothing else is in it
	delete(k.kept, last.query)
	return last.Close()
}

func (k *statements) close() (err error) {
	for e := k.use.Front(); e != nil; e = e.Next() {
		err = errors.Join(err, e.Value.(statement).Close()) //nolint:forcetypeassert // nothing else is in it
	}
	k.kept, k.use = nil, list.List{}
	return err
}
