package application

import (
	"slices"
	"testing"

	"slipway.dev/slipway/internal/slipway"
)

// World: pure.
func TestBackupPlan(t *testing.T) {
	t.Parallel()
	driver := slipway.DriverSpec{
		Components: map[string]slipway.Component{
			"database": {Backup: &slipway.ComponentBackup{Kind: slipway.BackupPostgres, Order: 10}},
			"files":    {Backup: &slipway.ComponentBackup{Kind: slipway.BackupDisk, Order: 30, Stop: true}},
			"graph":    {Backup: &slipway.ComponentBackup{Kind: slipway.BackupAction, Order: 20}},
			"web":      {},
		},
		Actions: []slipway.Action{
			{Name: "quiesce", Hook: slipway.BackupHook, Mode: slipway.Pre},
			{Name: "dump_graph", Hook: slipway.BackupHook, Mode: slipway.Core},
			{Name: "load_graph", Hook: slipway.RestoreHook, Mode: slipway.Core},
		},
	}
	keys := func(ps []Phase) (out []string) {
		for _, p := range ps {
			out = append(out, p.Key)
		}
		return out
	}
	of := func(kind slipway.TaskKind) Snapshot {
		s := Snapshot{Task: slipway.Task{Kind: kind}, Driver: slipway.Driver{Spec: driver}}
		s.Wanted.Spec.Backup = &slipway.BackupConfig{Location: "nightly", KeepLast: 7}
		s.Backup = slipway.Backup{State: slipway.BackupTaking}
		return s
	}
	backup := of(slipway.BackupTask)
	want := []string{"check", "hook.backup.pre", "stop", "backup.database", "hook.backup.core", "backup.files", "start", "record", "prune"}
	if got := keys(Phases(backup)); !slices.Equal(got, want) {
		t.Errorf("a backup goes through %q, want %q", got, want)
	}
	restore := of(slipway.RestoreTask)
	restore.Backup.Files = []slipway.BackupFile{{Name: "database/database.dump"}}
	want = []string{"check", "verify", "stop", "restore.database", "hook.restore.core", "restore.files", "start"}
	if got := keys(Phases(restore)); !slices.Equal(got, want) {
		t.Errorf("a restore goes through %q, want %q", got, want)
	}
	upgrade := Snapshot{Task: slipway.Task{Kind: slipway.UpgradeTask}, From: &slipway.Revision{}}
	upgrade.Wanted.Spec.Backup = &slipway.BackupConfig{BeforeUpgrade: true}
	if got := keys(Phases(upgrade)); got[0] != "check" || got[1] != "backup" {
		t.Errorf("an upgrade with before_upgrade begins with %q", got[:2])
	}

	step := func(key string, state slipway.StepState) slipway.Step {
		return slipway.Step{Key: key, State: state, Error: "boom"}
	}
	const ok, bad, cut = slipway.StepSucceeded, slipway.StepFailed, slipway.StepCancelled
	for _, tc := range []struct {
		name  string
		snap  Snapshot
		steps []slipway.Step
		do    string
		end   slipway.TaskState
	}{
		{"a failed check ends it", backup, []slipway.Step{step("check", bad)}, "", slipway.Failed},
		{"what was stopped is started although a copy failed", backup, []slipway.Step{step("stop", ok), step("backup.database", bad)}, "start", ""},
		{"then what was copied is removed", backup, []slipway.Step{step("stop", ok), step("backup.database", bad), step("start", ok)}, "sweep", ""},
		{"a start that fails is not tried for ever", backup, []slipway.Step{step("stop", ok), step("backup.database", bad), step("start", bad)}, "sweep", ""},
		{"then it has failed", backup, []slipway.Step{step("stop", ok), step("backup.database", bad), step("start", bad), step("sweep", bad)}, "", slipway.Failed},
		{"a cancelled one cleans up too", backup, []slipway.Step{step("stop", ok), step("backup.database", cut)}, "start", ""},
		{"a stop that failed half-way is made good", backup, []slipway.Step{step("stop", bad)}, "start", ""},
		{"a failed restore stops where it is: its data is neither old nor new", restore, []slipway.Step{step("stop", ok), step("restore.database", bad)}, "", slipway.Failed},
	} {
		s := tc.snap
		s.Steps = tc.steps
		next := Plan(s)
		do := ""
		if next.Do != nil {
			do = next.Do.Key
		}
		if do != tc.do || next.End != tc.end {
			t.Errorf("%s: Plan() = %q %q, want %q %q", tc.name, do, next.End, tc.do, tc.end)
		}
	}
	complete := backup
	complete.Backup.State = slipway.BackupComplete
	complete.Steps = []slipway.Step{step("stop", ok), step("backup.database", ok), step("start", ok), step("record", ok), step("prune", bad)}
	if next := Plan(complete); next.Do != nil || next.End != slipway.Failed {
		t.Errorf("a complete backup is swept away: %+v", next)
	}
}
