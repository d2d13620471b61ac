package application

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"slipway.dev/slipway/internal/change"
	"slipway.dev/slipway/internal/slipway"
)

// The tests here stand in the fake world of interrupted_test.go.

// failedBench is a bench whose upgrade failed in its core, and was retried.
func failedBench(t *testing.T, in change.RetryInput) (*bench, *fakeWorld) {
	t.Helper()
	b := newBench(t)
	f := newFake()
	f.fails = "/upgrade/core/"
	b.run(f)
	if end := b.end(); !strings.HasPrefix(end, "failed the cause is still there") || !strings.Contains(end, "hook.upgrade.pre succeeded") {
		t.Fatalf("the first attempt ended as\n%s", end)
	}
	b.retry(in)
	world := newFake()
	world.record = f.record
	return b, world
}

// retry accepts another attempt at the bench's task, which becomes the bench's.
func (b *bench) retry(in change.RetryInput) {
	b.t.Helper()
	s := &change.Service{Store: b.store}
	in.TaskID = b.task.ID
	a, err := s.RetryTask(b.t.Context(), slipway.Caller{UserName: "ben", Role: slipway.ReadWrite}, in)
	b.must(err)
	b.task = a.Task
}

func TestARetryEndsAsUndisturbedWhereverItIsKilled(t *testing.T) {
	t.Parallel()
	quiet, f := failedBench(t, change.RetryInput{})
	quiet.moveVersion()
	quiet.run(f)
	want, calls := quiet.end(), f.calls
	// The version was moved by hand and by no task of this attempt, so the configuration is
	// applied once more and waited for.
	const steps = "check succeeded \nhook.upgrade.core succeeded \n  upgrade completed\napply succeeded \nready succeeded \nhook.upgrade.post succeeded \n  check_upgrade completed\n"
	if first, rest, _ := strings.Cut(want, "\n"); first != "succeeded ; application running at 1.1.0, revision 2" || rest != steps {
		t.Fatalf("undisturbed, after %d calls:\n%s", calls, want)
	}
	for n := 1; n <= calls; n++ {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("killed in call %d (%s), answer lost %v", n, f.did[n-1], after), func(t *testing.T) {
				t.Parallel()
				b, world := failedBench(t, change.RetryInput{})
				b.moveVersion()
				world.dieAt, world.after = n, after
				b.run(world) // the life that ends
				world.dieAt = 0
				b.run(world) // the next one
				if diff := cmp.Diff(want, b.end()); diff != "" {
					t.Errorf("the end differs (-undisturbed +killed):\n%s\nthe world saw: %s", diff, strings.Join(world.did, ", "))
				}
				for id, n := range world.started {
					if n != 1 || !strings.HasSuffix(id, "/2") {
						t.Errorf("%s was started %d times", id, n)
					}
				}
			})
		}
	}
}

func TestARetryThatFailsIsRetriedAgain(t *testing.T) {
	t.Parallel()
	b, f := failedBench(t, change.RetryInput{})
	f.fails = "/upgrade/core/"
	b.run(f)
	if end := b.end(); !strings.HasPrefix(end, "failed the cause is still there") {
		t.Fatalf("the second attempt ended as\n%s", end)
	}
	b.retry(change.RetryInput{})
	b.moveVersion()
	f.fails, f.did = "", nil
	b.run(f)
	if end := b.end(); !strings.HasPrefix(end, "succeeded") {
		t.Errorf("the third attempt ended as\n%s", end)
	}
	ran := func(part string) bool {
		return slices.ContainsFunc(f.did, func(s string) bool { return strings.Contains(s, part) })
	}
	if ran("/upgrade/pre/") || !ran("/upgrade/core/upgrade/3") || !ran("/upgrade/post/check_upgrade/3") {
		t.Errorf("the world saw: %s; want the pre-hook left out, and the flow runs of a third attempt", strings.Join(f.did, ", "))
	}
}

func TestAnEarlierStepIsRepeatedWhenAsked(t *testing.T) {
	t.Parallel()
	b, f := failedBench(t, change.RetryInput{From: "pre"})
	b.moveVersion()
	b.run(f)
	if end := b.end(); !strings.HasPrefix(end, "succeeded") || !strings.Contains(end, "hook.upgrade.pre succeeded \n  backup completed") {
		t.Errorf("the end is\n%s", end)
	}
}

// A retry changes nothing of what the change's actions are told but for who asks.
func TestTheContextOfARetryIsTheFrozenOne(t *testing.T) {
	t.Parallel()
	b, f := failedBench(t, change.RetryInput{})
	b.moveVersion()
	b.run(f)
	if len(f.contexts) == 0 {
		t.Fatal("no action was given a context")
	}
	for _, c := range f.contexts {
		if c.Task.Attempt != 2 || c.Task.ID != b.task.ID || c.Task.Change != 1 || c.App.Version != "1.1.0" || c.App.PreviousVersion == nil || *c.App.PreviousVersion != "1.0.0" {
			t.Errorf("context of %s: task %+v, app %+v", c.Task.Action, c.Task, c.App)
		}
	}
}
