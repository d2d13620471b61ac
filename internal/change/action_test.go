package change

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// actor is an action that runs in a hook step of a task.
type actor struct {
	slipway.Caller
	task  slipway.Task
	step  slipway.Step
	epoch int64
}

// acting has a task run, with an open hook step.
func (w *world) acting(a Accepted) actor {
	w.Helper()
	var out actor
	w.write(func(ctx context.Context, tx *store.Tx) error {
		u, err := tx.UserByName(ctx, slipway.ActionsUser)
		if err != nil {
			return err
		}
		out.Caller = slipway.Caller{UserID: u.ID, UserName: u.Name, Role: u.Role, TaskID: a.Task.ID, TokenID: 99, Project: "shop", Environment: "production", Remote: "127.0.0.1"}
		if out.epoch, err = tx.ClaimTask(ctx, a.Task.ID, "r-1"); err != nil {
			return err
		}
		if out.step, err = tx.OpenStep(ctx, a.Task.ID, out.epoch, "hook.upgrade.core", slipway.StepUpgradeCore); err != nil {
			return err
		}
		out.task, err = tx.Task(ctx, a.Task.ID)
		return err
	})
	return out
}

// upgrading is an application at 1.0.0 whose upgrade to 1.1.0 runs its core action.
func upgrading(t *testing.T) (*world, actor, slipway.Application) {
	t.Helper()
	w := newWorld(t)
	w.installed()
	a := w.mustDeploy(1, toml("1.1.0", "1.0.0"))
	return w, w.acting(a), a.Application
}

func (w *world) call(c actor, key string, p slipway.Primitive, args string) (slipway.ActionCall, error) {
	return w.s.ActionCall(w.Context(), c.Caller, ActionCallInput{StepID: c.step.ID, FlowRunID: "fr-1", Key: key, Primitive: p, Args: []byte(args)})
}

func (w *world) task(id int64) (t slipway.Task) {
	w.Helper()
	w.read(func(ctx context.Context, tx *store.Tx) (err error) {
		t, err = tx.Task(ctx, id)
		return err
	})
	return t
}

func (w *world) stopped(app slipway.Application, components ...string) {
	w.Helper()
	w.write(func(ctx context.Context, tx *store.Tx) error {
		for _, c := range components {
			if err := tx.SetComponentStopped(ctx, app.ID, c, 1); err != nil {
				return err
			}
		}
		return nil
	})
}

func TestACallThatStartsATaskIsLinkedToItsStep(t *testing.T) {
	t.Parallel()
	w, c, app := upgrading(t)
	w.woken = nil
	call, err := w.call(c, "fr-1/1/1", slipway.StopComponents, `{"components": ["worker", "worker"]}`)
	w.ok(err)
	child := w.task(call.ChildTask)
	if call.State != slipway.CallRunning || call.TaskID != c.task.ID || call.StepID != c.step.ID {
		t.Errorf("call = %+v", call)
	}
	if child.Kind != slipway.StopTask || child.RootID != c.task.ID || child.ParentStepID != c.step.ID || child.ParentKind != slipway.UpgradeTask ||
		child.ApplicationID != app.ID || string(child.Args) != `{"components":["worker"]}` || child.RequestedBy != slipway.ActionsUser ||
		child.ChangeID != c.task.ChangeID || child.Title != "stop worker of guestbook" {
		t.Errorf("child = %+v", child)
	}
	if d := cmp.Diff([]string{fmt.Sprint("task ", child.ID), fmt.Sprint("action-call ", call.ID)}, w.woken); d != "" {
		t.Errorf("woken (-want +got):\n%s", d)
	}
	if now := w.task(c.task.ID); now.ID != now.RootID {
		t.Error("the root task is not its own root any more")
	}

	// A lost answer is asked for again.
	before := w.dump()
	again, err := w.call(c, "fr-1/1/1", slipway.StopComponents, `{ "components":["worker","worker"]}`)
	if err != nil || again.ID != call.ID || again.ChildTask != call.ChildTask {
		t.Errorf("again = %+v, %v", again, err)
	}
	if d := cmp.Diff(before, w.dump()); d != "" {
		t.Errorf("the repeat wrote (-before +after):\n%s", d)
	}
	for _, other := range []struct {
		p    slipway.Primitive
		args string
	}{{slipway.StartComponents, `{"components":["worker","worker"]}`}, {slipway.StopComponents, `{"components":["web"]}`}} {
		_, err = w.call(c, "fr-1/1/1", other.p, other.args)
		w.refused(err, slipway.Conflict, "was used for another call")
	}
}

func TestWhatACallComesTo(t *testing.T) {
	t.Parallel()
	type want struct {
		state slipway.CallState
		code  string
		text  string // in the error, or the result
		child string // the child's kind and arguments
	}
	failed := func(code, text string) want { return want{state: slipway.CallFailed, code: code, text: text} }
	for _, tc := range []struct {
		name    string
		stopped []string
		applied string // moved on by a later change
		p       slipway.Primitive
		args    string
		want    want
	}{
		{"stop two", nil, "", slipway.StopComponents, `{"components":["worker","web"]}`, want{slipway.CallRunning, "", "", `stop-components {"components":["worker","web"]}`}},
		{"stop what is stopped in part", []string{"worker"}, "", slipway.StopComponents, `{"components":["worker","web"]}`, want{slipway.CallRunning, "", "", `stop-components {"components":["web"]}`}},
		{"stop what is stopped", []string{"worker"}, "", slipway.StopComponents, `{"components":["worker"]}`, want{slipway.CallSucceeded, "", `{"already":"stopped"}`, ""}},
		{"start what runs", nil, "", slipway.StartComponents, `{"components":["web"]}`, want{slipway.CallSucceeded, "", `{"already":"running"}`, ""}},
		{"start what is stopped", []string{"worker"}, "", slipway.StartComponents, `{"components":["worker"]}`, want{slipway.CallRunning, "", "", `start-components {"components":["worker"]}`}},
		{"an unknown component", nil, "", slipway.StopComponents, `{"components":["taskworker"]}`, failed(slipway.CodeUnknownComponent, `unknown component "taskworker"; this driver has: web, worker`)},
		{"no component", nil, "", slipway.StopComponents, `{"components":[]}`, failed(slipway.CodeInvalidArgument, "no component is named")},
		{"a text for a list", nil, "", slipway.StopComponents, `{"components":"worker"}`, failed(slipway.CodeInvalidArgument, "a list of names")},
		{"the upgrade's own version", nil, "", slipway.ChangeVersion, `{"target_version":" 1.1.0 "}`, want{slipway.CallRunning, "", "", `change-version {"target_version":"1.1.0"}`}},
		{"the version that runs", nil, "", slipway.ChangeVersion, `{"target_version":"1.0.0"}`, want{slipway.CallSucceeded, "", `{"already":"1.0.0"}`, ""}},
		{"another version", nil, "", slipway.ChangeVersion, `{"target_version":"1.7.0"}`, failed(slipway.CodeVersionNotSupported, "this upgrade is to 1.1.0, the action asked for 1.7.0")},
		{"another spelling", nil, "", slipway.ChangeVersion, `{"target_version":"v1.1.0"}`, failed(slipway.CodeVersionNotSupported, "write it as the upgrade does, 1.1.0")},
		{"no version", nil, "", slipway.ChangeVersion, `{}`, failed(slipway.CodeInvalidArgument, "target_version must be a version")},
		{"a later change was faster", nil, "1.2.0", slipway.ChangeVersion, `{"target_version":"1.1.0"}`, failed(slipway.CodeVersionNotSupported, "a later change (3) set the version to 1.2.0; this upgrade to 1.1.0 was overtaken")},
		{"a later change was faster, to the same version", nil, "1.1.0", slipway.ChangeVersion, `{"target_version":"1.1.0"}`, want{slipway.CallSucceeded, "", `{"already":"1.1.0"}`, ""}},
		{"images are for the reconciler", nil, "", slipway.ComponentImages, `{"component":"web"}`, want{slipway.CallRunning, "", "", ""}},
		{"commands are for the reconciler", nil, "", slipway.ExecuteCommands, `{"commands":["true"],"image":"a:1"}`, want{slipway.CallRunning, "", "", ""}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w, c, app := upgrading(t)
			w.stopped(app, tc.stopped...)
			if tc.applied != "" {
				w.write(func(ctx context.Context, tx *store.Tx) error {
					if _, err := tx.CreateChange(ctx, slipway.Change{ApplicationID: app.ID, Kind: slipway.UpgradeChange, Revision: 3, FromRevision: 2}); err != nil {
						return err
					}
					return tx.SetApplicationApplied(ctx, app.ID, store.Applied{Revision: 3, AppVersion: tc.applied, DriverName: "guestbook", DriverVersion: "1.0.0"})
				})
			}
			call, err := w.call(c, "k", tc.p, tc.args)
			w.ok(err)
			got := want{state: call.State, code: call.Code, text: call.Error + string(call.Result)}
			if call.ChildTask != 0 {
				child := w.task(call.ChildTask)
				got.child = string(child.Kind) + " " + string(child.Args)
			}
			if got.state != tc.want.state || got.code != tc.want.code || got.child != tc.want.child || !strings.Contains(got.text, tc.want.text) {
				t.Errorf("got  %+v\nwant %+v", got, tc.want)
			}
			if (call.State == slipway.CallRunning) != call.EndedAt.IsZero() {
				t.Errorf("state %s, ended %s", call.State, call.EndedAt)
			}
		})
	}
}

func TestAnInstallHasNoVersionToChange(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.acting(w.mustDeploy(0, toml("1.0.0", "1.0.0")))
	call, err := w.call(c, "k", slipway.ChangeVersion, `{"target_version":"1.0.0"}`)
	w.ok(err)
	if call.State != slipway.CallFailed || call.Code != slipway.CodeInvalidArgument {
		t.Errorf("call = %+v", call)
	}
}

func TestWhoMayCall(t *testing.T) {
	t.Parallel()
	w, c, _ := upgrading(t)
	other := w.acting(func() Accepted {
		expected := int64(0)
		a, err := w.s.Deploy(t.Context(), w.writer, DeployInput{ExpectedRevision: &expected,
			SpecInput: production([]byte(strings.Replace(string(toml("1.0.0", "1.0.0")), `name = "guestbook"`, `name = "other"`, 1)))})
		w.ok(err)
		return a
	}())
	weak := c
	weak.Role = slipway.ReadOnly
	person := c
	person.Caller = w.admin
	foreign := c
	foreign.step = other.step
	nobody := c
	nobody.Caller = slipway.Caller{}
	gone := c
	gone.step.ID = 4711
	before := w.dump()
	for _, tc := range []struct {
		name  string
		c     actor
		kind  slipway.Kind
		words string
	}{
		{"an administrator", person, slipway.Forbidden, "only the actions of a task may do this"},
		{"nobody", nobody, slipway.Unauthenticated, "not signed in"},
		{"a built-in user that is read-only", weak, slipway.Forbidden, "user slipway-actions has the role read-only, and this needs read-write"},
		{"the step of another task", foreign, slipway.Forbidden, "is not one of task"},
		{"no step", gone, slipway.Forbidden, "is not one of task"},
	} {
		_, err := w.call(tc.c, "k", slipway.StopComponents, `{"components":["web"]}`)
		w.refused(err, tc.kind, tc.words)
		if e, _ := errorOf(err); e != nil && e.Hint == "" {
			t.Errorf("%s: no remedy", tc.name)
		}
		err = w.s.AddStepNote(t.Context(), tc.c.Caller, c.task.ID, tc.c.step.ID, "hello")
		w.refused(err, tc.kind, tc.words)
	}
	err := w.s.AddStepNote(t.Context(), other.Caller, c.task.ID, c.step.ID, "hello")
	w.refused(err, slipway.Forbidden, "this token belongs to task")
	for _, bad := range []ActionCallInput{
		{Primitive: slipway.StopComponents, Args: []byte(`{}`)},
		{Key: "k", Primitive: "drop_tables", Args: []byte(`{}`)},
		{Key: "k", Primitive: slipway.StopComponents, Args: []byte(`[]`)},
		{Key: "k", Primitive: slipway.StopComponents},
		{Key: "k", Primitive: slipway.StopComponents, Args: []byte(`{"a":"` + strings.Repeat("a", maxArgs) + `"}`)},
	} {
		bad.StepID = c.step.ID
		_, err := w.s.ActionCall(t.Context(), c.Caller, bad)
		w.refused(err, slipway.Invalid, "")
	}
	if d := cmp.Diff(before, w.dump()); d != "" {
		t.Errorf("refusals wrote (-before +after):\n%s", d)
	}
}

func TestNothingIsCalledAfterTheEnd(t *testing.T) {
	t.Parallel()
	w, c, _ := upgrading(t)
	w.write(func(ctx context.Context, tx *store.Tx) error {
		return tx.CloseStep(ctx, c.step.ID, c.epoch, slipway.StepSucceeded, "")
	})
	_, err := w.call(c, "k", slipway.StopComponents, `{"components":["web"]}`)
	w.refused(err, slipway.Conflict, `the step "Run the upgrade hook" has ended`)
	w.write(func(ctx context.Context, tx *store.Tx) error {
		return tx.FinishTask(ctx, c.task.ID, c.epoch, store.TaskEnd{State: slipway.Succeeded})
	})
	_, err = w.call(c, "k", slipway.StopComponents, `{"components":["web"]}`)
	w.refused(err, slipway.Conflict, "is not running any more")
}

func TestStepNotes(t *testing.T) {
	t.Parallel()
	w, c, _ := upgrading(t)
	_, err := w.s.SetSecret(t.Context(), w.writer, SetSecretInput{Project: "shop", Environment: "production", Name: "db", Value: []byte("hunter2-horse")})
	w.ok(err)
	w.s.Redactor = func(values ...string) func(string) string {
		if !slices.Contains(values, "hunter2-horse") {
			t.Error("the redactor was not told the value of the environment's secret")
		}
		return func(s string) string { return strings.ReplaceAll(s, "hunter2-horse", "<redacted>") }
	}
	w.ok(w.s.AddStepNote(t.Context(), c.Caller, c.task.ID, c.step.ID, "the password is hunter2-horse"))
	for _, bad := range []string{"", "two\nlines", strings.Repeat("a", 501), "\xff"} {
		w.refused(w.s.AddStepNote(t.Context(), c.Caller, c.task.ID, c.step.ID, bad), slipway.Invalid, "text")
	}
	w.read(func(ctx context.Context, tx *store.Tx) error {
		steps, err := tx.Steps(ctx, c.task.ID)
		if d := cmp.Diff([]string{"the password is <redacted>"}, steps[0].Notes); d != "" {
			t.Errorf("notes (-want +got):\n%s", d)
		}
		return err
	})
}

// Through the API itself, not by a primitive: let in under the running task, but linked to
// no step.
func TestAnActionThatCallsTheAPIIsLetIn(t *testing.T) {
	t.Parallel()
	w, c, app := upgrading(t)
	a, err := w.s.StopComponents(t.Context(), c.Caller, ComponentsInput{ApplicationID: app.ID, Components: []string{"worker"}})
	w.ok(err)
	if a.Task.RootID != c.task.ID || a.Task.ParentStepID != 0 || a.Task.Root() || len(a.Warnings) > 0 {
		t.Errorf("task = %+v, warnings %q", a.Task, a.Warnings)
	}
	_, err = w.s.Delete(t.Context(), c.Caller, DeleteInput{ApplicationID: app.ID})
	w.refused(err, slipway.Conflict, "cannot delete its own application")
}

// Whoever is being ended begins nothing any more.
func TestACancelledTaskCallsNothing(t *testing.T) {
	t.Parallel()
	w, c, _ := upgrading(t)
	if call, err := w.call(c, "fr/1/1", slipway.ExecuteCommands, `{"commands":["x"],"image":"i"}`); err != nil || call.State != slipway.CallRunning {
		t.Fatalf("before: %+v, %v", call, err)
	}
	w.must(w.s.CancelTask(t.Context(), w.writer, c.task.ID))
	_, err := w.call(c, "fr/1/2", slipway.ExecuteCommands, `{"commands":["x"],"image":"i"}`)
	w.refused(err, slipway.Conflict, fmt.Sprintf("task %d was cancelled by ben", c.task.ID))
}
