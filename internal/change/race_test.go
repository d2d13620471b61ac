package change

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// atOnce runs f n times at the same moment and returns the errors.
func atOnce(n int, f func(i int) error) []error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	ready := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			<-ready
			errs[i] = f(i)
		})
	}
	close(ready)
	wg.Wait()
	return errs
}

// World: both databases.
func TestOfManyDeploysWithOneExpectedRevisionOneWins(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		for _, expected := range []int64{0, 1} {
			won := 0
			errs := atOnce(12, func(i int) error {
				_, err := w.deploy(expected, toml("1.0.0", "1.0.0", "[components.web]", fmt.Sprintf("replicas = %d", i+1)))
				return err
			})
			for _, err := range errs {
				if err == nil {
					won++
					continue
				}
				w.refused(err, slipway.Conflict, fmt.Sprintf("revision %d of shop/production/guestbook was expected, and revision %d is wanted now: ben deployed it on ", expected, expected+1))
			}
			if won != 1 {
				w.Fatalf("%d deploys won over revision %d", won, expected)
			}
		}
		w.read(func(ctx context.Context, tx *store.Tx) error {
			app, err := tx.ApplicationByName(ctx, w.env.ID, "guestbook")
			if err != nil {
				return err
			}
			changes, err := tx.Changes(ctx, app.ID, store.Page{})
			if app.Revision != 2 || app.LastChange != 2 || len(changes.Items) != 2 {
				w.Errorf("application = %+v with %d changes", app, len(changes.Items))
			}
			return err
		})
	})
}

// World: both databases.
func TestOneKeyAtOnceIsOneChange(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		for round, source := range [][]byte{toml("1.0.0", "1.0.0"), toml("1.1.0", "1.0.0")} {
			var mu sync.Mutex
			tasks, fresh := map[int64]bool{}, 0
			errs := atOnce(12, func(int) error {
				a, err := w.deploy(int64(round), source, func(in *DeployInput) { in.IdempotencyKey = fmt.Sprint("k", round) })
				mu.Lock()
				defer mu.Unlock()
				tasks[a.Task.ID] = true
				if err == nil && !a.Replayed {
					fresh++
				}
				return err
			})
			for _, err := range errs {
				w.ok(err)
			}
			if len(tasks) != 1 || fresh != 1 {
				w.Errorf("round %d: tasks %v, %d answers were the first", round, tasks, fresh)
			}
		}
		if n := len(w.dump()["changes"]); n != 2 {
			w.Errorf("%d changes, want 2", n)
		}
	})
}

// World: both databases.
func TestOneOfTwoAdministratorsStays(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		ctx := w.Context()
		role, active := slipway.ReadWrite, false
		for round := range 10 {
			second := w.user(fmt.Sprint("admin", round), slipway.Administrator)
			errs := atOnce(2, func(i int) error {
				in := UpdateUserInput{Name: "anna", Role: &role}
				if i == 1 {
					in = UpdateUserInput{Name: second.UserName, Active: &active}
				}
				_, err := w.s.UpdateUser(ctx, slipway.System(), in)
				return err
			})
			if (errs[0] == nil) == (errs[1] == nil) {
				w.Fatalf("round %d: %v and %v", round, errs[0], errs[1])
			}
			for _, err := range errs {
				if err != nil {
					w.refused(err, slipway.Conflict, "is the last active administrator")
				}
			}
			w.write(func(ctx context.Context, tx *store.Tx) error {
				if n, err := tx.CountActiveAdministrators(ctx); err != nil || n != 1 {
					w.Errorf("%d administrators, %v", n, err)
				}
				// The next round begins with anna alone.
				if err := tx.SetUserRole(ctx, w.admin.UserID, slipway.Administrator); err != nil {
					return err
				}
				return tx.SetUserActive(ctx, second.UserID, false)
			})
		}
	})
}

// World: both databases. A deploy and a deletion at once: the deletion always stands in
// the end, and no change comes after it.
func TestADeployAndADeletionAtOnce(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		ctx := w.Context()
		a := w.mustDeploy(0, toml("1.0.0", "1.0.0"))
		errs := atOnce(8, func(i int) error {
			if i == 0 {
				_, err := w.s.Delete(ctx, w.writer, DeleteInput{ApplicationID: a.Application.ID})
				return err
			}
			_, err := w.deploy(1, toml("1.1.0", "1.0.0"))
			return err
		})
		w.ok(errs[0])
		won := 0
		for _, err := range errs[1:] {
			switch e, ok := errorOf(err); {
			case err == nil:
				won++
			case !ok || e.Kind != slipway.Conflict || !strings.Contains(e.Msg, "is being deleted") && !strings.Contains(e.Msg, "revision 1"):
				w.Errorf("error = %v", err)
			}
		}
		w.read(func(ctx context.Context, tx *store.Tx) error {
			changes, err := tx.Changes(ctx, a.Application.ID, store.Page{})
			if len(changes.Items) != 2+won || changes.Items[0].Kind != slipway.DeleteChange {
				w.Errorf("changes = %+v, %d deploys won", changes.Items, won)
			}
			return err
		})
	})
}

// World: both databases. A lost answer makes the Python package repeat its call while the
// first request still runs.
func TestOneCallAtOnceStartsOneTask(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		w.installed()
		c := w.acting(w.mustDeploy(1, toml("1.1.0", "1.0.0")))
		var mu sync.Mutex
		children := map[int64]bool{}
		errs := atOnce(8, func(int) error {
			call, err := w.call(c, "fr/1/1", slipway.StopComponents, `{"components":["worker"]}`)
			mu.Lock()
			defer mu.Unlock()
			children[call.ChildTask] = true
			return err
		})
		for _, err := range errs {
			w.ok(err)
		}
		if len(children) != 1 || children[0] {
			w.Errorf("children = %v", children)
		}
	})
}

// World: both databases.
func TestOneDriverLoadedAtOnceIsOneDriver(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		archive := packed(w.T, bundle("1.5.0", nil))
		fresh := 0
		var mu sync.Mutex
		errs := atOnce(6, func(int) error {
			d, err := w.s.LoadDriver(w.Context(), w.admin, LoadDriverInput{Archive: archive})
			mu.Lock()
			defer mu.Unlock()
			if err == nil && !d.Known {
				fresh++
			}
			return err
		})
		for _, err := range errs {
			w.ok(err)
		}
		if fresh != 1 {
			w.Errorf("%d loads were the first", fresh)
		}
	})
}
