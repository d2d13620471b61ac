package application

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"slipway.dev/slipway/internal/outside/kube"
	"slipway.dev/slipway/internal/outside/prefect"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/spec"
	"slipway.dev/slipway/internal/store"
)

// World: SQLite, and a fake world. What the reference says of hooks of an earlier change,
// and of components that actions stop.

// C12.1, C12.2: an upgrade that a later change overtakes after its pre-hook leaves the
// cluster alone, and still runs its other hooks, each with its own frozen context.
func TestAnOvertakenUpgradeStillRunsItsHooks(t *testing.T) {
	t.Parallel()
	for _, core := range []bool{true, false} {
		t.Run(fmt.Sprintf("with a core action of its own: %v", core), func(t *testing.T) {
			t.Parallel()
			actions := []slipway.Action{act("pre", slipway.Upgrade, slipway.Pre), act("post", slipway.Upgrade, slipway.Post)}
			if core {
				actions = append(actions, act("core", slipway.Upgrade, slipway.Core))
			}
			s := newScene(t, upgradeScene, actions...)
			s.play("pre", func(prefect.Launch) prefect.Outcome { s.overtake("1.2.0", "later:9"); return completed() })
			s.carry(s.task.ID)
			if got := s.read(s.task.ID); got.State != slipway.Succeeded {
				t.Fatalf("the task %s: %s", got.State, got.Error)
			}
			for _, what := range s.world.did {
				if strings.HasPrefix(what, "apply") || strings.HasPrefix(what, "record") {
					t.Errorf("%s: the cluster was not left alone", what)
				}
			}
			want := []string{"pre", "core", "post"}
			if !core {
				want = []string{"pre", "post"}
			}
			if !slices.Equal(s.world.launched, want) {
				t.Errorf("there ran %q, want %q", s.world.launched, want)
			}
			for name, l := range s.world.launches {
				if got := l.Action.Params["target_version"]; got != "1.1.0" {
					t.Errorf("%s was told the version %v, want its own change's", name, got)
				}
			}
			frozen, err := spec.DecodeContext(s.r.mustSnapshot(t, s.task.ID).Change.Context)
			if err != nil || frozen.App.Version != "1.1.0" || frozen.Components["web"].ImageOverride != nil {
				t.Errorf("the context is %+v, %v; want that of the change, as it was frozen", frozen.App, err)
			}
			if core {
				return // its action changed no version, so nothing was to be applied
			}
			if step := s.step("hook.upgrade.core"); !slices.Contains(step.Notes, "not applied: change 2 is already on the cluster") {
				t.Errorf("the notes are %q", step.Notes)
			}
			if app := s.application(); app.AppVersion != "1.2.0" || app.Applied != 3 {
				t.Errorf("the application is at %s, revision %d", app.AppVersion, app.Applied)
			}
		})
	}
}

// C12.3: the change of version that an overtaken upgrade's action asked for fails when the
// later change has another version, and not when it has the same.
func TestAnOvertakenChangeOfVersionNeverMovesItBack(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ later, want string }{
		{"1.2.0", "a later change (2) set the version to 1.2.0; this upgrade to 1.1.0 was overtaken"},
		{"1.1.0", ""},
	} {
		t.Run(tc.later, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, upgradeScene, act("core", slipway.Upgrade, slipway.Core))
			s.play("core", func(l prefect.Launch) prefect.Outcome {
				s.overtake(tc.later, "later:9")
				return s.changeVersion(l)
			})
			s.carry(s.task.ID)
			if got := s.read(s.task.ID); got.Error != tc.want || (got.State == slipway.Succeeded) != (tc.want == "") {
				t.Errorf("the task %s: %q, want %q", got.State, got.Error, tc.want)
			}
			if app := s.application(); app.AppVersion != tc.later || app.Applied != 3 {
				t.Errorf("the application is at %s, revision %d; want it where the later change put it", app.AppVersion, app.Applied)
			}
			if slices.ContainsFunc(s.world.did, func(what string) bool { return strings.HasPrefix(what, "apply") }) {
				t.Error("the overtaken change was applied")
			}
		})
	}
}

// The wait for the hold on an application is where a later change slips in. What the
// version is must be read after it.
func TestAnOvertakenChangeOfVersionReadsTheVersionAfterItsWait(t *testing.T) {
	t.Parallel()
	for later, want := range map[string]string{
		"1.2.0": "a later change (2) set the version to 1.2.0; this upgrade to 1.1.0 was overtaken",
		"1.1.0": "", // the snapshot has 1.0.0, and the later change brought what was asked for
	} {
		s := newScene(t, upgradeScene)
		run, err := s.journal.Claim(t.Context(), s.task.ID)
		s.must(err)
		defer run.Close()
		step, err := run.Step("apply", "Apply the new version")
		s.must(err)
		w := &work{r: s.r, run: run, step: step, snap: s.r.mustSnapshot(t, s.task.ID)} // from before the later change
		w.snap.Task.Kind = slipway.VersionTask
		s.overtake(later, "later:9")
		got := ""
		if err := s.r.overtaken(t.Context(), w, &kube.ErrNewer{Number: 2}); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("after %s the error is %q, want %q", later, got, want)
		}
	}
}

// C6.3, C6.5, C6.6: a stop is on record before anything is taken down, holds through the
// change of version and after a failure, and a start takes the configuration of now.
func TestWhatAnActionStopsStaysStopped(t *testing.T) {
	t.Parallel()
	worker := []kube.Workload{{Kind: kube.KindDeployment, Name: "guestbook-worker"}}
	recorded := func(s *scene) (by int64) {
		s.must(s.store.Read(t.Context(), func(tx *store.Tx) error {
			states, err := tx.ComponentStates(t.Context(), s.app.ID)
			for _, c := range states {
				if c.Component == "worker" && c.Stopped {
					by = c.StoppedByTask
				}
			}
			return err
		}))
		return by
	}
	stop := map[string][]string{"components": {"worker"}}

	t.Run("when the upgrade fails", func(t *testing.T) {
		t.Parallel()
		s := newScene(t, upgradeScene, act("core", slipway.Upgrade, slipway.Core))
		s.world.ws["worker"] = worker
		s.world.stopping = func() {
			if by := recorded(s); by != s.task.ID {
				t.Errorf("while the pods go, the record names task %d, want %d", by, s.task.ID)
			}
		}
		s.play("core", func(l prefect.Launch) prefect.Outcome {
			s.child(l, slipway.StopTask, stop)
			return failedWith("ValueError: no")
		})
		s.carry(s.task.ID)
		if recorded(s) != s.task.ID || len(s.world.stopped) != 1 {
			t.Fatalf("worker is not on record as stopped; %d stops", len(s.world.stopped))
		}
		sentence := fmt.Sprintf("worker is stopped since task %d", s.task.ID)
		if got := s.read(s.task.ID); got.Hint != sentence+fmt.Sprintf(" · start it with  slipway start demo/dev/guestbook worker · once the cause is gone, go on from there with  slipway tasks retry %d", s.task.ID) {
			t.Errorf("the hint is %q", got.Hint)
		}
		if app := s.application(); !strings.Contains(app.Message, sentence) || app.State != slipway.AppFailed {
			t.Errorf("the application is %s: %q", app.State, app.Message)
		}
		if r := s.result(); len(r.Stopped) != 1 || r.Stopped[0].Component != "worker" {
			t.Errorf("the result is %+v", r)
		}
	})
	t.Run("and starts as the cluster's configuration says, which a later change set", func(t *testing.T) {
		t.Parallel()
		s := newScene(t, upgradeScene, act("core", slipway.Upgrade, slipway.Core))
		s.world.ws["worker"] = worker
		s.play("core", func(l prefect.Launch) prefect.Outcome {
			s.child(l, slipway.StopTask, stop)
			s.overtake("1.1.0", "later:9") // with two replicas of the worker
			if c := s.child(l, slipway.StartTask, stop); c.State != slipway.Succeeded {
				t.Errorf("the start %s: %s", c.State, c.Error)
			}
			return completed()
		})
		s.carry(s.task.ID)
		if len(s.world.replicas) != 1 || s.world.replicas[0] == nil || *s.world.replicas[0] != 2 {
			t.Errorf("worker was started with %v, want the 2 replicas of the later change", s.world.replicas)
		}
		if recorded(s) != 0 {
			t.Error("worker is on record as stopped after its start")
		}
	})
	t.Run("an unknown one is an error and stops nothing", func(t *testing.T) {
		t.Parallel()
		s := newScene(t, upgradeScene, act("core", slipway.Upgrade, slipway.Core))
		s.play("core", func(l prefect.Launch) prefect.Outcome {
			c := s.child(l, slipway.StopTask, map[string][]string{"components": {"worker", "wrker"}})
			if want := `unknown component "wrker"; this driver has: store, web, worker`; c.State != slipway.Failed || c.Error != want {
				t.Errorf("the stop %s: %q, want %q", c.State, c.Error, want)
			}
			return s.changeVersion(l)
		})
		s.carry(s.task.ID)
		if recorded(s) != 0 || len(s.world.stopped) != 0 {
			t.Error("something was stopped")
		}
	})
}

// C6.7: a component that a later driver no longer has is an error, not silence; and until a
// new driver's chart is applied, its components' workloads are those of the driver before.
func TestComponentsOfAnotherDriver(t *testing.T) {
	t.Parallel()
	stop := map[string][]string{"components": {"worker"}}
	t.Run("gone with a later change", func(t *testing.T) {
		t.Parallel()
		s := newScene(t, kindOfScene{kind: slipway.UpgradeChange, before: func(d *slipway.DriverSpec) { delete(d.Components, "worker") }},
			act("pre", slipway.Upgrade, slipway.Pre))
		s.play("pre", func(l prefect.Launch) prefect.Outcome {
			s.must(s.store.InTx(t.Context(), func(tx *store.Tx) error { // the later change has the driver without the worker
				first, err := tx.Revision(t.Context(), s.app.ID, 1)
				if err != nil {
					return err
				}
				first.Number, s.world.record = 3, 99
				if _, err := tx.CreateRevision(t.Context(), first); err != nil {
					return err
				}
				return tx.SetApplicationApplied(t.Context(), s.app.ID, store.Applied{Revision: 3, AppVersion: "1.1.0", DriverName: "guestbook", DriverVersion: "0.9.0"})
			}))
			if c := s.child(l, slipway.StopTask, stop); c.State != slipway.Failed || c.Error != `unknown component "worker"; this driver has: store, web` {
				t.Errorf("the stop %s: %q", c.State, c.Error)
			}
			return completed()
		})
		s.carry(s.task.ID)
	})
	t.Run("with other labels before the upgrade", func(t *testing.T) {
		t.Parallel()
		s := newScene(t, kindOfScene{kind: slipway.UpgradeChange, before: func(d *slipway.DriverSpec) {
			c := d.Components["worker"]
			c.Selector = map[string]string{"app": "old-worker"}
			d.Components["worker"] = c
		}}, act("pre", slipway.Upgrade, slipway.Pre))
		s.world.ws["old-worker"] = []kube.Workload{{Kind: kube.KindDeployment, Name: "old"}}
		s.play("pre", func(l prefect.Launch) prefect.Outcome {
			if c := s.child(l, slipway.StopTask, stop); c.State != slipway.Succeeded {
				t.Errorf("the stop %s: %q", c.State, c.Error)
			}
			return completed()
		})
		s.carry(s.task.ID)
		if len(s.world.stopped) != 1 || len(s.world.stopped[0]) != 1 || s.world.stopped[0][0].Name != "old" {
			t.Errorf("stopped was %+v, want the workload of the driver before", s.world.stopped)
		}
	})
}

// C8.1, C8.2: the result of an upgrade holds what its hooks started, also what failed and
// was caught; what an action started through the API itself is no part of it.
func TestTheResultHoldsTheLinkedTasks(t *testing.T) {
	t.Parallel()
	s := newScene(t, upgradeScene, act("core", slipway.Upgrade, slipway.Core))
	var linked, failed, free slipway.Task
	s.play("core", func(l prefect.Launch) prefect.Outcome {
		linked = s.child(l, slipway.StopTask, map[string][]string{"components": {"worker"}})
		failed = s.child(l, slipway.StopTask, map[string][]string{"components": {"none"}})
		free = s.child(l, slipway.StopTask, map[string][]string{"components": {"web"}}, true)
		return s.changeVersion(l)
	})
	s.carry(s.task.ID)
	got := s.result().Tasks
	if len(got) != 3 || got[0].Task != linked.ID || got[0].Type != "Stop components" || got[0].State != slipway.Succeeded ||
		got[1].Task != failed.ID || got[1].State != slipway.Failed || got[1].Error == "" || got[2].Type != "Change the version" {
		t.Errorf("the result holds %+v", got)
	}
	if free.State != slipway.Succeeded || slices.ContainsFunc(got, func(c ChildResult) bool { return c.Task == free.ID }) {
		t.Errorf("the task that no step links %s, and stands in the result: %+v", free.State, got)
	}
	if task := s.read(s.task.ID); task.State != slipway.Succeeded {
		t.Errorf("an upgrade whose action caught a failure %s: %s", task.State, task.Error)
	}
}

// What a person stops or starts is no change of its own, and the cluster's record says how
// the application fares afterwards all the same.
func TestTheRecordHearsOfAStop(t *testing.T) {
	t.Parallel()
	s := newScene(t, upgradeScene)
	s.world.ws["worker"] = []kube.Workload{{Kind: kube.KindDeployment, Name: "guestbook-worker"}}
	s.carry(s.task.ID)
	var stop slipway.Task
	s.must(s.store.InTx(t.Context(), func(tx *store.Tx) (err error) {
		stop, err = tx.CreateTask(t.Context(), slipway.Task{Kind: slipway.StopTask, Title: "stop worker", ApplicationID: s.app.ID, Args: []byte(`{"components":["worker"]}`)})
		return err
	}))
	s.carry(stop.ID)
	if got := s.read(stop.ID); got.State != slipway.Succeeded {
		t.Fatalf("the stop %s: %s", got.State, got.Error)
	}
	last := s.world.statuses[len(s.world.statuses)-1]
	if last.Change != 1 || last.State != kube.RecordReady || !strings.Contains(last.Message, "worker is stopped since task") {
		t.Errorf("the record says %+v", last)
	}
}
