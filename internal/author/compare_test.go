package author

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"slipway.dev/slipway/internal/change"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/spec"
	"slipway.dev/slipway/internal/store"
	"slipway.dev/slipway/internal/store/sqlite"
)

// said is what an action hears of a call, and which task it started.
type said struct {
	Code, Error string
	Already     string
	Task        slipway.TaskKind
}

// World: the real acceptance of calls on a real SQLite database, beside the simulated
// cluster. Each row is one call in an upgrade of the guestbook from 1.0.0 to 1.1.0, or in
// an install; both must answer alike.
func TestTheSimulationAnswersAsTheRealOneDoes(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name      string
		kind      slipway.TaskKind
		stopped   []string // before
		version   string   // on the cluster; "": none
		primitive slipway.Primitive
		args      string
	}{
		{"a component is stopped", slipway.UpgradeTask, nil, "1.0.0", slipway.StopComponents, `{"components":["worker"]}`},
		{"repeats count once", slipway.UpgradeTask, nil, "1.0.0", slipway.StopComponents, `{"components":["worker","worker"]}`},
		{"what is stopped already is left out", slipway.UpgradeTask, []string{"worker"}, "1.0.0", slipway.StopComponents, `{"components":["worker","web"]}`},
		{"nothing to stop", slipway.UpgradeTask, []string{"worker"}, "1.0.0", slipway.StopComponents, `{"components":["worker"]}`},
		{"nothing to start", slipway.UpgradeTask, nil, "1.0.0", slipway.StartComponents, `{"components":["worker"]}`},
		{"a stopped component is started", slipway.UpgradeTask, []string{"worker"}, "1.0.0", slipway.StartComponents, `{"components":["worker"]}`},
		{"an unknown component", slipway.UpgradeTask, nil, "1.0.0", slipway.StopComponents, `{"components":["wroker"]}`},
		{"an unknown component beside a known one", slipway.UpgradeTask, nil, "1.0.0", slipway.StartComponents, `{"components":["worker","db"]}`},
		{"no component", slipway.UpgradeTask, nil, "1.0.0", slipway.StopComponents, `{"components":[]}`},
		{"the upgrade's version", slipway.UpgradeTask, nil, "1.0.0", slipway.ChangeVersion, `{"target_version":"1.1.0"}`},
		{"blanks around it", slipway.UpgradeTask, nil, "1.0.0", slipway.ChangeVersion, `{"target_version":" 1.1.0 "}`},
		{"the version that it has", slipway.UpgradeTask, nil, "1.0.0", slipway.ChangeVersion, `{"target_version":"1.0.0"}`},
		{"another version", slipway.UpgradeTask, nil, "1.0.0", slipway.ChangeVersion, `{"target_version":"1.7.0"}`},
		{"another spelling", slipway.UpgradeTask, nil, "1.0.0", slipway.ChangeVersion, `{"target_version":"v1.1.0"}`},
		{"no version", slipway.UpgradeTask, nil, "1.0.0", slipway.ChangeVersion, `{"target_version":" "}`},
		{"a version during an install", slipway.InstallTask, nil, "", slipway.ChangeVersion, `{"target_version":"1.1.0"}`},
		{"stopping before anything is installed", slipway.InstallTask, nil, "", slipway.StopComponents, `{"components":["worker"]}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			b := readDir(t, "examples", "drivers", "guestbook")
			d, _, err := spec.ParseDriver(b)
			if err != nil {
				t.Fatal(err)
			}
			real := realAnswer(t, b, d, tc.kind, tc.version, tc.stopped, tc.primitive, tc.args)
			simulated := simulatedAnswer(t, b, d, tc.kind, tc.version, tc.stopped, tc.primitive, tc.args)
			if diff := cmp.Diff(real, simulated); diff != "" {
				t.Errorf("the real one against the simulated one:\n%s", diff)
			}
			if real == (said{}) {
				t.Error("the real one said nothing at all")
			}
		})
	}
}

// simulatedAnswer makes the call on a simulated cluster.
func simulatedAnswer(t *testing.T, b spec.Bundle, d slipway.DriverSpec, kind slipway.TaskKind, version string, stopped []string, p slipway.Primitive, args string) said {
	t.Helper()
	parameters, err := spec.ExampleParameters(d)
	if err != nil {
		t.Fatal(err)
	}
	tools := offline(t)
	y := &story{stage: &stage{tools: tools, o: TestOptions{Bundle: b, Report: Report{Spec: d}}}}
	y.preview = Preview{Bundle: b, Spec: d, App: spec.ExampleApplication(d, "", parameters)}
	y.cluster = newCluster(tools, y.preview, nil)
	if version != "" {
		if err := y.standing(t.Context(), version); err != nil {
			t.Fatal(err)
		}
	}
	y.want("1.1.0")
	for _, name := range stopped {
		y.cluster.stopped[name] = true
	}
	w := &taskRun{story: y, from: version}
	w.snap.Task.Kind = kind
	if err := w.check(); err != nil {
		t.Fatal(err)
	}
	r := &running{cluster: y.cluster, frozen: w.frozen, version: w.version(t.Context()), answers: map[string][]byte{}}
	call := &Call{Primitive: p}
	out := said{}
	if f := r.answer(t.Context(), call, json.RawMessage(args), "run"); f != nil {
		out.Code, out.Error = f.code, f.text
	}
	out.Already, _ = call.Result["already"].(string)
	if call.Task != 0 {
		out.Task = map[slipway.Primitive]slipway.TaskKind{
			slipway.StopComponents: slipway.StopTask, slipway.StartComponents: slipway.StartTask, slipway.ChangeVersion: slipway.VersionTask,
		}[p]
	}
	return out
}

// realAnswer makes the call where a server does, up to the task that it starts.
func realAnswer(t *testing.T, b spec.Bundle, d slipway.DriverSpec, kind slipway.TaskKind, version string, stopped []string, p slipway.Primitive, args string) (out said) {
	t.Helper()
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "slipway.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	s := &change.Service{Store: db.Store}
	admin := slipway.Caller{UserID: 1, UserName: "anna", Role: slipway.Administrator, TokenID: 1}
	actions := slipway.Caller{UserName: slipway.ActionsUser, Role: slipway.ReadWrite, TokenID: 2}
	must := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	write := func(do func(context.Context, *store.Tx) error) {
		t.Helper()
		must("write", db.InTx(t.Context(), func(tx *store.Tx) error { return do(t.Context(), tx) }))
	}
	write(func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.CreateInstallation(ctx, slipway.Installation{ID: "0a1b", ExternalID: "ext"})
		if err != nil {
			return err
		}
		for _, u := range []slipway.User{{Name: "anna", Role: slipway.Administrator, Active: true}, {Name: slipway.ActionsUser, Role: slipway.ReadWrite, Active: true}} {
			made, err := tx.CreateUser(ctx, u, "")
			if err != nil {
				return err
			}
			if u.Name == slipway.ActionsUser {
				actions.UserID = made.ID
			}
		}
		return nil
	})
	packed, _, err := spec.Pack(b)
	must("pack", err)
	_, err = s.LoadDriver(t.Context(), admin, change.LoadDriverInput{Archive: packed, Source: "test"})
	must("load", err)
	_, err = s.CreateProject(t.Context(), admin, change.CreateProjectInput{Name: "example"})
	must("project", err)
	_, err = s.CreateEnvironment(t.Context(), admin, change.CreateEnvironmentInput{Project: "example", Name: "check"})
	must("environment", err)
	deploy := func(version string, expected int64) change.Accepted {
		t.Helper()
		source := fmt.Sprintf("schema_version = 1\nname = %q\n[driver]\nname = %q\nversion = %q\n[app]\nversion = %q\n[parameters]\nadmin_email = \"someone@example.com\"\n",
			d.Name, d.Name, d.Version, version)
		a, err := s.Deploy(t.Context(), admin, change.DeployInput{
			SpecInput: change.SpecInput{Project: "example", Environment: "check", Source: []byte(source)}, ExpectedRevision: &expected,
		})
		must("deploy", err)
		return a
	}
	expected := int64(0)
	if version != "" {
		a := deploy(version, 0)
		expected = 1
		write(func(ctx context.Context, tx *store.Tx) error {
			epoch, err := tx.ClaimTask(ctx, a.Task.ID, "r-1")
			if err != nil {
				return err
			}
			err = tx.SetApplicationApplied(ctx, a.Application.ID, store.Applied{Revision: 1, AppVersion: version, DriverName: d.Name, DriverVersion: d.Version})
			if err != nil {
				return err
			}
			return tx.FinishTask(ctx, a.Task.ID, epoch, store.TaskEnd{State: slipway.Succeeded})
		})
	}
	a := deploy("1.1.0", expected)
	if a.Task.Kind != kind {
		t.Fatalf("the change is an %s, want an %s", a.Task.Kind, kind)
	}
	var step slipway.Step
	write(func(ctx context.Context, tx *store.Tx) error {
		for _, name := range stopped {
			if err := tx.SetComponentStopped(ctx, a.Application.ID, name, a.Task.ID); err != nil {
				return err
			}
		}
		epoch, err := tx.ClaimTask(ctx, a.Task.ID, "r-1")
		if err != nil {
			return err
		}
		step, err = tx.OpenStep(ctx, a.Task.ID, epoch, "hook.upgrade.core", slipway.StepUpgradeCore)
		return err
	})
	actions.TaskID = a.Task.ID
	call, err := s.ActionCall(t.Context(), actions, change.ActionCallInput{StepID: step.ID, FlowRunID: "run", Key: "run/1/1", Primitive: p, Args: []byte(args)})
	must("call", err)
	out = said{Code: call.Code, Error: call.Error}
	var result struct {
		Already string `json:"already"`
	}
	if len(call.Result) > 0 {
		must("read the result", json.Unmarshal(call.Result, &result))
	}
	out.Already = result.Already
	if call.ChildTask != 0 {
		must("read the task", db.Read(t.Context(), func(tx *store.Tx) error {
			child, err := tx.Task(t.Context(), call.ChildTask)
			out.Task = child.Kind
			return err
		}))
	}
	out.Error = strings.TrimSpace(out.Error)
	return out
}
