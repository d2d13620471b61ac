package application

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"slipway.dev/slipway/internal/slipway"
)

// World: pure.

func driverWith(actions ...slipway.Action) slipway.Driver {
	return slipway.Driver{Spec: slipway.DriverSpec{Actions: actions}}
}

func action(h slipway.Hook, m slipway.Mode) slipway.Action {
	return slipway.Action{Name: string(h) + "-" + string(m), Hook: h, Mode: m}
}

var everyHook = driverWith(
	action(slipway.Setup, slipway.Pre), action(slipway.Setup, slipway.Post),
	action(slipway.Upgrade, slipway.Pre), action(slipway.Upgrade, slipway.Core), action(slipway.Upgrade, slipway.Post),
	action(slipway.Rollback, slipway.Pre), action(slipway.Rollback, slipway.Core), action(slipway.Rollback, slipway.Post),
)

func names(phases []Phase) []string {
	var out []string
	for _, p := range phases {
		out = append(out, p.Name)
	}
	return out
}

func done(keys ...string) []slipway.Step {
	var out []slipway.Step
	for i, k := range keys {
		out = append(out, slipway.Step{Seq: i + 1, Key: k, State: slipway.StepSucceeded})
	}
	return out
}

func TestPhasesStandInTheOrderOfTheReference(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		s    Snapshot
		want []string
	}{
		{"an install without actions", Snapshot{Task: slipway.Task{Kind: slipway.InstallTask}},
			[]string{"Check the change", "Install the chart", "Wait until it is ready"}},
		{"an install with both setup hooks", Snapshot{Task: slipway.Task{Kind: slipway.InstallTask}, Driver: everyHook},
			[]string{"Check the change", "Run the setup pre-hook", "Install the chart", "Wait until it is ready", "Run the setup post-hook"}},
		{"an upgrade whose core action applied the change",
			Snapshot{Task: slipway.Task{Kind: slipway.UpgradeTask}, Driver: everyHook, Application: slipway.Application{Applied: 4},
				Wanted: slipway.Revision{Number: 4}, Steps: done("check", "hook.upgrade.pre", "hook.upgrade.core")},
			[]string{"Check the change", "Run the upgrade pre-hook", "Run the upgrade hook", "Run the upgrade post-hook"}},
		{"a rollback runs the hooks of the driver that is left behind",
			Snapshot{Task: slipway.Task{Kind: slipway.RollbackTask}, Driver: driverWith(action(slipway.Rollback, slipway.Pre)),
				Left: &slipway.Driver{Spec: slipway.DriverSpec{Actions: []slipway.Action{action(slipway.Rollback, slipway.Post)}}}, Wanted: slipway.Revision{Number: 4}},
			[]string{"Check the change", "Run the rollback hook", "Apply the configuration", "Wait until it is ready", "Run the rollback post-hook"}},
		{"a rollback whose core action applied the change",
			Snapshot{Task: slipway.Task{Kind: slipway.RollbackTask}, Driver: everyHook, Application: slipway.Application{Applied: 4},
				Wanted: slipway.Revision{Number: 4}, Steps: done("check", "hook.rollback.pre", "hook.rollback.core")},
			[]string{"Check the change", "Run the rollback pre-hook", "Run the rollback hook", "Run the rollback post-hook"}},
		{"a retry whose core stays done",
			Snapshot{Task: slipway.Task{Kind: slipway.UpgradeTask, Attempt: 2, Resume: slipway.Resume{Done: map[string]int64{"hook.upgrade.pre": 1, "hook.upgrade.core": 1}}},
				Driver: everyHook, Application: slipway.Application{Applied: 4}, Wanted: slipway.Revision{Number: 4}, Steps: done("check")},
			[]string{"Check the change", "Run the upgrade pre-hook", "Run the upgrade hook", "Run the upgrade post-hook"}},
		{"a retry whose core found the version changed, without anybody having waited",
			Snapshot{Task: slipway.Task{Kind: slipway.UpgradeTask, Attempt: 2, Resume: slipway.Resume{Done: map[string]int64{"hook.upgrade.pre": 1}}},
				Driver: everyHook, Application: slipway.Application{Applied: 4}, Wanted: slipway.Revision{Number: 4}, Steps: done("check", "hook.upgrade.core")},
			[]string{"Check the change", "Run the upgrade pre-hook", "Run the upgrade hook", "Apply the configuration", "Wait until it is ready", "Run the upgrade post-hook"}},
		{"a retry whose core changed the version itself",
			Snapshot{Task: slipway.Task{Kind: slipway.UpgradeTask, Attempt: 2, Resume: slipway.Resume{Done: map[string]int64{"hook.upgrade.pre": 1}}}, Moved: true,
				Driver: everyHook, Application: slipway.Application{Applied: 4}, Wanted: slipway.Revision{Number: 4}, Steps: done("check", "hook.upgrade.core")},
			[]string{"Check the change", "Run the upgrade pre-hook", "Run the upgrade hook", "Run the upgrade post-hook"}},
		{"an upgrade whose core action left the configuration to us",
			Snapshot{Task: slipway.Task{Kind: slipway.UpgradeTask}, Driver: everyHook, Application: slipway.Application{Applied: 3},
				Wanted: slipway.Revision{Number: 4}, Steps: done("check", "hook.upgrade.pre", "hook.upgrade.core")},
			[]string{"Check the change", "Run the upgrade pre-hook", "Run the upgrade hook", "Apply the configuration", "Wait until it is ready", "Run the upgrade post-hook"}},
		{"the core of an upgrade runs without an action too",
			Snapshot{Task: slipway.Task{Kind: slipway.UpgradeTask}, Application: slipway.Application{Applied: 4},
				Wanted: slipway.Revision{Number: 4}, Steps: done("check", "hook.upgrade.core")},
			[]string{"Check the change", "Run the upgrade hook"}},
		{"a configuration runs no hooks", Snapshot{Task: slipway.Task{Kind: slipway.ConfigureTask}, Driver: everyHook},
			[]string{"Check the change", "Apply the configuration", "Wait until it is ready"}},
		{"the change of version that an action asked for runs no hooks", Snapshot{Task: slipway.Task{Kind: slipway.VersionTask}, Driver: everyHook},
			[]string{"Apply the new version", "Wait until it is ready"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, names(Phases(tc.s))); diff != "" {
				t.Errorf("Phases() (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPlan(t *testing.T) {
	t.Parallel()
	upgrade := Snapshot{Task: slipway.Task{Kind: slipway.UpgradeTask}, Driver: everyHook, Wanted: slipway.Revision{Number: 4}}
	with := func(cancel bool, steps ...slipway.Step) Snapshot {
		s := upgrade
		s.Steps, s.Cancel = steps, cancel
		return s
	}
	for _, tc := range []struct {
		name string
		s    Snapshot
		want string // the key of the phase, or the end
	}{
		{"nothing has run", with(false), "check"},
		{"a step that a dead process left running comes again", with(false, append(done("check"), slipway.Step{Key: "hook.upgrade.pre", State: slipway.StepRunning})...), "hook.upgrade.pre"},
		{"after pre comes core", with(false, done("check", "hook.upgrade.pre")...), "hook.upgrade.core"},
		{"a failed pre stops everything", with(false, append(done("check"), slipway.Step{Key: "hook.upgrade.pre", State: slipway.StepFailed, Error: "boom"})...), "failed: boom"},
		{"a cancelled step ends the task", with(true, append(done("check"), slipway.Step{Key: "hook.upgrade.pre", State: slipway.StepCancelled})...), "cancelled: "},
		{"a cancel between two steps ends the task", with(true, done("check")...), "cancelled: "},
		{"everything has run", with(false, done("check", "hook.upgrade.pre", "hook.upgrade.core", "apply", "ready", "hook.upgrade.post")...), "succeeded: "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := word(Plan(tc.s)); got != tc.want {
				t.Errorf("Plan() = %s, want %s", got, tc.want)
			}
		})
	}
}

func word(n Next) string {
	if n.Do != nil {
		return n.Do.Key
	}
	return string(n.End) + ": " + n.Why
}

// Whatever a step's outcome, the walk ends, no phase runs twice, none runs after a failure,
// and the modes of a hook keep their order.
func TestPlanWalksToAnEnd(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := Snapshot{
			Task: slipway.Task{Kind: rapid.SampledFrom([]slipway.TaskKind{
				slipway.InstallTask, slipway.UpgradeTask, slipway.ConfigureTask, slipway.DeleteTask,
				slipway.StopTask, slipway.StartTask, slipway.VersionTask,
			}).Draw(t, "kind")},
			Wanted: slipway.Revision{Number: 4},
		}
		for _, a := range everyHook.Spec.Actions {
			if rapid.Bool().Draw(t, a.Name) {
				s.Driver.Spec.Actions = append(s.Driver.Spec.Actions, a)
			}
		}
		ran := map[string]int{}
		for range 20 {
			next := Plan(s)
			if next.Do == nil {
				if next.End == slipway.Succeeded && s.Task.Kind == slipway.UpgradeTask && ran["hook.upgrade.core"] != 1 {
					t.Fatalf("an upgrade succeeded without its core: %v", ran)
				}
				return
			}
			if ran[next.Do.Key]++; ran[next.Do.Key] > 1 {
				t.Fatalf("%s ran twice", next.Do.Key)
			}
			state := rapid.SampledFrom([]slipway.StepState{slipway.StepSucceeded, slipway.StepSucceeded, slipway.StepFailed}).Draw(t, "outcome")
			if next.Do.Act == ActApply || next.Do.Key == "hook.upgrade.core" && rapid.Bool().Draw(t, "the core applied it") {
				s.Application.Applied = s.Wanted.Number
			}
			s.Steps = append(s.Steps, slipway.Step{Key: next.Do.Key, State: state})
			s.Cancel = s.Cancel || rapid.IntRange(0, 9).Draw(t, "cancel") == 0
		}
		t.Fatal("the walk did not end")
	})
}

func TestMayBegin(t *testing.T) {
	t.Parallel()
	root, child := slipway.Task{ID: 5, RootID: 5}, slipway.Task{ID: 5, RootID: 4}
	for _, tc := range []struct {
		name              string
		task              slipway.Task
		overtake, earlier bool
		want              bool
	}{
		{"alone", root, false, false, true},
		{"an earlier one is not over", root, false, true, false},
		{"it overtakes", root, true, true, true},
		{"a child of the running root is let in", child, false, true, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := MayBegin(tc.task, tc.overtake, tc.earlier); got != tc.want {
				t.Errorf("MayBegin() = %v, want %v", got, tc.want)
			}
		})
	}
}
