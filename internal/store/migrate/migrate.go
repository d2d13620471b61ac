// Package migrate brings a database's schema up to date: ours by goose, then the queue's
// by River. Packages sqlite and postgres call it under their locks, with their own files.
//
// It refuses a database that a newer slipway has migrated: the older one would not know
// what the columns that it does not see are for.
package migrate

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/rivermigrate"

	"slipway.dev/slipway/internal/slipway"
)

// Up brings the schema up to date with the files in the folder migration.
func Up(ctx context.Context, db *sql.DB, dialect goose.Dialect, files fs.FS, queue riverdriver.Driver[*sql.Tx]) error {
	folder, err := fs.Sub(files, "migration")
	if err != nil {
		return err
	}
	// Two changes that are made side by side each take a number, and the higher one may come
	// first. A server that ran between them lacks the lower one, and must get it.
	p, err := goose.NewProvider(dialect, db, folder, goose.WithAllowOutofOrder(true))
	if err != nil {
		return fmt.Errorf("prepare the schema: %w", err)
	}
	has, knows, err := p.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("read the schema's version: %w", err)
	}
	if has > knows {
		return newer("schema", has, knows)
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("migrate the schema: %w", err)
	}
	return upQueue(ctx, queue)
}

func upQueue(ctx context.Context, queue riverdriver.Driver[*sql.Tx]) error {
	m, err := rivermigrate.New(queue, nil)
	if err != nil {
		return fmt.Errorf("prepare the queue's schema: %w", err)
	}
	knows := 0
	for _, v := range m.AllVersions() {
		knows = max(knows, v.Version)
	}
	// Asked before the migrator is, which knows no word for a version that it does not know.
	there, err := queue.GetExecutor().TableExists(ctx, &riverdriver.TableExistsParams{Table: "river_migration"})
	if err != nil {
		return fmt.Errorf("read the version of the queue's schema: %w", err)
	}
	if there {
		existing, err := queue.GetExecutor().MigrationGetByLine(ctx, &riverdriver.MigrationGetByLineParams{Line: riverdriver.MigrationLineMain})
		if err != nil {
			return fmt.Errorf("read the version of the queue's schema: %w", err)
		}
		for _, v := range existing {
			if v.Version > knows {
				return newer("queue schema", int64(v.Version), int64(knows))
			}
		}
	}
	if _, err := m.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return fmt.Errorf("migrate the queue: %w", err)
	}
	return nil
}

func newer(what string, has, knows int64) error {
	return slipway.Errorf(slipway.Conflict, "the database is at %s %d, this slipway knows %d", what, has, knows).
		WithHint("run a newer slipway")
}
