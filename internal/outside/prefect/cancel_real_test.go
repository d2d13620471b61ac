//go:build e2e

package prefect

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// running waits until the action's own code has logged something.
func running(tb testing.TB, r *Runner, id, logged string) string {
	tb.Helper()
	var text string
	eventually(tb, "the action logs "+logged, func() bool { text = logs(tb, r, id); return strings.Contains(text, logged) })
	return text
}

func TestCancel(t *testing.T) {
	t.Run("an action that obeys TERM", func(t *testing.T) {
		r := realRunner(t, nil)
		id, p, _ := begin(t, r, testAction(t, "actions.py", "sleep", nil), nil)
		running(t, r, id, "sleeping")
		waited := make(chan Outcome, 1)
		go func() { waited <- finish(t, r, id, p, WaitOptions{}) }()
		if err := r.Cancel(t.Context(), id, p); err != nil {
			t.Fatal(err)
		}
		if got := <-waited; got.State != Cancelled || got.Expired || got.Crashed {
			t.Errorf("Wait() = %+v", got)
		}
		if err := r.Cancel(t.Context(), id, p); err != nil {
			t.Errorf("a second Cancel() = %v", err)
		}
	})

	t.Run("an action that ignores TERM, with a child that does too", func(t *testing.T) {
		r := realRunner(t, nil)
		id, p, _ := begin(t, r, testAction(t, "actions.py", "stubborn", nil), nil)
		child := childOf(t, running(t, r, id, "child "))
		begun := time.Now()
		if err := r.Cancel(t.Context(), id, p); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begun); took < r.Grace {
			t.Errorf("it was killed after %s, before its %s of grace", took, r.Grace)
		}
		if got := finish(t, r, id, p, WaitOptions{}); got.State != Cancelled {
			t.Errorf("Wait() = %+v", got)
		}
		eventually(t, "the child is gone", func() bool { now, lives := lookUp(child); return !lives || now.ended })
	})

	t.Run("an action that has completed stays completed", func(t *testing.T) {
		r := realRunner(t, nil)
		id, p, _ := begin(t, r, testAction(t, "actions.py", "succeed", nil), nil)
		finish(t, r, id, p, WaitOptions{})
		if err := r.Cancel(t.Context(), id, p); err != nil {
			t.Fatal(err)
		}
		if got := finish(t, r, id, p, WaitOptions{}); got.State != Completed {
			t.Errorf("Wait() = %+v", got)
		}
	})

	t.Run("a run that was never started", func(t *testing.T) {
		r := realRunner(t, nil)
		id, err := r.Ensure(t.Context(), testAction(t, "actions.py", "succeed", nil), RunSpec{Key: newUUID()})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Cancel(t.Context(), id, Process{}); err != nil {
			t.Fatal(err)
		}
		if got := finish(t, r, id, Process{}, WaitOptions{}); got.State != Cancelled {
			t.Errorf("Wait() = %+v", got)
		}
	})

	t.Run("by somebody in Prefect's own pages", func(t *testing.T) {
		r := realRunner(t, nil)
		id, p, _ := begin(t, r, testAction(t, "actions.py", "sleep", nil), nil)
		running(t, r, id, "sleeping")
		answer, err := r.client.SetState(t.Context(), id, Proposal{State: State{Type: Cancelling, Name: "Cancelling"}})
		if err != nil || answer.Answer != Accept {
			t.Fatalf("SetState() = %+v, %v", answer, err)
		}
		if got := finish(t, r, id, p, WaitOptions{}); got.State != Cancelled {
			t.Errorf("Wait() = %+v", got)
		}
	})
}

func TestADeadlineEndsTheAction(t *testing.T) {
	r := realRunner(t, nil)
	id, p, _ := begin(t, r, testAction(t, "actions.py", "sleep", nil), nil)
	running(t, r, id, "sleeping")
	got := finish(t, r, id, p, WaitOptions{Deadline: time.Now().Add(time.Second)})
	if got.State != Cancelled || !got.Expired {
		t.Errorf("Wait() = %+v", got)
	}
	if p.alive() {
		t.Error("the process lives on")
	}
}

// TestWhatAnActionLeavesBehindIsEnded: its run is over, so it must not go on acting.
func TestWhatAnActionLeavesBehindIsEnded(t *testing.T) {
	r := realRunner(t, nil)
	id, p, _ := begin(t, r, testAction(t, "actions.py", "leave_a_child", nil), nil)
	if got := finish(t, r, id, p, WaitOptions{}); got.State != Completed {
		t.Fatalf("Wait() = %+v", got)
	}
	child := childOf(t, running(t, r, id, "child "))
	eventually(t, "the child is gone", func() bool { now, lives := lookUp(child); return !lives || now.ended })
}

func childOf(tb testing.TB, log string) int {
	tb.Helper()
	found := regexp.MustCompile(`child (\d+)`).FindStringSubmatch(log)
	if found == nil {
		tb.Fatalf("no child in the log: %s", log)
	}
	pid, _ := strconv.Atoi(found[1])
	return pid
}
