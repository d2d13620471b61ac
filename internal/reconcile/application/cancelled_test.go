package application

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"slipway.dev/slipway/internal/store"
	"slipway.dev/slipway/internal/task"
)

// A cancel reaches a task whose process died while an action ran: the next process ends the
// action, its flow run and its Job before it says that the task was cancelled. World: that
// of interrupted_test.go.
func TestACancelOutlivesTheProcess(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	world := newFake()
	world.dieAt = callNumber(t, "wait")
	b.run(world) // dies while it waits for the backup
	world.dieAt = 0
	b.cancel()
	world.did = nil
	b.run(world)
	want := "cancelled cancelled by ben; application failed at 1.0.0, revision 1\ncheck succeeded \nhook.upgrade.pre cancelled the task ended while this step was open\n  backup cancelled\n"
	if got := b.end(); got != want {
		t.Errorf("the end is\n%s\nwant\n%s", got, want)
	}
	for _, done := range []string{"cancel", "delete job"} {
		if !slices.Contains(world.did, done) {
			t.Errorf("no %s: the world saw %s", done, strings.Join(world.did, ", "))
		}
	}
	if slices.ContainsFunc(world.did, func(s string) bool { return strings.HasPrefix(s, "ensure") || s == "start" }) {
		t.Errorf("something was begun: the world saw %s", strings.Join(world.did, ", "))
	}
}

// And so does one that was killed itself in any of its calls.
func TestACancelEndsAsUndisturbedWhereverItIsKilled(t *testing.T) {
	t.Parallel()
	wait := callNumber(t, "wait")
	cancelled := func(dieAt int, after bool) (*bench, *fakeWorld) {
		b, world := newBench(t), newFake()
		world.dieAt = wait
		b.run(world)
		world.dieAt, world.calls, world.after = dieAt, 0, after
		b.cancel()
		b.run(world)
		return b, world
	}
	quiet, f := cancelled(0, false)
	want, calls := quiet.end(), f.calls
	if calls < 3 || !strings.HasPrefix(want, "cancelled ") {
		t.Fatalf("undisturbed, after %d calls:\n%s", calls, want)
	}
	for n := 1; n <= calls; n++ {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("killed in call %d, answer lost %v", n, after), func(t *testing.T) {
				b, world := cancelled(n, after)
				world.dieAt = 0
				b.run(world)
				if got := b.end(); got != want {
					t.Errorf("the end is\n%s\nwant\n%s", got, want)
				}
			})
		}
	}
}

// callNumber is the number of the first call of a kind in an undisturbed upgrade.
func callNumber(t *testing.T, what string) int {
	t.Helper()
	b, f := newBench(t), newFake()
	b.moveVersion()
	b.run(f)
	n := slices.Index(f.did, what)
	if n < 0 {
		t.Fatalf("there is no call %q in %s", what, strings.Join(f.did, ", "))
	}
	return n + 1
}

func (b *bench) cancel() {
	b.t.Helper()
	ctx := context.WithoutCancel(b.t.Context())
	b.must(b.store.InTx(ctx, func(tx *store.Tx) error {
		_, err := task.RequestCancel(ctx, tx, b.task.ID, "ben")
		return err
	}))
}
