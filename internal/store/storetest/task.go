package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

func changes(w *world) {
	t := w.T
	a := w.application(w.environment("shop", "production"), "guestbook")
	one, two := w.change(a, slipway.InstallChange), w.change(a, slipway.UpgradeChange)
	if one.Number != 1 || two.Number != 2 {
		t.Errorf("got numbers %d and %d, want 1 and 2", one.Number, two.Number)
	}
	task := put(w, func(ctx context.Context, tx *store.Tx) (slipway.Task, error) {
		return tx.CreateTask(ctx, slipway.Task{Kind: slipway.UpgradeTask, Title: "upgrade", ApplicationID: a.ID, ChangeID: two.ID})
	})
	if task.ChangeNumber != 2 || task.Application != "shop/production/guestbook" || !task.Root() {
		t.Errorf("got %+v, want a root task of change 2", task)
	}
	open := get(w, func(ctx context.Context, tx *store.Tx) ([]slipway.Change, error) { return tx.OpenChanges(ctx, a.ID) })
	if len(open) != 1 || open[0].ID != two.ID || open[0].TaskID != task.ID {
		t.Errorf("got open changes %+v, want change 2 with task %d", open, task.ID)
	}

	freeze := func(text string) error {
		return w.try(func(ctx context.Context, tx *store.Tx) error { return tx.SetChangeContext(ctx, two.ID, []byte(text)) })
	}
	frozen := `{"schema_version": 1, "z": 1, "a": [ 2 ]}`
	if err := freeze(frozen); err != nil {
		t.Fatal(err)
	}
	if err := freeze(`{}`); !errors.Is(err, store.ErrStale) {
		t.Errorf("freezing it twice: got %v, want ErrStale", err)
	}
	got := get(w, func(ctx context.Context, tx *store.Tx) (slipway.Change, error) {
		return tx.ChangeByNumber(ctx, a.ID, 2)
	})
	if string(got.Context) != frozen {
		t.Errorf("the frozen context came back as %s: its digest would not hold", got.Context)
	}
	if err := w.try(func(ctx context.Context, tx *store.Tx) error {
		return tx.SetChangeContext(ctx, one.ID, []byte(`{no json`))
	}); err == nil {
		t.Error("the database took a context that is not JSON")
	}

	w.write(func(ctx context.Context, tx *store.Tx) error {
		return tx.FinishTask(ctx, task.ID, 0, store.TaskEnd{State: slipway.Cancelled})
	})
	open = get(w, func(ctx context.Context, tx *store.Tx) ([]slipway.Change, error) { return tx.OpenChanges(ctx, a.ID) })
	if len(open) != 0 {
		t.Errorf("got open changes %+v after the task's end", open)
	}
	w.wantKind("a change of no application", w.try(func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.CreateChange(ctx, slipway.Change{ApplicationID: 999, Kind: slipway.InstallChange})
		return err
	}), slipway.NotFound)
}

// retries stand in the place of the task that they repeat.
func retries(w *world) {
	t := w.T
	a := w.application(w.environment("shop", "production"), "guestbook")
	c := w.change(a, slipway.UpgradeChange)
	create := func(of slipway.Task) (slipway.Task, error) {
		var out slipway.Task
		err := w.try(func(ctx context.Context, tx *store.Tx) (err error) {
			out, err = tx.CreateTask(ctx, slipway.Task{Kind: slipway.UpgradeTask, Title: "upgrade", ApplicationID: a.ID, ChangeID: c.ID, RetryOf: of.ID,
				Attempt: of.Attempt + 1, Resume: slipway.Resume{From: "apply", Done: map[string]int64{"check": of.ID}, Actions: map[string]int64{"a": of.ID}}})
			return err
		})
		return out, err
	}
	first := put(w, func(ctx context.Context, tx *store.Tx) (slipway.Task, error) {
		return tx.CreateTask(ctx, slipway.Task{Kind: slipway.UpgradeTask, Title: "upgrade", ApplicationID: a.ID, ChangeID: c.ID})
	})
	second, err := create(first)
	if err != nil {
		t.Fatal(err)
	}
	want := slipway.Resume{From: "apply", Done: map[string]int64{"check": first.ID}, Actions: map[string]int64{"a": first.ID}}
	if diff := cmp.Diff(want, second.Resume); diff != "" || second.Attempt != 2 || second.RetryOf != first.ID || !second.Root() {
		t.Errorf("retry = %+v, resume (-want +got):\n%s", second, diff)
	}
	if got := get(w, func(ctx context.Context, tx *store.Tx) (slipway.Change, error) { return tx.Change(ctx, c.ID) }); got.TaskID != second.ID {
		t.Errorf("the change's task is %d, want the retry %d", got.TaskID, second.ID)
	}
	for of, by := range map[int64]int64{first.ID: second.ID, second.ID: 0} {
		got := get(w, func(ctx context.Context, tx *store.Tx) (int64, error) { return tx.RetriedBy(ctx, of) })
		if got != by {
			t.Errorf("RetriedBy(%d) = %d, want %d", of, got, by)
		}
	}
	if _, err := create(first); !errors.Is(err, store.ErrStale) {
		t.Errorf("a second retry of one task: got %v, want ErrStale", err)
	}
}

// What a rollback asks: who made a revision, and which actions have begun since.
func actionsSince(w *world) {
	t := w.T
	a := w.application(w.environment("shop", "production"), "guestbook")
	made := func(kind slipway.ChangeKind, revision int64, action, flow string) slipway.Change {
		return put(w, func(ctx context.Context, tx *store.Tx) (slipway.Change, error) {
			c, err := tx.CreateChange(ctx, slipway.Change{ApplicationID: a.ID, Kind: kind, Revision: revision})
			if err != nil {
				return c, err
			}
			task, err := tx.CreateTask(ctx, slipway.Task{Kind: slipway.UpgradeTask, Title: "t", ApplicationID: a.ID, ChangeID: c.ID})
			if err != nil {
				return c, err
			}
			epoch, err := tx.ClaimTask(ctx, task.ID, "r")
			if err != nil {
				return c, err
			}
			s, err := tx.OpenStep(ctx, task.ID, epoch, "hook", "hook")
			if err != nil {
				return c, err
			}
			run, err := tx.CreateActionRun(ctx, slipway.ActionRun{StepID: s.ID, Action: action, Key: fmt.Sprint(c.ID, action)})
			if err != nil {
				return c, err
			}
			run.FlowRunID = flow
			if err := tx.UpdateActionRun(ctx, run); err != nil {
				return c, err
			}
			c.TaskID = task.ID
			return c, tx.FinishTask(ctx, task.ID, epoch, store.TaskEnd{State: slipway.Succeeded})
		})
	}
	one := made(slipway.InstallChange, 1, "first", "since-1")
	two := made(slipway.UpgradeChange, 2, "second", "since-2")
	made(slipway.UpgradeChange, 3, "third", "") // intended, and Prefect was not asked
	three := made(slipway.DeleteChange, 2, "fourth", "since-4")
	since := func(number int64, at time.Time) []store.BegunAction {
		return get(w, func(ctx context.Context, tx *store.Tx) ([]store.BegunAction, error) {
			return tx.ActionsSince(ctx, a.ID, number, at)
		})
	}
	later := time.Now().Add(time.Hour)
	want := []store.BegunAction{{Action: "fourth", TaskID: three.TaskID, ChangeID: three.ID}, {Action: "second", TaskID: two.TaskID, ChangeID: two.ID}}
	if diff := cmp.Diff(want, since(one.Number, later)); diff != "" {
		t.Errorf("since change 1 (-want +got):\n%s", diff)
	}
	if got := since(99, later); len(got) > 0 {
		t.Errorf("since a later change: %+v", got)
	}
	if got := since(99, time.Now().Add(-time.Hour)); len(got) != 3 {
		t.Errorf("since an hour ago: %+v, want all that have begun", got)
	}
	by := get(w, func(ctx context.Context, tx *store.Tx) (slipway.Change, error) {
		return tx.ChangeOfRevision(ctx, a.ID, 2)
	})
	if by.ID != two.ID {
		t.Errorf("revision 2 was made by change %d, want %d", by.ID, two.ID)
	}
	w.wantKind("the change of no revision", w.try(func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.ChangeOfRevision(ctx, a.ID, 99)
		return err
	}), slipway.NotFound)
}

func tasks(w *world) {
	t := w.T
	a := w.application(w.environment("shop", "production"), "guestbook")
	args := json.RawMessage(`{"components":["worker"]}`)
	task := put(w, func(ctx context.Context, tx *store.Tx) (slipway.Task, error) {
		return tx.CreateTask(ctx, slipway.Task{Kind: slipway.StopTask, Title: "stop worker", ApplicationID: a.ID, Args: args, RequestedBy: "ann"})
	})
	want := slipway.Task{ID: task.ID, Kind: slipway.StopTask, Title: "stop worker", ApplicationID: a.ID, Application: "shop/production/guestbook",
		RootID: task.ID, Attempt: 1, Args: args, State: slipway.Queued, RequestedBy: "ann", CreatedAt: task.CreatedAt}
	if diff := cmp.Diff(want, task); diff != "" {
		t.Errorf("task (-want +got):\n%s", diff)
	}

	claim := func(id int64, replica string) (epoch int64, err error) {
		err = w.try(func(ctx context.Context, tx *store.Tx) error { epoch, err = tx.ClaimTask(ctx, id, replica); return err })
		return epoch, err
	}
	first, err := claim(task.ID, "a")
	if err != nil {
		t.Fatal(err)
	}
	started := get(w, func(ctx context.Context, tx *store.Tx) (slipway.Task, error) { return tx.Task(ctx, task.ID) }).StartedAt
	second, err := claim(task.ID, "b")
	if err != nil || second != first+1 {
		t.Errorf("claiming a running task: got epoch %d, %v, want %d", second, err, first+1)
	}
	got := get(w, func(ctx context.Context, tx *store.Tx) (slipway.Task, error) { return tx.Task(ctx, task.ID) })
	if got.Holder != "b" || got.State != slipway.Running || got.StartedAt != started {
		t.Errorf("got %+v, want it running at b since the first claim", got)
	}

	// A worker that lost the task can do nothing any more.
	for what, write := range map[string]func(ctx context.Context, tx *store.Tx) error{
		"HoldTask": func(ctx context.Context, tx *store.Tx) error { return tx.HoldTask(ctx, task.ID, first) },
		"OpenStep": func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.OpenStep(ctx, task.ID, first, "k", "n")
			return err
		},
		"FinishTask": func(ctx context.Context, tx *store.Tx) error {
			return tx.FinishTask(ctx, task.ID, first, store.TaskEnd{State: slipway.Succeeded})
		},
	} {
		if err := w.try(write); !errors.Is(err, store.ErrStale) {
			t.Errorf("%s of a zombie: got %v, want ErrStale", what, err)
		}
	}
	if err := w.try(func(ctx context.Context, tx *store.Tx) error {
		return tx.FinishTask(ctx, task.ID, second, store.TaskEnd{State: slipway.Running})
	}); !errors.Is(err, store.ErrStale) {
		t.Errorf("finishing as running: got %v, want ErrStale", err)
	}

	step := put(w, func(ctx context.Context, tx *store.Tx) (slipway.Step, error) {
		return tx.OpenStep(ctx, task.ID, second, "k", "n")
	})
	w.write(func(ctx context.Context, tx *store.Tx) error {
		return tx.FinishTask(ctx, task.ID, second, store.TaskEnd{State: slipway.Failed, Error: "no", Hint: "try", Result: []byte(`{"a":1}`)})
	})
	got = get(w, func(ctx context.Context, tx *store.Tx) (slipway.Task, error) { return tx.Task(ctx, task.ID) })
	if got.State != slipway.Failed || got.Error != "no" || got.Hint != "try" || string(got.Result) != `{"a":1}` || got.EndedAt.IsZero() {
		t.Errorf("got %+v", got)
	}
	if s := get(w, func(ctx context.Context, tx *store.Tx) (slipway.Step, error) { return tx.Step(ctx, step.ID) }); s.State != slipway.StepFailed {
		t.Errorf("a step left open is %s after the task's end, want failed", s.State)
	}
	if _, err := claim(task.ID, "c"); !errors.Is(err, store.ErrStale) {
		t.Errorf("claiming a task that is over: got %v, want ErrStale", err)
	}
	w.wantKind("claiming no task", func() error { _, err := claim(999, "c"); return err }(), slipway.NotFound)

	// Every move that slipway.TaskMoves does not name is refused.
	ends := []slipway.TaskState{slipway.Succeeded, slipway.Failed, slipway.Cancelled}
	for _, from := range []slipway.TaskState{slipway.Queued, slipway.Running, slipway.Succeeded} {
		for _, to := range ends {
			id, epoch := w.task(a).ID, int64(0)
			if from != slipway.Queued {
				epoch, _ = claim(id, "a")
			}
			if from == slipway.Succeeded {
				w.write(func(ctx context.Context, tx *store.Tx) error {
					return tx.FinishTask(ctx, id, epoch, store.TaskEnd{State: slipway.Succeeded})
				})
			}
			err := w.try(func(ctx context.Context, tx *store.Tx) error {
				return tx.FinishTask(ctx, id, epoch, store.TaskEnd{State: to})
			})
			legal := false
			for _, s := range slipway.TaskMoves[from] {
				legal = legal || s == to
			}
			if legal != (err == nil) {
				t.Errorf("moving a task from %s to %s: got %v, legal is %t", from, to, err, legal)
			}
		}
	}
	cancels(w, a)
	families(w, a)
}

func cancels(w *world, a slipway.Application) {
	t := w.T
	cancel := func(id int64, by string) (task slipway.Task, err error) {
		err = w.try(func(ctx context.Context, tx *store.Tx) error { task, err = tx.RequestCancel(ctx, id, by); return err })
		return task, err
	}
	queued := w.task(a)
	got, err := cancel(queued.ID, "ann")
	if err != nil || got.State != slipway.Cancelled || got.CancelledBy != "ann" || !strings.Contains(got.Error, "ann") {
		t.Errorf("cancelling a queued task: got %+v, %v, want it cancelled by ann", got, err)
	}
	if _, err := cancel(queued.ID, "bob"); !errors.Is(err, store.ErrStale) {
		t.Errorf("cancelling it again: got %v, want ErrStale", err)
	}
	running := w.task(a)
	w.write(func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.ClaimTask(ctx, running.ID, "a")
		return err
	})
	if _, err := cancel(running.ID, "ann"); err != nil {
		t.Error(err)
	}
	got, err = cancel(running.ID, "bob")
	if err != nil || got.State != slipway.Running || got.CancelledBy != "ann" {
		t.Errorf("cancelling a running task twice: got %+v, %v, want it running, cancelled by ann", got, err)
	}
	by := get(w, func(ctx context.Context, tx *store.Tx) (map[int64]string, error) {
		return tx.CancelledTasks(ctx, []int64{running.ID, w.task(a).ID, 999})
	})
	if diff := cmp.Diff(map[int64]string{running.ID: "ann"}, by); diff != "" {
		t.Errorf("cancelled tasks (-want +got):\n%s", diff)
	}
}

func families(w *world, a slipway.Application) {
	t := w.T
	root := w.task(a)
	var step slipway.Step
	w.write(func(ctx context.Context, tx *store.Tx) error {
		epoch, err := tx.ClaimTask(ctx, root.ID, "a")
		if err != nil {
			return err
		}
		step, err = tx.OpenStep(ctx, root.ID, epoch, "hook.upgrade.pre", slipway.StepUpgradePre)
		return err
	})
	child := put(w, func(ctx context.Context, tx *store.Tx) (slipway.Task, error) {
		return tx.CreateTask(ctx, slipway.Task{Kind: slipway.StartTask, ApplicationID: a.ID, ParentStepID: step.ID})
	})
	if child.RootID != root.ID || child.Root() || child.ParentKind != root.Kind || child.ParentStepID != step.ID {
		t.Errorf("got %+v, want a child of task %d started by %s", child, root.ID, root.Kind)
	}
	for what, f := range map[string]func(ctx context.Context, tx *store.Tx) ([]slipway.Task, error){
		"ChildTasks": func(ctx context.Context, tx *store.Tx) ([]slipway.Task, error) { return tx.ChildTasks(ctx, root.ID) },
		"TasksStartedBy": func(ctx context.Context, tx *store.Tx) ([]slipway.Task, error) {
			return tx.TasksStartedBy(ctx, step.ID)
		},
	} {
		if diff := cmp.Diff([]slipway.Task{child}, get(w, f)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	w.wantKind("a child of no step", w.try(func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.CreateTask(ctx, slipway.Task{Kind: slipway.StartTask, ParentStepID: 999})
		return err
	}), slipway.NotFound)

	second, third := w.task(a), w.task(a)
	earlier := func(id int64) (first int64) {
		w.read(func(ctx context.Context, tx *store.Tx) error {
			task, ok, err := tx.EarlierRoot(ctx, a.ID, id)
			if ok != (task.ID != 0) {
				t.Errorf("EarlierRoot says %t of task %d", ok, task.ID)
			}
			first = task.ID
			return err
		})
		return first
	}
	for _, open := range get(w, func(ctx context.Context, tx *store.Tx) (store.List[slipway.Task], error) {
		return tx.Tasks(ctx, store.TaskFilter{ApplicationID: a.ID, Open: true, Root: true}, store.Page{})
	}).Items {
		if open.ID < root.ID { // left by the tests before
			w.write(func(ctx context.Context, tx *store.Tx) error {
				return tx.FinishTask(ctx, open.ID, open.Epoch, store.TaskEnd{State: slipway.Cancelled})
			})
		}
	}
	if got := earlier(third.ID); got != root.ID {
		t.Errorf("before task %d comes %d, want the first one that is open, %d", third.ID, got, root.ID)
	}
	if got := earlier(root.ID); got != 0 {
		t.Errorf("before the first task comes %d", got)
	}
	later := get(w, func(ctx context.Context, tx *store.Tx) ([]slipway.Task, error) {
		return tx.LaterRoots(ctx, a.ID, root.ID)
	})
	if len(later) != 1 || later[0].ID != second.ID {
		t.Errorf("after task %d come %+v, want %d", root.ID, later, second.ID)
	}

	ids := func(f store.TaskFilter) map[int64]bool {
		out := map[int64]bool{}
		for _, t := range get(w, func(ctx context.Context, tx *store.Tx) (store.List[slipway.Task], error) {
			return tx.Tasks(ctx, f, store.Page{})
		}).Items {
			out[t.ID] = true
		}
		return out
	}
	for _, c := range []struct {
		what        string
		filter      store.TaskFilter
		root, child bool
	}{
		{"all", store.TaskFilter{}, true, true},
		{"of the application", store.TaskFilter{ApplicationID: a.ID}, true, true},
		{"of another application", store.TaskFilter{ApplicationID: 999}, false, false},
		{"of the project", store.TaskFilter{Project: "shop", Environment: "production"}, true, true},
		{"of another project", store.TaskFilter{Project: "blog"}, false, false},
		{"roots", store.TaskFilter{Root: true}, true, false},
		{"open", store.TaskFilter{Open: true}, true, true},
		{"queued", store.TaskFilter{State: slipway.Queued}, false, true},
	} {
		if got := ids(c.filter); got[root.ID] != c.root || got[child.ID] != c.child {
			t.Errorf("tasks %s: root there %t, child there %t; want %t and %t", c.what, got[root.ID], got[child.ID], c.root, c.child)
		}
	}
}
