//go:build e2e

package prefect

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// parentVariable makes this test binary a Slipway that is about to be killed.
const parentVariable = "SLIPWAY_TEST_PARENT"

// parentJob is what the parent is told, as JSON in that variable.
type parentJob struct {
	URL, Auth, Dir, RunDir, Pool, Key string
	Python                            Python
	Action                            Action
	Warm                              bool
}

// parentNews is the one line that it prints.
type parentNews struct {
	FlowRun string
	Process Process
	Spare   Process // one that has no run
}

// beParent starts an action and a spare, says so, and waits to be killed.
func beParent() {
	var job parentJob
	if err := json.Unmarshal([]byte(os.Getenv(parentVariable)), &job); err != nil {
		panic(err)
	}
	r, err := NewRunner(RunnerConfig{
		Client: NewClient(External{URL: job.URL, Auth: job.Auth}, ClientOptions{}), Python: job.Python, Dir: job.Dir, WorkPool: job.Pool,
	})
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	id, err := r.Ensure(ctx, job.Action, RunSpec{Key: job.Key})
	if err != nil {
		panic(err)
	}
	if job.Warm {
		if r.spare.spare, err = r.startSpare(); err != nil {
			panic(err)
		}
	}
	p, err := r.Start(ctx, id, Launch{Action: job.Action, RunDir: job.RunDir})
	if err != nil {
		panic(err)
	}
	idle, err := r.startSpare()
	if err != nil {
		panic(err)
	}
	<-idle.ready
	_ = json.NewEncoder(os.Stdout).Encode(parentNews{FlowRun: id, Process: p, Spare: idle.process})
	time.Sleep(10 * time.Minute)
	os.Exit(1)
}

// killedParent runs a parent until it has started the action, and kills it with -9.
func killedParent(t *testing.T, job parentJob) parentNews {
	t.Helper()
	data, err := json.Marshal(job)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), parentVariable+"="+string(data))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		t.Fatal("the parent started nothing: ", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	var news parentNews
	if err := json.Unmarshal(line, &news); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { news.Process.killGroup(""); news.Spare.killGroup("") })
	return news
}

func newParentJob(t *testing.T, r *Runner, function string) parentJob {
	t.Helper()
	ep := r.client.source.Endpoint()
	return parentJob{
		URL: ep.API, Auth: ep.Auth, Dir: t.TempDir(), RunDir: t.TempDir(), Pool: r.WorkPool, Key: newUUID(), Python: r.Python,
		Action: testAction(t, "actions.py", function, map[string]any{"context": map[string]any{}}),
	}
}

func TestAnActionOutlivesSlipway(t *testing.T) {
	for _, warm := range []bool{false, true} {
		t.Run(fmt.Sprintf("started in a warm spare: %t", warm), func(t *testing.T) {
			r := realRunner(t, nil)
			job := newParentJob(t, r, "wait_for_file")
			job.Warm = warm
			file := filepath.Join(t.TempDir(), "go-on")
			job.Action.Params["path"] = file
			news := killedParent(t, job)

			if !news.Process.alive() {
				t.Fatal("the action died with Slipway")
			}
			eventually(t, "the idle spare has ended with Slipway", func() bool { return !news.Spare.alive() })
			// The next Slipway has its database: the key and, if it got that far, the process.
			id, err := r.Ensure(t.Context(), job.Action, RunSpec{Key: job.Key})
			if err != nil || id != news.FlowRun {
				t.Fatalf("Ensure() = %s, %v; want %s", id, err, news.FlowRun)
			}
			p, err := r.Start(t.Context(), id, Launch{Action: job.Action, RunDir: job.RunDir})
			if err != nil || p != news.Process {
				t.Fatalf("Start() = %+v, %v; want %+v", p, err, news.Process)
			}
			running(t, r, id, "waiting") // it works on without a Slipway
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if got := finish(t, r, id, p, WaitOptions{}); got.State != Completed || got.Runs != 1 {
				t.Errorf("Wait() = %+v; output:\n%s", got, printed(p))
			}
		})
	}
}

func TestAnAdoptedActionIsCancelled(t *testing.T) {
	r := realRunner(t, nil)
	news := killedParent(t, newParentJob(t, r, "sleep"))
	running(t, r, news.FlowRun, "sleeping")
	if err := r.Cancel(t.Context(), news.FlowRun, news.Process); err != nil {
		t.Fatal(err)
	}
	if got := finish(t, r, news.FlowRun, news.Process, WaitOptions{}); got.State != Cancelled {
		t.Errorf("Wait() = %+v", got)
	}
}

func TestAnAdoptedActionDies(t *testing.T) {
	r := realRunner(t, nil)
	news := killedParent(t, newParentJob(t, r, "sleep"))
	running(t, r, news.FlowRun, "sleeping")
	news.Process.killGroup("")
	got := finish(t, r, news.FlowRun, news.Process, WaitOptions{})
	if !got.Crashed || !strings.Contains(got.Message, "Slipway was restarted meanwhile") || got.FirstError != got.Message {
		t.Errorf("Wait() = %+v", got)
	}
}

func TestAProcessOfAnotherHost(t *testing.T) {
	r := realRunner(t, nil)
	id, p, _ := begin(t, r, testAction(t, "actions.py", "sleep", nil), nil)
	running(t, r, id, "sleeping")
	away := p
	away.Host = "another-machine/its-boot/1/its-name"

	t.Run("is never signalled from here, and its run is followed by its state", func(t *testing.T) {
		if err := r.Cancel(t.Context(), id, away); err != nil {
			t.Fatal(err)
		}
		if !p.alive() {
			t.Error("Cancel signalled a process of another host")
		}
		followed := make(chan Outcome, 1)
		go func() { followed <- finish(t, r, id, away, WaitOptions{}) }()
		// Its own Slipway sees that it is being cancelled, and ends it.
		if got := finish(t, r, id, p, WaitOptions{}); got.State != Cancelled {
			t.Errorf("Wait() where it runs = %+v", got)
		}
		if got := <-followed; got.State != Cancelled {
			t.Errorf("Wait() elsewhere = %+v", got)
		}
	})

	t.Run("is declared crashed when its Slipway is gone", func(t *testing.T) {
		id, p, _ := begin(t, r, testAction(t, "actions.py", "sleep", nil), nil)
		running(t, r, id, "sleeping")
		p.killGroup("")
		away := p
		away.Host = "another-machine/its-boot/1/its-name"
		looks := 0
		got := finish(t, r, id, away, WaitOptions{Alive: func() bool { looks++; return looks < 3 }})
		if !got.Crashed || got.Message != "The Slipway that ran the action is gone." {
			t.Errorf("Wait() = %+v", got)
		}
	})
}
