package application

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"slipway.dev/slipway/internal/outside/prefect"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/spec"
	"slipway.dev/slipway/internal/store"
)

// hook runs the actions of one mode, one after another. The order within a mode is not
// defined, so it is shuffled by the task's number, or authors would come to rely on it.
// One that fails keeps the others from starting.
func (r *Reconciler) hook(ctx context.Context, w *work, p Phase) error {
	actions := w.snap.acting().Spec.ActionsOf(p.Hook, p.Mode)
	if len(actions) == 0 {
		// The core of an upgrade without an action of its own is the change of version.
		if err := r.apply(ctx, w); err != nil {
			return err
		}
		return r.ready(ctx, w)
	}
	order := shuffled(actions, w.snap.Task.ID, p.Key)
	for i, a := range order {
		if before := w.doneBefore(p, a); before != 0 {
			if err := w.note(fmt.Sprintf("%s was completed in task %d and is not run again", a.Name, before)); err != nil {
				return err
			}
			continue
		}
		if err := r.action(ctx, w, a); err != nil {
			rest := slices.DeleteFunc(order[i+1:], func(a slipway.Action) bool { return w.doneBefore(p, a) != 0 })
			return notStarted(err, rest)
		}
	}
	if p.Hook != slipway.Setup && p.Mode == slipway.Core {
		return r.versionReached(ctx, w)
	}
	return nil
}

// doneBefore is the task in which an action of a repeated mode was completed; 0: none.
func (w *work) doneBefore(p Phase, a slipway.Action) int64 {
	if w.snap.Task.Resume.From != p.Key {
		return 0
	}
	return w.snap.Task.Resume.Actions[a.Name]
}

// shuffled gives the actions of a mode in an order of their own for each task.
func shuffled(actions []slipway.Action, task int64, key string) []slipway.Action {
	sum := sha256.Sum256([]byte(strconv.FormatInt(task, 10) + key))
	source := rand.New(rand.NewPCG(binary.BigEndian.Uint64(sum[:8]), binary.BigEndian.Uint64(sum[8:16]))) //nolint:gosec // an order, not a secret
	out := slices.Clone(actions)
	source.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

func notStarted(err error, rest []slipway.Action) error {
	var e *slipway.Error
	if len(rest) == 0 || !errors.As(err, &e) {
		return err
	}
	var names []string
	for _, a := range rest {
		names = append(names, a.Name)
	}
	more := *e
	more.Msg += fmt.Sprintf(" (not started: %s)", strings.Join(names, ", "))
	return &more
}

// action runs one action to its end, or takes up one that an earlier process began.
func (r *Reconciler) action(ctx context.Context, w *work, a slipway.Action) error {
	if r.NoRunner != nil {
		return r.NoRunner
	}
	select { // many actions at once would starve each other
	case r.seats <- struct{}{}:
		defer func() { <-r.seats }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	run, err := r.intend(ctx, w, a)
	if err != nil {
		return err
	}
	if run.EndedAt.IsZero() {
		if run, err = r.launch(ctx, w, a, run); err != nil {
			return err
		}
	}
	return r.await(ctx, w, a, run)
}

// intend writes down that the action will run, under the key that makes a repeat
// harmless, before anybody outside hears of it.
func (r *Reconciler) intend(ctx context.Context, w *work, a slipway.Action) (run slipway.ActionRun, err error) {
	err = w.write(func(ctx context.Context, tx *store.Tx) error {
		run, err = tx.CreateActionRun(ctx, slipway.ActionRun{StepID: w.step.ID, Action: a.Name, Key: r.runKey(w, a)})
		return err
	})
	return run, err
}

// runKey names one run of an action for good: the installation, because two may share a
// Prefect, then the task, the mode, the action and the attempt. So a retry is a run of its
// own, and never waits for what the attempt before it has left.
func (r *Reconciler) runKey(w *work, a slipway.Action) string {
	return fmt.Sprintf("%s/task-%d/%s/%s/%s/%d", r.Installation.ID, w.snap.Task.ID, a.Hook, a.Mode, a.Name, w.snap.Task.Attempt)
}

func (r *Reconciler) runDir(run slipway.ActionRun) string {
	return filepath.Join(r.RunDir, strconv.FormatInt(run.ID, 10))
}

// launch makes the flow run and starts its process, unless one was started before.
func (r *Reconciler) launch(ctx context.Context, w *work, a slipway.Action, run slipway.ActionRun) (slipway.ActionRun, error) {
	if began, err := r.Runner.Began(ctx, run.FlowRunID, processOf(run)); err != nil || began {
		return run, err
	}
	bundle, err := r.Bundles.Get(ctx, w.snap.acting().Digest)
	if err != nil {
		return run, err
	}
	document, err := w.contextOf(a)
	if err != nil {
		return run, err
	}
	digest := sha256.Sum256(document)
	act := prefect.Action{
		Flow: w.snap.acting().Name + "." + a.Name, Driver: w.snap.acting().Name, DriverVersion: w.snap.acting().Version,
		DriverDigest: w.snap.acting().Digest, Dir: bundle.Dir, File: a.File, Function: a.Function,
		Params: w.params(a, "sha256:"+hex.EncodeToString(digest[:])),
	}
	if run.FlowRunID == "" {
		id, err := r.ensureRun(ctx, w, act, run)
		if err != nil {
			return run, err
		}
		run.FlowRunID, run.State = id, "scheduled"
		if err := w.write(func(ctx context.Context, tx *store.Tx) error { return tx.UpdateActionRun(ctx, run) }); err != nil {
			return run, err
		}
	}
	dir := r.runDir(run)
	file := filepath.Join(dir, "context.json")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return run, fmt.Errorf("make the folder of the action %s: %w", a.Name, err)
	}
	if err := os.WriteFile(file, document, 0o600); err != nil {
		return run, fmt.Errorf("write the context of the action %s: %w", a.Name, err)
	}
	token, err := r.token(ctx, w)
	if err != nil {
		return run, err
	}
	_, err = r.Runner.Start(ctx, run.FlowRunID, prefect.Launch{
		Action: act, RunDir: dir, Claim: claimOf(run),
		Env: map[string]string{
			"SLIPWAY_TOKEN": token, "STYRMIN_TOKEN": token,
			"SLIPWAY_URL":          strings.Join(r.APIURLs(), ","),
			"SLIPWAY_CA_FILE":      r.CAFile,
			"SLIPWAY_STEP":         strconv.FormatInt(w.step.ID, 10),
			"SLIPWAY_TASK":         strconv.FormatInt(w.snap.Task.ID, 10),
			"SLIPWAY_CONTEXT_FILE": file,
		},
		// Only who holds the task can store it, so of two that think they do one is stopped
		// here, before its process does anything.
		Note: func(_ context.Context, p prefect.Process) error {
			run.Host, run.PID, run.PIDStart = p.Host, p.PID, int64(p.StartTime)
			run.State, run.StartedAt = "running", r.Store.Now()
			return w.write(func(ctx context.Context, tx *store.Tx) error { return tx.UpdateActionRun(ctx, run) })
		},
	})
	if errors.Is(err, prefect.ErrClaimed) {
		// Somebody else's process, or one that is over. Waiting tells which.
		return run, nil
	}
	return run, err
}

// claimOf is the identity of the claim of a run, the same for every process of this
// installation: one that takes the task over claims the run again as its own.
func claimOf(run slipway.ActionRun) string {
	return uuid.NewSHA1(uuid.Nil, []byte(run.Key)).String()
}

func processOf(run slipway.ActionRun) prefect.Process {
	return prefect.Process{Host: run.Host, PID: run.PID, StartTime: uint64(run.PIDStart)}
}

// ensureRun makes the flow run, and waits for Prefect when it is away.
func (r *Reconciler) ensureRun(ctx context.Context, w *work, act prefect.Action, run slipway.ActionRun) (string, error) {
	deadline, cancel := context.WithTimeout(ctx, r.PrefectPatience)
	defer cancel()
	for pause := time.Second; ; pause = min(2*pause, 15*time.Second) {
		id, err := r.Runner.Ensure(deadline, act, prefect.RunSpec{
			Key:    run.Key,
			Name:   fmt.Sprintf("%s %s", w.snap.Application.Name, run.Action),
			Tags:   []string{"application:" + w.snap.Application.Ref(), fmt.Sprintf("task:%d", w.snap.Task.ID)},
			Labels: map[string]string{"task": strconv.FormatInt(w.snap.Task.ID, 10), "step": strconv.FormatInt(w.step.ID, 10)},
		})
		switch {
		case err == nil:
			return id, nil
		case ctx.Err() != nil:
			return "", context.Cause(ctx)
		case !errors.Is(err, prefect.ErrUnreachable) && deadline.Err() == nil:
			return "", err
		case deadline.Err() != nil:
			return "", slipway.Errorf(slipway.Unavailable, "Prefect did not answer for %s, so the action %s was not started", r.PrefectPatience, run.Action).
				WithHint("see that the Prefect server runs, then request the change again")
		}
		r.Log.WarnContext(ctx, "Prefect does not answer; the hook waits", "task", w.snap.Task.ID, "error", err)
		select {
		case <-deadline.Done():
		case <-time.After(pause):
		}
	}
}

// token returns the token of the task's actions, minted once per reconciliation. Its value
// is kept in memory only, so a process that takes over mints one more; all of a task's
// tokens end with it.
func (r *Reconciler) token(ctx context.Context, w *work) (string, error) {
	if w.token != "" {
		return w.token, nil
	}
	var longest time.Duration
	for _, a := range w.snap.acting().Spec.Actions {
		longest += timeoutOf(a)
	}
	err := w.write(func(ctx context.Context, tx *store.Tx) (err error) {
		w.token, err = r.Tokens.MintTaskToken(ctx, tx, w.snap.Task.ID, tx.Now.Add(longest+time.Hour))
		return err
	})
	return w.token, err
}

func timeoutOf(a slipway.Action) time.Duration {
	if a.Timeout > 0 {
		return a.Timeout
	}
	return slipway.DefaultActionTimeout
}

// contextOf is the frozen context of the change with what belongs to this run.
func (w *work) contextOf(a slipway.Action) ([]byte, error) {
	frozen, err := spec.DecodeContext(w.snap.Change.Context)
	if err != nil {
		return nil, err
	}
	frozen.Task.ID = w.snap.Task.ID // a retry's, where the frozen one names the first attempt
	return frozen.ForAction(a, w.step.ID, w.snap.Task.Attempt).JSON()
}

// params are the arguments that the function names. They stand in Prefect's pages, so the
// context is a reference.
func (w *work) params(a slipway.Action, digest string) map[string]any {
	known := map[string]any{
		"context":        map[string]any{"schema": spec.ContextSchema, "ref": fmt.Sprintf("ctx_%d", w.snap.Change.ID), "digest": digest},
		"target_version": w.snap.Wanted.Spec.App.Version,
		"deployment_id":  w.snap.Application.ID,
	}
	if w.snap.From != nil {
		known["current_version"] = w.snap.From.Spec.App.Version
	} else {
		known["current_version"] = nil
	}
	out := map[string]any{}
	for _, name := range a.Parameters {
		if v, ok := known[name]; ok {
			out[name] = v
		}
	}
	return out
}

// versionReached holds the core of an upgrade or a rollback to its word: after it the
// application has the version that the change is about.
func (r *Reconciler) versionReached(ctx context.Context, w *work) error {
	target := w.snap.Wanted.Spec.App.Version
	if w.snap.From == nil || w.snap.From.Spec.App.Version == target {
		return nil
	}
	now, err := r.read(ctx, w.snap.Task.ID)
	if err != nil {
		return bookErr(err)
	}
	if now.Application.AppVersion == target || now.Application.Applied > w.snap.Wanted.Number {
		return nil
	}
	return notReached(w.snap.Task.Kind, now.Application.AppVersion, target)
}

func notReached(kind slipway.TaskKind, now, target string) error {
	return failed("the %s actions ended, but the application is still at %s: no action called upgrade_deployment_version(target_version=%q)", kind, now, target)
}
