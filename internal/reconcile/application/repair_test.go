package application

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"slipway.dev/slipway/internal/outside/kube"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// The tests here stand in the fake world of interrupted_test.go, over a real SQLite
// database.

// newRepair is a bench whose upgrade is over, and where a repair waits.
func newRepair(t *testing.T, upgraded bool) *bench {
	t.Helper()
	b := newBench(t)
	ctx := t.Context()
	b.must(b.store.InTx(ctx, func(tx *store.Tx) error {
		epoch, err := tx.ClaimTask(ctx, b.task.ID, "test")
		if err != nil {
			return err
		}
		end := slipway.Failed
		if upgraded {
			end = slipway.Succeeded
			err = tx.SetApplicationApplied(ctx, b.app.ID, store.Applied{Revision: 2, AppVersion: "1.1.0", DriverName: "guestbook", DriverVersion: "1.0.0"})
			if err != nil {
				return err
			}
		}
		if err := tx.FinishTask(ctx, b.task.ID, epoch, store.TaskEnd{State: end}); err != nil {
			return err
		}
		c, err := tx.CreateChange(ctx, slipway.Change{ApplicationID: b.app.ID, Kind: slipway.RepairChange})
		if err != nil {
			return err
		}
		b.task, err = tx.CreateTask(ctx, slipway.Task{Kind: slipway.RepairTask, Title: "repair guestbook", ApplicationID: b.app.ID, ChangeID: c.ID})
		return err
	}))
	return b
}

func drifted(n int) *fakeWorld {
	f := newFake()
	f.drifted = n
	return f
}

func TestARepairEndsAsUndisturbedWhereverItIsKilled(t *testing.T) {
	t.Parallel()
	quiet := newRepair(t, true)
	f := drifted(2)
	quiet.run(f)
	want, calls := quiet.end(), f.calls
	if !strings.HasPrefix(want, "succeeded ; application running at 1.1.0, revision 2\n") || f.drifted != 0 || calls < 10 {
		t.Fatalf("undisturbed, after %d calls, with %d left:\n%s", calls, f.drifted, want)
	}
	for n := 1; n <= calls; n++ {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("killed in call %d (%s), answer lost %v", n, f.did[n-1], after), func(t *testing.T) {
				t.Parallel()
				b := newRepair(t, true)
				world := drifted(2)
				world.dieAt, world.after = n, after
				b.run(world) // the life that ends
				world.dieAt = 0
				b.run(world) // the next one
				if diff := cmp.Diff(want, b.end()); diff != "" {
					t.Errorf("the end differs (-undisturbed +killed):\n%s\nthe world saw: %s", diff, strings.Join(world.did, ", "))
				}
				if world.drifted != 0 {
					t.Errorf("%d objects are not put back", world.drifted)
				}
			})
		}
	}
}

func TestARepairRunsNoHookAndNoChart(t *testing.T) {
	t.Parallel()
	b := newRepair(t, true)
	f := drifted(1)
	b.run(f)
	for _, what := range f.did {
		for _, never := range []string{"apply", "ensure", "start", "uninstall", "job"} {
			if strings.HasPrefix(what, never) {
				t.Errorf("a repair did %q", what)
			}
		}
	}
	if !slices.Contains(f.did, "record 2") || !slices.Contains(f.did, "put back Service 0") {
		t.Errorf("a repair did only %s", strings.Join(f.did, ", "))
	}
	// The next look is asked for in the same transaction.
	b.must(b.store.Read(t.Context(), func(tx *store.Tx) error {
		_, err := tx.WakeUp(t.Context(), slipway.WakeDrift, b.app.ID)
		return err
	}))
}

func TestAnOvertakenRepairLeavesTheClusterAlone(t *testing.T) {
	t.Parallel()
	b := newRepair(t, true)
	f := drifted(1)
	f.record = 99
	b.run(f)
	if f.drifted != 1 || !strings.HasPrefix(b.end(), "succeeded ") {
		t.Errorf("it did %s; the end is\n%s", strings.Join(f.did, ", "), b.end())
	}
}

func TestARepairDoesNotHideAFailedUpgrade(t *testing.T) {
	t.Parallel()
	b := newRepair(t, false)
	b.run(drifted(1))
	var app slipway.Application
	b.must(b.store.Read(t.Context(), func(tx *store.Tx) (err error) {
		app, err = tx.Application(context.Background(), b.app.ID)
		return err
	}))
	if app.State != slipway.AppFailed || app.Message != "revision 2 is not on the cluster, which has revision 1" {
		t.Errorf("the application is %s: %s", app.State, app.Message)
	}
}

func TestTold(t *testing.T) {
	t.Parallel()
	got := told(kube.Comparison{
		Differences: []slipway.Difference{
			{Object: "Service web", Kind: slipway.DiffMissing},
			{Object: "Deployment web", Kind: slipway.DiffChanged, Path: "replicas", Applied: "2", Live: "5"},
			{Object: "Deployment web", Kind: slipway.DiffChanged, Path: "variable MORE of container web", Live: "x"},
			{Object: "Secret db", Kind: slipway.DiffChanged, Path: "key password", Hidden: true},
			{Object: "ConfigMap x", Kind: slipway.DiffExtra},
		},
		Unable: []string{"Widget w: the webhook knows no dry run"},
	})
	want := []string{
		"made again: Service web", "put back: Deployment web replicas is 2 again",
		"taken away: Deployment web variable MORE of container web (x)", "put back: Secret db key password",
		"left alone: ConfigMap x, which no change made", "not compared: Widget w: the webhook knows no dry run",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
