package cli

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"slipway.dev/slipway/internal/joblog"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// pool plays the reconciler of a runner pool: "pool make" deploys shop/dev/team-ci with a
// pool for one runner that runs job 9001, and job 9002 that waits; "pool ends" lets the job
// end, and a pod be left behind; "pool nodes" has the cluster seen with one large node for
// runners.
func pool(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: pool make|ends|nodes")
	}
	s, ctx := ts.Value(storeKey{}).(*store.Store), context.Background()
	ts.Check(s.InTx(ctx, func(tx *store.Tx) error {
		switch args[0] {
		case "make":
			return makePool(ctx, tx)
		case "ends":
			return endPool(ctx, tx)
		case "nodes":
			return seeNodes(ctx, tx)
		}
		ts.Fatalf("usage: pool make|ends|nodes")
		return nil
	}))
}

func scriptJob(tx *store.Tx, id int64, state slipway.JobState) slipway.Job {
	return slipway.Job{
		Host: slipway.GitHubHost, ID: id, RunID: 7001, Attempt: 2, Owner: "acme", Repository: "shop", Workflow: "CI", Name: "test", State: state,
		Labels: []string{"self-hosted", "slipway"}, URL: "https://github.com/acme/shop/actions/runs/7001/job/9001", QueuedAt: tx.Now.Add(-10 * time.Minute),
	}
}

func makePool(ctx context.Context, tx *store.Tx) error {
	e, err := tx.EnvironmentByName(ctx, "shop", "dev")
	if err != nil {
		return err
	}
	a, err := tx.CreateApplication(ctx, slipway.Application{EnvironmentID: e.ID, Name: "team-ci", Kind: slipway.RunnerApplication})
	if err != nil {
		return err
	}
	p, err := tx.PutRunnerPool(ctx, slipway.RunnerPool{ApplicationID: a.ID, Service: "runner", Spec: slipway.PoolSpec{
		Scope: slipway.ForgeScope{Owner: "acme"}, Credential: "github-token", Labels: []string{"slipway"}, Architecture: slipway.AMD64, Replicas: 1, Idle: 5 * time.Minute,
	}}, false)
	if err != nil {
		return err
	}
	err = tx.SetPoolStatus(ctx, slipway.PoolStatus{PoolID: p.ID, State: slipway.PoolFull, Why: "1 job waits", Demand: 1, CheckedAt: tx.Now, Generation: p.Generation, Ledger: slipway.Ledger{CheckedAt: tx.Now}})
	if err != nil {
		return err
	}
	slot, err := tx.CreateSlot(ctx, slipway.Slot{PoolID: p.ID, Generation: 1, Scope: p.Spec.Scope, Credential: "github-token", Runner: "slipway-1-abc"})
	if err != nil {
		return err
	}
	for _, next := range []slipway.SlotState{slipway.SlotRegistering, slipway.SlotLaunching, slipway.SlotStarting, slipway.SlotIdle, slipway.SlotBusy} {
		from := slot.State
		slot.State, slot.Job, slot.Node, slot.BusyAt, slot.Seen = next, 9001, "node-1", tx.Now, "it runs"
		if err := tx.UpdateSlot(ctx, slot, from); err != nil {
			return err
		}
	}
	runs := scriptJob(tx, 9001, slipway.JobRunning)
	runs.Runner, runs.StartedAt = slot.Runner, tx.Now.Add(-time.Minute)
	for _, j := range []slipway.Job{runs, scriptJob(tx, 9002, slipway.JobQueued)} {
		if _, err := tx.PutJob(ctx, j, 0); err != nil {
			return err
		}
	}
	return nil
}

func seeNodes(ctx context.Context, tx *store.Tx) error {
	return tx.SetClusterView(ctx, slipway.ClusterView{RuntimeClass: true, LookedAt: tx.Now, Nodes: []slipway.Node{{
		Name: "node-1", Ready: true, Schedulable: true, Architecture: slipway.AMD64, Runners: true, CPU: slipway.Amount{Allocatable: 16000},
		Memory: slipway.Amount{Allocatable: 64 * slipway.GiB}, Disk: slipway.Amount{Allocatable: 200 * slipway.GiB}, Pods: slipway.Amount{Allocatable: 110},
	}}})
}

func endPool(ctx context.Context, tx *store.Tx) error {
	slot, err := tx.SlotByRunner(ctx, "slipway-1-abc")
	if err != nil {
		return err
	}
	for _, next := range []slipway.SlotState{slipway.SlotDraining, slipway.SlotRemoving, slipway.SlotClosed} {
		from := slot.State
		slot.State, slot.Reason, slot.Result = next, "its job ended", "it completed"
		if err := tx.UpdateSlot(ctx, slot, from); err != nil {
			return err
		}
	}
	ended := scriptJob(tx, 9001, slipway.JobCompleted)
	ended.Conclusion, ended.EndedAt = "failure", tx.Now
	if _, err := tx.PutJob(ctx, ended, 0); err != nil {
		return err
	}
	return tx.SetPoolStatus(ctx, slipway.PoolStatus{
		PoolID: slot.PoolID, State: slipway.PoolHeld, Demand: 1, CheckedAt: tx.Now, Generation: slot.Generation, Failures: 2, HoldUntil: tx.Now.Add(time.Hour), HoldWhy: "GitHub refused the secret github-token",
		Ledger: slipway.Ledger{CheckedAt: tx.Now, Pods: []string{"slipway-1-stray"}},
	})
}

// scriptForge has the steps and the log of every job.
type scriptForge struct{}

func (scriptForge) Steps(context.Context, slipway.RunnerPool, slipway.Job) ([]joblog.Step, error) {
	return []joblog.Step{{Number: 1, Name: "Set up job", Status: "completed", Conclusion: "success"}, {Number: 2, Name: "Run tests", Status: "in_progress"}}, nil
}

func (scriptForge) Log(context.Context, slipway.RunnerPool, slipway.Job, int64) (io.ReadCloser, error) {
	text := "2026-12-01T12:00:00Z first\n2026-12-01T12:00:01Z \x1b[31mERROR: boom\x1b[0m\n" + strings.Repeat("2026-12-01T12:00:02Z line\n", 6000)
	return io.NopCloser(strings.NewReader(text)), nil
}
