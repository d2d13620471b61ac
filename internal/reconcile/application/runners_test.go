package application

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// These tests stand in the world of a database, with a cluster that only remembers what it
// was asked.

// runners replaces the application of the bench by a runner application with one pool, and
// its task by one of the kind.
func (b *bench) runners(kind slipway.TaskKind) slipway.RunnerPool {
	b.t.Helper()
	ctx := b.t.Context()
	var pool slipway.RunnerPool
	b.must(b.store.InTx(ctx, func(tx *store.Tx) (err error) {
		b.app, err = tx.CreateApplication(ctx, slipway.Application{EnvironmentID: b.app.EnvironmentID, Name: "ci", Kind: slipway.RunnerApplication})
		if err != nil {
			return err
		}
		if pool, err = tx.PutRunnerPool(ctx, slipway.RunnerPool{ApplicationID: b.app.ID, Service: "runner", Spec: slipway.PoolSpec{Replicas: 2, Labels: []string{"x"}}}, false); err != nil {
			return err
		}
		_, err = tx.CreateRevision(ctx, slipway.Revision{ApplicationID: b.app.ID, Number: 1, Spec: slipway.ApplicationSpec{
			SchemaVersion: 1, Name: "ci", Services: map[string]slipway.RunnerService{"runner": {Replicas: 2}},
		}})
		if err != nil {
			return err
		}
		ch, err := tx.CreateChange(ctx, slipway.Change{ApplicationID: b.app.ID, Kind: slipway.InstallChange, Revision: 1})
		if err != nil {
			return err
		}
		if err := tx.SetApplicationWanted(ctx, b.app.ID, 0, 1, ch.Number); err != nil {
			return err
		}
		b.task, err = tx.CreateTask(ctx, slipway.Task{Kind: kind, Title: "set up ci", ApplicationID: b.app.ID, ChangeID: ch.ID})
		return err
	}))
	return pool
}

func TestARunnerApplicationIsHandedToItsPools(t *testing.T) {
	t.Parallel()
	quiet := newBench(t)
	quiet.runners(slipway.InstallTask)
	f := newFake()
	quiet.run(f)
	want := "succeeded ; application running at , revision 1\ncheck succeeded \nnamespace succeeded \npools succeeded \n"
	if got := quiet.end(); got != want {
		t.Fatalf("undisturbed: %s", got)
	}
	if did := []string{"version", fmt.Sprintf("prepare 1 pools in demo-dev-runners-%d", quiet.app.ID)}; !slices.Equal(f.did, did) {
		t.Errorf("the cluster was asked %q, want %q", f.did, did)
	}
	for n := 1; n <= f.calls; n++ {
		for _, after := range []bool{false, true} {
			b := newBench(t)
			b.runners(slipway.InstallTask)
			world := newFake()
			world.dieAt, world.after = n, after
			b.run(world)
			world.dieAt = 0
			b.run(world)
			if d := cmp.Diff(want, b.end()); d != "" {
				t.Errorf("killed in call %d, answer lost %v (-undisturbed +killed):\n%s", n, after, d)
			}
		}
	}
}

// The deletion waits for what a forge and a cluster must do first, says what keeps it, and
// goes on when nothing does.
func TestADeletionWaitsForEverySlot(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	pool := b.runners(slipway.DeleteTask)
	ctx := b.t.Context()
	var slot slipway.Slot
	move := func(next slipway.SlotState, failure string) {
		b.must(b.store.InTx(ctx, func(tx *store.Tx) (err error) {
			from := slot.State
			slot.State = next
			if err = tx.UpdateSlot(ctx, slot, from); err != nil || failure == "" {
				return err
			}
			slot.Failure = failure
			return tx.UpdateSlot(ctx, slot, next)
		}))
	}
	b.must(b.store.InTx(ctx, func(tx *store.Tx) (err error) {
		slot, err = tx.CreateSlot(ctx, slipway.Slot{PoolID: pool.ID, Runner: "slipway-1-x"})
		return err
	}))
	move(slipway.SlotRegistering, "")
	move(slipway.SlotDraining, "GitHub answered 401: the token is not valid any more.")

	f := newFake()
	done := make(chan struct{})
	go func() { defer close(done); b.run(f) }()
	want := fmt.Sprintf("1 runner is left; slipway-1-x is draining: GitHub answered 401: the token is not valid any more · an administrator can give them up with  slipway runners forget demo/dev/%s", b.app.Name)
	b.until(func(steps []slipway.Step) bool {
		return len(steps) == 1 && steps[0].State == slipway.StepRunning && slices.Equal(steps[0].Notes, []string{want})
	})
	if len(f.did) > 0 {
		t.Errorf("while a slot is open the cluster was asked %q", f.did)
	}
	b.must(b.store.InTx(ctx, func(tx *store.Tx) error { return tx.ForgetSlot(ctx, slot.ID, "given up by anna") }))
	<-done
	if got, want := b.end(), "succeeded ; application deleted at , revision 0\ndrain succeeded \nremove succeeded \npurge succeeded \n"; got != want {
		t.Errorf("the end is %s, want %s", got, want)
	}
	if did := []string{fmt.Sprintf("remove demo-dev-runners-%d", b.app.ID)}; !slices.Equal(f.did, did) {
		t.Errorf("the cluster was asked %q, want %q", f.did, did)
	}
	b.must(b.store.Read(ctx, func(tx *store.Tx) error {
		left, err := tx.RunnerPoolsOf(ctx, b.app.ID)
		if len(left) > 0 {
			t.Errorf("pools are left: %+v", left)
		}
		return err
	}))
}

// until waits for what the steps of the task show.
func (b *bench) until(there func([]slipway.Step) bool) {
	b.t.Helper()
	ctx, stop := context.WithTimeout(b.t.Context(), 30*time.Second)
	defer stop()
	for {
		var steps []slipway.Step
		b.must(b.store.Read(ctx, func(tx *store.Tx) (err error) {
			steps, err = tx.Steps(ctx, b.task.ID)
			return err
		}))
		if there(steps) {
			return
		}
		select {
		case <-ctx.Done():
			b.t.Fatalf("the steps never came so far: %+v", steps)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// A change that an earlier one waited before: its revision stands, and is not taken back.
func TestAnEarlierChangeOfARunnerApplicationTakesNothingBack(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.runners(slipway.InstallTask)
	ctx := b.t.Context()
	b.must(b.store.InTx(ctx, func(tx *store.Tx) error {
		if _, err := tx.CreateRevision(ctx, slipway.Revision{ApplicationID: b.app.ID, Number: 2, Spec: slipway.ApplicationSpec{Services: map[string]slipway.RunnerService{"runner": {}}}}); err != nil {
			return err
		}
		if err := tx.SetApplicationWanted(ctx, b.app.ID, 1, 2, 2); err != nil {
			return err
		}
		return tx.SetApplicationApplied(ctx, b.app.ID, store.Applied{Revision: 2})
	}))
	b.run(newFake())
	if got := b.end(); !strings.HasPrefix(got, "succeeded ; application running at , revision 2\n") {
		t.Errorf("the end is %s", got)
	}
}
