package application

import (
	"context"
	"fmt"
	"strings"
	"time"

	"slipway.dev/slipway/internal/outside/kube"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
	"slipway.dev/slipway/internal/task"
)

// Runners is what an installation says of all its runner applications.
type Runners struct {
	AllowEgress []string // networks that runners may reach although they are private
	DNS         []string // name servers beside the cluster's own
	Mirror      bool     // runners may reach the installation's mirror of Docker Hub
}

// The phases of a runner application are few: what its pools do they do by themselves,
// from rows that stand since the change was accepted.
func (s Snapshot) runnerPhases() []Phase {
	switch s.Task.Kind {
	case slipway.InstallTask, slipway.ConfigureTask:
		return one(
			Phase{Key: "check", Name: "Check the change", Act: ActRunnersCheck},
			Phase{Key: "namespace", Name: "Prepare the namespace", Act: ActRunnersSpace},
			Phase{Key: "pools", Name: "Hand over to the pools", Act: ActRunnersPools},
		)
	case slipway.DeleteTask:
		return one(
			Phase{Key: "drain", Name: "Wait until no runner is left", Act: ActRunnersDrain},
			Phase{Key: "remove", Name: "Remove the namespace", Act: ActRunnersRemove},
			Phase{Key: "purge", Name: "Close the record", Act: ActRunnersPurge},
		)
	}
	return nil
}

func (r *Reconciler) actOnRunners(ctx context.Context, w *work, p Phase) error {
	switch p.Act {
	case ActRunnersCheck:
		return r.runnersCheck(ctx, w)
	case ActRunnersSpace:
		return r.runnersSpace(ctx, w)
	case ActRunnersPools:
		return r.runnersPools(ctx, w)
	case ActRunnersDrain:
		return r.runnersDrain(ctx, w)
	case ActRunnersRemove:
		return r.runnersRemove(ctx, w)
	case ActRunnersPurge:
		return r.runnersPurge(ctx, w)
	}
	return fmt.Errorf("a runner application has no phase %s", p.Act)
}

// runnersCheck finds out what can be known before the cluster is touched: that it answers,
// and that the secrets are still there.
func (r *Reconciler) runnersCheck(ctx context.Context, w *work) error {
	s := w.snap
	if _, err := r.Cluster.Version(ctx); err != nil {
		return err
	}
	// Only that they can be opened: the pools open them when they call the forge.
	_, _, err := r.secretValues(ctx, s.Application, s.Wanted.Spec)
	return err
}

// runnersSpace prepares the namespace for every pool that has, or may have, runners in it:
// also for those that are going.
func (r *Reconciler) runnersSpace(ctx context.Context, w *work) error {
	var pools []slipway.RunnerPool
	err := r.Store.Read(ctx, func(tx *store.Tx) (err error) {
		pools, err = tx.RunnerPoolsOf(ctx, w.snap.Application.ID)
		return err
	})
	if err != nil {
		return bookErr(err)
	}
	return r.Cluster.PrepareRunners(ctx, r.runnerSpace(w.snap.Application, pools))
}

func (r *Reconciler) runnerSpace(app slipway.Application, pools []slipway.RunnerPool) kube.RunnerSpace {
	space := kube.RunnerSpace{Application: app, AllowEgress: r.Runners.AllowEgress, DNS: r.Runners.DNS, Mirror: r.Runners.Mirror}
	for _, p := range pools {
		space.Pools = append(space.Pools, kube.RunnerShare{Spec: p.Spec, Slots: p.Spec.Replicas})
	}
	return space
}

// runnersPools records the revision as applied, and wakes the pools. A later change has
// written the rows of the pools anew already, and its revision is the one that counts.
func (r *Reconciler) runnersPools(ctx context.Context, w *work) error {
	s := w.snap
	return w.write(func(ctx context.Context, tx *store.Tx) error {
		app, err := tx.Application(ctx, s.Application.ID)
		if err != nil {
			return err
		}
		if app.Applied < s.Wanted.Number {
			if err := tx.SetApplicationApplied(ctx, app.ID, store.Applied{Revision: s.Wanted.Number}); err != nil {
				return err
			}
		}
		if err := r.wakePools(ctx, tx, app.ID); err != nil {
			return err
		}
		return tx.AddEvent(ctx, applicationEvent(s))
	})
}

func (r *Reconciler) wakePools(ctx context.Context, tx *store.Tx, applicationID int64) error {
	pools, err := tx.RunnerPoolsOf(ctx, applicationID)
	if err != nil {
		return err
	}
	for _, p := range pools {
		if err := r.Queue.Enqueue(ctx, tx, task.WakeUp{Noun: slipway.WakePool, ID: p.ID}); err != nil {
			return err
		}
	}
	return nil
}

// drainEvery is how often the slots are looked at while their ends are awaited.
const drainEvery = 2 * time.Second

// runnersDrain waits until every slot of the pools is closed. How long that takes is up to
// the forge and the cluster; what keeps it is told on the step, and an administrator can
// give it up.
func (r *Reconciler) runnersDrain(ctx context.Context, w *work) error {
	if err := w.write(func(ctx context.Context, tx *store.Tx) error { return r.wakePools(ctx, tx, w.snap.Application.ID) }); err != nil {
		return err
	}
	told := ""
	for {
		var left []slipway.Slot
		err := r.Store.Read(ctx, func(tx *store.Tx) (err error) {
			left, err = openSlots(ctx, tx, w.snap.Application.ID)
			return err
		})
		if err != nil {
			return bookErr(err)
		}
		if len(left) == 0 {
			return nil
		}
		if text := leftText(left, w.snap.Application); text != told {
			if err := w.note(text); err != nil {
				return err
			}
			told = text
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(drainEvery):
		}
	}
}

func openSlots(ctx context.Context, tx *store.Tx, applicationID int64) (out []slipway.Slot, err error) {
	pools, err := tx.RunnerPoolsOf(ctx, applicationID)
	if err != nil {
		return nil, err
	}
	for _, p := range pools {
		open, err := tx.OpenSlots(ctx, p.ID)
		if err != nil {
			return nil, err
		}
		out = append(out, open...)
	}
	return out, nil
}

// leftText says which runners are left, and what keeps the first one that something keeps.
// It holds no number of attempts: each new text is a new line.
func leftText(left []slipway.Slot, app slipway.Application) string {
	text := "1 runner is left"
	if len(left) > 1 {
		text = fmt.Sprintf("%d runners are left", len(left))
	}
	for _, s := range left {
		if s.Failure != "" {
			return fmt.Sprintf("%s; %s is %s: %s · an administrator can give them up with  slipway runners forget %s",
				text, s.Runner, s.State, strings.TrimSuffix(s.Failure, "."), app.Ref())
		}
	}
	return text
}

// runnersRemove takes the namespace off the cluster. One of which somebody gave the
// runners up may hold their pods; they go with it.
func (r *Reconciler) runnersRemove(ctx context.Context, w *work) error {
	return r.Cluster.RemoveRunners(ctx, w.snap.Application)
}

// runnersPurge closes the application's record, which frees its name, and drops its pools
// with their slots. It fails while a slot is open.
func (r *Reconciler) runnersPurge(ctx context.Context, w *work) error {
	return w.write(func(ctx context.Context, tx *store.Tx) error {
		pools, err := tx.RunnerPoolsOf(ctx, w.snap.Application.ID)
		if err != nil {
			return err
		}
		for _, p := range pools {
			if err := tx.DeleteRunnerPool(ctx, p.ID); err != nil {
				return err
			}
		}
		return tx.MarkApplicationDeleted(ctx, w.snap.Application.ID)
	})
}
