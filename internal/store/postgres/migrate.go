package postgres

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/pressly/goose/v3"
	"github.com/riverqueue/river/riverdriver/riverdatabasesql"
	"github.com/riverqueue/river/rivermigrate"

	"slipway.dev/slipway/internal/slipway"
)

//go:embed migration/*.sql
var migrations embed.FS

// migrationLock is the number of the advisory lock under which the schema is migrated:
// "slipway" on a telephone's keys.
const migrationLock = 7547929

// migrate brings the schema up to date, ours and then the queue's, while no other process
// does.
func migrate(ctx context.Context, db *sql.DB) (err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
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

	files, err := fs.Sub(migrations, "migration")
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(goose.DialectPostgres, db, files)
	if err != nil {
		return err
	}
	has, knows, err := p.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("read the schema's version: %w", err)
	}
	if has > knows {
		return slipway.Errorf(slipway.Conflict, "the database is at schema %d, this slipway knows %d", has, knows).
			WithHint("run a newer slipway")
	}
	if _, err := p.Up(ctx); err != nil {
		return err
	}
	return migrateQueue(ctx, db)
}

func migrateQueue(ctx context.Context, db *sql.DB) error {
	m, err := rivermigrate.New(riverdatabasesql.New(db), nil)
	if err != nil {
		return fmt.Errorf("prepare the queue's schema: %w", err)
	}
	knows := 0
	for _, v := range m.AllVersions() {
		knows = max(knows, v.Version)
	}
	existing, err := m.ExistingVersions(ctx)
	if err != nil {
		return fmt.Errorf("read the version of the queue's schema: %w", err)
	}
	for _, v := range existing {
		if v.Version > knows {
			return slipway.Errorf(slipway.Conflict, "the database is at queue schema %d, this slipway knows %d", v.Version, knows).
				WithHint("run a newer slipway")
		}
	}
	if _, err := m.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return fmt.Errorf("migrate the queue: %w", err)
	}
	return nil
}
