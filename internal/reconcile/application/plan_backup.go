package application

import (
	"slices"
	"strings"

	"slipway.dev/slipway/internal/slipway"
)

// backupBefore is the backup that the configuration asks for before an upgrade. It comes
// before the hooks, so that its failure stops the upgrade while nothing has changed.
func (s Snapshot) backupBefore(h slipway.Hook) []Phase {
	if b := s.Wanted.Spec.Backup; h != slipway.Upgrade || b == nil || !b.BeforeUpgrade || s.From == nil {
		return nil
	}
	return one(Phase{Key: "backup", Name: "Back up before the upgrade", Act: ActBackupBefore})
}

// backupPhases is what a backup goes through. A backup is complete when its record says so,
// which is after everything that could show that it is not.
func (s Snapshot) backupPhases() []Phase {
	var stop, start, prune []Phase
	if slices.ContainsFunc(s.Driver.Spec.BackedUp(), func(c slipway.BackedUp) bool { return c.Backup.Stop }) {
		stop = one(Phase{Key: "stop", Name: "Stop the components", Act: ActBackupStop})
		start = one(startAgain)
	}
	if b := s.Wanted.Spec.Backup; b != nil && (b.KeepLast > 0 || b.KeepDays > 0) {
		prune = one(Phase{Key: "prune", Name: "Remove old backups", Act: ActBackupPrune})
	}
	return concat(
		one(Phase{Key: "check", Name: "Check the backup", Act: ActBackupCheck}),
		s.hook(slipway.BackupHook, slipway.Pre, slipway.StepBackupPre),
		stop,
		s.eachComponent("backup", "Back up ", ActBackup, s.hook(slipway.BackupHook, slipway.Core, slipway.StepBackupCore)),
		start,
		s.hook(slipway.BackupHook, slipway.Post, slipway.StepBackupPost),
		one(Phase{Key: "record", Name: "Record the backup", Act: ActBackupRecord}),
		prune,
	)
}

var startAgain = Phase{Key: "start", Name: "Start the components", Act: ActBackupStart}

// restorePhases is what a restore goes through. Whatever can be wrong with the backup is
// found before anything stops.
func (s Snapshot) restorePhases() []Phase {
	var verify []Phase
	if len(s.Backup.Files) > 0 {
		verify = one(Phase{Key: "verify", Name: "Check the files of the backup", Act: ActRestoreVerify})
	}
	return concat(
		one(Phase{Key: "check", Name: "Check the restore", Act: ActRestoreCheck}),
		verify,
		s.hook(slipway.RestoreHook, slipway.Pre, slipway.StepRestorePre),
		one(Phase{Key: "stop", Name: "Stop the components", Act: ActRestoreStop}),
		s.eachComponent("restore", "Restore ", ActRestore, s.hook(slipway.RestoreHook, slipway.Core, slipway.StepRestoreCore)),
		one(startAgain),
		s.hook(slipway.RestoreHook, slipway.Post, slipway.StepRestorePost),
	)
}

// eachComponent is a phase for each component in the driver's order. The actions of the
// hook's core do their components at once, where the first of them stands.
func (s Snapshot) eachComponent(key, verb string, act Act, core []Phase) []Phase {
	var out []Phase
	for _, c := range s.Driver.Spec.BackedUp() {
		if c.Backup.Kind.ByAction() {
			out, core = append(out, core...), nil
			continue
		}
		out = append(out, Phase{Key: key + "." + c.Name, Name: verb + c.Name, Act: act, Component: c.Name})
	}
	return append(out, core...)
}

// end is how a task ends that did not succeed. A backup first starts what it has stopped,
// and takes away what it has left: neither may outlast it. Each of the two is tried once.
func (s Snapshot) end(next Next) Next {
	if s.Task.Kind != slipway.BackupTask {
		return next
	}
	tried := func(key string) bool {
		st, ok := s.step(key)
		return ok && st.State != slipway.StepRunning
	}
	if _, stopped := s.step("stop"); stopped && !tried(startAgain.Key) {
		return Next{Do: &startAgain}
	}
	moved := slices.ContainsFunc(s.Steps, func(st slipway.Step) bool { return strings.HasPrefix(st.Key, "backup.") })
	complete := s.Backup.State == slipway.BackupComplete
	if sweep := (Phase{Key: "sweep", Name: "Remove what was left", Act: ActBackupSweep}); moved && !complete && !tried(sweep.Key) {
		return Next{Do: &sweep}
	}
	return next
}
