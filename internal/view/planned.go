package view

import (
	"context"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// PlannedStep is a step that will run if those before it succeed.
type PlannedStep struct {
	Key     string // as slipway.Step's
	Name    string
	Actions []string
	Maybe   bool // runs only when an earlier step has not done its work: apply, after a core action
}

func plannedSteps(ctx context.Context, tx *store.Tx, p TaskPage) ([]PlannedStep, error) {
	if p.Task.State.Over() {
		return nil, nil
	}
	var d slipway.Driver
	if p.Change.Revision > 0 {
		rev, err := tx.Revision(ctx, p.Change.ApplicationID, p.Change.Revision)
		if err != nil {
			return nil, err
		}
		if d, err = driverOf(ctx, tx, rev); err != nil {
			return nil, err
		}
	}
	return Planned(p.Task.Kind, d.Spec, p.Steps), nil
}

// Planned says which steps of a task are still to come. It only foretells: the reconciler
// alone decides, and what it does differently shows as soon as it has done it. Keys and
// names are the reconciler's.
func Planned(kind slipway.TaskKind, d slipway.DriverSpec, done []Step) []PlannedStep {
	all := wholePlan(kind, d)
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

func wholePlan(kind slipway.TaskKind, d slipway.DriverSpec) []PlannedStep {
	check := PlannedStep{Key: "check", Name: "Check the change"}
	apply := PlannedStep{Key: "apply", Name: "Apply the configuration"}
	ready := PlannedStep{Key: "ready", Name: "Wait until it is ready"}
	var all []PlannedStep
	hook := func(h slipway.Hook, m slipway.Mode, name string, always bool) {
		var actions []string
		for _, a := range d.ActionsOf(h, m) {
			actions = append(actions, a.Name)
		}
		if always || len(actions) > 0 {
			all = append(all, PlannedStep{Key: "hook." + string(h) + "." + string(m), Name: name, Actions: actions})
		}
	}
	switch kind {
	case slipway.InstallTask:
		apply.Name = "Install the chart"
		all = append(all, check)
		hook(slipway.Setup, slipway.Pre, slipway.StepSetupPre, false)
		all = append(all, apply, ready)
		hook(slipway.Setup, slipway.Post, slipway.StepSetupPost, false)
	case slipway.UpgradeTask:
		// The core changes the version, by itself or by a task that its action starts; apply
		// and ready do what it has left undone.
		apply.Maybe, ready.Maybe = true, true
		all = append(all, check)
		hook(slipway.Upgrade, slipway.Pre, slipway.StepUpgradePre, false)
		hook(slipway.Upgrade, slipway.Core, slipway.StepUpgradeCore, true)
		all = append(all, apply, ready)
		hook(slipway.Upgrade, slipway.Post, slipway.StepUpgradePost, false)
	case slipway.ConfigureTask:
		all = append(all, check, apply, ready)
	case slipway.VersionTask:
		apply.Name = "Apply the new version"
		all = append(all, apply, ready)
	case slipway.StopTask:
		all = append(all, PlannedStep{Key: "stop", Name: "Stop the components"})
	case slipway.StartTask:
		all = append(all, PlannedStep{Key: "start", Name: "Start the components"})
	case slipway.DeleteTask:
		all = append(all, PlannedStep{Key: "remove", Name: "Remove the release"}, PlannedStep{Key: "purge", Name: "Close the record"})
	}
	return all
}
