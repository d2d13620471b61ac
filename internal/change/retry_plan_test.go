package change

import (
	"fmt"
	"strings"
	"testing"

	"slipway.dev/slipway/internal/slipway"
)

// World: pure.
func TestWhatARetryRepeats(t *testing.T) {
	t.Parallel()
	d := slipway.DriverSpec{Actions: []slipway.Action{
		{Name: "prepare", Hook: slipway.Setup, Mode: slipway.Pre},
		{Name: "backup", Hook: slipway.Upgrade, Mode: slipway.Pre}, {Name: "drain", Hook: slipway.Upgrade, Mode: slipway.Pre, Stops: []string{"web"}},
		{Name: "migrate", Hook: slipway.Upgrade, Mode: slipway.Core, Irreversible: true, Stops: []string{"worker"}},
		{Name: "check", Hook: slipway.Upgrade, Mode: slipway.Post},
	}}
	step := func(key string, state slipway.StepState, completed ...string) slipway.Step {
		s := slipway.Step{Key: key, State: state}
		for _, a := range completed {
			s.Runs = append(s.Runs, slipway.ActionRun{Action: a, State: slipway.RunCompleted})
		}
		return s
	}
	const ok, bad, off = slipway.StepSucceeded, slipway.StepFailed, slipway.StepCancelled
	upgrade := slipway.Task{ID: 41, Kind: slipway.UpgradeTask}
	for _, tc := range []struct {
		name  string
		task  slipway.Task
		steps []slipway.Step
		in    RetryInput
		want  string // the steps with their fates, what stays done and what stops
	}{
		{"the core failed", upgrade, []slipway.Step{step("check", ok), step("hook.upgrade.pre", ok), step("hook.upgrade.core", bad)}, RetryInput{},
			"check repeated · hook.upgrade.pre kept 41 · hook.upgrade.core repeated! · apply follows? · ready follows? · hook.upgrade.post follows | from hook.upgrade.core | stops worker"},
		{"one action of two was completed", upgrade, []slipway.Step{step("check", ok), step("hook.upgrade.pre", bad, "backup")}, RetryInput{},
			"check repeated · hook.upgrade.pre repeated (not backup) · hook.upgrade.core follows! · apply follows? · ready follows? · hook.upgrade.post follows | from hook.upgrade.pre | stops web, worker"},
		{"both were, so it failed by something else", upgrade, []slipway.Step{step("check", ok), step("hook.upgrade.pre", bad, "backup", "drain")}, RetryInput{},
			"check repeated · hook.upgrade.pre repeated · hook.upgrade.core follows! · apply follows? · ready follows? · hook.upgrade.post follows | from hook.upgrade.pre | stops web, worker"},
		{"an earlier step is asked for, and is repeated whole", upgrade, []slipway.Step{step("check", ok), step("hook.upgrade.pre", ok, "backup", "drain"), step("hook.upgrade.core", bad)}, RetryInput{From: "pre"},
			"check repeated · hook.upgrade.pre repeated · hook.upgrade.core repeated! · apply follows? · ready follows? · hook.upgrade.post follows | from hook.upgrade.pre | stops web, worker"},
		{"the failed step is asked for by name, and is repeated whole", upgrade, []slipway.Step{step("check", ok), step("hook.upgrade.pre", bad, "backup")}, RetryInput{From: "run the upgrade pre-hook"},
			"check repeated · hook.upgrade.pre repeated · hook.upgrade.core follows! · apply follows? · ready follows? · hook.upgrade.post follows | from hook.upgrade.pre | stops web, worker"},
		{"from the start", upgrade, []slipway.Step{step("check", ok), step("hook.upgrade.pre", ok), step("hook.upgrade.core", ok), step("hook.upgrade.post", bad)}, RetryInput{FromStart: true},
			"check repeated · hook.upgrade.pre repeated · hook.upgrade.core repeated! · apply follows? · ready follows? · hook.upgrade.post repeated | from check | stops web, worker"},
		{"the last one failed, and a core that applied stays done", upgrade, []slipway.Step{step("check", ok), step("hook.upgrade.pre", ok), step("hook.upgrade.core", ok), step("hook.upgrade.post", bad)}, RetryInput{},
			"check repeated · hook.upgrade.pre kept 41 · hook.upgrade.core kept 41 · hook.upgrade.post repeated | from hook.upgrade.post | stops "},
		{"cancelled between two steps", upgrade, []slipway.Step{step("check", ok), step("hook.upgrade.pre", ok)}, RetryInput{},
			"check repeated · hook.upgrade.pre kept 41 · hook.upgrade.core follows! · apply follows? · ready follows? · hook.upgrade.post follows | from hook.upgrade.core | stops worker"},
		{"cancelled before it began", upgrade, nil, RetryInput{},
			"check follows · hook.upgrade.pre follows · hook.upgrade.core follows! · apply follows? · ready follows? · hook.upgrade.post follows | from check | stops web, worker"},
		{"a third attempt takes over from both before it",
			slipway.Task{ID: 44, Kind: slipway.UpgradeTask, Attempt: 2, Resume: slipway.Resume{From: "hook.upgrade.pre", Actions: map[string]int64{"backup": 41}}},
			[]slipway.Step{step("check", ok), step("hook.upgrade.pre", off)}, RetryInput{},
			"check repeated · hook.upgrade.pre repeated (not backup) · hook.upgrade.core follows! · apply follows? · ready follows? · hook.upgrade.post follows | from hook.upgrade.pre | stops web, worker"},
		{"what the first attempt did is kept by the third",
			slipway.Task{ID: 44, Kind: slipway.UpgradeTask, Attempt: 2, Resume: slipway.Resume{From: "hook.upgrade.core", Done: map[string]int64{"hook.upgrade.pre": 41}}},
			[]slipway.Step{step("check", ok), step("hook.upgrade.core", ok), step("hook.upgrade.post", bad)}, RetryInput{},
			"check repeated · hook.upgrade.pre kept 41 · hook.upgrade.core kept 44 · hook.upgrade.post repeated | from hook.upgrade.post | stops "},
		{"a create runs its setup again", slipway.Task{ID: 41, Kind: slipway.InstallTask}, []slipway.Step{step("check", ok), step("hook.setup.pre", ok), step("apply", ok), step("ready", bad)}, RetryInput{},
			"check repeated · hook.setup.pre repeated · apply repeated · ready repeated | from check | stops "},
		{"a stop", slipway.Task{ID: 41, Kind: slipway.StopTask}, []slipway.Step{step("stop", bad)}, RetryInput{}, "stop repeated | from stop | stops "},
		{"a later step cannot be asked for", upgrade, []slipway.Step{step("check", ok), step("hook.upgrade.pre", bad)}, RetryInput{From: "post"},
			`refused: from: "post" comes after hook.upgrade.pre, which has not been done`},
		{"an unknown step", upgrade, []slipway.Step{step("check", ok), step("hook.upgrade.pre", bad)}, RetryInput{From: "tea"}, `refused: from: the task has no step "tea"`},
		{"two ways at once", upgrade, nil, RetryInput{From: "pre", FromStart: true}, "refused: from: it is given together with from_start"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r, steps, err := resume(tc.task, slipway.PlannedSteps(slipway.DriverApplication, tc.task.Kind, d), d, tc.steps, tc.in)
			got := fmt.Sprintf("refused: %v", err)
			if err == nil {
				got = fmt.Sprintf("%s | from %s | stops %s", fates(steps), r.From, strings.Join(stopsOf(d, steps), ", "))
			}
			if got != tc.want {
				t.Errorf("\n got %s\nwant %s", got, tc.want)
			}
		})
	}
}

func fates(steps []RetryStep) string {
	var out []string
	for _, s := range steps {
		line := s.Key + " " + string(s.Fate)
		if s.Fate == RetryKept {
			line += fmt.Sprintf(" %d", s.DoneIn)
		}
		if s.Irreversible {
			line += "!"
		}
		if s.Maybe {
			line += "?"
		}
		if len(s.KeptActions) > 0 {
			line += " (not " + strings.Join(sorted(s.KeptActions), ", ") + ")"
		}
		out = append(out, line)
	}
	return strings.Join(out, " · ")
}
