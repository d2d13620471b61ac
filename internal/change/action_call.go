package change

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// maxArgs bounds the arguments of a call, which hold a command line at most.
const maxArgs = 256 << 10

// ActionCall takes a call of a primitive by a running action: it records the call and, for
// a primitive that starts a task, that task with its link to the step, all at once. The
// same key gives the same call again. What cannot be done is a failed call, with a code
// for the action's author; an error means that there is no call.
func (s *Service) ActionCall(ctx context.Context, c slipway.Caller, in ActionCallInput) (out slipway.ActionCall, err error) {
	if err := needAction(c); err != nil {
		return out, err
	}
	if err := checkCall(in); err != nil {
		return out, err
	}
	err = s.Store.InTx(ctx, func(tx *store.Tx) error {
		t, step, err := running(ctx, tx, c, in.StepID)
		if err != nil {
			return err
		}
		call, created, err := tx.CreateActionCall(ctx, slipway.ActionCall{TaskID: t.ID, StepID: step.ID, FlowRunID: in.FlowRunID,
			Key: in.Key, Primitive: in.Primitive, Args: in.Args})
		if err != nil {
			return err
		}
		if !created {
			out = call
			return sameCall(call, t, in)
		}
		if err := s.answer(ctx, tx, c, t, call); err != nil {
			return err
		}
		if out, err = tx.ActionCall(ctx, call.ID); err != nil || out.State != slipway.CallRunning {
			return err
		}
		return s.wake(ctx, tx, slipway.WakeCall, call.ID)
	})
	return out, err
}

// needAction lets only the actions of a task in, with what their token may do.
func needAction(c slipway.Caller) error {
	if c.TaskID == 0 || c.UserName != slipway.ActionsUser {
		if err := need(c, slipway.ReadOnly); err != nil {
			return err
		}
		return slipway.Errorf(slipway.Forbidden, "only the actions of a task may do this").
			WithHint("the functions of slipway.actions work inside an action that Slipway runs")
	}
	return need(c, slipway.ReadWrite)
}

var primitives = []slipway.Primitive{slipway.StopComponents, slipway.StartComponents, slipway.ChangeVersion,
	slipway.ComponentImages, slipway.ExecuteCommands}

func checkCall(in ActionCallInput) error {
	var f faults
	if in.Key == "" {
		f.add("key", "it is missing", "send <flow run>/<run count>/<call number>")
	} else if err := checkKey(in.Key); err != nil {
		f.is("key", err)
	}
	if !slices.Contains(primitives, in.Primitive) {
		f.add("primitive", fmt.Sprintf("there is no primitive %q", in.Primitive), "the Python package and the server may differ in version")
	}
	var args map[string]any
	if len(in.Args) > maxArgs {
		f.add("args", fmt.Sprintf("they have %d bytes; at most %d are allowed", len(in.Args), maxArgs), "pass less")
	} else if json.Unmarshal(in.Args, &args) != nil || args == nil {
		f.add("args", "they are not a JSON object", "send {}")
	}
	if msg, hint := checkLine(in.FlowRunID, maxKey); msg != "" {
		f.add("flow_run_id", msg, hint)
	}
	return f.err("the call")
}

// running finds the caller's task and a step of it, and refuses when either has ended.
func running(ctx context.Context, tx *store.Tx, c slipway.Caller, stepID int64) (slipway.Task, slipway.Step, error) {
	t, err := tx.Task(ctx, c.TaskID)
	if err != nil {
		return t, slipway.Step{}, err
	}
	if t.State != slipway.Running {
		return t, slipway.Step{}, slipway.Errorf(slipway.Conflict, "task %d is not running any more", t.ID).
			WithHint("its actions can call nothing now")
	}
	if t.CancelledBy != "" {
		return t, slipway.Step{}, slipway.Errorf(slipway.Conflict, "task %d was cancelled by %s", t.ID, t.CancelledBy).
			WithHint("its actions can call nothing now")
	}
	step, err := tx.Step(ctx, stepID)
	if slipway.Is(err, slipway.NotFound) || err == nil && step.TaskID != t.ID {
		return t, step, slipway.Errorf(slipway.Forbidden, "step %d is not one of task %d", stepID, t.ID).
			WithHint("an action uses the step of its own hook")
	} else if err != nil {
		return t, step, err
	}
	if step.State != slipway.StepRunning {
		return t, step, slipway.Errorf(slipway.Conflict, "the step %q has ended", step.Name).WithHint("its actions can call nothing now")
	}
	return t, step, nil
}

// sameCall refuses a key that was used for another call.
func sameCall(call slipway.ActionCall, t slipway.Task, in ActionCallInput) error {
	var a, b bytes.Buffer
	same := call.TaskID == t.ID && call.StepID == in.StepID && call.Primitive == in.Primitive &&
		compact(&a, call.Args) && compact(&b, in.Args) && bytes.Equal(a.Bytes(), b.Bytes())
	if same {
		return nil
	}
	return slipway.Errorf(slipway.Conflict, "the key %q was used for another call", in.Key).WithHint("count the calls of a run: no two have one number")
}

// compact brings JSON into one form: sorted keys, no blanks.
func compact(to *bytes.Buffer, src []byte) bool {
	d := json.NewDecoder(bytes.NewReader(src))
	d.UseNumber()
	var v any
	return d.Decode(&v) == nil && json.NewEncoder(to).Encode(v) == nil
}

// answer does what a new call asks for as far as rows can: it starts a child task, or ends
// the call at once. The other primitives are answered by the reconciler.
func (s *Service) answer(ctx context.Context, tx *store.Tx, c slipway.Caller, parent slipway.Task, call slipway.ActionCall) error {
	app, err := tx.Application(ctx, parent.ApplicationID)
	if err != nil {
		return err
	}
	var child slipway.Task
	var end *store.CallEnd
	switch call.Primitive {
	case slipway.StopComponents:
		child, end, err = turnForAction(ctx, tx, app, parent, call, stopping)
	case slipway.StartComponents:
		child, end, err = turnForAction(ctx, tx, app, parent, call, starting)
	case slipway.ChangeVersion:
		child, end, err = versionForAction(ctx, tx, app, parent, call)
	default:
		return nil
	}
	switch {
	case err != nil:
		return err
	case end != nil:
		return tx.FinishActionCall(ctx, call.ID, *end)
	}
	child.ChangeID, child.ParentStepID, child.RequestedBy = parent.ChangeID, call.StepID, c.UserName
	if child, err = s.begin(ctx, tx, app, child); err != nil {
		return err
	}
	return tx.SetActionCallChild(ctx, call.ID, child.ID)
}

// turnForAction plans the task that stops or starts components. The components that are as
// they shall be are left out, and a call about those only starts no task.
func turnForAction(ctx context.Context, tx *store.Tx, app slipway.Application, parent slipway.Task, call slipway.ActionCall, how turning) (child slipway.Task, end *store.CallEnd, err error) {
	var args componentArgs
	if err := json.Unmarshal(call.Args, &args); err != nil {
		return child, failed(slipway.CodeInvalidArgument, "components must be a list of names"), nil //nolint:nilerr // the refusal is the answer of the call
	}
	known, err := componentsFor(ctx, tx, app, parent)
	if err != nil {
		return child, nil, err
	}
	names, why := chosen(args.Components, known)
	if why != nil {
		code := slipway.CodeUnknownComponent
		if len(args.Components) == 0 {
			code = slipway.CodeInvalidArgument
		}
		return child, failed(code, why.Msg), nil
	}
	done, err := settled(ctx, tx, app.ID, how, names)
	if err != nil {
		return child, nil, err
	}
	names = slices.DeleteFunc(names, func(n string) bool { return slices.Contains(done, n) })
	if len(names) == 0 {
		return child, succeeded(map[string]any{"already": how.done}), nil
	}
	child = slipway.Task{Kind: how.kind, Title: how.verb + " " + strings.Join(names, ", ") + " of " + app.Name}
	child.Args, err = json.Marshal(componentArgs{names})
	return child, nil, err
}

// componentsFor lists the components that an action of a task may name: those of its own
// change's driver, or of the later one that is on the cluster when the change was
// overtaken. What others have asked for meanwhile and is still waiting counts for nothing.
func componentsFor(ctx context.Context, tx *store.Tx, app slipway.Application, parent slipway.Task) ([]string, error) {
	number := app.Applied
	var left slipway.Change // of a rollback, whose actions also know the components that it leaves behind
	if parent.ChangeID != 0 {
		change, err := tx.Change(ctx, parent.ChangeID)
		if err != nil {
			return nil, err
		}
		number = max(number, change.Revision)
		left = change
	}
	r, err := tx.Revision(ctx, app.ID, number)
	if err != nil {
		return nil, err
	}
	known, err := componentsIn(ctx, tx, r)
	if err != nil || left.Kind != slipway.RollbackChange {
		return known, err
	}
	d, err := driverOfHooks(ctx, tx, left)
	known = append(known, sorted(d.Spec.Components)...)
	slices.Sort(known)
	return slices.Compact(known), err
}

// versionForAction plans the task that changes the version. It may lead to the upgrade's
// own target only, and never back behind a later change.
func versionForAction(ctx context.Context, tx *store.Tx, app slipway.Application, parent slipway.Task, call slipway.ActionCall) (child slipway.Task, end *store.CallEnd, err error) {
	var args struct {
		Target string `json:"target_version"`
	}
	if err := json.Unmarshal(call.Args, &args); err != nil {
		args.Target = "" // no text is as good as none
	}
	target := strings.TrimSpace(args.Target)
	if code, text := slipway.MayChangeVersion(parent.Kind, target); code != "" {
		return child, failed(code, text), nil
	}
	change, err := tx.Change(ctx, parent.ChangeID)
	if err != nil {
		return child, nil, err
	}
	wanted, err := tx.Revision(ctx, app.ID, change.Revision)
	if err != nil {
		return child, nil, err
	}
	if app.Applied > 0 && app.AppVersion == target {
		return child, succeeded(map[string]any{"already": target}), nil
	}
	if code, text := slipway.LeadsTo(parent.Kind, target, wanted.Spec.App.Version); code != "" {
		return child, failed(code, text), nil
	}
	if app.Applied > change.Revision {
		later, err := changeOf(ctx, tx, app)
		if err != nil {
			return child, nil, err
		}
		return child, failed(slipway.CodeVersionNotSupported, fmt.Sprintf(
			"a later change (%d) set the version to %s; this %s to %s was overtaken", later, app.AppVersion, parent.Kind, target)), nil
	}
	child = slipway.Task{Kind: slipway.VersionTask, Title: "change the version of " + app.Name + " to " + target}
	child.Args, err = json.Marshal(map[string]string{"target_version": target})
	return child, nil, err
}

// changeOf is the number of the change that made the revision which the cluster has.
func changeOf(ctx context.Context, tx *store.Tx, app slipway.Application) (int64, error) {
	for page := (store.Page{Limit: store.MaxLimit}); ; {
		list, err := tx.Changes(ctx, app.ID, page)
		if err != nil {
			return 0, err
		}
		for _, c := range list.Items {
			if c.Revision == app.Applied {
				return c.Number, nil
			}
		}
		if page.After = list.Next; page.After == "" {
			return 0, fmt.Errorf("no change of application %d made its revision %d", app.ID, app.Applied)
		}
	}
}

func failed(code, msg string) *store.CallEnd {
	return &store.CallEnd{State: slipway.CallFailed, Code: code, Error: msg}
}

func succeeded(result map[string]any) *store.CallEnd {
	b, _ := json.Marshal(result) // texts only: they always encode
	return &store.CallEnd{State: slipway.CallSucceeded, Result: b}
}
