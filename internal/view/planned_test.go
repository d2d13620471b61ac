package view

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"slipway.dev/slipway/internal/slipway"
)

// TestPlanned stands in the pure world.
func TestPlanned(t *testing.T) {
	t.Parallel()
	hooks := slipway.DriverSpec{Actions: []slipway.Action{
		{Name: "backup", Hook: slipway.Upgrade, Mode: slipway.Pre}, {Name: "migrate", Hook: slipway.Upgrade, Mode: slipway.Core},
		{Name: "check", Hook: slipway.Upgrade, Mode: slipway.Post}, {Name: "seed", Hook: slipway.Setup, Mode: slipway.Post},
	}}
	done := func(keys ...string) (out []Step) {
		for _, k := range keys {
			out = append(out, Step{Step: slipway.Step{Key: k}})
		}
		return out
	}
	for _, tc := range []struct {
		name string
		kind slipway.TaskKind
		spec slipway.DriverSpec
		done []Step
		want []string
	}{
		{"an install with a hook after it", slipway.InstallTask, hooks, nil, []string{"check", "apply", "ready", "hook.setup.post"}},
		{"an upgrade with every hook", slipway.UpgradeTask, hooks, nil, []string{"check", "hook.upgrade.pre", "hook.upgrade.core", "apply?", "ready?", "hook.upgrade.post"}},
		{"the core of an upgrade runs also without an action", slipway.UpgradeTask, slipway.DriverSpec{}, nil, []string{"check", "hook.upgrade.core", "apply?", "ready?"}},
		{"what has begun is not to come", slipway.UpgradeTask, hooks, done("check", "hook.upgrade.pre"), []string{"hook.upgrade.core", "apply?", "ready?", "hook.upgrade.post"}},
		{"what was passed over does not come", slipway.UpgradeTask, hooks, done("check", "hook.upgrade.core", "hook.upgrade.post"), nil},
		{"once applied, the wait is certain", slipway.UpgradeTask, hooks, done("check", "hook.upgrade.core", "apply"), []string{"ready", "hook.upgrade.post"}},
		{"a configuration has no hooks", slipway.ConfigureTask, hooks, nil, []string{"check", "apply", "ready"}},
		{"a change of version by an action", slipway.VersionTask, hooks, nil, []string{"apply", "ready"}},
		{"a stop", slipway.StopTask, hooks, nil, []string{"stop"}},
		{"a start under way", slipway.StartTask, hooks, done("start"), nil},
		{"a delete", slipway.DeleteTask, hooks, done("remove"), []string{"purge"}},
		{"a kind that is not known", "dance", hooks, nil, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, p := range Planned(slipway.DriverApplication, tc.kind, tc.spec, tc.done) {
				if p.Maybe {
					p.Key += "?"
				}
				got = append(got, p.Key)
			}
			if diff := cmp.Diff(got, tc.want); diff != "" {
				t.Errorf("planned (-got +want):\n%s", diff)
			}
		})
	}
}
