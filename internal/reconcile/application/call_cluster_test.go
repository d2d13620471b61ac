//go:build cluster

package application

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"slipway.dev/slipway/internal/outside/kube"
	"slipway.dev/slipway/internal/outside/prefect"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// World: SQLite, and a real cluster. D 37, C9.6, C12.5: of twenty commands of one
// application at once, as twenty actions would call them, one runs. The others are refused
// in the sentence that says to wait, and nothing of them is left. The calls take the way of
// the server: a row each, and the handler of its wake-up.
func TestRealTwentyCommandsAtOnceAreOneJob(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("SLIPWAY_CLUSTER_DIR")
	if dir == "" {
		dir = "/var/lib/slipway-test-cluster"
	}
	file := os.Getenv("SLIPWAY_TEST_KUBECONFIG")
	if file == "" {
		file = filepath.Join(dir, "kubeconfig")
	}
	cluster, err := kube.New(kube.Config{Kubeconfig: file, Installation: "installation", Version: "test"})
	if err != nil {
		t.Fatalf("%v (this test needs the test cluster: test/cluster)", err)
	}
	ctx := t.Context()
	env := slipway.Environment{Project: "demo", Name: "dev", Namespace: "application-test-" + strings.ToLower(rand.Text()[:8])}
	if err := cluster.EnsureNamespace(ctx, env); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, stop := context.WithTimeout(context.Background(), 20*time.Second)
		defer stop()
		if err := cluster.DeleteNamespace(ctx, env); err != nil {
			t.Error(err)
		}
	})

	s := newScene(t, kindOfScene{kind: slipway.UpgradeChange, namespace: env.Namespace}, act("pre", slipway.Upgrade, slipway.Pre))
	s.r.Cluster = jobsOnly{s.world, cluster}
	const args = `{"commands":["/bin/sh","-c","sleep %d"],"image":"docker.io/local/busybox:1","timeout_seconds":120}`
	s.play("pre", func(l prefect.Launch) prefect.Outcome {
		// The Job of an action before is there, so that its deletion is fought for as well.
		if before := s.call(l, "before/1/1", slipway.ExecuteCommands, fmt.Sprintf(args, 0)); before.State != slipway.CallSucceeded {
			t.Fatalf("the command before %s: %s", before.State, before.Error)
		}
		var calls []int64
		s.must(s.store.InTx(ctx, func(tx *store.Tx) error {
			for i := range 20 {
				c, _, err := tx.CreateActionCall(ctx, slipway.ActionCall{
					TaskID: s.task.ID, StepID: stepOf(l), FlowRunID: fmt.Sprintf("run-%d", i), Key: fmt.Sprintf("run-%d/1/1", i),
					Primitive: slipway.ExecuteCommands, Args: fmt.Appendf(nil, args, 12),
				})
				if err != nil {
					return err
				}
				calls = append(calls, c.ID)
			}
			return nil
		}))
		begun := time.Now()
		var all sync.WaitGroup
		for _, id := range calls {
			all.Go(func() {
				if _, err := s.r.Call(ctx, id); err != nil {
					t.Errorf("call %d: %v", id, err)
				}
			})
		}
		all.Wait()
		ran := 0
		refusal := fmt.Sprintf("the Job guestbook-action of task %d is still running; wait for it to end and request the change again", s.task.ID)
		s.must(s.store.Read(ctx, func(tx *store.Tx) error {
			for _, id := range calls {
				c, err := tx.ActionCall(ctx, id)
				if err != nil {
					return err
				}
				switch {
				case c.State == slipway.CallSucceeded:
					ran++
				case c.State != slipway.CallFailed || c.Code != slipway.CodeJobRunning || c.Error != refusal:
					t.Errorf("call %d %s: %s %q\nwant it refused: %q", id, c.State, c.Code, c.Error, refusal)
				}
			}
			return nil
		}))
		if ran != 1 {
			t.Errorf("%d commands ran, want 1", ran)
		}
		t.Logf("1 ran, %d were refused, after %s", len(calls)-ran, time.Since(begun).Round(time.Millisecond))
		// The next one finds one Job that has ended, and says so; then none is left.
		if after := s.call(l, "after/1/1", slipway.ExecuteCommands, fmt.Sprintf(args, 0)); after.State != slipway.CallSucceeded {
			t.Errorf("the command after %s: %s", after.State, after.Error)
		}
		if err := cluster.DeleteJobsOf(ctx, s.application()); err != nil {
			t.Error(err)
		}
		if name, err := cluster.DeleteJob(ctx, s.application(), "guestbook", "after"); name != "" || err != nil {
			t.Errorf("the Job %s was left over: %v", name, err)
		}
		return completed()
	})
	s.carry(s.task.ID)
	notes := s.step("hook.upgrade.pre").Notes
	left := slices.DeleteFunc(slices.Clone(notes), func(n string) bool {
		return strings.HasPrefix(n, fmt.Sprintf("Deleted the Job guestbook-action, left by the upgrade task %d (succeeded ", s.task.ID))
	})
	// Two Jobs were there to be deleted: the one before, and the one of the twenty. Their
	// lines are one when they ended in one minute.
	if len(left) > 0 || len(notes) == 0 || len(notes) > 2 {
		t.Errorf("the notes are %q", notes)
	}
}

// jobsOnly is the fake world with a real cluster's Jobs.
type jobsOnly struct {
	*playedWorld
	real *kube.Client
}

func (j jobsOnly) RunJob(ctx context.Context, s kube.JobSpec, o kube.JobOptions) (kube.JobResult, error) {
	return j.real.RunJob(ctx, s, o)
}
