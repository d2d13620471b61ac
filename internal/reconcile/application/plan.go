package application

import (
	"slices"

	"slipway.dev/slipway/internal/slipway"
)

// Act names how a phase is carried out. Each has one function in this package.
type Act string

const (
	ActCheck  Act = "check"  // everything that can be known before anything changes
	ActHook   Act = "hook"   // the actions of one mode
	ActApply  Act = "apply"  // the chart, through Helm
	ActReady  Act = "ready"  // wait for the workloads
	ActStop   Act = "stop"   // components, and wait until no pod is left
	ActStart  Act = "start"  // components, and wait until they are ready
	ActRemove Act = "remove" // the release and everything that we made beside it
	ActPurge  Act = "purge"  // the rows of what is gone

	// A repair's own.
	ActLook          Act = "look"           // whether there is something to repair to
	ActPutBack       Act = "put-back"       // what differs from what was applied
	ActBackReady     Act = "back-ready"     // wait for what was applied
	ActBackupBefore  Act = "backup-before"  // a backup as a task of its own, before an upgrade
	ActBackupCheck   Act = "backup-check"   // everything that can be known before a backup
	ActBackupStop    Act = "backup-stop"    // components whose files must not change meanwhile
	ActBackupStart   Act = "backup-start"   // what the task has stopped
	ActBackup        Act = "backup"         // the data of one component
	ActBackupRecord  Act = "backup-record"  // the backup is complete
	ActBackupPrune   Act = "backup-prune"   // backups that retention gives up
	ActBackupSweep   Act = "backup-sweep"   // what a failed backup left in the location
	ActBackupForget  Act = "backup-forget"  // one backup that a person gives up
	ActRestoreCheck  Act = "restore-check"  // everything that can be known before a restore
	ActRestoreVerify Act = "restore-verify" // the checksums of every file
	ActRestoreStop   Act = "restore-stop"   // everything that writes
	ActRestore       Act = "restore"        // the data of one component

	// A runner application's own.
	ActRunnersCheck  Act = "runners-check"  // everything that can be known before the cluster is touched
	ActRunnersSpace  Act = "runners-space"  // the namespace, its quota and its network policies
	ActRunnersPools  Act = "runners-pools"  // the pools go on by themselves
	ActRunnersDrain  Act = "runners-drain"  // wait until every slot is closed
	ActRunnersRemove Act = "runners-remove" // the namespace and everything in it
	ActRunnersPurge  Act = "runners-purge"  // the rows of what is gone
)

// Phase is one step of a task before it has run.
type Phase struct {
	Key  string // the step's key, unique within its task
	Name string // the step's name, as people read it
	Act  Act
	Hook slipway.Hook // for ActHook
	Mode slipway.Mode

	Component string // for ActBackup and ActRestore
}

// Next is what Plan says: carry out a phase, or end the task.
type Next struct {
	Do  *Phase
	End slipway.TaskState // set when Do is nil
	Why string            // the error of a task that failed
}

// Plan says what to do next for one task. It calls nobody: the same snapshot always gives
// the same answer.
//
// The phases of a task stand in a fixed order, and the next one is the first that has not
// succeeded, in this task or in one that it retries. A step that is still running was left by a process that died, or is ours: its
// phase comes again, and finds what it had begun. A step that failed ends the task, so the
// phases after it never start.
func Plan(s Snapshot) Next {
	for _, st := range s.Steps {
		switch st.State {
		case slipway.StepFailed:
			return s.end(Next{End: slipway.Failed, Why: st.Error})
		case slipway.StepCancelled:
			return s.end(Next{End: slipway.Cancelled})
		}
	}
	if s.Cancel {
		return s.end(Next{End: slipway.Cancelled})
	}
	for _, p := range Phases(s) {
		if s.done(p.Key) {
			continue
		}
		return Next{Do: &p}
	}
	return Next{End: slipway.Succeeded}
}

// Phases lists what a task goes through, in order. The page shows those that have no step
// yet in grey.
func Phases(s Snapshot) []Phase {
	if s.Application.Kind == slipway.RunnerApplication {
		return s.runnerPhases()
	}
	check := Phase{Key: "check", Name: "Check the change", Act: ActCheck}
	apply := Phase{Key: "apply", Name: "Apply the configuration", Act: ActApply}
	ready := Phase{Key: "ready", Name: "Wait until it is ready", Act: ActReady}
	switch s.Task.Kind {
	case slipway.InstallTask:
		apply.Name = "Install the chart"
		return concat(
			one(check),
			s.hook(slipway.Setup, slipway.Pre, slipway.StepSetupPre),
			one(apply, ready),
			s.hook(slipway.Setup, slipway.Post, slipway.StepSetupPost),
		)
	case slipway.UpgradeTask:
		return s.move(slipway.Upgrade, slipway.StepUpgradePre, slipway.StepUpgradeCore, slipway.StepUpgradePost, check, apply, ready)
	case slipway.RollbackTask:
		return s.move(slipway.Rollback, slipway.StepRollbackPre, slipway.StepRollbackCore, slipway.StepRollbackPost, check, apply, ready)
	case slipway.ConfigureTask:
		return one(check, apply, ready)
	case slipway.VersionTask:
		apply.Name = "Apply the new version"
		return one(apply, ready)
	case slipway.StopTask:
		return one(Phase{Key: "stop", Name: "Stop the components", Act: ActStop})
	case slipway.StartTask:
		return one(Phase{Key: "start", Name: "Start the components", Act: ActStart})
	case slipway.RepairTask:
		return one(
			Phase{Key: "check", Name: "Check the change", Act: ActLook},
			Phase{Key: "apply", Name: "Put back what drifted", Act: ActPutBack},
			Phase{Key: "ready", Name: "Wait until it is ready", Act: ActBackReady},
		)
	case slipway.BackupTask:
		return s.backupPhases()
	case slipway.RestoreTask:
		return s.restorePhases()
	case slipway.ForgetTask:
		return one(Phase{Key: "forget", Name: "Delete the files", Act: ActBackupForget})
	case slipway.DeleteTask:
		return one(
			Phase{Key: "remove", Name: "Remove the release", Act: ActRemove},
			Phase{Key: "purge", Name: "Close the record", Act: ActPurge},
		)
	}
	return nil
}

// move is the way to another version, forward or back. Its core always runs: without an
// action of the driver it is the change of version itself, and the hook's phase carries
// that out.
func (s Snapshot) move(h slipway.Hook, pre, core, post string, check, apply, ready Phase) []Phase {
	coreKey := "hook." + string(h) + ".core"
	return concat(
		one(check),
		s.backupBefore(h),
		s.hook(h, slipway.Pre, pre),
		one(Phase{Key: coreKey, Name: core, Act: ActHook, Hook: h, Mode: slipway.Core}),
		s.restOfMove(h, coreKey, apply, ready),
		s.hook(h, slipway.Post, post),
	)
}

// restOfMove is what the core left to do. A core action changes the version by a task
// of its own, which applies the whole new configuration; when there was nothing to change
// in the version, such as for a new driver alone, nobody has applied it yet.
//
// Once such a step was opened it stays in the list, or a restart after it had applied
// would lose the wait that follows.
//
// A core that is repeated finds the version changed by the attempt before it, which may
// have failed while it waited. Unless a task of this attempt has changed the version, and
// so waited, both steps come.
func (s Snapshot) restOfMove(h slipway.Hook, core string, apply, ready Phase) []Phase {
	_, begun := s.step(apply.Key)
	switch {
	case begun, s.Task.Resume.Done[apply.Key] != 0, !s.done(core), !s.applied():
		return one(apply, ready)
	case s.Task.Attempt > 1 && s.Task.Resume.Done[core] == 0 && !s.Moved && s.Application.Applied == s.Wanted.Number &&
		len(s.acting().Spec.ActionsOf(h, slipway.Core)) > 0:
		return one(apply, ready)
	}
	return nil
}

// hook is the phase of a mode that has actions, and nothing for one that has none.
func (s Snapshot) hook(h slipway.Hook, m slipway.Mode, name string) []Phase {
	if len(s.acting().Spec.ActionsOf(h, m)) == 0 {
		return nil
	}
	return one(Phase{Key: "hook." + string(h) + "." + string(m), Name: name, Act: ActHook, Hook: h, Mode: m})
}

func one(p ...Phase) []Phase { return p }

func concat(p ...[]Phase) []Phase { return slices.Concat(p...) }

// MayBegin says whether a root task may begin: the changes of one application run in
// order, one at a time, unless its change asked to overtake. earlier tells whether an
// earlier root task is not over. The tasks that an action starts run beside their root.
func MayBegin(t slipway.Task, overtake, earlier bool) bool {
	return overtake || !earlier || !t.Root()
}
