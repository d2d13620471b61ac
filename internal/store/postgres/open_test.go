package postgres_test

import (
	"testing"

	"slipway.dev/slipway/internal/store"
	"slipway.dev/slipway/internal/store/postgres"
	"slipway.dev/slipway/internal/store/postgres/postgrestest"
	"slipway.dev/slipway/internal/store/storetest"
)

func TestMain(m *testing.M) { postgrestest.Main(m) }

// World: a real PostgreSQL.
func TestStore(t *testing.T) { storetest.Run(t, open) }

func open(t *testing.T) *store.Store {
	db, err := postgres.Open(t.Context(), postgrestest.DSN(t), postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db.Store
}
