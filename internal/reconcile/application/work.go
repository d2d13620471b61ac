package application

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"slipway.dev/slipway/internal/outside/kube"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
	"slipway.dev/slipway/internal/task"
)

// work is one claimed task while this process holds it.
type work struct {
	r     *Reconciler
	run   *task.Run
	snap  Snapshot
	step  *task.Step // the phase that is being carried out
	token string     // of the actions of this reconciliation; never stored
}

// Task carries one task as far as it goes now. It is a handler of package task.
func (r *Reconciler) Task(ctx context.Context, id int64) (again time.Duration, err error) {
	snap, err := r.read(ctx, id)
	if err != nil || snap.Task.State.Over() {
		return 0, err
	}
	var earlier bool
	err = r.Store.Read(ctx, func(tx *store.Tx) (err error) {
		_, earlier, err = tx.EarlierRoot(ctx, snap.Application.ID, id)
		return err
	})
	if err != nil {
		return 0, err
	}
	if !MayBegin(snap.Task, snap.Change.Overtake, earlier) {
		return 30 * time.Second, nil // the end of the earlier task wakes this one; the time is for a lost wake-up
	}
	run, err := r.Journal.Claim(ctx, id)
	if err != nil {
		return 0, err
	}
	defer run.Close()
	w := &work{r: r, run: run, snap: snap}
	if err := w.carryOn(); err != nil {
		// Also when another has the task by now: the queue knows a stale write, and looks again.
		return 0, fmt.Errorf("carry on with task %d: %w", id, err)
	}
	return 0, nil
}

// carryOn is the loop: snapshot, Plan, act, record, and again.
func (w *work) carryOn() error {
	if w.snap.Task.Root() && w.snap.changes() {
		if err := w.sayChanging(); err != nil {
			return err
		}
	}
	ctx := w.run.Context()
	for {
		if ctx.Err() != nil {
			if !w.run.Cancelled() {
				return context.Cause(ctx) // this process is being stopped; the next one carries on
			}
			// The end was asked for; what follows must be written all the same.
			ctx = context.WithoutCancel(ctx) //nolint:fatcontext // once: the new one never ends
		}
		snap, err := w.r.read(ctx, w.snap.Task.ID)
		if err != nil {
			return err
		}
		w.snap = snap
		next := Plan(snap)
		if next.Do == nil {
			if err := w.endRuns(ctx); err != nil {
				return err
			}
			return w.finish(ctx, next)
		}
		if err := w.phase(ctx, *next.Do); err != nil {
			return err
		}
	}
}

// sayChanging shows on the application what is going on.
func (w *work) sayChanging() error {
	s := w.snap
	state := slipway.AppChanging
	if s.Task.Kind == slipway.DeleteTask {
		state = slipway.AppDeleting
	}
	return w.write(func(ctx context.Context, tx *store.Tx) error {
		if err := tx.SetApplicationState(ctx, s.Application.ID, state, fmt.Sprintf("%s (task %d)", s.Task.Title, s.Task.ID)); err != nil {
			return err
		}
		return tx.AddEvent(ctx, applicationEvent(s))
	})
}

// phase carries out one phase as one step.
func (w *work) phase(ctx context.Context, p Phase) error {
	step, err := w.run.Step(p.Key, p.Name)
	if err != nil {
		return err
	}
	w.step = step
	err = w.patiently(ctx, p)
	if err != nil && interrupted(ctx, err) {
		return err // the step stays open and is taken up later
	}
	if err == nil {
		return step.Close(slipway.StepSucceeded, "")
	}
	ctx = context.WithoutCancel(ctx)
	if errors.Is(err, task.ErrCancelled) || w.run.Cancelled() {
		return step.Close(slipway.StepCancelled, "cancelled by "+w.cancelledBy(ctx))
	}
	redact := w.r.redactor(ctx, w.snap.Application, w.snap.Wanted.Spec, w.token)
	w.r.Log.WarnContext(ctx, "a step failed", "task", w.snap.Task.ID, "step", p.Key, "error", redact(err.Error()))
	text, hint := words(err, redact)
	if hint != "" {
		if err := step.Note(hint); err != nil {
			return err
		}
	}
	return step.Close(slipway.StepFailed, text)
}

// patience is how long a phase puts up with an API server that does not answer. Control
// planes are restarted and upgraded; a task that fails in that minute fails for nothing.
const patience = 2 * time.Minute

// patiently carries out a phase, and again while the cluster is away: each phase may be
// repeated. The check is the exception: whoever asked is still there to hear of it.
func (w *work) patiently(ctx context.Context, p Phase) error {
	var since time.Time
	for {
		err := w.act(ctx, p)
		if !kube.Away(err) || p.Key == "check" || w.r.NoCluster != nil || w.r.NoRunner != nil || ctx.Err() != nil {
			return err
		}
		if since.IsZero() {
			since = time.Now()
			w.r.Log.WarnContext(ctx, "the cluster does not answer; the step waits", "task", w.snap.Task.ID, "step", p.Key, "error", err)
		}
		if time.Since(since) > patience {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(2 * time.Second):
		}
	}
}

// act calls the function of a phase.
func (w *work) act(ctx context.Context, p Phase) error {
	if err := w.r.NoCluster; err != nil && p.Act != ActPurge && p.Act != ActRunnersDrain && p.Act != ActRunnersPurge {
		return err
	}
	switch p.Act {
	case ActCheck:
		return w.r.check(ctx, w)
	case ActHook:
		return w.r.hook(ctx, w, p)
	case ActApply:
		return w.r.apply(ctx, w)
	case ActReady:
		return w.r.ready(ctx, w)
	case ActStop:
		return w.r.stop(ctx, w)
	case ActStart:
		return w.r.start(ctx, w)
	case ActRemove:
		return w.r.remove(ctx, w)
	case ActPurge:
		return w.r.purge(ctx, w)
	case ActLook:
		return w.r.look(ctx, w)
	case ActPutBack:
		return w.r.putBack(ctx, w)
	case ActBackReady:
		return w.r.backReady(ctx, w)
	}
	if w.snap.Application.Kind == slipway.RunnerApplication {
		return w.r.actOnRunners(ctx, w, p)
	}
	return w.r.actOnBackup(ctx, w, p)
}

func (w *work) cancelledBy(ctx context.Context) string {
	now, err := w.r.read(context.WithoutCancel(ctx), w.snap.Task.ID)
	if err != nil || now.Task.CancelledBy == "" {
		return "somebody"
	}
	return now.Task.CancelledBy
}

// write is a transaction of whoever holds the task: it fails as stale when that is no
// longer us.
func (w *work) write(f func(ctx context.Context, tx *store.Tx) error) error {
	return bookErr(w.run.Write(f))
}

// note adds a line to the step that is being carried out.
func (w *work) note(text string) error { return bookErr(w.step.Note(text)) }

// finish ends the task: its result, the tokens of its actions, the state of the
// application, and the wake-up of who waited, in one transaction.
func (w *work) finish(ctx context.Context, next Next) error {
	s := w.snap
	end := store.TaskEnd{State: next.End, Error: next.Why}
	if next.End == slipway.Cancelled {
		end.Error = "cancelled by " + s.Task.CancelledBy
	}
	var state kube.RecordState
	var message string
	err := w.run.Write(func(ctx context.Context, tx *store.Tx) error {
		result, err := gather(ctx, tx, s)
		if err != nil {
			return err
		}
		end.Hint = result.hint(s.Task, next.End, s.Application.Ref())
		if err := w.endBackup(ctx, tx, &end); err != nil {
			return err
		}
		if end.Result, err = json.Marshal(result); err != nil {
			return err
		}
		if err := tx.FinishTask(ctx, s.Task.ID, w.run.Task.Epoch, end); err != nil {
			return err
		}
		if err := w.r.Tokens.RevokeTaskTokens(ctx, tx, s.Task.ID); err != nil {
			return err
		}
		if s.Task.Root() && s.changes() {
			if state, message, err = w.settle(ctx, tx, end, result); err != nil {
				return err
			}
		}
		if err := w.endChildren(ctx, tx); err != nil {
			return err
		}
		if err := w.lookAtSchedule(ctx, tx); err != nil {
			return err
		}
		return w.wakeOthers(ctx, tx)
	})
	if err != nil {
		return err
	}
	if state != "" {
		w.tellCluster(ctx, state, message)
	}
	return nil
}

// settle writes what people read first about the application, after its root task.
func (w *work) settle(ctx context.Context, tx *store.Tx, end store.TaskEnd, result Result) (kube.RecordState, string, error) {
	s := w.snap
	if s.Task.Kind == slipway.DeleteTask && end.State == slipway.Succeeded {
		return "", "", tx.AddEvent(ctx, applicationEvent(s))
	}
	app, err := tx.Application(ctx, s.Application.ID)
	if err != nil {
		return "", "", err
	}
	state, record := slipway.AppRunning, kube.RecordReady
	var message string
	if end.State != slipway.Succeeded {
		state, record = slipway.AppFailed, kube.RecordFailed
		message = fmt.Sprintf("%s %s (task %d)", s.Task.Title, end.State, s.Task.ID)
		if app.AppVersion != "" {
			message += "; the cluster has " + app.AppVersion
		}
	}
	if why := unreached(app); s.Task.Kind == slipway.RepairTask && end.State == slipway.Succeeded && why != "" {
		state, record, message = slipway.AppFailed, kube.RecordFailed, why
	}
	if len(result.Stopped) > 0 {
		message = strings.TrimPrefix(message+"; "+stoppedSentence(result.Stopped), "; ")
	}
	if err := tx.SetApplicationState(ctx, app.ID, state, message); err != nil {
		return "", "", err
	}
	if app.Kind == slipway.RunnerApplication {
		// Its pools watch over what it has on the cluster, and no record of it is there.
		return "", "", tx.AddEvent(ctx, applicationEvent(s))
	}
	// What runs on the cluster may be another now: have it looked at.
	if err := w.r.Queue.Enqueue(ctx, tx, task.WakeUp{Noun: slipway.WakeDrift, ID: app.ID}); err != nil {
		return "", "", err
	}
	return record, message, tx.AddEvent(ctx, applicationEvent(s))
}

// endChildren asks for the end of what the task's actions started and nobody waits for any
// more.
func (w *work) endChildren(ctx context.Context, tx *store.Tx) error {
	if !w.snap.Task.Root() {
		return nil
	}
	children, err := tx.ChildTasks(ctx, w.snap.Task.ID)
	if err != nil {
		return err
	}
	for _, c := range children {
		if c.State.Over() {
			continue
		}
		if _, err := task.RequestCancel(ctx, tx, c.ID, slipway.System().UserName); err != nil && !errors.Is(err, store.ErrStale) {
			return err
		}
		if c.Kind == slipway.BackupTask {
			// Its root carried it out, and nobody else was woken for it.
			if err := w.r.Queue.Enqueue(ctx, tx, task.WakeUp{Noun: NounTask, ID: c.ID, Nested: true}); err != nil {
				return err
			}
		}
	}
	return nil
}

// wakeOthers wakes the next root task of the application, and the call that waits for a
// child.
func (w *work) wakeOthers(ctx context.Context, tx *store.Tx) error {
	later, err := tx.LaterRoots(ctx, w.snap.Application.ID, w.snap.Task.ID)
	if err != nil {
		return err
	}
	for _, t := range later {
		if err := w.r.Queue.Enqueue(ctx, tx, task.WakeUp{Noun: NounTask, ID: t.ID}); err != nil {
			return err
		}
	}
	calls, err := tx.CallsOfChild(ctx, w.snap.Task.ID)
	if err != nil {
		return err
	}
	for _, c := range calls {
		if err := w.r.Queue.Enqueue(ctx, tx, task.WakeUp{Noun: NounCall, ID: c.ID, Priority: task.Urgent, Nested: true}); err != nil {
			return err
		}
	}
	return nil
}

// tellCluster writes the outcome on the in-cluster record. The rows are the truth; a
// cluster that does not answer now hears it with the next change.
func (w *work) tellCluster(ctx context.Context, state kube.RecordState, message string) {
	ctx, stop := context.WithTimeout(ctx, 30*time.Second)
	defer stop()
	now, err := w.r.read(ctx, w.snap.Task.ID)
	if err == nil {
		number := w.snap.Change.Number
		if number == 0 { // a stop, a start: it says how the change fares that is there
			number, err = w.r.changeOnCluster(ctx, now.Application)
		}
		status := kube.RecordStatus{Change: number, State: state, Message: message, Version: now.Application.AppVersion}
		if status.Message == "" {
			status.Message = w.snap.Task.Title
		}
		if err == nil {
			err = w.r.Cluster.SetRecordStatus(ctx, now.Application, status)
		}
	}
	var newer *kube.ErrNewer
	if errors.As(err, &newer) {
		return // the record is a later change's, which this one leaves alone
	}
	if err != nil && !slipway.Is(err, slipway.NotFound) {
		w.r.Log.WarnContext(ctx, "the cluster's record was not updated", "application", w.snap.Application.Ref(), "error", err)
	}
}

// changeOnCluster is the number of the change whose revision the cluster has.
func (r *Reconciler) changeOnCluster(ctx context.Context, app slipway.Application) (number int64, err error) {
	err = r.Store.Read(ctx, func(tx *store.Tx) error {
		for page := (store.Page{Limit: store.MaxLimit}); ; {
			list, err := tx.Changes(ctx, app.ID, page)
			if err != nil {
				return err
			}
			for _, c := range list.Items {
				if c.Revision == app.Applied && c.Revision != 0 {
					number = c.Number
					return nil
				}
			}
			if page.After = list.Next; page.After == "" {
				return nil
			}
		}
	})
	return number, err
}

func applicationEvent(s Snapshot) slipway.Event {
	return slipway.Event{
		Kind: "application.changed", Noun: "application", NounID: s.Application.ID,
		Project: s.Application.Project, Environment: s.Application.Environment,
	}
}
