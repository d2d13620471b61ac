package application

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"

	"slipway.dev/slipway/internal/outside/kube"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/spec"
	"slipway.dev/slipway/internal/store"
	"slipway.dev/slipway/internal/task"
)

// Call carries out one call of a running action. It is a handler of package task, and may
// be repeated: a call that is over is left alone, a command's Job is found again by the
// call's key, and a task that the call started is only waited for.
func (r *Reconciler) Call(ctx context.Context, id int64) (again time.Duration, err error) {
	var call slipway.ActionCall
	var child slipway.Task
	var snap Snapshot
	err = r.Store.Read(ctx, func(tx *store.Tx) (err error) {
		if call, err = tx.ActionCall(ctx, id); err != nil || call.State != slipway.CallRunning {
			return err
		}
		if call.ChildTask != 0 {
			child, err = tx.Task(ctx, call.ChildTask)
			return err
		}
		snap, err = readSnapshot(ctx, tx, call.TaskID)
		return err
	})
	if err != nil || call.State != slipway.CallRunning {
		return 0, err
	}
	if call.ChildTask != 0 {
		if !child.State.Over() {
			return 0, nil // the end of the task wakes this call again
		}
		return 0, r.endCall(ctx, call, childEnd(child))
	}
	if snap.Cancel {
		return 0, r.endCall(ctx, call, store.CallEnd{State: slipway.CallFailed, Code: slipway.CodeAPIRefused, Error: "the task was cancelled by " + snap.Task.CancelledBy})
	}
	result, err := r.carryOut(ctx, call, snap)
	switch {
	case err == nil:
		raw, err := json.Marshal(result)
		if err != nil {
			return 0, fmt.Errorf("write the result of call %d: %w", id, err)
		}
		return 0, r.endCall(ctx, call, store.CallEnd{State: slipway.CallSucceeded, Result: raw})
	case interrupted(ctx, err):
		return 0, err
	}
	redact := r.redactor(ctx, snap.Application, snap.Wanted.Spec)
	text, hint := words(err, redact)
	if hint != "" {
		text += " (" + hint + ")"
	}
	return 0, r.endCall(context.WithoutCancel(ctx), call, store.CallEnd{State: slipway.CallFailed, Code: codeOf(err), Error: text})
}

// endCall writes the end of a call, and wakes those who read it.
func (r *Reconciler) endCall(ctx context.Context, call slipway.ActionCall, end store.CallEnd) error {
	err := r.Store.InTx(ctx, func(tx *store.Tx) error {
		if err := tx.FinishActionCall(ctx, call.ID, end); err != nil {
			return err
		}
		return tx.AddEvent(ctx, slipway.Event{Kind: "call.ended", Noun: NounCall, NounID: call.ID})
	})
	if errors.Is(err, store.ErrStale) {
		return nil
	}
	return err
}

// childEnd is the end of a call whose task is over.
func childEnd(child slipway.Task) store.CallEnd {
	if child.State == slipway.Succeeded {
		raw, _ := json.Marshal(map[string]int64{"task": child.ID}) // a map of numbers always encodes
		return store.CallEnd{State: slipway.CallSucceeded, Result: raw}
	}
	why := child.Error
	if why == "" {
		why = string(child.State)
	}
	return store.CallEnd{
		State: slipway.CallFailed, Code: slipway.CodeTaskFailed,
		Error: fmt.Sprintf("%s (task %d) failed: %s", child.Kind.Title(), child.ID, why),
	}
}

func codeOf(err error) string {
	var f *kube.Failure
	if errors.As(err, &f) {
		return f.Code
	}
	switch slipway.KindOf(err) {
	case slipway.Invalid:
		return slipway.CodeInvalidArgument
	case slipway.NotFound:
		return slipway.CodeUnknownComponent
	}
	return slipway.CodeInternal
}

// carryOut answers a call that starts no task.
func (r *Reconciler) carryOut(ctx context.Context, call slipway.ActionCall, s Snapshot) (any, error) {
	switch call.Primitive {
	case slipway.StopComponents, slipway.StartComponents, slipway.ChangeVersion:
		return map[string]any{}, nil // there was nothing to do, so no task was started
	}
	if r.NoCluster != nil {
		return nil, r.NoCluster
	}
	switch call.Primitive {
	case slipway.ComponentImages:
		return r.componentImages(ctx, call, s)
	case slipway.ExecuteCommands:
		return map[string]any{}, r.executeCommands(ctx, call, s)
	}
	return nil, slipway.Errorf(slipway.Invalid, "there is no primitive %q", call.Primitive)
}

// frozenComponent is a component as the change has it, whatever the cluster has by now.
func frozenComponent(s Snapshot, name string) (slipway.Component, spec.ContextComponent, error) {
	known := s.Driver.Spec
	known.Components = s.components()
	component, ok := known.Components[name]
	if !ok {
		return component, spec.ContextComponent{}, unknownComponent(known, name)
	}
	frozen, err := spec.DecodeContext(s.Change.Context)
	if err != nil {
		return component, spec.ContextComponent{}, err
	}
	return component, frozen.Components[name], nil
}

func (r *Reconciler) componentImages(ctx context.Context, call slipway.ActionCall, s Snapshot) (any, error) {
	var args struct {
		Component string `json:"component"`
	}
	if err := readArgs(call, &args); err != nil {
		return nil, err
	}
	component, frozen, err := frozenComponent(s, args.Component)
	if err != nil {
		return nil, err
	}
	rule := kube.ImageRule{Component: args.Component, Container: component.Container}
	if frozen.ImageOverride != nil {
		rule.Override = slipway.ExpandImage(*frozen.ImageOverride, s.Wanted.Spec.App.Version)
	}
	now, err := r.standing(ctx, s)
	if err != nil {
		return nil, err
	}
	ws, err := r.workloads(ctx, s.Application, args.Component, s.Driver.Spec, now.applied)
	if err != nil {
		return nil, err
	}
	images, err := kube.ComponentImages(ws, rule)
	if err != nil {
		return nil, err
	}
	return map[string]any{"images": images}, nil
}

// executeArgs is what execute_commands sends.
type executeArgs struct {
	Commands            []string `json:"commands"`
	Image               string   `json:"image"`
	EnvFromComponent    string   `json:"env_from_component"`
	TimeoutSeconds      float64  `json:"timeout_seconds"`
	FailIfOutputMatches string   `json:"fail_if_output_matches"`
}

// executeCommands runs one command as the application's Job, and keeps the end of its
// output on the step when it fails.
func (r *Reconciler) executeCommands(ctx context.Context, call slipway.ActionCall, s Snapshot) error {
	var args executeArgs
	if err := readArgs(call, &args); err != nil {
		return err
	}
	job := kube.JobSpec{
		App: s.Application, Release: spec.HelmRelease(s.Application.Name), TaskID: s.Task.ID, TaskKind: s.Task.Kind,
		StepID: call.StepID, FlowRunID: call.FlowRunID, CallKey: call.Key,
		Command: args.Commands, Image: args.Image, Timeout: time.Duration(args.TimeoutSeconds * float64(time.Second)),
	}
	if args.FailIfOutputMatches != "" {
		pattern, err := regexp.Compile(args.FailIfOutputMatches)
		if err != nil {
			return slipway.Errorf(slipway.Invalid, "fail_if_output_matches: %v", err).WithHint("it is an RE2 regular expression")
		}
		job.FailIfOutputMatches = pattern
	}
	if name := args.EnvFromComponent; name != "" {
		component, frozen, err := frozenComponent(s, name)
		if err != nil {
			return err
		}
		now, err := r.standing(ctx, s)
		if err != nil {
			return err
		}
		ws, err := r.workloads(ctx, s.Application, name, s.Driver.Spec, now.applied)
		if err != nil {
			return err
		}
		from, err := kube.PickWorkload(ws, name, component.Container, s.Application.Namespace)
		if err != nil {
			return err
		}
		job.From, job.Container, job.Env = &from, component.Container, envOf(frozen)
	}
	redact := r.redactor(ctx, s.Application, s.Wanted.Spec)
	res, err := r.Cluster.RunJob(ctx, job, kube.JobOptions{
		Redact: redact, ImageAfter: r.ImageAfter,
		Note: func(line string) { r.noteOn(ctx, s, call.StepID, redact(line)) },
	})
	if err == nil || interrupted(ctx, err) {
		return err
	}
	if res.Output != "" {
		if keep := r.keepOutput(ctx, call, s, res); keep != nil {
			return bookErr(keep)
		}
	}
	return err
}

// keepOutput stores the end of a failed command's output on the step. An action may go on
// after a command that failed, and have another one fail: the last output is the one to
// keep, since the first one's Job is gone by then, and the step says so.
func (r *Reconciler) keepOutput(ctx context.Context, call slipway.ActionCall, s Snapshot, res kube.JobResult) error {
	return r.Store.InTx(ctx, func(tx *store.Tx) error {
		step, err := tx.Step(ctx, call.StepID)
		if err != nil {
			return err
		}
		if step.Output != "" && step.Output != res.Output {
			line := fmt.Sprintf("An earlier command of this step failed too (Job %s); the output is that of the last one", res.Job)
			if err := tx.AddStepNote(ctx, call.StepID, line); err != nil {
				return err
			}
		}
		if err := tx.SetStepOutput(ctx, call.StepID, res.Output, res.Cut); err != nil {
			return err
		}
		return task.AddEvent(ctx, tx, s.Task, task.StepChanged)
	})
}

// noteOn adds a line to a step from outside its own work.
func (r *Reconciler) noteOn(ctx context.Context, s Snapshot, stepID int64, line string) {
	err := r.Store.InTx(ctx, func(tx *store.Tx) error {
		if err := tx.AddStepNote(ctx, stepID, line); err != nil {
			return err
		}
		return task.AddEvent(ctx, tx, s.Task, task.StepChanged)
	})
	if err != nil {
		r.Log.WarnContext(ctx, "a line for a step was lost", "step", stepID, "line", line, "error", err)
	}
}

// envOf is the environment that the team set on a component in the new configuration, in
// the order of names.
func envOf(c spec.ContextComponent) []kube.EnvVar {
	var out []kube.EnvVar
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		v := kube.EnvVar{Name: name}
		switch e := c.Env[name]; {
		case e.SecretRef != nil:
			v.SecretName, v.SecretKey = e.SecretRef.Name, e.SecretRef.Key
		case e.Value != nil:
			v.Value = *e.Value
		}
		out = append(out, v)
	}
	return out
}

func readArgs(call slipway.ActionCall, into any) error {
	if err := json.Unmarshal(call.Args, into); err != nil {
		return &slipway.Error{Kind: slipway.Invalid, Msg: fmt.Sprintf("the arguments of %s cannot be read: %v", call.Primitive, err), Err: err}
	}
	return nil
}
