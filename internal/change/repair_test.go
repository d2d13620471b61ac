package change

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// The tests here stand on a real SQLite database.

func TestRepair(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.installed()
	one, two := int64(1), int64(2)
	ask := func(in RepairInput) (Accepted, error) {
		in.ApplicationID = a.Application.ID
		return w.s.Repair(t.Context(), w.writer, in)
	}
	_, err := ask(RepairInput{})
	w.refused(err, slipway.Invalid, "expected_revision: it is missing")
	_, err = ask(RepairInput{ExpectedRevision: &two})
	w.refused(err, slipway.Conflict, "revision")

	r, err := ask(RepairInput{ExpectedRevision: &one, IdempotencyKey: "k"})
	w.ok(err)
	if r.Change.Kind != slipway.RepairChange || r.Change.Number != 2 || r.Change.Revision != 0 || r.Task.Kind != slipway.RepairTask ||
		r.Task.Title != "repair guestbook" || r.Application.Revision != 1 {
		t.Errorf("repair = %+v", r)
	}
	w.audited("application.repair", "ben", "shop/production/guestbook", `{"differences":0,"revision":1}`, fmt.Sprintf(`{"change":2,"task":%d}`, r.Task.ID))
	again, err := ask(RepairInput{ExpectedRevision: &one, IdempotencyKey: "k"})
	if err != nil || again.Task.ID != r.Task.ID || !again.Replayed {
		t.Errorf("again = %+v, %v", again, err)
	}
	_, err = ask(RepairInput{ExpectedRevision: &two, IdempotencyKey: "k"})
	w.refused(err, slipway.Conflict, "this idempotency key was used for another request")

	// Another one waits its turn, and what stands is no other than before it.
	next, err := ask(RepairInput{ExpectedRevision: &one})
	w.ok(err)
	if diff := cmp.Diff([]string{fmt.Sprintf("task %d (repair guestbook) has not ended; this change waits for it", r.Task.ID)}, next.Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	w.end(r, slipway.Succeeded)
	w.end(next, slipway.Failed)
	d := w.mustDeploy(1, toml("1.1.0", "1.0.0"))
	if d.Change.Kind != slipway.UpgradeChange || d.Change.FromRevision != 1 {
		t.Errorf("a deploy after a repair is %+v", d.Change)
	}
	w.end(d, slipway.Succeeded)

	_, err = w.s.Delete(t.Context(), w.writer, DeleteInput{ApplicationID: a.Application.ID})
	w.ok(err)
	_, err = ask(RepairInput{ExpectedRevision: &two})
	w.refused(err, slipway.Conflict, "is being deleted")
	_, err = w.s.CheckDrift(t.Context(), w.reader, a.Application.ID)
	w.refused(err, slipway.Conflict, "to look at")
}

func TestAFailedRepairIsRetried(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, one := w.installed(), int64(1)
	r, err := w.s.Repair(t.Context(), w.writer, RepairInput{ApplicationID: a.Application.ID, ExpectedRevision: &one})
	w.ok(err)
	w.failIn(r, "check", "apply")
	plan, err := w.s.PlanRetry(t.Context(), w.reader, RetryInput{TaskID: r.Task.ID})
	w.ok(err)
	var got []string
	for _, s := range plan.Steps {
		got = append(got, s.Key+" "+string(s.Fate))
	}
	if diff := cmp.Diff([]string{"check repeated", "apply repeated", "ready follows"}, got); diff != "" {
		t.Errorf("the plan (-want +got):\n%s", diff)
	}
	again, err := w.s.RetryTask(t.Context(), w.writer, RetryInput{TaskID: r.Task.ID})
	if err != nil || again.Task.Kind != slipway.RepairTask || again.Change.ID != r.Change.ID {
		t.Errorf("the retry is %+v, %v", again, err)
	}
}

func TestNothingToRepairYet(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, one := w.mustDeploy(0, toml("1.0.0", "1.0.0")), int64(1)
	_, err := w.s.Repair(t.Context(), w.writer, RepairInput{ApplicationID: a.Application.ID, ExpectedRevision: &one})
	w.refused(err, slipway.Conflict, "is on the cluster yet")
	_, err = w.s.CheckDrift(t.Context(), w.reader, a.Application.ID)
	w.refused(err, slipway.Conflict, "to look at")
}

func TestCheckDriftWakesAndTellsSince(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.installed()
	var woken string
	w.s.Wake = func(_ context.Context, _ *store.Tx, noun string, id int64) error {
		woken = fmt.Sprint(noun, " ", id)
		return nil
	}
	before := w.s.Store.Now()
	asked, err := w.s.CheckDrift(t.Context(), w.reader, a.Application.ID)
	w.ok(err)
	if asked.Before(before) || woken != fmt.Sprint("drift ", a.Application.ID) {
		t.Errorf("asked at %s (began %s), woke %q", asked, before, woken)
	}
}
