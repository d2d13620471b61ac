package auth

import (
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
	"slipway.dev/slipway/internal/store/sqlite"
)

func TestPruneForgetsWhatCountsNoMore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.user("anna", slipway.ReadOnly)
	cookie := w.mustLogin("anna")
	_, _ = w.login("anna", "wrong")
	value, taskID, _ := w.taskToken()
	if err := w.a.Prune(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := w.who(cookie); err != nil {
		t.Errorf("a session that counts was forgotten: %v", err)
	}
	if _, err := w.who(value); err != nil {
		t.Errorf("the token of a task that runs was revoked: %v", err)
	}
	w.write(func(tx *store.Tx) error {
		return tx.FinishTask(t.Context(), taskID, 0, store.TaskEnd{State: slipway.Cancelled})
	})
	if err := w.a.Prune(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err := w.who(value)
	w.wantKind(err, slipway.Unauthenticated, "revoked")
	w.clock.move(forgetAfter + time.Second)
	if err := w.a.Prune(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.write(func(tx *store.Tx) error {
		for _, table := range []string{"sessions", "login_throttle"} {
			var n int
			if err := tx.SQL().QueryRowContext(t.Context(), "SELECT COUNT(*) FROM "+table).Scan(&n); err != nil {
				return err
			}
			if n != 0 {
				t.Errorf("%s has %d rows", table, n)
			}
		}
		return nil
	})
}

// Not parallel: it looks at every goroutine of the process.
func TestCloseLeavesNothingRunning(t *testing.T) {
	before := goleak.IgnoreCurrent()
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "slipway.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	a, err := New(Config{Store: db.Store})
	if err != nil {
		t.Fatal(err)
	}
	a.Close()
	a.Close() // twice is once
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	goleak.VerifyNone(t, before)
}
