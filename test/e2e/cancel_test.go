//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"slipway.dev/slipway/internal/client"
	"slipway.dev/slipway/internal/wire"
	"slipway.dev/slipway/test/world"
)

var onePage = client.Page{Limit: 1}

func taskFilter(application int64) client.TaskFilter {
	return client.TaskFilter{Application: application, Root: true}
}

// stubborn is an action that ignores TERM, with a child that does too, and whose command
// never ends.
const stubborn = `

import asyncio
import signal
import subprocess
import sys

@flow
async def stubborn(context: GlobalContext) -> None:
    """Do not stop."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    subprocess.Popen([sys.executable, "-c", "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('child of', '%s'); time.sleep(900)" % context.instance.namespace])
    images = await get_component_images(component="worker", context=context)
    while True:
        try:
            await execute_commands(["guestbook", "worker"], image=images[0], context=context, env_from_component="worker")
        except BaseException:
            await asyncio.sleep(0.2)
`

// TestCancelEndsEverythingWithin30Seconds cancels an upgrade whose action does not want to
// stop: its process, its child, its flow run and its Job are gone in time. Then the waiting
// and the cancelled work is cancelled and retried. World: real cluster, real Prefect, SQLite.
func TestCancelEndsEverythingWithin30Seconds(t *testing.T) {
	w := newWorld(t)
	w.loadDriver("guestbook")
	w.laterDriver("2.0.0", func(spec, actions string) (string, string) {
		return strings.Replace(spec, `location: "actions.py::backup"`, `location: "actions.py::stubborn"`, 1), actions + stubborn
	})
	w.wantState(w.Deploy(guestbook(t, "1.0.0")), "succeeded")
	source := replaced(t, guestbook(t, "1.1.0"), "[driver]\nname = \"guestbook\"\nversion = \"1.0.0\"", "[driver]\nname = \"guestbook\"\nversion = \"2.0.0\"")
	running := w.Accept(source)
	waiting := w.Accept(replaced(t, source, "Welcome", "Hello"))
	job := func() string {
		return w.Kubectl("-n", w.namespace(), "get", "jobs,pods", "-l", "slipway.dev/role=action", "-o", "name")
	}
	child := func() []string { return w.processes("child of', '" + w.namespace()) }
	world.Eventually(t, 2*time.Minute, "the action's command and child run", func() (bool, string) {
		pods := w.Kubectl("-n", w.namespace(), "get", "pods", "-l", "slipway.dev/role=action", "--field-selector=status.phase=Running", "-o", "name")
		return pods != "" && len(child()) > 0, fmt.Sprint(job(), child())
	})

	// What waits is cancelled at once, twice without harm to the first.
	for _, want := range []int{0, 5} {
		if out, errs, code := w.Run("", "tasks", "cancel", fmt.Sprint(waiting.ID), "--yes"); code != want {
			t.Errorf("cancel what waits: exit code %d, want %d\n%s%s", code, want, out, errs)
		}
	}
	w.wantState(w.Wait(waiting.ID), "cancelled")

	begun := time.Now()
	w.Must("tasks", "cancel", fmt.Sprint(running.ID), "--yes")
	w.Must("tasks", "cancel", fmt.Sprint(running.ID), "--yes") // asking again changes nothing
	var task wire.Task
	world.Eventually(t, 30*time.Second, "the task is cancelled", func() (bool, string) {
		var err error
		task, err = w.API.Task(t.Context(), running.ID)
		return err == nil && task.Over(), world.Summary(task)
	})
	t.Logf("cancelled after %s\n%s", time.Since(begun).Round(100*time.Millisecond), world.Summary(task))
	w.wantState(task, "cancelled")
	if left := job(); left != "" {
		t.Errorf("left on the cluster: %s", left)
	}
	if left := child(); len(left) > 0 {
		t.Errorf("left on the machine: %q", left)
	}
	step := task.Steps[len(task.Steps)-1]
	if len(step.Runs) != 1 || step.Runs[0].State != "cancelled" || step.Name != "Run the upgrade pre-hook" {
		t.Errorf("the step %q has the runs %+v", step.Name, step.Runs)
	}
	if running.CancelledBy != "" || task.CancelledBy != "admin" {
		t.Errorf("it was cancelled by %q", task.CancelledBy)
	}

	// A later change was accepted, though it never began: what was cancelled first stays so.
	_, errs, code := w.Run("", "tasks", "retry", fmt.Sprint(running.ID), "--yes")
	if code != 5 || !strings.Contains(errs, "a later change was accepted since") {
		t.Errorf("retry of the first: exit code %d\n%s", code, errs)
	}
	plan := w.Must("tasks", "retry", fmt.Sprint(waiting.ID), "--plan")
	if !strings.Contains(plan, "→ Check the change                follows\n") {
		t.Errorf("the plan of what never began:\n%s", plan)
	}
}
