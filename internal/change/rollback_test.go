package change

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// returning is a driver that knows the way back from 1.1 to 1.0.
func returning(d *slipway.DriverSpec) {
	d.Rollbacks = []slipway.UpgradePath{{From: ">=1.1.0 <1.2.0", To: ">=1.0.0 <1.1.0"}}
	d.Actions = append(d.Actions,
		slipway.Action{Name: "undo", Hook: slipway.Rollback, Mode: slipway.Core, Stops: []string{"worker"}},
		slipway.Action{Name: "look", Hook: slipway.Rollback, Mode: slipway.Post})
}

// upgraded is an application that was moved from 1.0.0 to 1.1.0 and knows the way back:
// revision 1 with driver 1.0.0, revision 2 with driver 3.0.0.
func upgraded(w *world) Accepted {
	w.Helper()
	w.driver("3.0.0", returning)
	w.installed()
	a := w.mustDeploy(1, toml("1.1.0", "3.0.0"))
	w.end(a, slipway.Succeeded, "1.1.0", "3.0.0")
	return a
}

func (w *world) rollback(app slipway.Application, to, expected int64, change ...func(*RollbackInput)) (Accepted, error) {
	in := RollbackInput{ApplicationID: app.ID, To: to, ExpectedRevision: &expected}
	for _, f := range change {
		f(&in)
	}
	return w.s.Rollback(w.Context(), w.writer, in)
}

func TestARollbackIsANewRevisionByTheLaterDriver(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		a := upgraded(w)
		before := w.dump()
		p, err := w.s.PlanRollback(w.Context(), w.reader, RollbackInput{ApplicationID: a.Application.ID})
		w.ok(err)
		if d := cmp.Diff(before, w.dump()); d != "" {
			w.Errorf("the plan wrote:\n%s", d)
		}
		if p.Kind != slipway.RollbackChange || p.Target != 1 || p.Revision != 2 || p.NewRevision != 3 || p.FromVersion != "1.1.0" || p.Version != "1.0.0" ||
			p.FromDriver.Version != "3.0.0" || p.Driver.Version != "1.0.0" || len(p.Warnings) > 0 {
			w.Errorf("plan = %+v", p)
		}
		const summary = "runs: rollback (undo), rollback post (look) · restarts: not known: this server does not render charts · stops meanwhile: worker"
		if got := p.Summary(); got != summary {
			w.Errorf("Summary() = %q, want %q", got, summary)
		}
		offer, err := w.s.OfferRollback(w.Context(), w.reader, a.Application.ID)
		if want := (RollbackOffer{Target: 1, Version: "1.0.0", Driver: "1.0.0"}); err != nil || offer != want {
			w.Errorf("offer = %+v, %v, want %+v", offer, err, want)
		}

		key := func(in *RollbackInput) { in.IdempotencyKey = "k" }
		r, err := w.rollback(a.Application, 0, 2, key)
		w.ok(err)
		if r.Change.Kind != slipway.RollbackChange || r.Change.Number != 3 || r.Change.Revision != 3 || r.Change.FromRevision != 2 ||
			r.Task.Kind != slipway.RollbackTask || r.Task.Title != "roll guestbook back to 1.0.0" || r.Application.Revision != 3 {
			w.Errorf("rollback = %+v, %+v", r.Change, r.Task)
		}
		w.read(func(ctx context.Context, tx *store.Tx) error {
			one, err := tx.Revision(ctx, a.Application.ID, 1)
			if err != nil {
				return err
			}
			three, err := tx.Revision(ctx, a.Application.ID, 3)
			if three.Source != one.Source || three.DriverDigest != one.DriverDigest || three.Spec.App.Version != "1.0.0" {
				w.Errorf("revision 3 = %+v, want the content of revision 1", three)
			}
			return err
		})
		if lines := w.audits("application.rollback"); len(lines) != 1 || lines[0].User != "ben" {
			w.Errorf("audit = %+v", lines)
		}
		again, err := w.rollback(a.Application, 0, 2, key)
		if err != nil || again.Task.ID != r.Task.ID || !again.Replayed {
			w.Errorf("again = %+v, %v", again, err)
		}
		_, err = w.rollback(a.Application, 1, 2)
		w.refused(err, slipway.Conflict, fmt.Sprintf("task %d (roll guestbook back to 1.0.0) has not ended", r.Task.ID))

		// Afterwards it stands where it stood, and there is nowhere further back.
		w.end(r, slipway.Succeeded, "1.0.0", "1.0.0")
		plan, err := w.s.Plan(w.Context(), w.writer, production(toml("1.1.0", "3.0.0")))
		if err != nil || plan.Kind != slipway.UpgradeChange || plan.FromVersion != "1.0.0" {
			w.Errorf("the way forward again: %+v, %v", plan, err)
		}
		offer, err = w.s.OfferRollback(w.Context(), w.reader, a.Application.ID)
		if err != nil || offer != (RollbackOffer{}) {
			w.Errorf("offer = %+v, %v, want none without a reason", offer, err)
		}
		_, err = w.rollback(a.Application, 2, 3)
		w.refused(err, slipway.Conflict, "revision 2 is at 1.1.0 with driver 3.0.0, and the cluster has 1.0.0 with driver 1.0.0: that is no way back")
	})
}

func TestRollbacksThatAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := upgraded(w)
	refused := func(to, expected int64, kind slipway.Kind, words string) {
		t.Helper()
		_, err := w.rollback(a.Application, to, expected)
		w.refused(err, kind, words)
	}
	refused(1, 7, slipway.Conflict, "revision 7 of shop/production/guestbook was expected, and revision 2 is wanted now")
	refused(2, 2, slipway.Conflict, "revision 2 is the one that is wanted now")
	refused(9, 2, slipway.Invalid, "shop/production/guestbook has no revision 9")
	_, err := w.s.Rollback(t.Context(), w.writer, RollbackInput{ApplicationID: a.Application.ID})
	w.refused(err, slipway.Invalid, "expected_revision: it is missing")

	// A revision that was never reached is nothing to go back to; the configuration of one
	// that was comes back without hooks.
	broken := w.mustDeploy(2, toml("1.1.0", "3.0.0", "[components.web]", "replicas = 3"))
	w.end(broken, slipway.Failed)
	good := w.mustDeploy(3, toml("1.1.0", "3.0.0", "[components.web]", "replicas = 2"))
	w.end(good, slipway.Succeeded, "1.1.0", "3.0.0")
	refused(3, 4, slipway.Conflict, fmt.Sprintf("revision 3 was never reached: task %d failed", broken.Task.ID))
	p, err := w.s.PlanRollback(t.Context(), w.reader, RollbackInput{ApplicationID: a.Application.ID, To: 2})
	if err != nil || p.Kind != slipway.ConfigureChange || len(p.Hooks) > 0 {
		t.Errorf("to another configuration: %+v, %v", p, err)
	}

	// A driver that says nothing knows no way back.
	w.driver("3.1.0")
	silent := w.mustDeploy(4, toml("1.2.0", "3.1.0"))
	w.end(silent, slipway.Succeeded, "1.2.0", "3.1.0")
	refused(0, 5, slipway.Conflict, "driver guestbook 3.1.0 allows no rollback")
	offer, err := w.s.OfferRollback(t.Context(), w.reader, a.Application.ID)
	if err != nil || offer.Target != 0 || offer.Why != "driver guestbook 3.1.0 allows no rollback" || offer.Hint == "" {
		t.Errorf("offer = %+v, %v", offer, err)
	}
	// And one that names others does not know this one.
	w.driver("3.2.0", returning)
	far := w.mustDeploy(5, toml("1.2.1", "3.2.0"))
	w.end(far, slipway.Succeeded, "1.2.1", "3.2.0")
	refused(1, 6, slipway.Conflict, "driver guestbook 3.2.0 allows no rollback from 1.2.1 to 1.0.0")
}

func TestNoRollbackBehindWhatCannotBeUndone(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		w.driver("3.0.0", returning, func(d *slipway.DriverSpec) {
			for i := range d.Actions {
				d.Actions[i].Irreversible = d.Actions[i].Name == "migrate"
			}
		})
		w.installed()
		a := w.mustDeploy(1, toml("1.1.0", "3.0.0"))
		w.begun(a.Task.ID, "hook.upgrade.pre", "backup", "flow-1")
		w.begun(a.Task.ID, "hook.upgrade.core", "migrate", "") // intended, and Prefect was not asked
		w.finish(a.Task.ID, slipway.Failed)
		p, err := w.s.PlanRollback(w.Context(), w.reader, RollbackInput{ApplicationID: a.Application.ID})
		if err != nil || p.Target != 1 || p.Kind != slipway.ConfigureChange {
			w.Errorf("before it has begun: %+v, %v", p, err)
		}

		// Another attempt begins it.
		r, err := w.s.RetryTask(w.Context(), w.writer, RetryInput{TaskID: a.Task.ID})
		w.ok(err)
		w.begun(r.Task.ID, "hook.upgrade.core", "migrate", "flow-2")
		w.finish(r.Task.ID, slipway.Failed)
		_, err = w.rollback(a.Application, 1, 2)
		w.refused(err, slipway.Conflict, fmt.Sprintf("the action migrate of task %d has begun since revision 1, and what it does cannot be undone", r.Task.ID))
		if e, _ := errorOf(err); e.Hint != fmt.Sprintf("restore from a backup that was made before task %d, or deploy a later version that puts it right", r.Task.ID) {
			w.Errorf("hint = %q", e.Hint)
		}
		// A deploy of what runs is the answer to a failed upgrade, and is told of it.
		plan, err := w.s.Plan(w.Context(), w.reader, production(toml("1.0.0", "1.0.0")))
		w.ok(err)
		warning := fmt.Sprintf("the action migrate of task %d cannot be undone, and its upgrade did not reach its end: the data may be ahead of 1.0.0", r.Task.ID)
		if plan.Kind != slipway.ConfigureChange || !slices.Contains(plan.Warnings, warning) {
			w.Errorf("a deploy of what runs is a %s with the warnings %q", plan.Kind, plan.Warnings)
		}
		// What came after is behind it too; what was reached after it is not.
		forward := w.mustDeploy(2, toml("1.1.0", "3.0.0", "[components.web]", "replicas = 2"))
		w.end(forward, slipway.Succeeded, "1.1.0", "3.0.0")
		_, err = w.rollback(a.Application, 1, 3)
		w.refused(err, slipway.Conflict, "cannot be undone")
		last := w.mustDeploy(3, toml("1.1.0", "3.0.0"))
		w.end(last, slipway.Succeeded, "1.1.0", "3.0.0")
		p, err = w.s.PlanRollback(w.Context(), w.reader, RollbackInput{ApplicationID: a.Application.ID, To: 3})
		if err != nil || p.Kind != slipway.ConfigureChange {
			w.Errorf("to what was reached since: %+v, %v", p, err)
		}
	})
}

// begun records that a step of a task was to run an action. flow is Prefect's run; empty
// when it was not asked yet.
func (w *world) begun(task int64, key, action, flow string) {
	w.Helper()
	w.write(func(ctx context.Context, tx *store.Tx) error {
		epoch, err := tx.ClaimTask(ctx, task, "r-1")
		if err != nil {
			return err
		}
		s, err := tx.OpenStep(ctx, task, epoch, key, key)
		if err != nil {
			return err
		}
		run, err := tx.CreateActionRun(ctx, slipway.ActionRun{StepID: s.ID, Action: action, Key: fmt.Sprint(task, key, action)})
		if err != nil {
			return err
		}
		run.FlowRunID = flow
		return tx.UpdateActionRun(ctx, run)
	})
}

func (w *world) finish(task int64, state slipway.TaskState) {
	w.Helper()
	w.write(func(ctx context.Context, tx *store.Tx) error {
		epoch, err := tx.ClaimTask(ctx, task, "r-1")
		if err != nil {
			return err
		}
		return tx.FinishTask(ctx, task, epoch, store.TaskEnd{State: state})
	})
}

// World: pure.
func TestDirection(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name     string
		from, to version
		want     way
	}{
		{"the same", version{"1.0.0", "1.0.0"}, version{"1.0.0", "1.0.0"}, nowhere},
		{"both earlier", version{"1.1.0", "2.0.0"}, version{"1.0.0", "1.0.0"}, back},
		{"the driver alone", version{"1.1.0", "2.0.0"}, version{"1.1.0", "1.0.0"}, back},
		{"later", version{"1.0.0", "1.0.0"}, version{"1.1.0", "1.0.0"}, forward},
		{"one each way", version{"1.1.0", "1.0.0"}, version{"1.0.0", "2.0.0"}, forward},
		{"without an order", version{"blue", "1.0.0"}, version{"green", "1.0.0"}, forward},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := direction(tc.from, tc.to); got != tc.want {
				t.Errorf("direction() = %d, want %d", got, tc.want)
			}
		})
	}
}

// A rollback that failed is retried by the same driver.
func TestARollbackIsRetried(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := upgraded(w)
	r, err := w.rollback(a.Application, 0, 2)
	w.ok(err)
	w.failIn(r, "check", "hook.rollback.core", "hook.rollback.post")
	p, err := w.s.PlanRetry(t.Context(), w.reader, RetryInput{TaskID: r.Task.ID})
	w.ok(err)
	want := fmt.Sprintf("check repeated · hook.rollback.core kept %d · hook.rollback.post repeated", r.Task.ID)
	if got := fates(p.Steps); got != want {
		t.Errorf("steps = %s, want %s", got, want)
	}
	if last := p.Steps[len(p.Steps)-1]; len(last.Actions) != 1 || last.Actions[0] != "look" {
		t.Errorf("the last step runs %q, want the action of the driver that is left behind", last.Actions)
	}
}
