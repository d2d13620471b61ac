package view

import (
	"context"
	"maps"
	"slices"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// PlannedStep is a step that will run if those before it succeed.
type PlannedStep = slipway.PlannedStep

func plannedSteps(ctx context.Context, tx *store.Tx, p TaskPage) ([]PlannedStep, error) {
	if p.Task.State.Over() {
		return nil, nil
	}
	var d slipway.Driver
	if p.Change.Revision > 0 {
		number := p.Change.Revision
		if p.Change.Kind == slipway.RollbackChange {
			number = p.Change.FromRevision // the driver that is left behind runs its actions
		}
		rev, err := tx.Revision(ctx, p.Change.ApplicationID, number)
		if err != nil {
			return nil, err
		}
		if d, err = driverOf(ctx, tx, rev); err != nil {
			return nil, err
		}
	}
	planned := Planned(p.Application.Kind, p.Task.Kind, d.Spec, p.Steps)
	return slices.DeleteFunc(planned, func(s PlannedStep) bool { return p.Task.Resume.Done[s.Key] != 0 }), nil
}

// KeptStep is a step that an attempt before this one has done, and that is not repeated.
type KeptStep struct {
	Key  string
	Name string
	Task int64 // that did it
}

// kept lists what a retry takes over, in the order in which it ran. The steps have their
// names from the tasks that did them.
func kept(ctx context.Context, tx *store.Tx, t slipway.Task) ([]KeptStep, error) {
	var out []KeptStep
	seen := map[int64]bool{}
	for _, id := range slices.Sorted(maps.Values(t.Resume.Done)) {
		if seen[id] {
			continue
		}
		seen[id] = true
		steps, err := tx.Steps(ctx, id)
		if err != nil {
			return nil, err
		}
		for _, s := range steps {
			if t.Resume.Done[s.Key] == id && s.State == slipway.StepSucceeded {
				out = append(out, KeptStep{Key: s.Key, Name: s.Name, Task: id})
			}
		}
	}
	return out, nil
}

// Planned says which steps of a task are still to come. It only foretells: the reconciler
// alone decides, and what it does differently shows as soon as it has done it. Keys and
// names are the reconciler's.
func Planned(of slipway.ApplicationKind, kind slipway.TaskKind, d slipway.DriverSpec, done []Step) []PlannedStep {
	all := slipway.PlannedSteps(of, kind, d)
	// Steps run in the order of the plan, so what stands before the last one that has begun
	// will not come any more.
	begun := -1
	for i, p := range all {
		for _, s := range done {
			if s.Key == p.Key {
				begun = i
			}
		}
	}
	rest := all[begun+1:]
	for i := range rest {
		// Once the chart is being applied, the wait that follows is certain.
		if begun >= 0 && all[begun].Key == "apply" && rest[i].Key == "ready" {
			rest[i].Maybe = false
		}
	}
	return rest
}
