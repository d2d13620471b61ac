package prefect

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// fakeRunner returns a Runner whose "Python" is a shell script: these tests stand on the
// fake server and real processes.
func fakeRunner(tb testing.TB, f *fake, script string) *Runner {
	tb.Helper()
	bin := tb.TempDir()
	python := filepath.Join(bin, "python")
	if err := os.WriteFile(python, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		tb.Fatal(err)
	}
	r, err := NewRunner(RunnerConfig{
		Client: f.client(), Python: Python{Interpreter: python}, Dir: filepath.Join(tb.TempDir(), "runner"),
		Grace: 300 * time.Millisecond, NoSpare: true,
	})
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

func fakeLaunch(tb testing.TB) Launch {
	tb.Helper()
	return Launch{
		Action: Action{Flow: "guestbook.upgrade", Driver: "guestbook", DriverVersion: "1.0.0", DriverDigest: "sha256:5f1c3a9d2b7e4c60",
			Dir: tb.TempDir(), File: "actions.py", Function: "upgrade"},
		Env: map[string]string{"SLIPWAY_TOKEN": "slw_token"}, RunDir: filepath.Join(tb.TempDir(), "run"),
	}
}

func mustStart(tb testing.TB, r *Runner, id string, l Launch) Process {
	tb.Helper()
	p, err := r.Start(tb.Context(), id, l)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { p.killGroup("") })
	return p
}

func TestEnsureMayBeRepeated(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	r := fakeRunner(t, f, "exit 0")
	l := fakeLaunch(t)
	f.fail(fault{suffix: "/create_flow_run", lose: true}, fault{suffix: "/work_pools/", status: 503})
	first, err := r.Ensure(t.Context(), l.Action, RunSpec{Key: "task-41/upgrade/pre/backup/1"})
	if err != nil {
		t.Fatal(err)
	}
	second, err := r.Ensure(t.Context(), l.Action, RunSpec{Key: "task-41/upgrade/pre/backup/1"})
	if err != nil || second != first {
		t.Errorf("Ensure() = %s, %v; want %s", second, err, first)
	}
	if got := f.count("POST /flows/"); got != 1 {
		t.Errorf("the flow was asked for %d times, want 1", got)
	}
	// Somebody tidied Prefect: what was remembered is asked for anew.
	f.fail(fault{suffix: "/create_flow_run", status: 404})
	third, err := r.Ensure(t.Context(), l.Action, RunSpec{Key: "task-41/upgrade/pre/backup/2"})
	if err != nil || third == first {
		t.Errorf("Ensure() = %s, %v", third, err)
	}
	if _, err := r.Ensure(t.Context(), l.Action, RunSpec{}); err == nil {
		t.Error("a run without a key was made")
	}
}

func TestOneOfManyStartsTheRun(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	id := f.add(Scheduled)
	marks := filepath.Join(t.TempDir(), "marks")
	var wins, losses int
	var mu sync.Mutex
	var all sync.WaitGroup
	for range 8 {
		r := fakeRunner(t, f, "echo started >>"+marks)
		l := fakeLaunch(t)
		all.Go(func() {
			p, err := r.Start(t.Context(), id, l)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				wins++
				_ = p.awaitEnd(t.Context())
			case errors.Is(err, ErrClaimed):
				losses++
			default:
				t.Error(err)
			}
		})
	}
	all.Wait()
	data, _ := os.ReadFile(marks)
	if wins != 1 || losses != 7 || string(data) != "started\n" {
		t.Errorf("%d started it and %d did not; the processes said %q", wins, losses, data)
	}
}

// TestWhoTakesOverStartsWhatWasNotBegun: a worker is killed between its claim and the first
// line of the action. The next one, with folders of its own, starts the action, once.
// World: fake Prefect, real processes.
func TestWhoTakesOverStartsWhatWasNotBegun(t *testing.T) {
	t.Parallel()
	marks := filepath.Join(t.TempDir(), "marks")
	killed := errors.New("killed")
	var stored Process
	for _, test := range []struct {
		name string
		note func(context.Context, Process) error // of the worker that dies
		want bool                                 // whether it had stored the process
	}{
		{"it had stored nothing", func(context.Context, Process) error { return killed }, false},
		{"it had stored the process and not opened its gate", func(_ context.Context, p Process) error { stored = p; return killed }, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			_ = os.Remove(marks)
			stored = Process{}
			f := newFake(t)
			id := f.add(Scheduled)
			first, second := fakeRunner(t, f, "echo first >>"+marks), fakeRunner(t, f, "echo second >>"+marks)
			claim := newUUID()
			l := fakeLaunch(t)
			l.Claim, l.Note = claim, test.note
			if _, err := first.Start(t.Context(), id, l); !errors.Is(err, killed) {
				t.Fatalf("Start() = %v, want the death", err)
			}
			if stored.Known() != test.want {
				t.Fatalf("stored %+v", stored)
			}
			if began, err := second.Began(t.Context(), id, stored); began || err != nil {
				t.Fatalf("Began() = %t, %v; want false", began, err)
			}
			other := fakeLaunch(t)
			other.Claim = claim
			p := mustStart(t, second, id, other)
			if err := p.awaitEnd(t.Context()); err != nil {
				t.Fatal(err)
			}
			if data, _ := os.ReadFile(marks); string(data) != "second\n" {
				t.Errorf("the processes said %q, want that the second ran once", data)
			}
			other = fakeLaunch(t)
			other.Claim = newUUID()
			if _, err := first.Start(t.Context(), id, other); !errors.Is(err, ErrClaimed) {
				t.Errorf("Start() under another claim = %v, want ErrClaimed", err)
			}
		})
	}
}

// TestWhatMayHaveBegunIsNotStartedAgain. World: fake Prefect, real processes.
func TestWhatMayHaveBegunIsNotStartedAgain(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	r := fakeRunner(t, f, "sleep 60")
	pending, running := f.add(Scheduled), f.add(Running)
	alive := mustStart(t, r, pending, fakeLaunch(t))
	other := fakeRunner(t, f, "exit 0")
	dead := Process{Host: ThisHost(), PID: alive.PID, StartTime: alive.StartTime + 1}
	away := dead
	away.Host = "machine/boot/1/elsewhere"
	for name, test := range map[string]struct {
		run  string
		p    Process
		want bool
	}{
		"its process lives":                         {pending, alive, true},
		"its process is gone and it never reported": {pending, dead, false},
		"its process is gone and it had reported":   {running, dead, true},
		"its process is on another machine":         {pending, away, true},
		"no process was stored":                     {pending, Process{}, false},
		"Prefect has forgotten the run":             {newUUID(), dead, true},
	} {
		if got, err := other.Began(t.Context(), test.run, test.p); got != test.want || err != nil {
			t.Errorf("%s: Began() = %t, %v; want %t", name, got, err, test.want)
		}
	}
}

func TestAClaimWhoseAnswerIsLostIsStillOurs(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	id := f.add(Scheduled)
	f.fail(fault{suffix: "/set_state", lose: true}, fault{suffix: "/set_state", status: 503})
	r := fakeRunner(t, f, "exit 0")
	p := mustStart(t, r, id, fakeLaunch(t))
	if err := p.awaitEnd(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestARunThatEndedIsNotStarted(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	r := fakeRunner(t, f, "exit 0")
	id := f.add(Cancelled)
	_, err := r.Start(t.Context(), id, fakeLaunch(t))
	if !errors.Is(err, ErrClaimed) || !strings.Contains(err.Error(), "CANCELLED") {
		t.Errorf("Start() = %v", err)
	}
	out, err := r.Wait(t.Context(), id, Process{}, WaitOptions{})
	if err != nil || out.State != Cancelled {
		t.Errorf("Wait() = %+v, %v", out, err)
	}
}

func TestAFolderIsOfOneRun(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	r := fakeRunner(t, f, "exit 0")
	l := fakeLaunch(t)
	mustStart(t, r, f.add(Scheduled), l)
	if _, err := r.Start(t.Context(), f.add(Scheduled), l); err == nil || !strings.Contains(err.Error(), "belongs to flow run") {
		t.Errorf("Start() = %v", err)
	}
	l.RunDir = "relative"
	if _, err := r.Start(t.Context(), f.add(Scheduled), l); err == nil {
		t.Error("a relative folder was taken")
	}
}

// TestWhatAProcessIsGiven: arguments, environment, folder, session.
func TestWhatAProcessIsGiven(t *testing.T) {
	t.Setenv("AWS_SECRET_ACCESS_KEY", "the operator's")
	t.Setenv("HTTPS_PROXY", "http://proxy:3128")
	f := newFake(t)
	r := fakeRunner(t, f, `echo "args $*"; echo "dir $PWD"; env; test -w "$TMPDIR" && echo tmp`)
	r.Python.Redacts, r.Python.Package = true, "/opt/package"
	l := fakeLaunch(t)
	id := f.add(Scheduled)
	p := mustStart(t, r, id, l)
	if err := p.awaitEnd(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := "\n" + printed(p)
	for _, want := range []string{
		"args -m prefect.engine", "dir " + l.Dir, "tmp", "HOME=" + l.RunDir, "SLIPWAY_TOKEN=slw_token",
		"PREFECT_API_URL=" + f.URL + "/api", "PREFECT_API_AUTH_STRING=" + fakeAuth, "PREFECT__FLOW_RUN_ID=" + id,
		"PREFECT__FLOW_ENTRYPOINT=" + l.Dir + "/actions.py:upgrade", "PREFECT_LOGGING_TO_API_BATCH_INTERVAL=0.5", "DO_NOT_TRACK=1",
		"PREFECT_LOGGING_SETTINGS_PATH=" + r.sharedFile("logging.yml"), "PYTHONPATH=/opt/package",
		"HTTPS_PROXY=http://proxy:3128", "NO_PROXY=127.0.0.1,localhost",
	} {
		if !strings.Contains(got, "\n"+want+"\n") {
			t.Errorf("no line %q in%s", want, got)
		}
	}
	if strings.Contains(got, "operator") {
		t.Error("the environment of Slipway reached the action")
	}
	if info, err := os.Stat(p.Output); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the output's mode is %v, %v", info.Mode(), err)
	}
}

func printed(p Process) string {
	tail, err := p.ReadTail(16 << 10)
	if err != nil {
		return err.Error()
	}
	return string(tail)
}

// TestAGateThatIsNotOpened: Slipway dies between writing the process down and the word.
func TestAGateThatIsNotOpened(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c, err := startGated(gated{Args: []string{"/bin/sh", "-c", "echo ran >" + dir + "/mark"}, Dir: dir, Output: filepath.Join(dir, "out")})
	if err != nil {
		t.Fatal(err)
	}
	if !c.process.alive() {
		t.Error("it does not wait at its gate")
	}
	c.gate.Close()
	<-c.done
	if _, err := os.Stat(filepath.Join(dir, "mark")); !errors.Is(err, os.ErrNotExist) {
		t.Error("it ran without the word")
	}
}
