package storetest

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

func steps(w *world) {
	t := w.T
	task := w.running()
	open := func(key string) slipway.Step {
		t.Helper()
		return put(w, func(ctx context.Context, tx *store.Tx) (slipway.Step, error) {
			return tx.OpenStep(ctx, task.ID, task.Epoch, key, "Step "+key)
		})
	}
	closeStep := func(s slipway.Step, state slipway.StepState, message string) error {
		return w.try(func(ctx context.Context, tx *store.Tx) error {
			return tx.CloseStep(ctx, s.ID, task.Epoch, state, message)
		})
	}
	check := open("check")
	if again := open("check"); again.ID != check.ID {
		t.Errorf("opening an open step: got step %d, want %d", again.ID, check.ID)
	}
	if err := closeStep(check, slipway.StepSucceeded, ""); err != nil {
		t.Fatal(err)
	}
	if err := closeStep(check, slipway.StepFailed, "late"); !errors.Is(err, store.ErrStale) {
		t.Errorf("closing a closed step: got %v, want ErrStale", err)
	}
	if again := open("check"); again.ID != check.ID || again.State != slipway.StepSucceeded {
		t.Errorf("opening a step that succeeded: got %+v, want step %d as it was", again, check.ID)
	}
	apply := open("apply")
	if err := closeStep(apply, slipway.StepFailed, "no"); err != nil {
		t.Fatal(err)
	}
	second := open("apply")
	if second.ID == apply.ID || second.Seq != 3 {
		t.Errorf("opening a step that failed: got step %d with number %d, want a new one with number 3", second.ID, second.Seq)
	}

	output := strings.Repeat("ä", 10) + "\nend"
	w.write(func(ctx context.Context, tx *store.Tx) error {
		return errors.Join(tx.SetStepOutput(ctx, apply.ID, output, true),
			tx.AddStepNote(ctx, apply.ID, "one"), tx.AddStepNote(ctx, apply.ID, "two"), tx.AddStepNote(ctx, apply.ID, "one"))
	})
	run := put(w, func(ctx context.Context, tx *store.Tx) (slipway.ActionRun, error) {
		return tx.CreateActionRun(ctx, slipway.ActionRun{StepID: second.ID, Action: "backup", Key: "1/upgrade/pre/backup/1"})
	})
	got := get(w, func(ctx context.Context, tx *store.Tx) ([]slipway.Step, error) { return tx.Steps(ctx, task.ID) })
	want := []slipway.Step{
		{ID: check.ID, TaskID: task.ID, Seq: 1, Key: "check", Name: "Step check", State: slipway.StepSucceeded},
		{ID: apply.ID, TaskID: task.ID, Seq: 2, Key: "apply", Name: "Step apply", State: slipway.StepFailed, Error: "no",
			Output: output, OutputCut: true, Notes: []string{"one", "two"}},
		{ID: second.ID, TaskID: task.ID, Seq: 3, Key: "apply", Name: "Step apply", State: slipway.StepRunning, Runs: []slipway.ActionRun{run}},
	}
	for i := range got {
		if got[i].StartedAt.IsZero() || (got[i].State == slipway.StepRunning) != got[i].EndedAt.IsZero() {
			t.Errorf("step %d: times %v to %v", i, got[i].StartedAt, got[i].EndedAt)
		}
		got[i].StartedAt, got[i].EndedAt = time.Time{}, time.Time{}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	w.wantKind("the output of no step", w.try(func(ctx context.Context, tx *store.Tx) error {
		return tx.SetStepOutput(ctx, 999, "x", false)
	}), slipway.NotFound)
	w.wantKind("a note on no step", w.try(func(ctx context.Context, tx *store.Tx) error {
		return tx.AddStepNote(ctx, 999, "x")
	}), slipway.NotFound)
	w.write(func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.ClaimTask(ctx, task.ID, "other")
		return err
	})
	if err := closeStep(second, slipway.StepSucceeded, ""); !errors.Is(err, store.ErrStale) {
		t.Errorf("a zombie closing a step: got %v, want ErrStale", err)
	}
}

func actionRuns(w *world) {
	t := w.T
	task := w.running()
	step := put(w, func(ctx context.Context, tx *store.Tx) (slipway.Step, error) {
		return tx.OpenStep(ctx, task.ID, task.Epoch, "hook.upgrade.pre", slipway.StepUpgradePre)
	})
	create := func(key, action string) slipway.ActionRun {
		t.Helper()
		return put(w, func(ctx context.Context, tx *store.Tx) (slipway.ActionRun, error) {
			return tx.CreateActionRun(ctx, slipway.ActionRun{StepID: step.ID, Action: action, Key: key})
		})
	}
	run := create("k1", "backup")
	if again := create("k1", "other"); again != run {
		t.Errorf("the same key: got %+v, want the run that has it, %+v", again, run)
	}
	create("k2", "check")
	update := func(r slipway.ActionRun) error {
		return w.try(func(ctx context.Context, tx *store.Tx) error { return tx.UpdateActionRun(ctx, r) })
	}
	run.FlowRunID, run.Host, run.PID, run.PIDStart, run.State = "f1", "one/boot", 4711, 1<<40, "running"
	if err := update(run); err != nil {
		t.Fatal(err)
	}
	got := get(w, func(ctx context.Context, tx *store.Tx) (slipway.ActionRun, error) {
		return tx.ActionRunByFlowRun(ctx, "f1")
	})
	if got != run {
		t.Errorf("got %+v, want %+v", got, run)
	}
	byKey := get(w, func(ctx context.Context, tx *store.Tx) (slipway.ActionRun, error) {
		return tx.ActionRunByKey(ctx, "k1")
	})
	if byKey != run {
		t.Errorf("got %+v, want %+v", byKey, run)
	}
	w.wantKind("a run without a flow run", w.try(func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.ActionRunByFlowRun(ctx, "")
		return err
	}), slipway.NotFound)
	run.State, run.EndedAt = "completed", run.StartedAt.Add(time.Second)
	if err := update(run); err != nil {
		t.Fatal(err)
	}
	run.State = "crashed"
	if err := update(run); !errors.Is(err, store.ErrStale) {
		t.Errorf("changing a run that has ended: got %v, want ErrStale", err)
	}
	open := get(w, func(ctx context.Context, tx *store.Tx) ([]slipway.ActionRun, error) { return tx.OpenActionRuns(ctx) })
	if len(open) != 1 || open[0].Key != "k2" {
		t.Errorf("got open runs %+v, want k2", open)
	}
}

func actionCalls(w *world) {
	t := w.T
	task := w.running()
	step := put(w, func(ctx context.Context, tx *store.Tx) (slipway.Step, error) {
		return tx.OpenStep(ctx, task.ID, task.Epoch, "hook.upgrade.pre", slipway.StepUpgradePre)
	})
	create := func(key string) (c slipway.ActionCall, created bool) {
		t.Helper()
		w.write(func(ctx context.Context, tx *store.Tx) (err error) {
			c, created, err = tx.CreateActionCall(ctx, slipway.ActionCall{TaskID: task.ID, StepID: step.ID, FlowRunID: "f1", Key: key,
				Primitive: slipway.StopComponents, Args: []byte(`{"components":["worker"]}`)})
			return err
		})
		return c, created
	}
	call, created := create("f1/1/1")
	if !created || call.State != slipway.CallRunning || string(call.Args) != `{"components":["worker"]}` {
		t.Errorf("got %+v, created %t", call, created)
	}
	again, created := create("f1/1/1")
	if diff := cmp.Diff(call, again); diff != "" || created {
		t.Errorf("the same key: created %t, (-want +got):\n%s", created, diff)
	}
	create("f1/1/2")
	link := func(ctx context.Context, tx *store.Tx) error { return tx.SetActionCallChild(ctx, call.ID, task.ID) }
	w.write(link)
	if err := w.try(link); !errors.Is(err, store.ErrStale) {
		t.Errorf("linking a child twice: got %v, want ErrStale", err)
	}
	waiting := func() int {
		return len(get(w, func(ctx context.Context, tx *store.Tx) ([]slipway.ActionCall, error) {
			return tx.CallsOfChild(ctx, task.ID)
		}))
	}
	if waiting() != 1 {
		t.Errorf("%d calls wait for the child, want 1", waiting())
	}
	finish := func(ctx context.Context, tx *store.Tx) error {
		return tx.FinishActionCall(ctx, call.ID, store.CallEnd{State: slipway.CallFailed, Code: slipway.CodeTaskFailed, Error: "no", Result: []byte(`[]`)})
	}
	w.write(finish)
	if waiting() != 0 {
		t.Error("a call that ended waits for the child")
	}
	if err := w.try(finish); !errors.Is(err, store.ErrStale) {
		t.Errorf("finishing a call twice: got %v, want ErrStale", err)
	}
	got := get(w, func(ctx context.Context, tx *store.Tx) (slipway.ActionCall, error) {
		return tx.ActionCall(ctx, call.ID)
	})
	if got.State != slipway.CallFailed || got.Code != slipway.CodeTaskFailed || got.Error != "no" || got.ChildTask != task.ID || got.EndedAt.IsZero() {
		t.Errorf("got %+v", got)
	}
	open := get(w, func(ctx context.Context, tx *store.Tx) ([]slipway.ActionCall, error) { return tx.OpenActionCalls(ctx) })
	if len(open) != 1 || open[0].Key != "f1/1/2" {
		t.Errorf("got open calls %+v, want f1/1/2", open)
	}
}
