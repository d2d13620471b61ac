package application

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"slipway.dev/slipway/internal/outside/kube"
	"slipway.dev/slipway/internal/outside/prefect"
	"slipway.dev/slipway/internal/secret"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/spec"
	"slipway.dev/slipway/internal/store"
)

// World: SQLite, and a fake world. What becomes of the calls of a running action.

const planted = "pLanted-9f3c-value"

// withWeb has an override and an environment on the web component, with a secret.
func withWeb(a *slipway.ApplicationSpec) {
	const override = "registry.example.com/mine:{{app.version}}-patched"
	a.Components = map[string]slipway.ComponentConfig{"web": {
		Image: override, Env: map[string]string{"LOG_LEVEL": "debug"}, Secrets: map[string]string{"DATABASE_URL": "db"},
	}}
}

// calling runs one upgrade whose pre-hook does what f says.
func calling(t *testing.T, k kindOfScene, f func(s *scene, l prefect.Launch)) *scene {
	t.Helper()
	k.driver = func(d *slipway.DriverSpec) { // the pod's only one; what a declared one means is held in package kube
		web := d.Components["web"]
		web.Container = ""
		d.Components["web"] = web
	}
	s := newScene(t, k, act("pre", slipway.Upgrade, slipway.Pre))
	s.putSecret("db", planted)
	s.world.ws["web"] = []kube.Workload{{Kind: kube.KindDeployment, Name: "guestbook-web", Containers: []kube.Container{{Name: "web", Image: "registry.example.com/guestbook:1.0.0"}}}}
	s.play("pre", func(l prefect.Launch) prefect.Outcome { f(s, l); return completed() })
	s.carry(s.task.ID)
	if len(s.world.launched) != 1 {
		t.Fatalf("the action did not run: %+v", s.steps())
	}
	return s
}

func (s *scene) putSecret(name, value string) {
	s.t.Helper()
	ctx := s.t.Context()
	s.must(s.store.InTx(ctx, func(tx *store.Tx) error {
		app, err := tx.Application(ctx, s.app.ID)
		if err != nil {
			return err
		}
		sealed, err := s.box.Seal(secret.Place{Installation: "installation", Environment: app.EnvironmentID, Name: name}, []byte(value))
		if err != nil {
			return err
		}
		_, err = tx.PutSecret(ctx, app.EnvironmentID, name, sealed, "admin")
		return err
	}))
}

// C9.1, C9.3, C9.4, C9.11, C10.7: a command becomes the Job that its arguments and the
// frozen context say.
func TestACommandBecomesItsJob(t *testing.T) {
	t.Parallel()
	s := calling(t, kindOfScene{kind: slipway.UpgradeChange, change: withWeb}, func(s *scene, l prefect.Launch) {
		got := s.call(l, "fr/1/1", slipway.ExecuteCommands, `{"commands":["guestbook","migrate"],"image":"r/guestbook:1.1.0","env_from_component":"web","timeout_seconds":90.5,"fail_if_output_matches":"FAILED"}`)
		if got.State != slipway.CallSucceeded {
			s.t.Errorf("the call %s: %s %s", got.State, got.Code, got.Error)
		}
	})
	if len(s.world.jobs) != 1 {
		t.Fatalf("there were %d Jobs", len(s.world.jobs))
	}
	j := s.world.jobs[0]
	if diff := cmp.Diff(j.Command, []string{"guestbook", "migrate"}); diff != "" || j.Image != "r/guestbook:1.1.0" || j.Timeout.Seconds() != 90.5 || j.From == nil || j.From.Name != "guestbook-web" {
		t.Errorf("the Job is %+v", j)
	}
	if j.FailIfOutputMatches == nil || j.FailIfOutputMatches.String() != "FAILED" {
		t.Errorf("the pattern is %v", j.FailIfOutputMatches)
	}
	if j.CallKey != "fr/1/1" || j.FlowRunID != "fr" || j.TaskID != s.task.ID || j.StepID != s.step("hook.upgrade.pre").ID || j.TaskKind != slipway.UpgradeTask || j.Release != "guestbook" {
		t.Errorf("the Job is marked %s, %s, task %d, step %d, %s, %s", j.CallKey, j.FlowRunID, j.TaskID, j.StepID, j.TaskKind, j.Release)
	}
	// The secret goes by reference; its value is in the application's Secret alone.
	want := []kube.EnvVar{{Name: "DATABASE_URL", SecretName: spec.SecretObject("guestbook"), SecretKey: "db"}, {Name: "LOG_LEVEL", Value: "debug"}}
	if diff := cmp.Diff(j.Env, want); diff != "" {
		t.Errorf("the environment of the new configuration (-got +want):\n%s", diff)
	}
}

// C5.2, C5.5, C9.1, C9.5, C9.11: what a call with a mistake is told.
func TestACallIsRefusedInWordsForItsAuthor(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		p    slipway.Primitive
		args string
		code string
		want string
	}{
		{"an unknown component", slipway.ExecuteCommands, `{"commands":["x"],"image":"a:1","env_from_component":"wbe"}`, slipway.CodeUnknownComponent, `unknown component "wbe"; this driver has: store, web, worker`},
		{"a component without a workload", slipway.ExecuteCommands, `{"commands":["x"],"image":"a:1","env_from_component":"worker"}`, slipway.CodeNoWorkload,
			`the component "worker" has no workload in namespace demo-dev yet; a setup pre action cannot copy its environment`},
		{"a pattern that is none", slipway.ExecuteCommands, `{"commands":["x"],"image":"a:1","fail_if_output_matches":"("}`, slipway.CodeInvalidArgument, "it is an RE2 regular expression"},
		{"a command that is a text", slipway.ExecuteCommands, `{"commands":"x","image":"a:1"}`, slipway.CodeInvalidArgument, "the arguments of execute_commands cannot be read"},
		{"images of an unknown component", slipway.ComponentImages, `{"component":"wbe"}`, slipway.CodeUnknownComponent, `unknown component "wbe"`},
		{"images of a component without a workload", slipway.ComponentImages, `{"component":"worker"}`, slipway.CodeNoWorkload, `the component "worker" has no workload (a setup pre action runs before the chart is applied; read images in a later mode)`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			calling(t, upgradeScene, func(s *scene, l prefect.Launch) {
				got := s.call(l, "fr/1/1", tc.p, tc.args)
				if got.State != slipway.CallFailed || got.Code != tc.code || !strings.Contains(got.Error, tc.want) {
					t.Errorf("the call %s: %s %q, want %s: %s", got.State, got.Code, got.Error, tc.code, tc.want)
				}
				if len(s.world.jobs) != 0 {
					t.Error("a Job was made all the same")
				}
			})
		})
	}
}

// C9.8, C9.9, C9.10, C11.3: the output of a failed command is kept on its step, redacted by
// the application's secrets, and of two the last one, with a line that says so.
func TestTheOutputOfAFailedCommandIsKept(t *testing.T) {
	t.Parallel()
	const args = `{"commands":["guestbook","migrate"],"image":"r/guestbook:1.1.0"}`
	s := calling(t, kindOfScene{kind: slipway.UpgradeChange, change: withWeb}, func(s *scene, l prefect.Launch) {
		n := 0
		s.world.job = func(_ kube.JobSpec, o kube.JobOptions) (kube.JobResult, error) {
			n++
			o.Note("Deleted the Job of " + planted)
			return kube.JobResult{Job: "guestbook-action", Output: o.Redact(fmt.Sprintf("attempt %d with %s\n", n, planted)), Cut: n == 2},
				&kube.Failure{Code: slipway.CodeJobFailed, Err: &slipway.Error{Kind: slipway.Unavailable, Msg: `the command "guestbook migrate" failed with exit code 1 (Job guestbook-action) ` + planted}}
		}
		first := s.call(l, "fr/1/1", slipway.ExecuteCommands, args)
		if want := `the command "guestbook migrate" failed with exit code 1 (Job guestbook-action) <redacted>`; first.Code != slipway.CodeJobFailed || first.Error != want {
			t.Errorf("the call failed with %s %q, want %q", first.Code, first.Error, want)
		}
		if got := s.step("hook.upgrade.pre"); got.Output != "attempt 1 with <redacted>\n" || got.OutputCut {
			t.Errorf("after one failure the output is %q, cut %v", got.Output, got.OutputCut)
		}
		s.call(l, "fr/1/2", slipway.ExecuteCommands, args)
	})
	step := s.step("hook.upgrade.pre")
	if step.Output != "attempt 2 with <redacted>\n" || !step.OutputCut {
		t.Errorf("after two failures the output is %q, cut %v; want the last one", step.Output, step.OutputCut)
	}
	want := []string{"Deleted the Job of <redacted>", "An earlier command of this step failed too (Job guestbook-action); the output is that of the last one"}
	if diff := cmp.Diff(step.Notes, want); diff != "" {
		t.Errorf("the notes (-got +want):\n%s", diff)
	}
	if step.State != slipway.StepSucceeded {
		t.Errorf("an action that goes on after a failed command: the step %s", step.State)
	}
}

// C10.2, C10.7: the override is that of the change's own configuration, also when the
// cluster has another one by now.
func TestImagesAreThoseOfTheFrozenContext(t *testing.T) {
	t.Parallel()
	images := func(c slipway.ActionCall) (out []string) {
		var r struct{ Images []string }
		if err := json.Unmarshal(c.Result, &r); err != nil {
			t.Errorf("the result is %q: %v", c.Result, err)
		}
		return r.Images
	}
	calling(t, kindOfScene{kind: slipway.UpgradeChange, change: withWeb}, func(s *scene, l prefect.Launch) {
		want := []string{"registry.example.com/mine:1.1.0-patched"}
		if got := images(s.call(l, "fr/1/1", slipway.ComponentImages, `{"component":"web"}`)); !slices.Equal(got, want) {
			t.Errorf("before the change of version the images are %q, want %q", got, want)
		}
		s.overtake("1.2.0", "other:9")
		if got := images(s.call(l, "fr/1/2", slipway.ComponentImages, `{"component":"web"}`)); !slices.Equal(got, want) {
			t.Errorf("after a later change the images are %q, want %q as before", got, want)
		}
	})
	calling(t, upgradeScene, func(s *scene, l prefect.Launch) {
		want := []string{"registry.example.com/guestbook:1.0.0"}
		if got := images(s.call(l, "fr/1/1", slipway.ComponentImages, `{"component":"web"}`)); !slices.Equal(got, want) {
			t.Errorf("without an override the images are %q, want %q", got, want)
		}
	})
}

// overtake writes that a later change with another version is on the cluster.
func (s *scene) overtake(version, image string) {
	s.t.Helper()
	ctx := s.t.Context()
	two := 2
	s.must(s.store.InTx(ctx, func(tx *store.Tx) error {
		wanted, err := tx.Revision(ctx, s.app.ID, 2)
		if err != nil {
			return err
		}
		later := wanted.Spec
		later.App.Version = version
		later.Components = map[string]slipway.ComponentConfig{"web": {Image: image}, "worker": {Replicas: &two}}
		if _, err := tx.CreateRevision(ctx, slipway.Revision{ApplicationID: s.app.ID, Number: 3, DriverDigest: wanted.DriverDigest, Spec: later}); err != nil {
			return err
		}
		c, err := tx.CreateChange(ctx, slipway.Change{ApplicationID: s.app.ID, Kind: slipway.UpgradeChange, Revision: 3, FromRevision: 2, Overtake: true})
		if err != nil {
			return err
		}
		s.world.record = c.Number
		return tx.SetApplicationApplied(ctx, s.app.ID, store.Applied{Revision: 3, AppVersion: version, DriverName: "guestbook", DriverVersion: "1.0.0"})
	}))
}

// C9.6, C13: a call that is carried out again, after a restart or by another process, is
// the same call; one that is over is left alone.
func TestACallIsCarriedOutOnceWhoeverComes(t *testing.T) {
	t.Parallel()
	calling(t, upgradeScene, func(s *scene, l prefect.Launch) {
		got := s.call(l, "fr/1/1", slipway.ExecuteCommands, `{"commands":["x"],"image":"a:1"}`)
		for range 3 {
			if _, err := s.r.Call(context.Background(), got.ID); err != nil {
				t.Error(err)
			}
		}
		if len(s.world.jobs) != 1 {
			t.Errorf("a call that was over ran %d Jobs", len(s.world.jobs))
		}
	})
}

// C5.2, C6.1: a call that started a task ends as that task did, with its words.
func TestACallEndsAsItsTaskDoes(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		child slipway.Task
		want  store.CallEnd
	}{
		{"well", slipway.Task{ID: 7, Kind: slipway.StopTask, State: slipway.Succeeded}, store.CallEnd{State: slipway.CallSucceeded, Result: []byte(`{"task":7}`)}},
		{"badly", slipway.Task{ID: 7, Kind: slipway.StopTask, State: slipway.Failed, Error: "pod web-1 is terminating"},
			store.CallEnd{State: slipway.CallFailed, Code: slipway.CodeTaskFailed, Error: "Stop components (task 7) failed: pod web-1 is terminating"}},
		{"by a cancel", slipway.Task{ID: 7, Kind: slipway.VersionTask, State: slipway.Cancelled},
			store.CallEnd{State: slipway.CallFailed, Code: slipway.CodeTaskFailed, Error: "Change the version (task 7) failed: cancelled"}},
	} {
		if diff := cmp.Diff(childEnd(tc.child), tc.want); diff != "" {
			t.Errorf("%s (-got +want):\n%s", tc.name, diff)
		}
	}
}
