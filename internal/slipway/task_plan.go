package slipway

// PlannedStep is a step that a task will have if those before it succeed.
type PlannedStep struct {
	Key     string // as Step's
	Name    string
	Hook    Hook // of a step that runs a mode of a hook
	Mode    Mode
	Actions []string
	Maybe   bool // runs only when an earlier step has not done its work: apply, after a core action
}

// CheckStep is the key of the step that looks before anything changes.
const CheckStep = "check"

// PlannedSteps lists the steps of a whole task of an application, in order; of a driver
// application for the driver whose actions its hooks run. It only foretells: the reconciler alone decides, and a test holds the two to
// the same keys and names.
func PlannedSteps(of ApplicationKind, kind TaskKind, d DriverSpec) []PlannedStep {
	if of == RunnerApplication {
		return runnerSteps(kind)
	}
	check := PlannedStep{Key: CheckStep, Name: "Check the change"}
	apply := PlannedStep{Key: "apply", Name: "Apply the configuration"}
	ready := PlannedStep{Key: "ready", Name: "Wait until it is ready"}
	var all []PlannedStep
	hook := func(h Hook, m Mode, name string, always bool) {
		var actions []string
		for _, a := range d.ActionsOf(h, m) {
			actions = append(actions, a.Name)
		}
		if always || len(actions) > 0 {
			all = append(all, PlannedStep{Key: "hook." + string(h) + "." + string(m), Name: name, Hook: h, Mode: m, Actions: actions})
		}
	}
	switch kind {
	case InstallTask:
		apply.Name = "Install the chart"
		all = append(all, check)
		hook(Setup, Pre, StepSetupPre, false)
		all = append(all, apply, ready)
		hook(Setup, Post, StepSetupPost, false)
	case UpgradeTask:
		// The core changes the version, by itself or by a task that its action starts; apply
		// and ready do what it has left undone.
		apply.Maybe, ready.Maybe = true, true
		all = append(all, check)
		hook(Upgrade, Pre, StepUpgradePre, false)
		hook(Upgrade, Core, StepUpgradeCore, true)
		all = append(all, apply, ready)
		hook(Upgrade, Post, StepUpgradePost, false)
	case RollbackTask:
		apply.Maybe, ready.Maybe = true, true
		all = append(all, check)
		hook(Rollback, Pre, StepRollbackPre, false)
		hook(Rollback, Core, StepRollbackCore, true)
		all = append(all, apply, ready)
		hook(Rollback, Post, StepRollbackPost, false)
	case ConfigureTask:
		all = append(all, check, apply, ready)
	case VersionTask:
		apply.Name = "Apply the new version"
		all = append(all, apply, ready)
	case StopTask:
		all = append(all, PlannedStep{Key: "stop", Name: "Stop the components"})
	case StartTask:
		all = append(all, PlannedStep{Key: "start", Name: "Start the components"})
	case RepairTask:
		apply.Name = "Put back what drifted"
		all = append(all, check, apply, ready)
	case DeleteTask:
		all = append(all, PlannedStep{Key: "remove", Name: "Remove the release"}, PlannedStep{Key: "purge", Name: "Close the record"})
	}
	return all
}

// runnerSteps are those of a runner application. Its tasks are short: the pools work on by
// themselves.
func runnerSteps(kind TaskKind) []PlannedStep {
	switch kind {
	case InstallTask, ConfigureTask:
		return []PlannedStep{
			{Key: CheckStep, Name: "Check the change"},
			{Key: "namespace", Name: "Prepare the namespace"},
			{Key: "pools", Name: "Hand over to the pools"},
		}
	case DeleteTask:
		return []PlannedStep{
			{Key: "drain", Name: "Wait until no runner is left"},
			{Key: "remove", Name: "Remove the namespace"},
			{Key: "purge", Name: "Close the record"},
		}
	}
	return nil
}
