//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"slipway.dev/slipway/internal/client"
	"slipway.dev/slipway/internal/wire"
	"slipway.dev/slipway/test/world"
)

// guestbook is the sample application's file at a version.
func guestbook(t testing.TB, version string) string {
	t.Helper()
	name := map[string]string{"1.0.0": "guestbook.toml", "1.1.0": "guestbook-1.1.toml", "1.2.0": "guestbook-1.2.toml"}[version]
	return world.ReadFile(t, filepath.Join(world.Root, "examples", "applications", name))
}

func (w *installation) loadDriver(name string) {
	w.T.Helper()
	w.Must("driver", "load", filepath.Join("examples", "drivers", name))
}

// stepNames lists the names of a task's steps that have a state.
func stepNames(t wire.Task, state string) []string {
	var out []string
	for _, s := range t.Steps {
		if s.State == state {
			out = append(out, s.Name)
		}
	}
	return out
}

func (w *installation) wantState(t wire.Task, state string) {
	w.T.Helper()
	if t.State != state {
		w.T.Fatalf("the task is %s, want %s:\n%s", t.State, state, world.Summary(t))
	}
}

// TestJourney installs the sample application, upgrades it with a real migration, and sees
// an upgrade fail as it should. World: real cluster, real Prefect, SQLite.
func TestJourney(t *testing.T) {
	w := newWorld(t)
	w.loadDriver("guestbook")

	install := w.Deploy(guestbook(t, "1.0.0"))
	w.wantState(install, "succeeded")
	want := []string{"Check the change", "Run the setup pre-hook", "Install the chart", "Wait until it is ready", "Run the setup post-hook"}
	if got := stepNames(install, "succeeded"); !slices.Equal(got, want) {
		t.Errorf("the steps of the install are %q, want %q", got, want)
	}
	w.wantRecord("1.0.0", "1", "True")

	upgrade := w.Deploy(guestbook(t, "1.1.0"))
	w.wantState(upgrade, "succeeded")
	want = []string{"Check the change", "Run the upgrade pre-hook", "Run the upgrade hook", "Run the upgrade post-hook"}
	if got := stepNames(upgrade, "succeeded"); !slices.Equal(got, want) {
		t.Errorf("the steps of the upgrade are %q, want %q", got, want)
	}
	w.wantLinked(upgrade, "Run the upgrade hook", "Stop components", "Change the version", "Start components")
	w.wantRecord("1.1.0", "2", "True")
	if left := w.pods("worker"); len(left) == 0 {
		t.Error("the worker does not run after the upgrade")
	}

	broken := w.Deploy(guestbook(t, "1.2.0"))
	w.wantState(broken, "failed")
	failed := broken.Steps[len(broken.Steps)-1]
	if failed.Name != "Run the upgrade hook" || !strings.Contains(failed.Error, "failed with exit code 1 (Job guestbook-action)") {
		t.Errorf("the failed step is %q with %q", failed.Name, failed.Error)
	}
	output := w.Must("tasks", "get", fmt.Sprint(broken.ID), "--output")
	if !strings.Contains(output, `column "author" already exists`) {
		t.Errorf("the step does not show the Job's output:\n%s", output)
	}
	// What the driver promises: the release before goes on serving.
	if image := w.Kubectl("-n", w.namespace(), "get", "deployment", "guestbook-web", "-o", "jsonpath={.spec.template.spec.containers[0].image} {.status.readyReplicas}"); image != "registry.example.com/guestbook:1.1.0 1" {
		t.Errorf("the web server is %q after the failed upgrade", image)
	}
	w.wantRecord("1.1.0", "2", "False")

	w.look(broken)

	app := w.application("guestbook")
	if app.State != "failed" || !strings.Contains(app.Message, "the cluster has 1.1.0") {
		t.Errorf("the application is %s: %s", app.State, app.Message)
	}
	removed := w.Must("applications", "delete", "guestbook", "-e", w.Env, "--yes", "--wait")
	if !strings.Contains(removed, "✓ Remove the release") {
		t.Errorf("delete printed:\n%s", removed)
	}
	if left := w.Kubectl("-n", w.namespace(), "get", "deployments,secrets,jobs,applications.slipway.dev", "-l", "slipway.dev/application=guestbook", "-o", "name"); left != "" {
		t.Errorf("left on the cluster after the delete: %s", left)
	}
}

// TestReferenceDriver runs a driver that is written as the first reference has it: its file
// names, its imports and its locations. World: real cluster, real Prefect, SQLite.
func TestReferenceDriver(t *testing.T) {
	w := newWorld(t)
	w.loadDriver("reference")
	if _, err := os.Stat(filepath.Join(world.Root, "examples", "drivers", "reference", "driver.styrmin.yml")); err != nil {
		t.Fatal(err)
	}
	source := world.ReadFile(t, filepath.Join(world.Root, "examples", "applications", "reference.toml"))
	install := w.Deploy(source)
	w.wantState(install, "succeeded")
	upgrade := w.Deploy(strings.Replace(source, `version = "1.0.0" # of the application`, `version = "1.1.0" # of the application`, 1))
	w.wantState(upgrade, "succeeded")
	w.wantLinked(upgrade, "Run the upgrade hook", "Stop components", "Change the version", "Start components")
}

func (w *installation) namespace() string { return strings.ReplaceAll(w.Env, "/", "-") }

// wantRecord compares what the cluster itself says of the application.
func (w *installation) wantRecord(version, change, ready string) {
	w.T.Helper()
	got := w.Kubectl("-n", w.namespace(), "get", "applications.slipway.dev", "guestbook", "-o",
		`jsonpath={.spec.version} {.spec.change} {.status.conditions[?(@.type=="Ready")].status}`)
	// The status follows the end of the task by a moment.
	world.Eventually(w.T, 10e9, "the record of the cluster is up to date", func() (bool, string) {
		got = w.Kubectl("-n", w.namespace(), "get", "applications.slipway.dev", "guestbook", "-o",
			`jsonpath={.spec.version} {.spec.change} {.status.conditions[?(@.type=="Ready")].status}`)
		return got == version+" "+change+" "+ready, got
	})
}

// wantLinked checks the tasks that a hook's actions started.
func (w *installation) wantLinked(t wire.Task, step string, types ...string) {
	w.T.Helper()
	for _, s := range t.Steps {
		if s.Name != step {
			continue
		}
		var got []string
		for _, l := range s.Tasks {
			got = append(got, l.Type)
			child, err := w.API.Task(w.T.Context(), l.ID)
			if err != nil {
				w.T.Fatal(err)
			}
			if child.StartedBy == nil || child.StartedBy.TaskID != t.ID || child.StartedBy.Type != "Upgrade" {
				w.T.Errorf("task %d says that it was started by %+v", l.ID, child.StartedBy)
			}
		}
		if !slices.Equal(got, types) {
			w.T.Errorf("%s started %q, want %q", step, got, types)
		}
		return
	}
	w.T.Errorf("there is no step %q:\n%s", step, world.Summary(t))
}

func (w *installation) pods(component string) []string {
	return strings.Fields(w.Kubectl("-n", w.namespace(), "get", "pods", "-l", "slipway.dev/component="+component, "--field-selector=status.phase=Running", "-o", "name"))
}

func (w *installation) application(name string) wire.Application {
	w.T.Helper()
	project, environment, _ := strings.Cut(w.Env, "/")
	apps, _, err := w.API.Applications(w.T.Context(), client.ApplicationFilter{Project: project, Environment: environment}, client.Page{})
	if err != nil {
		w.T.Fatal(err)
	}
	for _, a := range apps {
		if a.Name == name {
			return a
		}
	}
	w.T.Fatalf("there is no application %s", name)
	return wire.Application{}
}
