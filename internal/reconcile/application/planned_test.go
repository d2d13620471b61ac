package application

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/view"
)

// The pages foretell the steps of a task from a list of their own, since they may not see
// the reconcilers. World: pure.
func TestPagesForetellThePhases(t *testing.T) {
	t.Parallel()
	for _, kind := range []slipway.TaskKind{
		slipway.InstallTask, slipway.UpgradeTask, slipway.ConfigureTask, slipway.DeleteTask,
		slipway.RepairTask, slipway.RollbackTask, slipway.StopTask, slipway.StartTask, slipway.VersionTask,
	} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			var want, got []string
			for _, p := range Phases(Snapshot{Task: slipway.Task{Kind: kind}, Driver: everyHook, Wanted: slipway.Revision{Number: 1}}) {
				want = append(want, p.Key+": "+p.Name)
			}
			for _, p := range view.Planned(slipway.DriverApplication, kind, everyHook.Spec, nil) {
				got = append(got, p.Key+": "+p.Name)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("view.Planned() (-the reconciler's +the pages'):\n%s", diff)
			}
		})
	}
}

// World: pure.
func TestPagesForetellThePhasesOfARunnerApplication(t *testing.T) {
	t.Parallel()
	for _, kind := range []slipway.TaskKind{slipway.InstallTask, slipway.ConfigureTask, slipway.DeleteTask} {
		var want, got []string
		for _, p := range Phases(Snapshot{Task: slipway.Task{Kind: kind}, Application: slipway.Application{Kind: slipway.RunnerApplication}}) {
			want = append(want, p.Key+": "+p.Name)
		}
		for _, p := range view.Planned(slipway.RunnerApplication, kind, slipway.DriverSpec{}, nil) {
			got = append(got, p.Key+": "+p.Name)
		}
		if diff := cmp.Diff(want, got); diff != "" || len(want) != 3 {
			t.Errorf("%s: view.Planned() (-the reconciler's +the pages'):\n%s", kind, diff)
		}
	}
}
