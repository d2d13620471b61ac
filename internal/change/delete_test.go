package change

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

func TestDeletion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.installed()
	d, err := w.s.Delete(t.Context(), w.writer, DeleteInput{ApplicationID: a.Application.ID, IdempotencyKey: "k"})
	w.ok(err)
	if d.Change.Kind != slipway.DeleteChange || d.Change.Number != 2 || d.Change.Revision != 1 || d.Task.Kind != slipway.DeleteTask || d.Task.Title != "delete guestbook" || !d.Application.Deleting {
		t.Errorf("deletion = %+v", d)
	}
	w.audited("application.delete", "ben", "shop/production/guestbook", `{"driver":"guestbook 1.0.0","revision":1,"version":"1.0.0"}`,
		fmt.Sprintf(`{"change":2,"overtake":false,"task":%d}`, d.Task.ID))

	again, err := w.s.Delete(t.Context(), w.writer, DeleteInput{ApplicationID: a.Application.ID, IdempotencyKey: "k"})
	if err != nil || again.Task.ID != d.Task.ID || !again.Replayed {
		t.Errorf("again = %+v, %v", again, err)
	}
	_, err = w.s.Delete(t.Context(), w.writer, DeleteInput{ApplicationID: a.Application.ID})
	w.refused(err, slipway.Conflict, fmt.Sprintf("is being deleted already, by task %d", d.Task.ID))
	_, err = w.deploy(1, toml("1.1.0", "1.0.0"))
	w.refused(err, slipway.Conflict, "shop/production/guestbook is being deleted")
	if e, _ := errorOf(err); e.Hint != fmt.Sprintf("wait for task %d to end, then deploy it anew", d.Task.ID) {
		t.Errorf("hint = %q", e.Hint)
	}
	_, err = w.s.StopComponents(t.Context(), w.writer, ComponentsInput{ApplicationID: a.Application.ID, Components: []string{"web"}})
	w.refused(err, slipway.Conflict, "is being deleted")

	// A deletion that failed is asked for again, and nothing else is let in.
	w.end(d, slipway.Failed)
	_, err = w.deploy(1, toml("1.1.0", "1.0.0"))
	w.refused(err, slipway.Conflict, "is being deleted")
	if e, _ := errorOf(err); e.Hint != "its deletion did not succeed: delete it again, then deploy it anew" {
		t.Errorf("hint = %q", e.Hint)
	}
	d, err = w.s.Delete(t.Context(), w.writer, DeleteInput{ApplicationID: a.Application.ID})
	w.ok(err)
	w.end(d, slipway.Succeeded)
	w.write(func(ctx context.Context, tx *store.Tx) error { return tx.MarkApplicationDeleted(ctx, a.Application.ID) })

	// The name is free.
	n := w.mustDeploy(0, toml("1.1.0", "1.0.0"))
	if n.Application.ID == a.Application.ID || n.Change.Kind != slipway.InstallChange || n.Change.Number != 1 {
		t.Errorf("anew: %+v", n)
	}
	_, err = w.s.Delete(t.Context(), w.writer, DeleteInput{ApplicationID: a.Application.ID})
	w.refused(err, slipway.NotFound, "there is no application")
}

func TestACancelledDeletionThatDidNotBegin(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.mustDeploy(0, toml("1.0.0", "1.0.0"))
	d, err := w.s.Delete(t.Context(), w.writer, DeleteInput{ApplicationID: a.Application.ID})
	w.ok(err)
	if diff := cmp.Diff([]string{fmt.Sprintf("task %d (install guestbook 1.0.0) has not ended; this change waits for it", a.Task.ID)}, d.Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	w.must(w.s.CancelTask(t.Context(), w.writer, d.Task.ID))
	b := w.mustDeploy(1, toml("1.1.0", "1.0.0"))
	if b.Application.Deleting {
		t.Error("it is still being deleted")
	}
}

func TestCancelling(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first, second := w.mustDeploy(0, toml("1.0.0", "1.0.0")), w.mustDeploy(1, toml("1.1.0", "1.0.0"))
	w.woken = nil
	got, err := w.s.CancelTask(t.Context(), w.writer, first.Task.ID)
	w.ok(err)
	if got.State != slipway.Cancelled || got.CancelledBy != "ben" {
		t.Errorf("task = %+v", got)
	}
	if want := fmt.Sprint("task ", second.Task.ID); len(w.woken) != 1 || w.woken[0] != want {
		t.Errorf("woken = %q; the next task waited for this one: %s", w.woken, want)
	}
	w.audited("task.cancel", "ben", "shop/production/guestbook: install guestbook 1.0.0", `{"state":"queued"}`, `{"state":"cancelled"}`)

	c := w.acting(second)
	w.woken = nil
	got, err = w.s.CancelTask(t.Context(), w.writer, second.Task.ID)
	if err != nil || got.State != slipway.Running || got.CancelledBy != "ben" || len(w.woken) != 1 {
		t.Errorf("a running one: %+v, %v, woken %q", got, err, w.woken)
	}
	w.write(func(ctx context.Context, tx *store.Tx) error {
		return tx.FinishTask(ctx, c.task.ID, c.epoch, store.TaskEnd{State: slipway.Cancelled})
	})
	_, err = w.s.CancelTask(t.Context(), w.writer, second.Task.ID)
	w.refused(err, slipway.Conflict, "has ended: it was cancelled")
	_, err = w.s.CancelTask(t.Context(), w.writer, 4711)
	w.refused(err, slipway.NotFound, "there is no task 4711")
}

func TestComponents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.mustDeploy(0, toml("1.0.0", "1.0.0"))
	in := ComponentsInput{ApplicationID: a.Application.ID, Components: []string{"worker", "web", "worker"}}
	_, err := w.s.StopComponents(t.Context(), w.writer, in)
	w.refused(err, slipway.Conflict, "shop/production/guestbook is not installed yet")
	w.end(a, slipway.Succeeded, "1.0.0", "1.0.0")

	s, err := w.s.StopComponents(t.Context(), w.writer, in)
	w.ok(err)
	if s.Task.Kind != slipway.StopTask || string(s.Task.Args) != `{"components":["worker","web"]}` || !s.Task.Root() || s.Task.Title != "stop worker, web of guestbook" ||
		s.Change.ID != 0 || len(s.Warnings) > 0 {
		t.Errorf("stop = %+v", s)
	}
	w.audited("application.stop", "ben", "shop/production/guestbook", "", fmt.Sprintf(`{"components":["worker","web"],"task":%d}`, s.Task.ID))
	w.end(s, slipway.Succeeded)
	w.stopped(a.Application, "worker", "web")

	again, err := w.s.StopComponents(t.Context(), w.writer, in)
	w.ok(err)
	if d := cmp.Diff([]string{"worker, web are stopped already; the task makes sure"}, again.Warnings); d != "" {
		t.Errorf("warnings (-want +got):\n%s", d)
	}
	start, err := w.s.StartComponents(t.Context(), w.writer, ComponentsInput{ApplicationID: a.Application.ID, Components: []string{"web"}, IdempotencyKey: "k"})
	if err != nil || start.Task.Kind != slipway.StartTask || len(start.Warnings) != 1 { // of the open stop
		t.Errorf("start = %+v, %v", start, err)
	}
	for _, bad := range []ComponentsInput{{}, {Components: []string{"db"}}} {
		bad.ApplicationID = a.Application.ID
		_, err := w.s.StartComponents(t.Context(), w.writer, bad)
		w.refused(err, slipway.Invalid, "components")
		if e, _ := errorOf(err); e.Hint != "name one of: web, worker" {
			t.Errorf("hint = %q", e.Hint)
		}
	}
}
