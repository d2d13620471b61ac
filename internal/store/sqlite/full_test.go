package sqlite

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// World: a real SQLite file that may not grow, which SQLite answers as it does a full disk.
func TestAFullDisk(t *testing.T) {
	t.Parallel()
	db, err := Open(t.Context(), filepath.Join(t.TempDir(), "slipway.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	limit := func(pages string) { // of the one connection that writes
		if _, err := db.write.ExecContext(t.Context(), "PRAGMA max_page_count = "+pages); err != nil {
			t.Fatal(err)
		}
	}
	add := func(name string) error {
		return db.InTx(t.Context(), func(tx *store.Tx) error {
			_, err := tx.CreateProject(t.Context(), slipway.Project{Name: name})
			return err
		})
	}

	limit("1") // SQLite makes of it as many as there are
	made, err := 0, error(nil)
	for ; made < 10_000 && err == nil; made++ {
		err = add(fmt.Sprintf("project-%d", made))
	}
	if !slipway.Is(err, slipway.Unavailable) || !strings.Contains(err.Error(), "disk of Slipway's database is full") {
		t.Fatalf("after %d projects: %v, want a word about the full disk", made, err)
	}
	limit("1000000")
	if err := add("room-again"); err != nil {
		t.Errorf("with room again: %v", err)
	}
	if err := db.Read(t.Context(), func(tx *store.Tx) error {
		list, err := tx.Projects(t.Context(), store.Page{After: "", Limit: 200})
		if n := len(list.Items); n != min(made, 200) { // the refused one is not there, the last one is
			t.Errorf("%d projects are kept, want %d", n, made)
		}
		return err
	}); err != nil {
		t.Error(err)
	}
}
