package postgres

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"time"

	"github.com/pressly/goose/v3"
	"github.com/riverqueue/river/riverdriver/riverdatabasesql"

	"slipway.dev/slipway/internal/store/migrate"
)

//go:embed migration/*.sql
var migrations embed.FS

// migrationLock is the number of the advisory lock under which the schema is migrated:
// "slipway" on a telephone's keys.
const migrationLock = 7547929

// bringUp brings the schema up to date, ours and then the queue's, while no other process
// does.
func bringUp(ctx context.Context, db *sql.DB) (err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // it only gives it back
	if _, err := conn.ExecContext(ctx, `SELECT pg_advisory_lock($1)`, migrationLock); err != nil {
		return fmt.Errorf("wait for the migration of another process: %w", err)
	}
	defer func() {
		// Not with ctx: the lock belongs to the connection, which goes back to the pool.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_, unlock := conn.ExecContext(ctx, `SELECT pg_advisory_unlock($1)`, migrationLock)
		err = errors.Join(err, unlock)
	}()

	return migrate.Up(ctx, db, goose.DialectPostgres, migrations, riverdatabasesql.New(db))
}
