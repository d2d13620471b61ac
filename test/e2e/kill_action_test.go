//go:build e2e

package e2e

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"slipway.dev/slipway/internal/wire"
	"slipway.dev/slipway/test/world"
)

// TestActionsKilledAtEveryBoundary kills the process group of the action that runs, whenever
// a step or a task of the upgrade has begun or ended. Each time the task fails and says what
// to do; a retry goes on from the failed step, and in the end the application is as after an
// undisturbed upgrade. World: real cluster, real Prefect, SQLite.
func TestActionsKilledAtEveryBoundary(t *testing.T) {
	want := undisturbed(t)
	w := newWorld(t)
	w.loadDriver("guestbook")
	w.wantState(w.Deploy(guestbook(t, "1.0.0")), "succeeded")

	task := w.Accept(guestbook(t, "1.1.0"))
	seen := map[string]bool{}
	kills := 0
	for deadline := time.Now().Add(8 * time.Minute); task.State != "succeeded"; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the upgrade did not succeed after %d kills:\n%s", kills, world.Summary(task))
		}
		var err error
		if task, err = w.API.WaitTask(t.Context(), task.ID, "", 0); err != nil {
			t.Fatal(err)
		}
		if task.Over() {
			if task.State != "succeeded" {
				task = w.retried(task)
			}
			continue
		}
		if at := boundaries(task); !seen[at] && w.killAction() {
			seen[at] = true
			kills++
			t.Logf("killed the action at %s", at)
		}
	}
	t.Logf("%d kills", kills)
	if kills < 5 {
		t.Errorf("only %d kills: the boundaries were not met", kills)
	}
	got := w.end(task)
	got.steps, got.linked = want.steps, want.linked // those of the last attempt alone
	if got != want {
		t.Errorf("after %d kills the application is\n%+v\nwant it as after an undisturbed upgrade\n%+v\n%s", kills, got, want, world.Summary(task))
	}
}

// retried looks at what a task says whose action was killed, and asks for another attempt.
func (w *installation) retried(failed wire.Task) wire.Task {
	w.T.Helper()
	last := failed.Steps[len(failed.Steps)-1]
	if failed.State != "failed" || !strings.Contains(failed.Error, "crashed") || last.State != "failed" {
		w.T.Fatalf("a task whose action was killed says:\n%s", world.Summary(failed))
	}
	if failed.Hint == "" {
		w.T.Errorf("the task does not say what to do now:\n%s", world.Summary(failed))
	}
	again, err := w.API.RetryTask(w.T.Context(), failed.ID, wire.Retry{}, "")
	if err != nil {
		w.T.Fatal(err)
	}
	return again.Task
}

// killAction ends the process group of the action that runs, if one does.
func (w *installation) killAction() bool {
	w.T.Helper()
	const ask = `import sqlite3, sys
rows = sqlite3.connect("file:" + sys.argv[1] + "?mode=ro", uri=True).execute("SELECT pid FROM action_runs WHERE ended_at IS NULL AND pid > 0")
print(*[pid for (pid,) in rows])`
	out, err := exec.Command("python3", "-c", ask, filepath.Join(w.Dir, "data", "slipway.db")).CombinedOutput()
	if err != nil {
		w.T.Fatalf("ask for the action's process: %v\n%s", err, out)
	}
	killed := false
	for _, field := range strings.Fields(string(out)) {
		pid, err := strconv.Atoi(field)
		if err != nil || pid <= 1 {
			w.T.Fatalf("the row of an action names the process %q", field)
		}
		killed = exec.Command("kill", "-KILL", "--", "-"+field).Run() == nil || killed
	}
	return killed
}
