package task

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// World: real processes, killed for real, on a real SQLite file.
func TestKilledAndStartedAgainOnSQLite(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "sqlite")
	id := w.task()
	if err := w.db.Close(); err != nil { // a child must have the file to itself
		t.Fatal(err)
	}
	goFile := filepath.Join(t.TempDir(), "go")
	first := w.process("first", goFile, BeatEvery)
	first.says(soon, "in two")
	first.signal(syscall.SIGKILL)
	within(t, soon, first.done, "the end of the first process")

	second := w.process("second", goFile, BeatEvery)
	killed := time.Now()
	second.says(soon, "in two")
	t.Logf("taken up %s after the start", time.Since(killed).Round(time.Millisecond))
	touch(t, goFile)
	second.says(soon, "returned <nil>")
	second.signal(syscall.SIGTERM)
	if err := within(t, soon, second.done, "the end of the second process"); err != nil {
		t.Errorf("the second process ended with %v", err)
	}

	db, err := openDatabase(t.Context(), w.name, w.where)
	if err != nil {
		t.Fatal(err)
	}
	w.store, w.db = db.store, db
	w.wantOneRun(id, "second")
}

// World: two real processes over a real PostgreSQL; the one that works is killed.
func TestKilledAndTakenOverOnPostgreSQL(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "postgres")
	goFile := filepath.Join(t.TempDir(), "go")
	id := w.task()
	first := w.process("first", goFile, BeatEvery)
	first.says(soon, "in two")
	second := w.process("second", goFile, BeatEvery)
	second.says(soon, "ready")
	first.signal(syscall.SIGKILL)
	killed := time.Now()
	second.says(time.Minute, "in two")
	t.Logf("taken over %s after the kill", time.Since(killed).Round(time.Millisecond))
	touch(t, goFile)
	second.says(soon, "returned <nil>")
	w.wantOneRun(id, "second")
	second.signal(syscall.SIGTERM)
	if err := within(t, soon, second.done, "the end of the second process"); err != nil {
		t.Errorf("the second process ended with %v", err)
	}
}

// World: real processes, killed again and again while they work.
func TestNothingIsMissedWhileProcessesDie(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"sqlite", "postgres"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, name)
			goFile := filepath.Join(t.TempDir(), "go")
			touch(t, goFile) // nothing holds them up
			var ids []int64
			for range 300 {
				ids = append(ids, w.task())
			}
			at := 1
			if w.store.Shared() {
				at = 2
			} else if err := w.db.Close(); err != nil { // a child must have the file to itself
				t.Fatal(err)
			}
			var ps []*process
			for n := range 8 {
				if len(ps) == at {
					ps[0].signal(syscall.SIGKILL)
					within(t, soon, ps[0].done, "the end of a killed process")
					ps = ps[1:]
				}
				p := w.process(fmt.Sprintf("p%d", n), goFile, 300*time.Millisecond)
				p.says(soon, "ready")
				time.Sleep(rand.N(200 * time.Millisecond)) // amid the work
				ps = append(ps, p)
			}
			if !w.store.Shared() {
				ps[0].signal(syscall.SIGTERM)
				within(t, soon, ps[0].done, "the end of the last process")
				db, err := openDatabase(t.Context(), w.name, w.where)
				if err != nil {
					t.Fatal(err)
				}
				w.store, w.db = db.store, db
				q := w.queue(Options{})
				j := NewJournal(w.store, NewEvents(w.store, w.log), q.options.Replica.ID, w.log)
				q.Handle("task", func(ctx context.Context, id int64) (time.Duration, error) {
					return 0, childTask(ctx, j, id, q.options.Replica.ID, goFile, func(string) {})
				})
				w.start(q)
			}
			eventually(t, time.Minute, "every wake-up handled", func() bool { return len(w.entries()) == 0 })
			for _, id := range ids {
				w.write(func(ctx context.Context, tx *store.Tx) error {
					task, err := tx.Task(ctx, id)
					if err != nil {
						return err
					}
					steps, err := tx.Steps(ctx, id)
					if err == nil && (task.State != slipway.Succeeded || len(steps) != 2) {
						t.Errorf("task %d is %s with %d steps, want succeeded with 2", id, task.State, len(steps))
					}
					return err
				})
			}
		})
	}
}

// World: two real processes over a real PostgreSQL; the one that works is stopped for so
// long that it is taken for dead, and goes on.
func TestAZombieCanWriteNothingAndLearnsThatItIsDead(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "postgres")
	dir := t.TempDir()
	id := w.task()
	zombieGo, livingGo := filepath.Join(dir, "zombie"), filepath.Join(dir, "living")
	zombie := w.process("zombie", zombieGo, time.Second)
	zombie.says(soon, "in two")
	living := w.process("living", livingGo, time.Second)
	living.says(soon, "ready")
	zombie.signal(syscall.SIGSTOP)
	living.says(time.Minute, "in two")

	// The zombie wakes to find its work done: it would end the step and the task.
	touch(t, zombieGo)
	zombie.signal(syscall.SIGCONT)
	if line := zombie.says(soon, "returned"); line == "returned <nil>" {
		t.Error("the zombie believes that it has finished the task")
	}
	zombie.says(soon, "lost")
	within(t, soon, zombie.done, "the end of the zombie")

	never(t, 3*time.Second, living.lines, "anything from the living one, which the zombie must not disturb")
	touch(t, livingGo)
	living.says(soon, "returned <nil>")
	w.wantOneRun(id, "living")
}

func touch(t *testing.T, name string) {
	t.Helper()
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// task adds a task and wakes it.
func (w *world) task() (id int64) {
	w.Helper()
	q := w.queue(Options{})
	w.write(func(ctx context.Context, tx *store.Tx) error {
		t, err := tx.CreateTask(ctx, slipway.Task{Kind: slipway.UpgradeTask, Title: "upgrade"})
		if err != nil {
			return err
		}
		id = t.ID
		return q.Enqueue(ctx, tx, WakeUp{Noun: "task", ID: id})
	})
	return id
}

// wantOneRun checks that the task ended as if nobody had been killed, but for the second
// claim.
func (w *world) wantOneRun(id int64, holder string) {
	w.Helper()
	var task slipway.Task
	var steps []slipway.Step
	w.write(func(ctx context.Context, tx *store.Tx) (err error) {
		if task, err = tx.Task(ctx, id); err != nil {
			return err
		}
		steps, err = tx.Steps(ctx, id)
		return err
	})
	if task.State != slipway.Succeeded || task.Epoch != 2 || task.Holder != holder {
		w.Errorf("task is %s in epoch %d at %s, want succeeded in epoch 2 at %s", task.State, task.Epoch, task.Holder, holder)
	}
	var got []string
	for _, s := range steps {
		got = append(got, s.Key+" "+string(s.State)+" "+strings.Join(s.Notes, ","))
	}
	first := map[string]string{"second": "first", "living": "zombie"}[holder]
	if diff := cmp.Diff([]string{"one succeeded by " + first, "two succeeded "}, got); diff != "" {
		w.Errorf("steps (-want +got):\n%s", diff)
	}
	eventually(w, soon, "no entry left", func() bool { return len(w.entries()) == 0 })
}
