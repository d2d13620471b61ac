package application

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"slipway.dev/slipway/internal/outside/prefect"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/spec"
	"slipway.dev/slipway/internal/store"
	"slipway.dev/slipway/internal/task"
)

// await waits for the end of an action's process, and judges it by the state that the
// action reported to Prefect.
func (r *Reconciler) await(ctx context.Context, w *work, a slipway.Action, run slipway.ActionRun) error {
	process := processOf(run)
	if process.Known() {
		process.Output = filepath.Join(r.runDir(run), "output.log")
	}
	o := prefect.WaitOptions{Alive: r.aliveOn(run)}
	if !run.StartedAt.IsZero() {
		o.Deadline = run.StartedAt.Add(timeoutOf(a))
	}
	out, err := r.Runner.Wait(ctx, run.FlowRunID, process, o)
	if errors.Is(context.Cause(ctx), task.ErrCancelled) {
		return r.endRun(ctx, w, run, process)
	}
	if err != nil {
		return err
	}
	run.State, run.EndedAt = strings.ToLower(string(out.State)), r.Store.Now()
	if err := w.write(func(ctx context.Context, tx *store.Tx) error { return tx.UpdateActionRun(ctx, run) }); err != nil {
		return err
	}
	defer r.tidy(run)
	if out.State == prefect.Completed {
		return nil
	}
	if _, err := r.Cluster.DeleteJob(ctx, w.snap.Application, spec.HelmRelease(w.snap.Application.Name), run.FlowRunID); err != nil {
		r.Log.WarnContext(ctx, "the Job of a failed action may still run", "flow_run", run.FlowRunID, "error", err)
	}
	return verdict(a, out, r.redactor(ctx, w.snap.Application, w.snap.Wanted.Spec, w.token))
}

// verdict is a failed action in words. They are the action's own, so they are redacted, and
// only then cut: half a secret is no longer known for one.
func verdict(a slipway.Action, out prefect.Outcome, redact func(string) string) error {
	out.Message, out.FirstError = cutText(redact(out.Message), maxMessage), shortLog(redact(out.FirstError))
	switch {
	case out.Expired:
		return failed("the action %s did not end within %s", a.Name, timeoutOf(a))
	case out.Crashed && out.FirstError != "" && out.FirstError != out.Message: // our own word may be the first
		return failed("the action crashed: %s. First error in its log: %s", strings.TrimSuffix(out.Message, "."), out.FirstError)
	case out.Crashed:
		return failed("the action crashed: %s", out.Message)
	case out.State == prefect.Cancelled:
		return failed("the action %s was cancelled in Prefect", a.Name)
	}
	message := out.Message
	// Prefect puts the exception's type before its text; for ours the text says it all.
	message = strings.TrimPrefix(message, "ActionError: ")
	if message == "" {
		message = "the action failed without a message"
	}
	return &slipway.Error{Kind: slipway.Conflict, Msg: message}
}

// What a step's error quotes: of a log, and of an exception's text.
const (
	maxLogLine = 4 << 10
	maxMessage = 16 << 10
)

// shortLog keeps the first line of a record and, of a traceback, the last one, which has
// the exception.
func shortLog(record string) string {
	record = strings.TrimSpace(record)
	first, rest, more := strings.Cut(record, "\n")
	if !more {
		return cutText(first, maxLogLine)
	}
	lines := strings.Split(strings.TrimSpace(rest), "\n")
	return cutText(first+" … "+strings.TrimSpace(lines[len(lines)-1]), maxLogLine)
}

func cutText(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}

// endRun ends the process, the flow run and the Job of an action whose task was cancelled.
func (r *Reconciler) endRun(ctx context.Context, w *work, run slipway.ActionRun, process prefect.Process) error {
	// The task's own context is over, and what is begun here must be finished.
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Minute)
	defer stop()
	// Both at once: a process and a command that do not obey each take their time to be killed.
	job := make(chan error, 1)
	deleteJob := func() error {
		_, err := r.Cluster.DeleteJob(ctx, w.snap.Application, spec.HelmRelease(w.snap.Application.Name), run.FlowRunID)
		return err
	}
	go func() { job <- deleteJob() }()
	var err error
	if run.FlowRunID != "" { // else it was only intended: nobody was asked to run it
		if err = r.Runner.Cancel(ctx, run.FlowRunID, process); err != nil {
			err = fmt.Errorf("end the action %s: %w", run.Action, err)
		}
	}
	// Once more, for a Job that was about to be made at that moment.
	if jobErr := errors.Join(<-job, deleteJob()); jobErr != nil {
		err = errors.Join(err, fmt.Errorf("end the Job of the action %s: %w", run.Action, jobErr))
	}
	if err != nil {
		return err
	}
	run.State, run.EndedAt = "cancelled", r.Store.Now()
	if err := w.write(func(ctx context.Context, tx *store.Tx) error { return tx.UpdateActionRun(ctx, run) }); err != nil {
		return err
	}
	r.tidy(run)
	return task.ErrCancelled
}

// endRuns ends what a task that is over has left running: the process that was asked to
// cancel it may have died before its action had ended.
func (w *work) endRuns(ctx context.Context) error {
	for _, step := range w.snap.Steps {
		for _, run := range step.Runs {
			if !run.EndedAt.IsZero() || w.r.NoRunner != nil || w.r.NoCluster != nil {
				continue
			}
			process := processOf(run)
			if err := w.r.endRun(ctx, w, run, process); !errors.Is(err, task.ErrCancelled) {
				return err
			}
		}
	}
	return nil
}

// tidy removes the folder of a run that is over. It holds the action's raw output, which
// may hold secrets.
func (r *Reconciler) tidy(run slipway.ActionRun) {
	if err := os.RemoveAll(r.runDir(run)); err != nil {
		r.Log.Warn("the folder of an action stays behind", "folder", r.runDir(run), "error", err)
	}
}

// silentAfter is how long the Slipway that owns an action on another machine may be silent
// before the action counts as gone.
const silentAfter = time.Minute

// aliveOn answers whether the machine of a run still has a Slipway that beats. It is asked
// about runs of other machines only.
func (r *Reconciler) aliveOn(run slipway.ActionRun) func() bool {
	if run.Host == "" {
		return nil
	}
	lost := time.Time{}
	return func() bool {
		ctx, stop := context.WithTimeout(context.Background(), 5*time.Second)
		defer stop()
		var beating bool
		err := r.Store.Read(ctx, func(tx *store.Tx) error {
			replicas, err := tx.Replicas(ctx)
			for _, other := range replicas {
				beating = beating || other.Host == run.Host && tx.Now.Sub(other.SeenAt) < silentAfter
			}
			return err
		})
		if err != nil || beating {
			lost = time.Time{} // when the database is away nothing is known
			return true
		}
		if lost.IsZero() {
			lost = time.Now()
		}
		return time.Since(lost) < silentAfter
	}
}
