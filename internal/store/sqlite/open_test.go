package sqlite_test

import (
	"path/filepath"
	"testing"

	"slipway.dev/slipway/internal/store"
	"slipway.dev/slipway/internal/store/sqlite"
	"slipway.dev/slipway/internal/store/storetest"
)

// World: a real SQLite file.
func TestStore(t *testing.T) { storetest.Run(t, open) }

func open(t *testing.T) *store.Store {
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "slipway.db"), sqlite.Options{})
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
