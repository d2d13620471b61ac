//go:build e2e

package prefect

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestAnActionSeesItsOwnEnvironment(t *testing.T) {
	t.Setenv("SECRET_OF_THE_OPERATOR", "cloud credentials")
	for _, tc := range []struct {
		name  string
		spare func(*testing.T, *Runner)
	}{
		{"cold", func(*testing.T, *Runner) {}},
		{"in a spare that was started with the same settings", func(t *testing.T, r *Runner) { t.Helper(); withSpare(t, r) }},
		// Slipway drops such a spare. The script must be right all the same, since settings
		// that were read before are the one thing that a spare can get wrong.
		{"in a spare that was started with other settings", func(t *testing.T, r *Runner) {
			t.Helper()
			right := r.client
			r.client = NewClient(External{URL: "http://127.0.0.1:1", Auth: "wrong:auth"}, ClientOptions{})
			withSpare(t, r)
			r.client = right
			r.spare.spare.prefect = settingsOf(r.prefectEnv())
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := realRunner(t, nil)
			tc.spare(t, r)
			a := testAction(t, "actions.py", "report", nil)
			id, p, _ := begin(t, r, a, map[string]string{"SLIPWAY_TOKEN": "slw_12345", "STYRMIN_TOKEN": "slw_12345", "PREFECT_API_URL": "http://evil"})
			if got := finish(t, r, id, p, WaitOptions{}); got.State != Completed {
				t.Fatalf("Wait() = %+v; output:\n%s", got, printed(p))
			}
			got := logs(t, r, id)
			want := "api=" + r.client.source.Endpoint().API + " home=" + r.prefectHome() +
				" auth=True token=9 legacy=9 cwd=" + a.Dir + " batch=0.5 inherited=[] sid=True"
			if !strings.Contains(got, want) {
				t.Errorf("the action saw\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestStartMayBeRepeated(t *testing.T) {
	r := realRunner(t, nil)
	a := testAction(t, "actions.py", "sleep", map[string]any{"context": map[string]any{}, "seconds": 2})

	t.Run("after the process was started it returns that process", func(t *testing.T) {
		id, p, launch := begin(t, r, a, nil)
		again, err := r.Start(t.Context(), id, launch)
		if err != nil || again != p {
			t.Errorf("Start() = %v, %v; want %v", again, err, p)
		}
		elsewhere := launch
		elsewhere.RunDir = t.TempDir()
		if _, err := r.Start(t.Context(), id, elsewhere); !errors.Is(err, ErrClaimed) {
			t.Errorf("Start() in another folder = %v, want ErrClaimed", err)
		}
		if got := finish(t, r, id, p, WaitOptions{}); got.State != Completed || got.Runs != 1 {
			t.Errorf("Wait() = %+v", got)
		}
	})

	t.Run("after the claim and before the process it starts the process", func(t *testing.T) {
		id, err := r.Ensure(t.Context(), a, RunSpec{Key: newUUID()})
		if err != nil {
			t.Fatal(err)
		}
		launch := Launch{Action: a, RunDir: t.TempDir()}
		record := runRecord{FlowRun: id, Claim: newUUID()}
		if err := record.write(launch.RunDir); err != nil {
			t.Fatal(err)
		}
		claimed, err := r.client.SetState(t.Context(), id, Proposal{State: State{Type: Pending, Details: StateDetails{TransitionID: record.Claim}}})
		if err != nil || claimed.Answer != Accept {
			t.Fatal(claimed, err)
		}
		p, err := r.Start(t.Context(), id, launch)
		if err != nil {
			t.Fatal(err)
		}
		if got := finish(t, r, id, p, WaitOptions{}); got.State != Completed {
			t.Errorf("Wait() = %+v", got)
		}
	})

	t.Run("who claimed and lost what it wrote down is told so, and the run is ended", func(t *testing.T) {
		id, err := r.Ensure(t.Context(), a, RunSpec{Key: newUUID()})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.client.SetState(t.Context(), id, Proposal{State: State{Type: Pending}}); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Start(t.Context(), id, Launch{Action: a, RunDir: t.TempDir()}); !errors.Is(err, ErrClaimed) {
			t.Errorf("Start() = %v, want ErrClaimed", err)
		}
		got := finish(t, r, id, Process{}, WaitOptions{})
		if !got.Crashed || !strings.Contains(got.Message, "claimed and never started") || got.FirstError != got.Message {
			t.Errorf("Wait() = %+v", got)
		}
	})
}

// TestTheSpareIsKept uses Run as a server does: a spare is there, is taken, and is
// followed by the next.
func TestTheSpareIsKept(t *testing.T) {
	r := realRunner(t, func(c *RunnerConfig) { c.NoSpare = false })
	ended := runInBackground(t, r, knowAll)
	seat := func() *spare {
		r.spare.mu.Lock()
		defer r.spare.mu.Unlock()
		return r.spare.spare
	}
	eventually(t, "a spare is there", func() bool { return seat() != nil })
	first := seat().process
	id, p, _ := begin(t, r, testAction(t, "actions.py", "succeed", nil), nil)
	if p.PID != first.PID {
		t.Errorf("the run is in process %d, want the spare's %d", p.PID, first.PID)
	}
	if got := finish(t, r, id, p, WaitOptions{}); got.State != Completed {
		t.Errorf("Wait() = %+v", got)
	}
	eventually(t, "another spare is there", func() bool { return seat() != nil })
	second := seat().process

	// A spare that died unnoticed costs time, and nothing else.
	second.killGroup("")
	id, p, _ = begin(t, r, testAction(t, "actions.py", "succeed", nil), nil)
	if got := finish(t, r, id, p, WaitOptions{}); got.State != Completed || got.Runs != 1 {
		t.Errorf("Wait() after the spare's death = %+v", got)
	}
	eventually(t, "a third spare is there", func() bool { return seat() != nil })
	third := seat().process
	ended()
	if third.alive() {
		t.Error("the spare outlives Run")
	}
}

// TestAnActionsOutputIsBounded: 2 MB printed, 64 KiB allowed.
func TestAnActionsOutputIsBounded(t *testing.T) {
	r := realRunner(t, func(c *RunnerConfig) { c.OutputMax = 64 << 10 })
	id, p, launch := begin(t, r, testAction(t, "actions.py", "shout", nil), nil)
	if got := finish(t, r, id, p, WaitOptions{Every: 50 * time.Millisecond}); got.State != Completed {
		t.Fatalf("Wait() = %+v", got)
	}
	var size int64
	for _, name := range []string{"output.log", "output.log.1"} {
		size += fileSize(t, filepath.Join(launch.RunDir, name))
	}
	if size > 96<<10 {
		t.Errorf("%d bytes are kept, want at most 96 KiB", size)
	}
	if tail := printed(p); !strings.Contains(tail, "line 00019999") {
		t.Errorf("the end of the output is lost: %q", tail[max(0, len(tail)-200):])
	}
}

// TestTheProcessCanBeStored: the caller keeps it as JSON.
func TestTheProcessCanBeStored(t *testing.T) {
	p := Process{Host: ThisHost(), PID: 1, StartTime: 1<<63 + 1, Output: "/tmp/output.log"}
	data, err := json.Marshal(p)
	var back Process
	if err == nil {
		err = json.Unmarshal(data, &back)
	}
	if err != nil || back != p {
		t.Errorf("%s became %+v, %v", data, back, err)
	}
}

// BenchmarkFirstLine measures from the request of a flow run to the first line of the
// action's own code, in a new interpreter and in the warm spare. The budget is 1 s, warm.
// The processor time of the interpreter (cpu-s) is the same on a busy machine.
func BenchmarkFirstLine(b *testing.B) {
	for _, start := range []string{"cold", "warm"} {
		b.Run(start, func(b *testing.B) {
			r := realRunner(b, nil)
			a := testAction(b, "actions.py", "first_line", nil)
			var ensure, claim, total, cpu time.Duration
			for b.Loop() {
				b.StopTimer()
				var before time.Duration
				if start == "warm" {
					withSpare(b, r)
					before = cpuTime(b, r.spare.spare.process.PID)
				}
				b.StartTimer()
				begun := time.Now()
				id, err := r.Ensure(b.Context(), a, RunSpec{Key: newUUID(), Name: "a measurement"})
				if err != nil {
					b.Fatal(err)
				}
				ensured := time.Now()
				p, err := r.Start(b.Context(), id, Launch{Action: a, RunDir: b.TempDir()})
				if err != nil {
					b.Fatal(err)
				}
				started := time.Now()
				var first time.Time
				var used time.Duration
				eventually(b, "the first line", func() bool { first, used = firstLineAt(p); return !first.IsZero() })
				b.StopTimer()
				finish(b, r, id, p, WaitOptions{})
				b.StartTimer()
				ensure, claim, total, cpu = ensure+ensured.Sub(begun), claim+started.Sub(ensured), total+first.Sub(begun), cpu+used-before
			}
			b.ReportMetric(total.Seconds()/float64(b.N), "s/first-line")
			b.ReportMetric(cpu.Seconds()/float64(b.N), "cpu-s/first-line")
			b.ReportMetric(ensure.Seconds()/float64(b.N), "s/ensure")
			b.ReportMetric(claim.Seconds()/float64(b.N), "s/start")
		})
	}
}

// firstLineAt returns when the action printed, zero when it has not yet, and how much
// processor time its interpreter had used by then.
func firstLineAt(p Process) (at time.Time, used time.Duration) {
	_, text, found := strings.Cut(printed(p), "FIRST ")
	text, _, ended := strings.Cut(text, "\n")
	clock, cpu, _ := strings.Cut(text, " ")
	seconds, err := strconv.ParseFloat(clock, 64)
	spent, err2 := strconv.ParseFloat(cpu, 64)
	if !found || !ended || err != nil || err2 != nil {
		return time.Time{}, 0
	}
	return time.Unix(0, int64(seconds*1e9)), time.Duration(spent * 1e9)
}

// cpuTime returns the processor time that a process has used, to a hundredth of a second.
func cpuTime(tb testing.TB, pid int) time.Duration {
	tb.Helper()
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		tb.Fatal(err)
	}
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	var ticks int
	for _, field := range fields[11:13] { // utime and stime
		n, err := strconv.Atoi(field)
		if err != nil {
			tb.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}
