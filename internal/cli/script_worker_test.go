package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// worker plays a reconciler in the background: "worker succeeds" or "worker fails" takes
// the next task that waits and writes what a real one would.
func worker(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 || args[0] != "succeeds" && args[0] != "fails" {
		ts.Fatalf("usage: worker succeeds|fails")
	}
	p := &player{store: ts.Value(storeKey{}).(*store.Store), fails: args[0] == "fails"}
	ctx, stop := context.WithTimeout(context.Background(), 30*time.Second)
	ended := make(chan error, 1)
	go func() { ended <- p.play(ctx) }()
	ts.Defer(func() {
		stop()
		if err := <-ended; err != nil {
			ts.Logf("the worker: %v", err)
		}
	})
}

// player writes the life of one task.
type player struct {
	store *store.Store
	fails bool
	task  slipway.Task
	epoch int64
}

func (p *player) play(ctx context.Context) error {
	for p.task.ID == 0 {
		if err := p.write(ctx, func(tx *store.Tx) error {
			l, err := tx.Tasks(ctx, store.TaskFilter{State: slipway.Queued}, store.Page{})
			if err != nil || len(l.Items) == 0 {
				return err
			}
			p.task = l.Items[len(l.Items)-1]
			p.epoch, err = tx.ClaimTask(ctx, p.task.ID, "script")
			return err
		}); err != nil {
			return err
		}
		pause(ctx)
	}
	if err := p.step(ctx, "check", "Check the change", nil); err != nil {
		return err
	}
	if p.fails {
		return p.failInTheHook(ctx)
	}
	if err := p.step(ctx, "apply", "Install the chart", nil); err != nil {
		return err
	}
	return p.write(ctx, func(tx *store.Tx) error {
		app, err := tx.Application(ctx, p.task.ApplicationID)
		if err != nil {
			return err
		}
		if p.task.Kind == slipway.StartTask {
			if err := tx.ClearComponentStopped(ctx, app.ID, "worker"); err != nil {
				return err
			}
		} else if rev, err := tx.Revision(ctx, app.ID, app.Revision); err != nil {
			return err
		} else if err := tx.SetApplicationApplied(ctx, app.ID, store.Applied{
			Revision: rev.Number, AppVersion: rev.Spec.App.Version, DriverName: rev.Spec.Driver.Name, DriverVersion: rev.Spec.Driver.Version,
		}); err != nil {
			return err
		}
		return tx.FinishTask(ctx, p.task.ID, p.epoch, store.TaskEnd{State: slipway.Succeeded})
	})
}

// failInTheHook is the story that the design tells: a hook stops a component, and fails.
func (p *player) failInTheHook(ctx context.Context) error {
	const why = `the command "guestbook migrate" failed with exit code 1 (Job guestbook-action)`
	err := p.step(ctx, "hook.upgrade.core", slipway.StepUpgradeCore, func(tx *store.Tx, s slipway.Step) (string, error) {
		child, err := tx.CreateTask(ctx, slipway.Task{
			Kind: slipway.StopTask, Title: "stop worker of guestbook", ApplicationID: p.task.ApplicationID, ParentStepID: s.ID, RequestedBy: slipway.ActionsUser,
		})
		if err != nil {
			return "", err
		}
		epoch, err := tx.ClaimTask(ctx, child.ID, "script")
		if err != nil {
			return "", err
		}
		if err := tx.FinishTask(ctx, child.ID, epoch, store.TaskEnd{State: slipway.Succeeded}); err != nil {
			return "", err
		}
		if err := tx.SetComponentStopped(ctx, p.task.ApplicationID, "worker", p.task.ID); err != nil {
			return "", err
		}
		out := ""
		for i := range 14 {
			out += fmt.Sprintf("line %d\n", i+1)
		}
		return why, tx.SetStepOutput(ctx, s.ID, out+"12:03:41 column \"author\" already exists\n", true)
	})
	if err != nil {
		return err
	}
	return p.write(ctx, func(tx *store.Tx) error {
		return tx.FinishTask(ctx, p.task.ID, p.epoch, store.TaskEnd{State: slipway.Failed, Error: why})
	})
}

// step opens a step, and closes it in another transaction, so that watchers see both.
func (p *player) step(ctx context.Context, key, name string, during func(*store.Tx, slipway.Step) (failure string, err error)) error {
	var s slipway.Step
	if err := p.write(ctx, func(tx *store.Tx) (err error) {
		s, err = tx.OpenStep(ctx, p.task.ID, p.epoch, key, name)
		return err
	}); err != nil {
		return err
	}
	pause(ctx)
	return p.write(ctx, func(tx *store.Tx) (err error) {
		state, why := slipway.StepSucceeded, ""
		if during != nil {
			if why, err = during(tx, s); err != nil {
				return err
			}
		}
		if why != "" {
			state = slipway.StepFailed
		}
		return tx.CloseStep(ctx, s.ID, p.epoch, state, why)
	})
}

// write changes the database and says so, as package task does.
func (p *player) write(ctx context.Context, f func(*store.Tx) error) error {
	return p.store.InTx(ctx, func(tx *store.Tx) error {
		if err := f(tx); err != nil || p.task.ID == 0 {
			return err
		}
		return tx.AddEvent(ctx, slipway.Event{Kind: "task.changed", Noun: "task", NounID: p.task.ID, Project: "shop", Environment: "dev"})
	})
}

func pause(ctx context.Context) {
	select {
	case <-time.After(50 * time.Millisecond):
	case <-ctx.Done():
	}
}
