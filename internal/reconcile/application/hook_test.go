package application

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"slipway.dev/slipway/internal/auth"
	"slipway.dev/slipway/internal/outside/prefect"
	"slipway.dev/slipway/internal/redact"
	"slipway.dev/slipway/internal/slipway"
)

// World: pure. C1.2: nobody can come to rely on an order within a mode.
func TestTheOrderWithinAModeIsTheTasksOwn(t *testing.T) {
	t.Parallel()
	var actions []slipway.Action
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		actions = append(actions, act(name, slipway.Upgrade, slipway.Pre))
	}
	order := func(task int64, key string) string {
		var out string
		for _, a := range shuffled(actions, task, key) {
			out += a.Name
		}
		return out
	}
	seen := map[string]bool{}
	for task := range int64(50) {
		got := order(task, "hook.upgrade.pre")
		if again := order(task, "hook.upgrade.pre"); again != got {
			t.Errorf("task %d has the order %s, and after a restart %s", task, got, again)
		}
		sorted := strings.Split(got, "")
		slices.Sort(sorted)
		if strings.Join(sorted, "") != "abcde" {
			t.Errorf("task %d runs %s, want each of the five once", task, got)
		}
		seen[got] = true
	}
	if len(seen) < 20 || order(1, "hook.upgrade.pre") == order(1, "hook.upgrade.post") && order(2, "hook.upgrade.pre") == order(2, "hook.upgrade.post") {
		t.Errorf("50 tasks have only %d orders", len(seen))
	}
	if actions[0].Name != "a" {
		t.Error("the driver's own list was shuffled")
	}
}

// World: SQLite, and a fake world. C1.1, C1.2, C1.4: what runs when, as the world sees it.
func TestModesRunInTheirOrderAroundTheOperation(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		kind    kindOfScene
		actions []slipway.Action
		want    []string // of what the world saw: actions, applies and waits
		steps   []string
	}{
		{
			"an install", kindOfScene{kind: slipway.InstallChange},
			[]slipway.Action{act("after", slipway.Setup, slipway.Post), act("before", slipway.Setup, slipway.Pre), act("never", slipway.Upgrade, slipway.Pre)},
			[]string{"namespace", "action before", "apply change 1", "ready", "action after"},
			[]string{"Check the change", "Run the setup pre-hook", "Install the chart", "Wait until it is ready", "Run the setup post-hook"},
		},
		{
			"an upgrade with all three modes", upgradeScene,
			[]slipway.Action{act("after", slipway.Upgrade, slipway.Post), act("core", slipway.Upgrade, slipway.Core), act("before", slipway.Upgrade, slipway.Pre), act("never", slipway.Setup, slipway.Pre)},
			[]string{"namespace", "action before", "action core", "apply change 1", "ready", "action after"},
			[]string{"Check the change", "Run the upgrade pre-hook", "Run the upgrade hook", "Run the upgrade post-hook"},
		},
		{
			"an upgrade without any action: the core is the change of version", upgradeScene, nil,
			[]string{"namespace", "apply change 1", "ready"},
			[]string{"Check the change", "Run the upgrade hook"},
		},
		{
			"a change of the driver's version alone is an upgrade",
			kindOfScene{kind: slipway.UpgradeChange, before: func(*slipway.DriverSpec) {}, change: func(a *slipway.ApplicationSpec) { a.App.Version = "1.0.0" }},
			[]slipway.Action{act("before", slipway.Upgrade, slipway.Pre), act("core", slipway.Upgrade, slipway.Core), act("after", slipway.Upgrade, slipway.Post)},
			[]string{"namespace", "action before", "action core", "apply change 1", "ready", "action after"},
			[]string{"Check the change", "Run the upgrade pre-hook", "Run the upgrade hook", "Apply the configuration", "Wait until it is ready", "Run the upgrade post-hook"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, tc.kind, tc.actions...)
			if tc.kind.before == nil {
				s.play("core", s.changeVersion)
			}
			s.carry(s.task.ID)
			if got := s.read(s.task.ID); got.State != slipway.Succeeded {
				t.Fatalf("the task %s: %s", got.State, got.Error)
			}
			var saw, names []string
			for _, what := range s.world.did {
				if strings.HasPrefix(what, "action ") || strings.HasPrefix(what, "apply ") || what == "ready" || what == "namespace" {
					saw = append(saw, what)
				}
			}
			for _, st := range s.steps() {
				names = append(names, st.Name)
			}
			if !slices.Equal(saw, tc.want) {
				t.Errorf("the world saw %q, want %q", saw, tc.want)
			}
			if !slices.Equal(names, tc.steps) {
				t.Errorf("the steps are %q, want %q", names, tc.steps)
			}
		})
	}
}

// World: SQLite, and a fake world. C1.2, C1.3, C2.5: the first failure of a mode is the
// last thing that runs, and nothing was written to the cluster by then.
func TestAFailedActionKeepsItsSiblingsAndTheLaterModesFromStarting(t *testing.T) {
	t.Parallel()
	s := newScene(t, upgradeScene,
		act("a", slipway.Upgrade, slipway.Pre), act("b", slipway.Upgrade, slipway.Pre), act("c", slipway.Upgrade, slipway.Pre),
		act("core", slipway.Upgrade, slipway.Core), act("post", slipway.Upgrade, slipway.Post))
	ran := 0
	for _, name := range []string{"a", "b", "c"} {
		s.play(name, func(prefect.Launch) prefect.Outcome {
			if ran++; ran == 2 {
				return failedWith("ValueError: the disk is full")
			}
			return completed()
		})
	}
	s.carry(s.task.ID)
	var order []string
	for _, a := range shuffled(s.r.mustSnapshot(t, s.task.ID).Driver.Spec.ActionsOf(slipway.Upgrade, slipway.Pre), s.task.ID, "hook.upgrade.pre") {
		order = append(order, a.Name)
	}
	if !slices.Equal(s.world.launched, order[:2]) {
		t.Errorf("there ran %q, want %q and nothing after", s.world.launched, order[:2])
	}
	step := s.step("hook.upgrade.pre")
	if want := fmt.Sprintf("ValueError: the disk is full (not started: %s)", order[2]); step.State != slipway.StepFailed || step.Error != want {
		t.Errorf("the step %s: %q, want failed: %q", step.State, step.Error, want)
	}
	if got := s.steps(); len(got) != 2 {
		t.Errorf("there are %d steps, want the check and the failed mode alone", len(got))
	}
	if got := s.read(s.task.ID); got.State != slipway.Failed || !strings.Contains(got.Error, "the disk is full") {
		t.Errorf("the task %s: %s", got.State, got.Error)
	}
	for _, what := range s.world.did {
		if strings.HasPrefix(what, "apply") || strings.HasPrefix(what, "record") || what == "stop" {
			t.Errorf("%s was done after a failed pre-hook", what)
		}
	}
}

// World: SQLite, and a fake world. C1.5: an upgrade whose actions forget the version fails,
// in words that say what is missing.
func TestTheCoreOfAnUpgradeIsHeldToItsVersion(t *testing.T) {
	t.Parallel()
	s := newScene(t, upgradeScene, act("core", slipway.Upgrade, slipway.Core), act("post", slipway.Upgrade, slipway.Post))
	s.carry(s.task.ID)
	step := s.step("hook.upgrade.core")
	want := `the upgrade actions ended, but the application is still at 1.0.0: no action called upgrade_deployment_version(target_version="1.1.0")`
	if step.State != slipway.StepFailed || step.Error != want {
		t.Errorf("the step %s: %q\nwant failed: %q", step.State, step.Error, want)
	}
	if slices.Contains(s.world.launched, "post") {
		t.Error("the post-hook ran after a core that did not do its work")
	}
}

// World: SQLite, and a fake world. C3.1, C3.4: one token for all hooks of a task, in the
// environment of the actions alone, and revoked whatever the end is.
func TestATaskHasOneTokenAndRevokesItWhateverHappens(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"succeeds", "fails", "crashes"} {
		t.Run(end, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, upgradeScene, act("pre", slipway.Upgrade, slipway.Pre), act("core", slipway.Upgrade, slipway.Core), act("post", slipway.Upgrade, slipway.Post))
			s.play("core", s.changeVersion)
			s.play("post", func(prefect.Launch) prefect.Outcome {
				switch end {
				case "fails":
					return failedWith("no")
				case "crashes":
					return prefect.Outcome{State: prefect.Crashed, Crashed: true, Message: "killed by signal 9"}
				}
				return completed()
			})
			begun := time.Now()
			s.carry(s.task.ID)
			if n := s.tokens.minted[s.task.ID]; n != 1 || len(s.tokens.minted) != 1 {
				t.Errorf("%v tokens were minted, want one for the root task alone", s.tokens.minted)
			}
			if s.tokens.revoked[s.task.ID] != 1 {
				t.Errorf("the token was revoked %d times", s.tokens.revoked[s.task.ID])
			}
			if limit := begun.Add(3*time.Hour + time.Hour + time.Minute); s.tokens.until.After(limit) || s.tokens.until.Before(begun.Add(3*time.Hour)) {
				t.Errorf("the token lives until %s, want as long as the three actions may take and little more", s.tokens.until)
			}
			token := fmt.Sprintf("slw_%043d", s.task.ID)
			for name, l := range s.world.launches {
				if l.Env["SLIPWAY_TOKEN"] != token || l.Env["STYRMIN_TOKEN"] != token {
					t.Errorf("the action %s has other tokens: %q, %q", name, l.Env["SLIPWAY_TOKEN"], l.Env["STYRMIN_TOKEN"])
				}
				if strings.Contains(fmt.Sprint(l.Action), token) {
					t.Errorf("the token of %s stands in what Prefect is told: %+v", name, l.Action)
				}
				for k, v := range l.Env {
					if strings.Contains(v, token) && k != "SLIPWAY_TOKEN" && k != "STYRMIN_TOKEN" {
						t.Errorf("the token stands in %s", k)
					}
				}
			}
			if l := s.world.launches["pre"]; l.Env["SLIPWAY_STEP"] == s.world.launches["core"].Env["SLIPWAY_STEP"] {
				t.Error("two modes have one step")
			}
		})
	}
}

// World: SQLite, and a fake world. C13: a Prefect that is away when a hook is due is waited
// for, and then named.
func TestAHookWaitsForPrefect(t *testing.T) {
	t.Parallel()
	t.Run("that comes back", func(t *testing.T) {
		t.Parallel()
		s := newScene(t, upgradeScene, act("pre", slipway.Upgrade, slipway.Pre))
		asked := 0
		s.world.ensure = func() error {
			if asked++; asked == 1 {
				return fmt.Errorf("make a flow run: %w", prefect.ErrUnreachable)
			}
			return nil
		}
		s.carry(s.task.ID)
		if got := s.read(s.task.ID); got.State != slipway.Succeeded || asked != 2 {
			t.Errorf("after %d requests the task %s: %s", asked, got.State, got.Error)
		}
	})
	t.Run("that stays away", func(t *testing.T) {
		t.Parallel()
		s := newScene(t, upgradeScene, act("pre", slipway.Upgrade, slipway.Pre))
		s.world.ensure = func() error { return fmt.Errorf("make a flow run: %w", prefect.ErrUnreachable) }
		s.carry(s.task.ID)
		step := s.step("hook.upgrade.pre")
		if want := "Prefect did not answer for 1.5s, so the action pre was not started"; step.State != slipway.StepFailed || step.Error != want {
			t.Errorf("the step %s: %q, want failed: %q", step.State, step.Error, want)
		}
		if want := "see that the Prefect server runs, then request the change again"; !slices.Contains(step.Notes, want) {
			t.Errorf("the notes are %q, want %q", step.Notes, want)
		}
	})
	t.Run("that refuses is not asked again", func(t *testing.T) {
		t.Parallel()
		s := newScene(t, upgradeScene, act("pre", slipway.Upgrade, slipway.Pre))
		asked := 0
		s.world.ensure = func() error { asked++; return errors.New("409 Conflict") }
		s.carry(s.task.ID)
		if step := s.step("hook.upgrade.pre"); asked != 1 || !strings.Contains(step.Error, "409 Conflict") {
			t.Errorf("asked %d times; the step: %q", asked, step.Error)
		}
	})
}

// World: pure. C1.9, C11.1, C11.2, C11.6: how the end of an action reads.
func TestTheWordsOfAnEndedAction(t *testing.T) {
	t.Parallel()
	const secret = "swordfish-4711-swordfish"
	a := act("migrate", slipway.Upgrade, slipway.Core)
	mask := redact.New(secret).String
	long := strings.Repeat("x", maxLogLine-len(secret)/2) + secret + "zzz"
	for _, tc := range []struct {
		name string
		out  prefect.Outcome
		want string
	}{
		{"failed", prefect.Outcome{State: prefect.Failed, Message: "ValueError: the table is locked"}, "ValueError: the table is locked"},
		{"failed by a primitive", prefect.Outcome{State: prefect.Failed, Message: "ActionError: the command \"x\" failed with exit code 1 (Job a-action)"},
			`the command "x" failed with exit code 1 (Job a-action)`},
		{"failed without a word", prefect.Outcome{State: prefect.Failed}, "the action failed without a message"},
		{"failed with a secret", prefect.Outcome{State: prefect.Failed, Message: "cannot connect with " + secret}, "cannot connect with <redacted>"},
		{"out of time", prefect.Outcome{State: prefect.Cancelled, Expired: true}, "the action migrate did not end within 1h0m0s"},
		{"cancelled in Prefect", prefect.Outcome{State: prefect.Cancelled}, "the action migrate was cancelled in Prefect"},
		{"crashed without an error in the log", prefect.Outcome{State: prefect.Crashed, Crashed: true, Message: "killed by signal 9"}, "the action crashed: killed by signal 9"},
		{"crashed", prefect.Outcome{State: prefect.Crashed, Crashed: true, Message: "killed by signal 9.", FirstError: "the disk is full"},
			"the action crashed: killed by signal 9. First error in its log: the disk is full"},
		{"crashed with a traceback", prefect.Outcome{State: prefect.Crashed, Crashed: true, Message: "exit code 1",
			FirstError: "Crash detected\nTraceback (most recent call last):\n  File \"a.py\", line 1\nRuntimeError: with " + secret + "\n"},
			"the action crashed: exit code 1. First error in its log: Crash detected … RuntimeError: with <redacted>"},
		{"crashed with a secret where the line is cut", prefect.Outcome{State: prefect.Crashed, Crashed: true, Message: "exit code 1", FirstError: long},
			"the action crashed: exit code 1. First error in its log: " + strings.Repeat("x", maxLogLine-len(secret)/2) + "<redacted>zz…"},
		{"crashed with a secret of several lines", prefect.Outcome{State: prefect.Crashed, Crashed: true, Message: "exit code 1",
			FirstError: "key:\n-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg\n-----END PRIVATE KEY-----"},
			"the action crashed: exit code 1. First error in its log: key: … <redacted>"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := verdict(a, tc.out, mask).Error()
			if got != tc.want {
				t.Errorf("got  %.200q (%d bytes)\nwant %.200q (%d bytes)", got, len(got), tc.want, len(tc.want))
			}
		})
	}
}

// World: SQLite, and a fake world. C11.3: the token's forms are masked in the step's error,
// by a process that knows the token and by one that took over and does not.
func TestTheTokenIsMaskedInAnError(t *testing.T) {
	t.Parallel()
	s := newScene(t, upgradeScene, act("pre", slipway.Upgrade, slipway.Pre))
	s.play("pre", func(l prefect.Launch) prefect.Outcome { return failedWith("refused " + l.Env["SLIPWAY_TOKEN"]) })
	s.carry(s.task.ID)
	if got := s.step("hook.upgrade.pre").Error; got != "refused <redacted>" {
		t.Errorf("the step's error is %q", got)
	}
}

func (r *Reconciler) mustSnapshot(t *testing.T, id int64) Snapshot {
	t.Helper()
	s, err := r.read(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// World: SQLite with real tokens, and a fake world. C3.1, C13: the process dies while an
// action runs. The next one starts nothing again, and what both lives minted ends with the
// task.
func TestTheTokensOfADeadProcessEndWithTheTask(t *testing.T) {
	t.Parallel()
	s := newScene(t, upgradeScene, act("pre", slipway.Upgrade, slipway.Pre), act("post", slipway.Upgrade, slipway.Post))
	who, err := auth.New(auth.Config{Store: s.store})
	s.must(err)
	t.Cleanup(who.Close)
	s.must(who.EnsureActionsUser(t.Context()))
	s.r.Tokens = who
	ask := func(token string) error {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Authorization", "Bearer "+token)
		_, err := who.Authenticate(t.Context(), r)
		return err
	}
	life, die := context.WithCancel(t.Context())
	s.play("pre", func(l prefect.Launch) prefect.Outcome { die(); return completed() })
	s.play("post", func(l prefect.Launch) prefect.Outcome {
		for name, l := range s.world.launches {
			if err := ask(l.Env["SLIPWAY_TOKEN"]); err != nil {
				t.Errorf("while the task runs, the token of %s is refused: %v", name, err)
			}
		}
		return completed()
	})
	if _, err := s.r.Task(life, s.task.ID); !errors.Is(err, context.Canceled) {
		t.Fatalf("the first life ended with %v", err)
	}
	s.play("pre", nil)
	s.carry(s.task.ID)
	if got := s.read(s.task.ID); got.State != slipway.Succeeded || !slices.Equal(s.world.launched, []string{"pre", "post"}) {
		t.Errorf("the task %s (%s); started were %q, want each action once", got.State, got.Error, s.world.launched)
	}
	first, second := s.world.launches["pre"].Env["SLIPWAY_TOKEN"], s.world.launches["post"].Env["SLIPWAY_TOKEN"]
	if first == second {
		t.Error("the second life has the first one's token, which is kept nowhere")
	}
	for _, token := range []string{first, second} {
		if err := ask(token); !slipway.Is(err, slipway.Unauthenticated) || !strings.Contains(err.Error(), "revoked") {
			t.Errorf("after the end of the task a token of its actions is answered with %v", err)
		}
	}
}
