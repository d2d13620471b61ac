//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"slipway.dev/slipway/internal/outside/prefect"
	"slipway.dev/slipway/internal/store/postgres/postgrestest"
	"slipway.dev/slipway/internal/wire"
	"slipway.dev/slipway/test/world"
)

// end is what must be the same after an upgrade, however often it was disturbed.
type end struct {
	state   string
	version string
	steps   string // names and states, in order
	linked  string // the tasks that actions started, by type and state
	images  string // of what runs on the cluster
	worker  int    // pods
}

func (w *installation) end(task wire.Task) end {
	e := end{state: task.State, version: w.application("guestbook").AppVersion}
	for _, s := range task.Steps {
		e.steps += s.Name + " " + s.State + "\n"
		for _, l := range s.Tasks {
			e.linked += l.Type + " " + l.State + "\n"
		}
	}
	e.images = w.Kubectl("-n", w.namespace(), "get", "deployments", "-o", `jsonpath={range .items[*]}{.metadata.name} {.spec.template.spec.containers[0].image} {.status.readyReplicas}{"\n"}{end}`)
	e.worker = len(w.pods("worker"))
	return e
}

// boundaries names what has begun and ended so far: each change of it is a boundary.
func boundaries(t wire.Task) string {
	var b strings.Builder
	b.WriteString(t.State)
	for _, s := range t.Steps {
		fmt.Fprintf(&b, "|%s:%s", s.Key, s.State)
		for _, l := range s.Tasks {
			fmt.Fprintf(&b, ",%s:%s", l.Type, l.State)
		}
	}
	return b.String()
}

var (
	undisturbedOnce sync.Once
	undisturbedEnd  end
)

// undisturbed is the end of an upgrade that nobody kills, to compare with.
func undisturbed(t *testing.T) end {
	undisturbedOnce.Do(func() {
		t.Run("undisturbed", func(t *testing.T) {
			w := newWorld(t)
			w.loadDriver("guestbook")
			w.wantState(w.Deploy(guestbook(t, "1.0.0")), "succeeded")
			task := w.Deploy(guestbook(t, "1.1.0"))
			w.wantState(task, "succeeded")
			undisturbedEnd = w.end(task)
		})
	})
	if undisturbedEnd.state == "" {
		t.Fatal("the undisturbed upgrade did not end")
	}
	return undisturbedEnd
}

// disturbed follows a task to its end, and lets disturb do its worst at each boundary, once.
// It goes on through times in which the server does not answer.
func (w *installation) disturbed(task wire.Task, disturb func(at string)) wire.Task {
	w.T.Helper()
	seen := map[string]bool{}
	for deadline := time.Now().Add(8 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		now, err := w.API.WaitTask(w.T.Context(), task.ID, "", 0)
		if err == nil {
			task = now
		}
		if task.Over() {
			break
		}
		if time.Now().After(deadline) {
			w.T.Fatalf("the upgrade did not end:\n%s", world.Summary(task))
		}
		if at := boundaries(task); err == nil && !seen[at] {
			seen[at] = true
			w.T.Logf("disturb at %s", at)
			disturb(at)
		}
	}
	if len(seen) < 8 {
		w.T.Errorf("disturbed only %d times: the boundaries were not met", len(seen))
	}
	return task
}

// TestKilledAtEveryBoundary kills the server with SIGKILL whenever a step or a task of an
// upgrade has begun or ended, and starts it again. The end is that of an undisturbed
// upgrade. World: real cluster, real Prefect, SQLite.
func TestKilledAtEveryBoundary(t *testing.T) {
	want := undisturbed(t)
	w := newWorld(t)
	w.loadDriver("guestbook")
	w.wantState(w.Deploy(guestbook(t, "1.0.0")), "succeeded")
	task := w.Accept(guestbook(t, "1.1.0"))
	task = w.disturbed(task, func(string) {
		token := world.ReadFile(t, w.Dir+"/token")
		w.Kill(w.Servers[len(w.Servers)-1])
		p := w.Launch("data")
		w.Connect(token)
		world.Eventually(t, time.Minute, "the server is back", func() (bool, string) {
			select {
			case <-p.Done:
				t.Fatalf("the server did not start again:\n%s", world.Tail(p.Log))
			default:
			}
			_, err := w.API.Task(t.Context(), task.ID)
			return err == nil, fmt.Sprint(err)
		})
	})
	if got := w.end(task); got != want {
		t.Errorf("the end is\n%+v\nwant that of an undisturbed upgrade\n%+v\n%s", got, want, world.Summary(task))
	}
}

// TestPrefectKilledAtEveryBoundary kills Prefect's server in the same places. Slipway starts
// it again, and the actions that ran meanwhile report to it. World: real cluster, real
// Prefect, SQLite.
func TestPrefectKilledAtEveryBoundary(t *testing.T) {
	want := undisturbed(t)
	w := newWorld(t)
	w.loadDriver("guestbook")
	w.wantState(w.Deploy(guestbook(t, "1.0.0")), "succeeded")
	killed := map[string]bool{}
	task := w.disturbed(w.Accept(guestbook(t, "1.1.0")), func(string) {
		for _, pid := range w.processes("prefect server start|prefect.server.api") {
			// A server that was killed a moment ago may not be back yet.
			if !killed[pid] && exec.Command("kill", "-KILL", pid).Run() == nil {
				killed[pid] = true
			}
		}
	})
	if len(killed) < 3 {
		t.Errorf("Prefect was killed only %d times", len(killed))
	}
	if got := w.end(task); got != want {
		t.Errorf("after %d kills the end is\n%+v\nwant that of an undisturbed upgrade\n%+v\n%s", len(killed), got, want, world.Summary(task))
	}
}

// processes lists what this world has running whose command line holds some words.
func (w *installation) processes(words string) []string {
	out, err := exec.Command("pgrep", "-f", words).Output()
	if err != nil {
		return nil // none
	}
	var mine []string
	for _, pid := range strings.Fields(string(out)) {
		environ, err := os.ReadFile("/proc/" + pid + "/environ")
		if err == nil && strings.Contains(string(environ), w.Dir) {
			mine = append(mine, pid)
		}
	}
	return mine
}

// TestTheOtherWorkerTakesOver kills, at every boundary of an upgrade's steps, the one of two
// workers that holds the task, and starts another in its place. The living one goes on
// within a minute each time, and the end is that of an undisturbed upgrade. World: real
// cluster, real Prefect (one for all), PostgreSQL.
func TestTheOtherWorkerTakesOver(t *testing.T) {
	want := undisturbed(t)
	w := prepared(t)
	dsn := postgrestest.DSN(t)
	flags := append(externalPrefect(t, w), "--database", dsn)
	// The first to start makes the keyset of secrets; the others are given it.
	key := filepath.Join(w.Dir, "api", "secret.key")
	worker := func(data string) *world.Process {
		return w.Launch(data, append(flags, "--role", "worker", "--secrets-key-file", key)...)
	}

	api := w.Launch("api", append(flags, "--role", "api")...)
	w.Ready(api)
	w.SetUp("api")
	workers := []*world.Process{worker("worker-1"), worker("worker-2")}
	w.URL = api.URL
	w.loadDriver("guestbook")
	w.wantState(w.Deploy(guestbook(t, "1.0.0")), "succeeded")

	task := w.Accept(guestbook(t, "1.1.0"))
	seen := map[string]bool{}
	kills := 0
	for deadline := time.Now().Add(12 * time.Minute); !task.Over(); {
		if time.Now().After(deadline) {
			t.Fatalf("the upgrade did not end after %d kills:\n%s", kills, world.Summary(task))
		}
		var err error
		if task, err = w.API.WaitTask(t.Context(), task.ID, "", 0); err != nil {
			t.Fatal(err)
		}
		if at := stepBoundaries(task); task.State == "running" && !seen[at] {
			seen[at] = true
			holder := holderOf(t, dsn, task.ID)
			victim := slices.IndexFunc(workers, func(p *world.Process) bool { return strings.Contains(world.ReadFile(t, p.Log), "replica="+holder) })
			if victim < 0 {
				t.Fatalf("no worker has the ID %s", holder)
			}
			t.Logf("kill worker %d at %s", victim+1, at)
			w.Kill(workers[victim])
			killed := time.Now()
			kills++
			world.Eventually(t, 60*time.Second, "another worker has the task", func() (bool, string) {
				now, err := w.API.Task(t.Context(), task.ID)
				if err != nil {
					return false, err.Error()
				}
				return now.Over() || holderOf(t, dsn, task.ID) != holder, holder
			})
			t.Logf("taken over after %s", time.Since(killed).Round(100*time.Millisecond))
			workers[victim] = worker(fmt.Sprintf("worker-%d", victim+1))
			w.URL = api.URL
		}
		time.Sleep(20 * time.Millisecond)
	}
	if kills < 4 {
		t.Errorf("only %d kills: the boundaries were not met", kills)
	}
	if got := w.end(task); got != want {
		t.Errorf("after %d kills the end is\n%+v\nwant that of an undisturbed upgrade\n%+v\n%s", kills, got, want, world.Summary(task))
	}
}

// stepBoundaries is as boundaries, of the task's own steps alone: each takeover takes the
// time in which a dead worker is known to be dead.
func stepBoundaries(t wire.Task) string {
	var b strings.Builder
	for _, s := range t.Steps {
		fmt.Fprintf(&b, "|%s:%s", s.Key, s.State)
	}
	return b.String()
}

// holderOf asks the database who has a task.
func holderOf(t *testing.T, dsn string, task int64) string {
	t.Helper()
	out, err := exec.Command("psql", "--no-psqlrc", "-At", "-d", dsn, "-c", fmt.Sprintf("SELECT holder FROM tasks WHERE id = %d", task)).CombinedOutput()
	if err != nil {
		t.Fatalf("psql: %v\n%s", err, out)
	}
	return strings.TrimSpace(string(out))
}

// externalPrefect starts a Prefect server that is nobody's child, and returns the flags
// that name it.
func externalPrefect(t *testing.T, w *installation) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(world.Venv(t), "*-py*"))
	if err != nil || len(found) == 0 {
		t.Fatalf("no Python environment in %s: %v", world.Venv(t), err)
	}
	var interpreter prefect.Python
	for _, dir := range found {
		if interpreter, err = prefect.FindPython(t.Context(), dir); err == nil {
			break
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	server, err := prefect.NewServer(prefect.ServerConfig{
		Python: interpreter, Dir: filepath.Join(w.Dir, "prefect"), Port: world.FreePort(t), ReadyWithin: 3 * time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(context.Background()); err != nil {
			t.Errorf("stop Prefect: %v", err)
		}
	})
	at := server.Endpoint()
	return []string{"--prefect-api-url", at.API, "--prefect-auth-file", w.Write("prefect-auth", at.Auth)}
}
