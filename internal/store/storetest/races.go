package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// races lets many do at once what only one may.
func races(w *world) {
	t := w.T
	const many = 16
	a := w.application(w.environment("shop", "production"), "guestbook")
	at := func(f func(ctx context.Context, tx *store.Tx, i int) error) []error {
		errs := make([]error, many)
		var all sync.WaitGroup
		for i := range many {
			all.Go(func() {
				errs[i] = w.store.InTx(t.Context(), func(tx *store.Tx) error { return f(t.Context(), tx, i) })
			})
		}
		all.Wait()
		return errs
	}
	won := func(errs []error) (n int) {
		for _, err := range errs {
			switch {
			case err == nil:
				n++
			case !errors.Is(err, store.ErrStale) && !slipway.Is(err, slipway.Conflict):
				t.Errorf("one who lost got %v", err)
			}
		}
		return n
	}

	t.Run("one accepts the next revision", func(t *testing.T) {
		errs := at(func(ctx context.Context, tx *store.Tx, i int) error {
			return tx.SetApplicationWanted(ctx, a.ID, 0, 1, 1)
		})
		if n := won(errs); n != 1 {
			t.Errorf("%d accepted the same revision", n)
		}
	})
	t.Run("each change gets its own number, without a gap", func(t *testing.T) {
		numbers := make([]int64, many)
		errs := at(func(ctx context.Context, tx *store.Tx, i int) error {
			c, err := tx.CreateChange(ctx, slipway.Change{ApplicationID: a.ID, Kind: slipway.UpgradeChange})
			numbers[i] = c.Number
			return err
		})
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
		slices.Sort(numbers)
		for i, n := range numbers {
			if n != numbers[0]+int64(i) {
				t.Fatalf("got numbers %v", numbers)
			}
		}
	})
	t.Run("no task appears before one that is there already", func(t *testing.T) {
		var mu sync.Mutex
		seen := map[int64][]int64{} // by task: what was there when its own transaction had ended
		errs := at(func(ctx context.Context, tx *store.Tx, i int) error {
			task, err := tx.CreateTask(ctx, slipway.Task{Kind: slipway.StopTask, ApplicationID: a.ID})
			tx.AfterCommit(func() {
				l := get(w, func(ctx context.Context, tx *store.Tx) (store.List[slipway.Task], error) {
					return tx.Tasks(ctx, store.TaskFilter{ApplicationID: a.ID}, store.Page{Limit: store.MaxLimit})
				})
				mu.Lock()
				defer mu.Unlock()
				for _, other := range l.Items {
					seen[task.ID] = append(seen[task.ID], other.ID)
				}
			})
			return err
		})
		if err := errors.Join(errs...); err != nil || len(seen) != many {
			t.Fatalf("%d tasks, %v", len(seen), err)
		}
		for id, there := range seen {
			for earlier := range seen {
				if earlier < id && !slices.Contains(there, earlier) {
					t.Errorf("task %d appeared after task %d", earlier, id)
				}
			}
		}
	})
	t.Run("each claim gets its own epoch, and the last one holds", func(t *testing.T) {
		task, epochs := w.task(a), make([]int64, many)
		errs := at(func(ctx context.Context, tx *store.Tx, i int) (err error) {
			epochs[i], err = tx.ClaimTask(ctx, task.ID, strconv.Itoa(i))
			return err
		})
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
		slices.Sort(epochs)
		if len(slices.Compact(epochs)) != many {
			t.Errorf("two claims got one epoch: %v", epochs)
		}
		errs = at(func(ctx context.Context, tx *store.Tx, i int) error {
			return tx.FinishTask(ctx, task.ID, int64(i+1), store.TaskEnd{State: slipway.Succeeded})
		})
		if n := won(errs); n != 1 || errs[many-1] != nil {
			t.Errorf("%d finished the task, the last claim with %v", n, errs[many-1])
		}
	})
	t.Run("one opens the step", func(t *testing.T) {
		task := w.task(a)
		w.write(func(ctx context.Context, tx *store.Tx) error { _, err := tx.ClaimTask(ctx, task.ID, "r"); return err })
		ids := make([]int64, many)
		errs := at(func(ctx context.Context, tx *store.Tx, i int) error {
			s, err := tx.OpenStep(ctx, task.ID, 1, "apply", "Install the chart")
			ids[i] = s.ID
			return err
		})
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
		if slices.Sort(ids); len(slices.Compact(ids)) != 1 {
			t.Errorf("got steps %v, want one", ids)
		}
	})
	t.Run("one makes the user", func(t *testing.T) {
		errs := at(func(ctx context.Context, tx *store.Tx, i int) error {
			_, err := tx.CreateUser(ctx, slipway.User{Name: "ann", Role: slipway.ReadOnly}, "")
			return err
		})
		if n := won(errs); n != 1 {
			t.Errorf("%d made the user", n)
		}
	})
	t.Run("the last administrator stays", func(t *testing.T) {
		var ids [many]int64
		for i := range many {
			ids[i] = w.user(fmt.Sprintf("admin-%d", i), slipway.Administrator).ID
		}
		at(func(ctx context.Context, tx *store.Tx, i int) error {
			n, err := tx.CountActiveAdministrators(ctx)
			if err != nil || n < 2 {
				return err
			}
			return tx.SetUserActive(ctx, ids[i], false)
		})
		if n := put(w, func(ctx context.Context, tx *store.Tx) (int, error) { return tx.CountActiveAdministrators(ctx) }); n != 1 {
			t.Errorf("%d administrators are left, want 1", n)
		}
	})
	t.Run("one holds the lease", func(t *testing.T) {
		got := make([]bool, many)
		errs := at(func(ctx context.Context, tx *store.Tx, i int) (err error) {
			got[i], err = tx.AcquireLease(ctx, "race", strconv.Itoa(i), 1<<40)
			return err
		})
		n := 0
		for _, g := range got {
			if g {
				n++
			}
		}
		if err := errors.Join(errs...); err != nil || n != 1 {
			t.Errorf("%d hold the lease, %v", n, err)
		}
	})
	t.Run("a wake-up asked for by all is one", func(t *testing.T) {
		needs := make([]bool, many)
		errs := at(func(ctx context.Context, tx *store.Tx, i int) error {
			e, err := tx.AskWakeUp(ctx, store.WakeUp{Noun: "race", ID: 1, Queue: "default", Priority: 2}, tx.Now)
			if needs[i] = err == nil && e.JobID == 0; needs[i] {
				err = tx.SetWakeUpJob(ctx, "race", 1, int64(i+1))
			}
			return err
		})
		n := 0
		for _, need := range needs {
			if need {
				n++
			}
		}
		if err := errors.Join(errs...); err != nil || n != 1 {
			t.Errorf("%d were told to enqueue a job, %v; want 1", n, err)
		}
	})
}
