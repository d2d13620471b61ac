package author

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"slipway.dev/slipway/internal/outside/prefect"
	"slipway.dev/slipway/internal/reconcile/application"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/spec"
)

// taskRun is one task of a story.
type taskRun struct {
	*story
	snap   application.Snapshot
	from   string
	frozen spec.GlobalContext
	result TaskResult
	step   *StepResult
}

// brokenStage marks an error of the stage itself, which says nothing of the driver.
type brokenStage struct{ err error }

func (b *brokenStage) Error() string { return b.err.Error() }
func (b *brokenStage) Unwrap() error { return b.err }

func asBroken(err error, into **brokenStage) bool { return errors.As(err, into) }

// phases asks the reconciler's plan what comes next until it says that it is over.
func (w *taskRun) phases(ctx context.Context) error {
	for {
		w.snap.Application.Applied, w.snap.Application.AppVersion = w.cluster.applied, w.cluster.version
		next := application.Plan(w.snap)
		if next.Do == nil {
			return nil
		}
		w.result.Steps = append(w.result.Steps, StepResult{Name: next.Do.Name, State: slipway.StepSucceeded})
		w.step = &w.result.Steps[len(w.result.Steps)-1]
		err := w.act(ctx, *next.Do)
		state := slipway.StepSucceeded
		if err != nil {
			state = slipway.StepFailed
		}
		w.step.State = state
		w.snap.Steps = append(w.snap.Steps, slipway.Step{Key: next.Do.Key, Name: next.Do.Name, State: state})
		if err != nil {
			return err // the plan would say: failed
		}
	}
}

func (w *taskRun) act(ctx context.Context, p application.Phase) error {
	switch p.Act {
	case application.ActCheck:
		return w.check()
	case application.ActHook:
		return w.hook(ctx, p)
	case application.ActApply:
		return w.cluster.apply(ctx, w.frozen, w.revision)
	case application.ActReady:
		return nil // at once
	}
	return &brokenStage{fmt.Errorf("a test cannot play the step %q", p.Name)}
}

// check finds out what can be known before anything changes, and freezes the context.
func (w *taskRun) check() (err error) {
	if err := w.preview.check(); err != nil {
		return err
	}
	if err := spec.UpgradeAllowed(w.preview.Spec, w.from, w.preview.App.App.Version); err != nil {
		return err
	}
	w.frozen, err = w.preview.context(contextChange{
		kind: w.snap.Task.Kind, task: w.snap.Task.ID, number: w.revision, revision: w.revision, from: w.from, stopped: w.cluster.stopped,
	})
	if err != nil {
		return err
	}
	_, err = spec.Values(w.preview.Bundle, w.preview.Spec, w.frozen)
	return err
}

// hook runs the actions of one mode, as the reconciler does.
func (w *taskRun) hook(ctx context.Context, p application.Phase) error {
	actions := w.preview.Spec.ActionsOf(p.Hook, p.Mode)
	if len(actions) == 0 {
		// The core of an upgrade without an action of its own is the change of version.
		if err := w.cluster.apply(ctx, w.frozen, w.revision); err != nil {
			return err
		}
		if play := w.cluster.play(slipway.ChangeVersion, []string{w.preview.App.App.Version}); play != nil && play.Fails != "" {
			return slipway.Errorf(slipway.Conflict, "%s", play.Fails)
		}
		return nil
	}
	actions = application.InOrder(actions, w.snap.Task.ID, p.Key)
	for i, a := range actions {
		if err := w.action(ctx, a); err != nil {
			return application.NotStarted(err, actions[i+1:])
		}
	}
	target := w.preview.App.App.Version
	if p.Hook == slipway.Upgrade && p.Mode == slipway.Core && w.cluster.version != target {
		return application.NotReached(w.cluster.version, target)
	}
	return nil
}

// version answers upgrade_deployment_version.
func (w *taskRun) version(ctx context.Context) func(string, *Call) *failure {
	wanted := w.preview.App.App.Version
	return func(target string, call *Call) *failure {
		target = strings.TrimSpace(target)
		if code, text := slipway.MayChangeVersion(w.snap.Task.Kind, target); code != "" {
			return &failure{code, text, ""}
		}
		if w.cluster.applied > 0 && w.cluster.version == target {
			call.Result = map[string]any{"already": target}
			return nil
		}
		if code, text := slipway.LeadsTo(w.snap.Task.Kind, target, wanted); code != "" {
			return &failure{code, text, ""}
		}
		call.Task = w.cluster.nextTask()
		if err := w.cluster.apply(ctx, w.frozen, w.revision); err != nil {
			return childFailed(slipway.VersionTask, call.Task, message(err))
		}
		if play := w.cluster.play(slipway.ChangeVersion, []string{target}); play != nil && play.Fails != "" {
			return childFailed(slipway.VersionTask, call.Task, play.Fails)
		}
		call.Result = map[string]any{"task": call.Task}
		return nil
	}
}

// action runs one action in Python.
func (w *taskRun) action(ctx context.Context, a slipway.Action) error {
	rehearsal, err := w.python(ctx)
	if err != nil {
		return &brokenStage{err}
	}
	w.runs++
	dir := filepath.Join(w.work, "run-"+strconv.Itoa(w.runs))
	file := filepath.Join(dir, "context.json")
	document, err := w.frozen.ForAction(a, int64(len(w.result.Steps)), 1).JSON()
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err == nil {
		err = os.WriteFile(file, document, 0o600)
	}
	if err != nil {
		return &brokenStage{fmt.Errorf("write the context of the action %s: %w", a.Name, err)}
	}
	digest := sha256.Sum256(document)
	r := &running{
		cluster: w.cluster, frozen: w.frozen, kind: w.snap.Task.Kind, token: "slw_" + rand.Text(), version: w.version(ctx),
		task: fmt.Sprintf("%s task %d", w.snap.Task.Kind, w.snap.Task.ID),
	}
	w.door.open(r)
	began := time.Now()
	out, err := rehearsal.Run(ctx, prefect.Launch{
		Action: prefect.Action{
			Dir: w.dir, File: a.File, Function: a.Function,
			Params: application.Arguments(w.snap, a, "sha256:"+hex.EncodeToString(digest[:])),
		},
		RunDir: dir,
		Env: map[string]string{
			"SLIPWAY_TOKEN": r.token, "STYRMIN_TOKEN": r.token, "SLIPWAY_URL": rehearsal.URL(),
			"SLIPWAY_STEP": strconv.Itoa(len(w.result.Steps)), "SLIPWAY_TASK": strconv.FormatInt(w.snap.Task.ID, 10),
			"SLIPWAY_CONTEXT_FILE": file,
		},
	}, w.preview.App.Name+" "+a.Name, w.o.Limit)
	w.door.close()
	if err != nil {
		return &brokenStage{err}
	}
	result := ActionResult{
		Name: a.Name, Location: a.File + "::" + a.Function, Events: events(r.calls, out.Logs), Output: printed(out.Output),
		Unknown: append(r.unknown, out.Unknown...), Took: time.Since(began),
	}
	err = nil
	switch {
	case out.Expired:
		err = slipway.Errorf(slipway.Conflict, "the action %s did not end within %s", a.Name, w.o.Limit).
			WithHint("a test ends an action early; a longer limit is given by --timeout")
	case out.State != prefect.Completed:
		err = application.Verdict(a, out.Outcome, func(s string) string { return strings.ReplaceAll(s, r.token, "<redacted>") })
		result.Where = w.where(out)
	}
	if err != nil {
		result.Error = message(err)
	}
	w.step.Actions = append(w.step.Actions, result)
	return err
}

// events merges calls and log by time. What Prefect says of every run is left out.
func events(calls []Call, logs []prefect.LogRecord) []Event {
	type dated struct {
		at time.Time
		Event
	}
	var all []dated
	for i := range calls {
		all = append(all, dated{calls[i].At, Event{Call: &calls[i]}})
	}
	for _, l := range logs {
		if !prefectsOwn.MatchString(l.Message) {
			all = append(all, dated{l.At, Event{Level: level(l.Level), Log: l.Message}})
		}
	}
	slices.SortStableFunc(all, func(a, b dated) int { return a.at.Compare(b.at) })
	out := make([]Event, len(all))
	for i, e := range all {
		out[i] = e.Event
	}
	return out
}

var prefectsOwn = regexp.MustCompile(`^(Beginning flow run |View at http|Finished in state |Encountered exception during execution: |Created (sub)?flow run |Executing )`)

func level(n int) string {
	switch {
	case n >= 50:
		return "critical"
	case n >= 40:
		return "error"
	case n >= 30:
		return "warning"
	case n >= 20:
		return "info"
	}
	return "debug"
}

var logLine = regexp.MustCompile(`^\d\d:\d\d:\d\d\.\d{3} \| `)

// printed is what the action printed itself: its output without the log's own lines, which
// stand in the log. A traceback in it belongs to a log line.
func printed(output string) string {
	var out []string
	inTraceback := false
	for _, line := range strings.Split(strings.TrimRight(output, "\n"), "\n") {
		switch {
		case logLine.MatchString(line):
			inTraceback = strings.Contains(line, "| ERROR")
		case inTraceback:
		default:
			out = append(out, line)
		}
	}
	return strings.Join(out, "\n")
}

// where finds the last line of the driver's own in the traceback of a failed action.
func (w *taskRun) where(out prefect.Rehearsed) string {
	last := ""
	for _, m := range frame.FindAllStringSubmatch(out.Output, -1) {
		if rel, ok := strings.CutPrefix(m[1], w.dir+string(filepath.Separator)); ok {
			last = filepath.ToSlash(rel) + ":" + m[2]
		}
	}
	return last
}

var frame = regexp.MustCompile(`File "([^"]+)", line (\d+)`)
