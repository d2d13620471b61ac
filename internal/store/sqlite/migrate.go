package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"

	"slipway.dev/slipway/internal/slipway"
)

//go:embed migration/*.sql
var migrations embed.FS

// migrate brings the schema up to date: ours, then the queue's. The lock on the file keeps
// a second process away meanwhile.
func migrate(ctx context.Context, db *sql.DB) error {
	files, err := fs.Sub(migrations, "migration")
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, db, files)
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
	m, err := rivermigrate.New(riversqlite.New(db), nil)
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
