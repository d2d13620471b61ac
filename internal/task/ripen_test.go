package task

import (
	"database/sql"
	"testing"
	"time"

	"slipway.dev/slipway/internal/store"
)

// World: a real SQLite file that takes no change of a wake-up, as on a full disk. Ten
// lines a second about it would keep the disk full, where the log is on it.
func TestWhatCannotRipenIsNotTriedAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "sqlite")
	q := w.queue(Options{})
	var asked time.Time
	if err := w.store.InTx(t.Context(), func(tx *store.Tx) error {
		asked = tx.Now
		_, err := tx.AskWakeUp(t.Context(), store.WakeUp{Noun: "task", ID: 1, Queue: "default"}, tx.Now.Add(time.Millisecond))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for time.Since(asked) < 2*time.Millisecond { // until it is due
		time.Sleep(time.Millisecond)
	}
	other, err := sql.Open("sqlite", "file:"+w.where+"?_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.ExecContext(t.Context(), `CREATE TRIGGER full BEFORE UPDATE ON wakeups BEGIN SELECT RAISE(ABORT, 'full'); END`); err != nil {
		t.Fatal(err)
	}
	if wait, err := q.ripenDue(t.Context()); err == nil || wait < time.Second {
		t.Errorf("ripenDue() = %s, %v, want an error and a rest of a second at least", wait, err)
	}
}
