//go:build e2e

package prefect

import (
	"context"
	"testing"
)

// TestAForeignRunIsNeverExecuted: somebody presses "run" on our deployment in Prefect's pages.
func TestAForeignRunIsNeverExecuted(t *testing.T) {
	r := realRunner(t, nil)
	r.sweepAfter = 0
	a := testAction(t, "actions.py", "succeed", nil)
	ours, err := r.Ensure(t.Context(), a, RunSpec{Key: "ours-" + newUUID(), Name: "ours"})
	if err != nil {
		t.Fatal(err)
	}
	deployment, _, err := r.ensureDeployment(t.Context(), a, false)
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := r.client.CreateFlowRun(t.Context(), deployment, RunRequest{Name: "foreign", Key: "foreign-" + newUUID()})
	if err != nil {
		t.Fatal(err)
	}
	runInBackground(t, r, func(_ context.Context, run FlowRun) (bool, error) { return run.ID == ours, nil })

	var got FlowRun
	eventually(t, "the foreign run is cancelled", func() bool {
		got, err = r.client.GetFlowRun(t.Context(), foreign.ID)
		return err == nil && got.State.Type == Cancelled
	})
	if got.State.Message != "not created by this Slipway" || got.RunCount != 0 {
		t.Errorf("the foreign run is %+v", got)
	}
	got, err = r.client.GetFlowRun(t.Context(), ours)
	if err != nil || got.State.Type != Scheduled || got.IdempotencyKey == "" {
		t.Errorf("our own run is %+v, %v", got, err)
	}

	var pool struct{ Status, Type string }
	if err := r.client.call(t.Context(), "GET", "/work_pools/"+r.WorkPool, nil, &pool); err != nil {
		t.Fatal(err)
	}
	if pool.Status != "READY" || pool.Type != WorkPoolType {
		t.Errorf("the work pool is %+v", pool)
	}
}
