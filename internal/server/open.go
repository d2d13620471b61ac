package server

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/uuid"

	"slipway.dev/slipway/internal/config"
	"slipway.dev/slipway/internal/secret"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
	"slipway.dev/slipway/internal/store/postgres"
	"slipway.dev/slipway/internal/store/sqlite"
	"slipway.dev/slipway/internal/task"
)

// database is an opened one of either kind.
type database struct {
	*store.Store
	io.Closer
	// queue makes the queue over the same database, with the driver that belongs to it.
	queue func(task.Options) (*task.Queue, error)
}

func openDatabase(ctx context.Context, c config.Config) (database, error) {
	if c.SQLite() {
		db, err := sqlite.Open(ctx, filepath.Join(c.DataDir, "slipway.db"), sqlite.Options{})
		if err != nil {
			return database{}, err
		}
		queue := func(o task.Options) (*task.Queue, error) { return task.NewQueue(db.Store, db.River(), o) }
		return database{db.Store, db, queue}, nil
	}
	db, err := postgres.Open(ctx, c.Database.Reveal(), postgres.Options{})
	if err != nil {
		return database{}, err
	}
	queue := func(o task.Options) (*task.Queue, error) { return task.NewQueue(db.Store, db.River(), o) }
	return database{db.Store, db, queue}, nil
}

// ensureInstallation returns the installation of the database, which the first start makes.
func ensureInstallation(ctx context.Context, s *store.Store) (i slipway.Installation, err error) {
	err = s.InTx(ctx, func(tx *store.Tx) error {
		i, err = tx.Installation(ctx)
		if !slipway.Is(err, slipway.NotFound) {
			return err
		}
		short := make([]byte, 10)
		if _, err := rand.Read(short); err != nil {
			return fmt.Errorf("make the installation's ID: %w", err)
		}
		i, err = tx.CreateInstallation(ctx, slipway.Installation{
			ID:         uuid.NewString(),
			ExternalID: strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(short)),
		})
		return err
	})
	if slipway.Is(err, slipway.Conflict) { // another replica was first
		err = s.Read(ctx, func(tx *store.Tx) error {
			i, err = tx.Installation(ctx)
			return err
		})
	}
	if err != nil {
		return i, fmt.Errorf("read the installation: %w", err)
	}
	return i, nil
}

// openBox returns what seals secrets: by the keyset in the environment, else by the one in
// the file, which is made when nothing has been sealed yet.
func openBox(ctx context.Context, c config.Config, s *store.Store) (*secret.Box, error) {
	if text := os.Getenv(secret.EnvVar); text != "" {
		// Child processes inherit the environment, and what they print is kept.
		if err := os.Unsetenv(secret.EnvVar); err != nil {
			return nil, fmt.Errorf("take the keyset out of the environment: %w", err)
		}
		return secret.Parse(text)
	}
	var any bool
	err := s.Read(ctx, func(tx *store.Tx) (err error) {
		any, err = tx.AnySecret(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	box, err := secret.LoadOrCreate(c.SecretKeyFile(), !any)
	if err != nil {
		return nil, &slipway.Error{Kind: slipway.Invalid, Msg: err.Error(), Err: err,
			Hint: "replicas over one database share one keyset"}
	}
	return box, nil
}
