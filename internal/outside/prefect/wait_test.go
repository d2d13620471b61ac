package prefect

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// TestWait: the process says nothing to the fake server, so the state that it "reported"
// is set by the test.
func TestWait(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		script  string
		reports func(f *fake, id string) // while the process runs
		want    StateType
		message string
		log     string // what we wrote to the run's log
	}{
		{name: "it completed, although the exit code says otherwise", script: "sleep 0.3; exit 7",
			reports: setTo(State{Type: Completed, Name: "Completed"}), want: Completed},
		{name: "it failed, although the exit code says otherwise", script: "sleep 0.3; exit 0",
			reports: setTo(State{Type: Failed, Name: "Failed", Message: "Flow run encountered an exception: ValueError: no"}), want: Failed, message: "ValueError: no"},
		{name: "it died while running", script: "sleep 0.3; kill -9 $$", reports: setTo(State{Type: Running}),
			want: Crashed, message: "killed by signal 9 (killed); it may have run out of memory", log: "killed by signal 9"},
		{name: "it could not be loaded", script: "exit 1", want: Crashed, message: "exit code 1", log: "exit code 1"},
		{name: "it died while it waited for its next try", script: "sleep 0.3", want: Crashed, message: "exit code 0", log: "exit code 0",
			reports: func(f *fake, id string) {
				setTo(State{Type: Scheduled, Name: "AwaitingRetry"})(f, id)
				f.held[id] = true
			}},
		{name: "it died while it was being cancelled", script: "sleep 0.3", want: Cancelled, message: "exit code 0", log: "exit code 0",
			reports: setTo(State{Type: Cancelling, Name: "Cancelling"})},
		{name: "it suspended itself", script: "sleep 0.3", want: Crashed, message: "does not resume", log: "suspended itself",
			reports: setTo(State{Type: Paused, Name: "Suspended"})},
		{name: "somebody deleted its flow run", script: "sleep 0.3", want: Crashed, message: "not in Prefect any more",
			reports: func(f *fake, id string) { delete(f.runs, id) }},
		{name: "the server was down when it ended", script: "sleep 0.3", want: Completed, reports: func(f *fake, id string) {
			setTo(State{Type: Completed, Name: "Completed"})(f, id)
			f.faults = append(f.faults, fault{suffix: "/" + id, status: 503}, fault{suffix: "/" + id, lose: true})
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			r := fakeRunner(t, f, tc.script)
			id := f.add(Scheduled)
			p := mustStart(t, r, id, fakeLaunch(t))
			if tc.reports != nil {
				f.mu.Lock()
				tc.reports(f, id)
				f.mu.Unlock()
			}
			got, err := r.Wait(t.Context(), id, p, WaitOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if got.State != tc.want || got.Crashed != (tc.want == Crashed) || !strings.Contains(got.Message, tc.message) {
				t.Errorf("Wait() = %+v, want %s %q", got, tc.want, tc.message)
			}
			if (tc.log != "") != (len(f.logs) == 1) {
				t.Errorf("the log is %v", f.logs)
			}
			if tc.want == Crashed && !strings.Contains(got.FirstError, tc.log) {
				t.Errorf("FirstError = %q", got.FirstError)
			}
			again, err := r.Wait(t.Context(), id, p, WaitOptions{})
			if err != nil || again != got {
				t.Errorf("a second Wait() = %+v, %v", again, err)
			}
		})
	}
}

func setTo(s State) func(*fake, string) {
	return func(f *fake, id string) { f.runs[id].State = s }
}

// TestTheEnginesOwnWordComesFirst: it reported between our look and our proposal.
func TestTheEnginesOwnWordComesFirst(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	r := fakeRunner(t, f, "exit 0")
	id := f.add(Running)
	f.fail(fault{suffix: "/logs/", status: 503}) // time for the engine's last request to arrive
	go func() {
		time.Sleep(50 * time.Millisecond)
		f.mu.Lock()
		defer f.mu.Unlock()
		f.runs[id].State = State{Type: Completed, Name: "Completed"}
	}()
	got, err := r.Wait(t.Context(), id, Process{}, WaitOptions{})
	if err != nil || got.State != Completed {
		t.Errorf("Wait() = %+v, %v", got, err)
	}
}

func TestWaitGivesUpOnAServerThatStaysAway(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	r := fakeRunner(t, f, "exit 0")
	id := f.add(Scheduled)
	p := mustStart(t, r, id, fakeLaunch(t))
	f.CloseClientConnections()
	f.Close()
	_, err := r.Wait(t.Context(), id, p, WaitOptions{Unreachable: 500 * time.Millisecond})
	if !errors.Is(err, ErrUnreachable) {
		t.Errorf("Wait() = %v", err)
	}
}

func TestTheEndOfWaitIsNotTheEndOfTheProcess(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	r := fakeRunner(t, f, "sleep 60")
	id := f.add(Scheduled)
	p := mustStart(t, r, id, fakeLaunch(t))
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := r.Wait(ctx, id, p, WaitOptions{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Wait() = %v", err)
	}
	if !p.alive() {
		t.Error("the process ended with the wait")
	}
}

func TestAProcessThatStaysAfterItsRunEndedIsEnded(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	r := fakeRunner(t, f, "sleep 60")
	id := f.add(Scheduled)
	p := mustStart(t, r, id, fakeLaunch(t))
	f.mu.Lock()
	f.runs[id].State = State{Type: Completed, Name: "Completed"}
	f.mu.Unlock()
	got, err := r.Wait(t.Context(), id, p, WaitOptions{Every: 50 * time.Millisecond})
	if err != nil || got.State != Completed || p.alive() {
		t.Errorf("Wait() = %+v, %v; the process lives: %t", got, err, p.alive())
	}
}

func TestCancelAndWaitAtOnce(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	// It answers TERM as the engine does: by declaring itself crashed, which the test does.
	r := fakeRunner(t, f, "trap 'exit 0' TERM; sleep 60 & wait")
	id := f.add(Scheduled)
	p := mustStart(t, r, id, fakeLaunch(t))
	f.mu.Lock()
	f.runs[id].State = State{Type: Running}
	f.mu.Unlock()
	waited := make(chan Outcome, 1)
	go func() {
		out, err := r.Wait(t.Context(), id, p, WaitOptions{})
		if err != nil {
			t.Error(err)
		}
		waited <- out
	}()
	go func() {
		_ = p.awaitEnd(t.Context())
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.runs[id].State.Type == Running {
			f.runs[id].State = State{Type: Crashed, Name: "Crashed", Message: "termination signal"}
		}
	}()
	time.Sleep(100 * time.Millisecond)
	if err := r.Cancel(t.Context(), id, p); err != nil {
		t.Fatal(err)
	}
	if got := <-waited; got.State != Cancelled {
		t.Errorf("Wait() = %+v", got)
	}
}

func TestCancelEndsTheProcessWhilePrefectIsDown(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	r := fakeRunner(t, f, "trap '' TERM; sleep 60 & wait; sleep 60")
	id := f.add(Scheduled)
	p := mustStart(t, r, id, fakeLaunch(t))
	f.CloseClientConnections()
	f.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := r.Cancel(ctx, id, p); !errors.Is(err, ErrUnreachable) {
		t.Errorf("Cancel() = %v", err)
	}
	if p.alive() {
		t.Error("the process lives on")
	}
}
