//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"slipway.dev/slipway/test/world"
)

// wayBack is what a later driver of the guestbook adds. Without a folder of the node the
// book lives as long as the store's pod, so the earlier version begins an empty one.
const wayBack = `

@flow
async def undo(context: GlobalContext, target_version: str, current_version: str) -> None:
    """Go back: the earlier version does not read the later one's book, and begins its own."""
    if current_version != "1.1.0" or context.app.version != "1.0.0" or context.app.previous_version != "1.1.0":
        raise ValueError(f"from {current_version}, with {context.app}")
    await stop_components(components=["web", "worker", "store"], context=context)
    await upgrade_deployment_version(target_version=target_version, context=context)
    await start_components(components=["store", "web", "worker"], context=context)
`

// laterDriver loads the guestbook's driver as a later version, with changes to its files.
func (w *installation) laterDriver(version string, changes ...func(spec, actions string) (string, string)) {
	w.T.Helper()
	dir := filepath.Join(w.Dir, "driver-"+version)
	from := filepath.Join(world.Root, "examples", "drivers", "guestbook")
	if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
		w.T.Fatal(err)
	}
	spec, actions := world.ReadFile(w.T, filepath.Join(dir, "driver.slipway.yml")), world.ReadFile(w.T, filepath.Join(dir, "actions.py"))
	spec = replaced(w.T, spec, "  version: 1.0.0 #", "  version: "+version+" #")
	for _, change := range changes {
		spec, actions = change(spec, actions)
	}
	for name, text := range map[string]string{"driver.slipway.yml": spec, "actions.py": actions} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			w.T.Fatal(err)
		}
	}
	w.Must("driver", "load", dir)
}

func replaced(t testing.TB, in, old, by string) string {
	t.Helper()
	if !strings.Contains(in, old) {
		t.Fatalf("there is no %q in\n%s", old, in)
	}
	return strings.Replace(in, old, by, 1)
}

// TestRollback upgrades the guestbook by a driver that knows the way back, goes back, and
// is refused behind an action that cannot be undone. World: real cluster, real Prefect,
// SQLite.
func TestRollback(t *testing.T) {
	w := newWorld(t)
	w.loadDriver("guestbook")
	knowing := func(spec, actions string) (string, string) {
		spec = replaced(t, spec, "  info:\n", "  rollbacks: [{ from: \">=1.1.0 <1.2.0\", to: \">=1.0.0 <1.1.0\" }]\n  info:\n")
		spec = strings.TrimRight(spec, "\n") + `
    - { name: hold, hook: rollback, mode: pre, location: "actions.py::backup" }
    - { name: undo, hook: rollback, mode: core, location: "actions.py::undo", stops: [web, worker, store] }
    - { name: check_rollback, hook: rollback, mode: post, location: "actions.py::check_release" }
`
		return spec, actions + wayBack
	}
	reversible := func(spec, actions string) (string, string) {
		return replaced(t, spec, "      irreversible: true", "      irreversible: false"), actions
	}
	w.laterDriver("2.0.0", knowing, reversible)
	w.laterDriver("3.0.0", knowing)
	by := func(source, driver string) string {
		return replaced(t, source, "[driver]\nname = \"guestbook\"\nversion = \"1.0.0\"", "[driver]\nname = \"guestbook\"\nversion = \""+driver+"\"")
	}
	w.wantState(w.Deploy(guestbook(t, "1.0.0")), "succeeded")
	w.wantState(w.Deploy(by(guestbook(t, "1.1.0"), "2.0.0")), "succeeded")

	plan := w.Must("rollback", "guestbook", "-e", w.Env, "--plan")
	t.Logf("the plan:\n%s", plan)
	for _, want := range []string{
		"guestbook  revision 2 → 3, with the content of 1\n", "1.1.0 → 1.0.0\n",
		"runs: rollback pre (hold), rollback (undo), rollback post (check_rollback)", "stops meanwhile: store, web, worker\n",
	} {
		if !strings.Contains(plan, want) {
			t.Errorf("the plan does not say %q", want)
		}
	}
	out := w.Must("rollback", "guestbook", "-e", w.Env, "--yes", "--wait")
	t.Logf("the rollback:\n%s", out)
	app := w.application("guestbook")
	if app.State != "running" || app.AppVersion != "1.0.0" || app.DriverVersion != "1.0.0" || app.Revision != 3 || app.Applied != 3 {
		t.Errorf("the application is %+v", app)
	}
	w.wantRecord("1.0.0", "3", "True")
	tasks, _, err := w.API.Tasks(t.Context(), taskFilter(app.ID), onePage)
	if err != nil {
		t.Fatal(err)
	}
	task, err := w.API.Task(t.Context(), tasks[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"Check the change", "Run the rollback pre-hook", "Run the rollback hook", "Run the rollback post-hook"}
	if got := stepNames(task, "succeeded"); !slices.Equal(got, want) || task.Kind != "rollback" {
		t.Errorf("the steps of the %s are %q, want %q", task.Kind, got, want)
	}
	if image := w.Kubectl("-n", w.namespace(), "get", "deployment", "guestbook-web", "-o", "jsonpath={.spec.template.spec.containers[0].image} {.status.readyReplicas}"); image != "registry.example.com/guestbook:1.0.0 1" {
		t.Errorf("the web server is %q after the rollback", image)
	}
	w.store(func(ask func(path string, body any) []byte) {
		var status struct{ Schema int }
		if err := json.Unmarshal(ask("/v1/status", nil), &status); err != nil || status.Schema != 1 {
			t.Errorf("the store has schema %d (%v), want that of 1.0.0", status.Schema, err)
		}
	})

	again := w.Deploy(by(guestbook(t, "1.1.0"), "3.0.0"))
	w.wantState(again, "succeeded")
	stdout, stderr, code := w.Run("", "rollback", "guestbook", "-e", w.Env, "--yes")
	if want := fmt.Sprintf("the action upgrade of task %d has begun since revision 3, and what it does cannot be undone", again.ID); code != 5 || !strings.Contains(stderr, want) || !strings.Contains(stderr, "restore from a backup") {
		t.Errorf("behind what cannot be undone: exit code %d\n%s%s\nwant %q", code, stdout, stderr, want)
	}
}
