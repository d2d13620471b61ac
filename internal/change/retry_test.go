package change

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// failedUpgrade is an application at 1.0.0 whose upgrade to 1.1.0 failed in its core.
func failedUpgrade(w *world) Accepted {
	w.Helper()
	w.installed()
	a := w.mustDeploy(1, toml("1.1.0", "1.0.0"))
	w.failIn(a, "check", "hook.upgrade.pre", "hook.upgrade.core")
	return a
}

// failIn runs the steps of a task, of which the last one fails.
func (w *world) failIn(a Accepted, keys ...string) {
	w.Helper()
	w.write(func(ctx context.Context, tx *store.Tx) error {
		epoch, err := tx.ClaimTask(ctx, a.Task.ID, "r-1")
		if err != nil {
			return err
		}
		for i, key := range keys {
			s, err := tx.OpenStep(ctx, a.Task.ID, epoch, key, key)
			if err != nil {
				return err
			}
			state := slipway.StepSucceeded
			if i == len(keys)-1 {
				state = slipway.StepFailed
			}
			if err := tx.CloseStep(ctx, s.ID, epoch, state, ""); err != nil {
				return err
			}
		}
		return tx.FinishTask(ctx, a.Task.ID, epoch, store.TaskEnd{State: slipway.Failed, Error: "no"})
	})
}

func TestARetryIsATaskOfTheSameChange(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		a := failedUpgrade(w)
		in := RetryInput{TaskID: a.Task.ID, IdempotencyKey: "k"}
		before := w.dump()
		p, err := w.s.PlanRetry(w.Context(), w.reader, in)
		w.ok(err)
		if d := cmp.Diff(before, w.dump()); d != "" {
			w.Errorf("the plan wrote:\n%s", d)
		}
		if p.Attempt != 2 || p.Change != 2 || p.Task.ID != a.Task.ID || len(p.Steps) != 6 || len(p.Warnings) > 0 {
			w.Errorf("plan = %+v", p)
		}

		w.woken = nil
		r, err := w.s.RetryTask(w.Context(), w.writer, in)
		w.ok(err)
		got := w.task(r.Task.ID)
		want := slipway.Task{
			ID: got.ID, Kind: slipway.UpgradeTask, Title: "upgrade guestbook to 1.1.0", ApplicationID: a.Application.ID, Application: "shop/production/guestbook",
			ChangeID: a.Change.ID, ChangeNumber: 2, RootID: got.ID, RetryOf: a.Task.ID, Attempt: 2, State: slipway.Queued, RequestedBy: "ben", CreatedAt: got.CreatedAt,
			Resume: slipway.Resume{From: "hook.upgrade.core", Done: map[string]int64{"hook.upgrade.pre": a.Task.ID}},
		}
		if d := cmp.Diff(want, got); d != "" {
			w.Errorf("task (-want +got):\n%s", d)
		}
		if len(w.woken) != 1 || w.woken[0] != fmt.Sprint("task ", got.ID) {
			w.Errorf("woken = %q", w.woken)
		}
		if r.Change.ID != a.Change.ID || r.Change.TaskID != got.ID {
			w.Errorf("change = %+v; its task is the retry now", r.Change)
		}
		w.audited("task.retry", "ben", "shop/production/guestbook: upgrade guestbook to 1.1.0", `{"state":"failed"}`,
			fmt.Sprintf(`{"attempt":2,"done":{"hook.upgrade.pre":%d},"from":"hook.upgrade.core","task":%d}`, a.Task.ID, got.ID))

		again, err := w.s.RetryTask(w.Context(), w.writer, in)
		if err != nil || again.Task.ID != got.ID || !again.Replayed {
			w.Errorf("again under the key: %+v, %v", again, err)
		}
		_, err = w.s.RetryTask(w.Context(), w.writer, RetryInput{TaskID: a.Task.ID})
		w.refused(err, slipway.Conflict, fmt.Sprintf("was retried already, by task %d", got.ID))
		_, err = w.s.RetryTask(w.Context(), w.writer, RetryInput{TaskID: got.ID})
		w.refused(err, slipway.Conflict, "has not ended")

		// The retry's success is the change's: nothing is half-way any more.
		w.end(Accepted{Application: a.Application, Change: a.Change, Task: got}, slipway.Succeeded, "1.1.0", "1.0.0")
		plan, err := w.s.Plan(w.Context(), w.writer, production(toml("1.1.0", "1.0.0", "[components.web]", "replicas = 2")))
		if err != nil || plan.Kind != slipway.ConfigureChange {
			w.Errorf("afterwards: %s, %v; want a configuration without hooks", plan.Kind, err)
		}
		_, err = w.s.RetryTask(w.Context(), w.writer, RetryInput{TaskID: got.ID})
		w.refused(err, slipway.Conflict, "succeeded")
	})
}

func TestWhoMayRetryWhat(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := failedUpgrade(w)
	try := func(c slipway.Caller, id int64) error {
		_, err := w.s.RetryTask(t.Context(), c, RetryInput{TaskID: id})
		return err
	}
	w.refused(try(w.reader, a.Task.ID), slipway.Forbidden, "needs the role read-write")
	confined := w.writer
	confined.Project = "other"
	w.refused(try(confined, a.Task.ID), slipway.NotFound, "there is no task")
	_, err := w.s.PlanRetry(t.Context(), confined, RetryInput{TaskID: a.Task.ID})
	w.refused(err, slipway.NotFound, "there is no task")
	w.refused(try(w.writer, 4711), slipway.NotFound, "there is no task 4711")

	// A component that somebody starts meanwhile is no change, and is waited for.
	s, err := w.s.StartComponents(t.Context(), w.writer, ComponentsInput{ApplicationID: a.Application.ID, Components: []string{"worker"}})
	w.ok(err)
	p, err := w.s.PlanRetry(t.Context(), w.reader, RetryInput{TaskID: a.Task.ID})
	if err != nil || len(p.Warnings) != 1 {
		t.Errorf("with a start that runs: %v, %v", p.Warnings, err)
	}
	w.end(s, slipway.Failed)
	second, err := w.s.StopComponents(t.Context(), w.writer, ComponentsInput{ApplicationID: a.Application.ID, Components: []string{"worker"}})
	w.ok(err)
	w.refused(try(w.writer, s.Task.ID), slipway.Conflict, fmt.Sprintf("task %d (stop worker of guestbook) was asked for since", second.Task.ID))
	w.end(second, slipway.Failed)
	if r, err := w.s.RetryTask(t.Context(), w.writer, RetryInput{TaskID: second.Task.ID}); err != nil || string(r.Task.Args) != `{"components":["worker"]}` {
		t.Errorf("the retry of a stop: %+v, %v", r.Task, err)
	}

	later := w.mustDeploy(2, toml("1.0.0", "1.0.0"))
	err = try(w.writer, a.Task.ID)
	w.refused(err, slipway.Conflict, fmt.Sprintf("a later change was accepted since: ben asked to configure guestbook (change 3, task %d)", later.Task.ID))
	if e, _ := errorOf(err); e.Hint == "" {
		t.Error("the refusal has no remedy")
	}
}

func TestOnlyOneOfTwoRetriesAtOnceIsAccepted(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		a := failedUpgrade(w)
		results := make(chan error, 8)
		for range cap(results) {
			go func() {
				_, err := w.s.RetryTask(w.Context(), w.writer, RetryInput{TaskID: a.Task.ID})
				results <- err
			}()
		}
		accepted := 0
		for range cap(results) {
			switch err := <-results; {
			case err == nil:
				accepted++
			case !slipway.Is(err, slipway.Conflict):
				w.Errorf("refused with %v, want a conflict", err)
			}
		}
		if accepted != 1 {
			w.Errorf("%d retries were accepted, want 1", accepted)
		}
	})
}

// What begins by looking is asked for anew.
func TestOtherTasksAreNotRetried(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.installed()
	var other slipway.Task
	w.write(func(ctx context.Context, tx *store.Tx) (err error) {
		other, err = tx.CreateTask(ctx, slipway.Task{Kind: "dance", Title: "dance", ApplicationID: a.Application.ID})
		return err
	})
	w.finish(other.ID, slipway.Failed)
	_, err := w.s.PlanRetry(t.Context(), w.reader, RetryInput{TaskID: other.ID})
	w.refused(err, slipway.Conflict, "is not retried")
}

func TestADeletionIsRetried(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.installed()
	d, err := w.s.Delete(t.Context(), w.writer, DeleteInput{ApplicationID: a.Application.ID})
	w.ok(err)
	w.failIn(d, "remove")
	r, err := w.s.RetryTask(t.Context(), w.writer, RetryInput{TaskID: d.Task.ID})
	w.ok(err)
	if r.Task.Kind != slipway.DeleteTask || !r.Application.Deleting {
		t.Errorf("retry = %+v of %+v", r.Task, r.Application)
	}
}

// The plan of a new application says nothing of earlier installs; that of one whose
// install failed does.
func TestTheWarningOfAFailedInstall(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const warning = "no install of it has succeeded: the setup hooks run again"
	warnings := func() []string {
		t.Helper()
		p, err := w.s.Plan(t.Context(), w.reader, production(toml("1.0.0", "1.0.0")))
		w.ok(err)
		return p.Warnings
	}
	if got := warnings(); len(got) > 0 {
		t.Errorf("of a new application: %q", got)
	}
	a := w.mustDeploy(0, toml("1.0.0", "1.0.0"))
	w.failIn(a, "check", "hook.setup.pre")
	if d := cmp.Diff([]string{warning}, warnings()); d != "" {
		t.Errorf("after a failed install (-want +got):\n%s", d)
	}
}
