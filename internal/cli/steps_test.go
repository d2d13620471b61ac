package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"slipway.dev/slipway/internal/wire"
)

// These tests stand in the pure world: a task goes in, lines come out.

var t0 = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

func at(seconds float64) *time.Time {
	t := t0.Add(time.Duration(seconds * float64(time.Second)))
	return &t
}

// step makes a step that has ended, and took from..to seconds.
func step(id int64, name, state string, from, to float64) wire.Step {
	return wire.Step{ID: id, Name: name, State: state, StartedAt: *at(from), EndedAt: at(to)}
}

func plain(t *testing.T) (screen, *bytes.Buffer) {
	t.Helper()
	out := &bytes.Buffer{}
	return screen{s: &session{Process: Process{Stdout: out}, format: "table"}, w: out, task: 41}, out
}

// failedUpgrade is the session that the design shows.
func failedUpgrade() (wire.Task, wire.Application) {
	check := step(1, "Check the change", "succeeded", 0, 0.2)
	pre := step(2, "Run the upgrade pre-hook", "succeeded", 1, 5.1)
	core := step(3, "Run the upgrade hook", "failed", 6, 18.8)
	core.Error = `the command "guestbook migrate" failed with exit code 1 (Job guestbook-action)`
	core.Output = &wire.StepOutput{Lines: 15, Tail: []string{`12:03:41 column "author" already exists`}}
	core.Tasks = []wire.LinkedTask{{ID: 42, Type: "Stop components", State: "succeeded"}, {ID: 43, Type: "Change the version", State: "succeeded"}}
	task := wire.Task{
		ID: 41, RootID: 41, Kind: "upgrade", Title: "upgrade guestbook to 1.1.0", State: "failed", Error: core.Error, Hint: "worker is stopped since task 41 · start it with  slipway start demo/dev/guestbook worker · once the cause is gone, go on from there with  slipway tasks retry 41",
		Steps: []wire.Step{check, pre, core}, CreatedAt: t0, StartedAt: at(0), EndedAt: at(19),
	}
	app := wire.Application{Project: "demo", Environment: "dev", Name: "guestbook", Components: []wire.ApplicationComponent{{Name: "web"}, {Name: "worker", Stopped: true, StoppedByTask: 41}}}
	return task, app
}

func TestAFailedUpgradeReadsAsTheDesignShowsIt(t *testing.T) {
	t.Parallel()
	task, app := failedUpgrade()
	v, _ := plain(t)
	got := []string{taskHeader(task)}
	for _, s := range task.Steps {
		got = append(got, v.stepLines(s)...)
	}
	got = append(got, v.ending(task, app))
	want := strings.Split(strings.TrimPrefix(`
task 41  upgrade guestbook to 1.1.0
  ✓ Check the change                  0.2s
  ✓ Run the upgrade pre-hook          4.1s
  ✗ Run the upgrade hook             12.8s   the command "guestbook migrate" failed with exit code 1 (Job guestbook-action)
      12:03:41 column "author" already exists
      … 14 more lines: slipway tasks get 41 --output
    started  ✓ Stop components (task 42)  ✓ Change the version (task 43)
failed: worker is stopped since task 41 · start it with  slipway start demo/dev/guestbook worker · once the cause is gone, go on from there with  slipway tasks retry 41`, "\n"), "\n")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

func TestEndings(t *testing.T) {
	t.Parallel()
	stopped := func(task int64) wire.Application {
		return wire.Application{Project: "shop", Environment: "dev", Name: "guestbook", Components: []wire.ApplicationComponent{
			{Name: "web", Stopped: true, StoppedByTask: task}, {Name: "worker", Stopped: true, StoppedByTask: task},
		}}
	}
	failed := wire.Task{ID: 41, RootID: 41, State: "failed", Error: "the cluster does not answer", Hint: "repeat it later"}
	shown := failed
	shown.Steps = []wire.Step{{State: "failed", Error: "the cluster does not answer"}}
	for _, tc := range []struct {
		name string
		task wire.Task
		app  wire.Application
		want string
	}{
		{"a success tells how long it took", wire.Task{State: "succeeded", CreatedAt: t0, StartedAt: at(1), EndedAt: at(18.1)}, wire.Application{}, "succeeded in 17.1s"},
		{"one that never started counts from its request", wire.Task{State: "succeeded", CreatedAt: t0, EndedAt: at(3)}, wire.Application{}, "succeeded in 3.0s"},
		{"a failure that no step has told", failed, wire.Application{}, "failed: the cluster does not answer · repeat it later"},
		{"a failure that a step has told", shown, wire.Application{}, "failed: repeat it later"},
		{"several components left stopped", failed, stopped(41), "failed: the cluster does not answer · web, worker are stopped since task 41 · start them with  slipway start shop/dev/guestbook web worker · repeat it later"},
		{"components left stopped by a failure that a step has told", shown, stopped(41), "failed: web, worker are stopped since task 41 · start them with  slipway start shop/dev/guestbook web worker · repeat it later"},
		{"components that another task stopped", failed, stopped(12), "failed: the cluster does not answer · repeat it later"},
		{"cancelled by a person", wire.Task{State: "cancelled", CancelledBy: "ada"}, wire.Application{}, "cancelled by ada"},
		{"cancelled by nobody", wire.Task{State: "cancelled"}, wire.Application{}, "cancelled"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			v, _ := plain(t)
			if got := v.ending(tc.task, tc.app); got != tc.want {
				t.Errorf("ending() = %q, want %q", got, tc.want)
			}
		})
	}
}

func TestStepLines(t *testing.T) {
	t.Parallel()
	long := step(7, "Run the upgrade hook", "failed", 0, 1)
	long.Error = "first\nsecond \n\n  third"
	noted := step(7, "Install the chart", "succeeded", 0, 61)
	noted.Notes = []string{"Deleted the Job guestbook-action, left by the upgrade task 40"}
	evil := step(7, "x", "failed", 0, 1)
	evil.Output = &wire.StepOutput{Lines: 1, Tail: []string{"a\x1b[2Jb\x07c\u009bd\te"}}
	for _, tc := range []struct {
		name    string
		step    wire.Step
		outputs map[int64]wire.Output
		want    []string
	}{
		{"an error of several lines", long, nil, []string{"  ✗ Run the upgrade hook              1.0s   first", "      second", "        third"}},
		{"a note", noted, nil, []string{"  ✓ Install the chart                1m01s", "    · Deleted the Job guestbook-action, left by the upgrade task 40"}},
		{"output cannot move the cursor", evil, nil, []string{"  ✗ x                                 1.0s", "      a[2Jbcd\te"}},
		{
			"the whole output, cut before it was stored", evil, map[int64]wire.Output{7: {Text: "one\ntwo\n", Cut: true}},
			[]string{"  ✗ x                                 1.0s", "      earlier output was cut", "      one", "      two"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			v, _ := plain(t)
			v.outputs = tc.outputs
			if diff := cmp.Diff(tc.want, v.stepLines(tc.step)); diff != "" {
				t.Errorf("stepLines() (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAStepIsWrittenOnceAndOnlyWhenItHasEnded(t *testing.T) {
	t.Parallel()
	task, _ := failedUpgrade()
	task.State, task.EndedAt = "running", nil
	done, running := task.Steps[0], task.Steps[1]
	running.State, running.EndedAt = "running", nil
	out := &bytes.Buffer{}
	s := &session{Process: Process{Stdout: out}, format: "table"}
	task.Steps = []wire.Step{done, running}
	l := newLive(s, task)
	l.update(task)
	task.Steps = []wire.Step{done, step(2, running.Name, "succeeded", 1, 5.1)}
	l.update(task)
	l.draw(task)
	want := "task 41  upgrade guestbook to 1.1.0\n" +
		"  ✓ Check the change                  0.2s\n" +
		"  ✓ Run the upgrade pre-hook          4.1s\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
}

func TestTheRunningLineFitsTheTerminal(t *testing.T) {
	t.Parallel()
	task := wire.Task{State: "running", Steps: []wire.Step{{
		Name: "Run the upgrade hook", State: "running", StartedAt: time.Now(),
		Tasks: []wire.LinkedTask{{ID: 42, Type: "Stop components", State: "running"}},
	}}}
	if got := []rune(runningLine(task, 3, 40)); len(got) != 40 || got[39] != '…' {
		t.Errorf("runningLine() = %q, %d wide; want 40 with its end cut", string(got), len(got))
	}
	if got := runningLine(task, 3, 0); !strings.Contains(got, "Run the upgrade hook · Stop components (task 42)") {
		t.Errorf("runningLine() = %q, want the step and the task it waits for", got)
	}
}

func TestAStepNamesThePagesOfItsActionsInPrefect(t *testing.T) {
	t.Parallel()
	v, _ := plain(t)
	s := step(1, "Run the upgrade hook", "succeeded", 0, 1)
	s.Runs = []wire.ActionRun{{Action: "migrate", FlowRunID: "0b8f", URL: "http://prefect/runs/flow-run/0b8f"}, {Action: "check"}}
	got := strings.Join(v.stepLines(s)[1:], "\n")
	if want := "    action   migrate in Prefect: http://prefect/runs/flow-run/0b8f"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
