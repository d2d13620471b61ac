//go:build e2e

package author

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"slipway.dev/slipway/internal/outside/prefect"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/spec"
)

// World of this file: real Python and Prefect's real engine; a simulated cluster.

// withPython returns tools that run actions.
func withPython(t *testing.T) *Tools {
	t.Helper()
	root := os.Getenv("SLIPWAY_TEST_VENV")
	if root == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			t.Fatal(err)
		}
		root = filepath.Join(cache, "slipway", "python")
	}
	lock, err := os.ReadFile(filepath.Join("..", "..", "python", "requirements.lock"))
	if err != nil {
		t.Fatal(err)
	}
	source, err := filepath.Abs(filepath.Join("..", "..", "python", "src"))
	if err != nil {
		t.Fatal(err)
	}
	tools := offline(t)
	tools.Python = func(ctx context.Context) (Python, error) {
		p, err := prefect.FindVenv(ctx, root, lock)
		if err != nil {
			return p, err
		}
		return p.WithPackage(ctx, source)
	}
	return tools
}

// tested checks a driver and runs its tests.
func tested(t *testing.T, tools *Tools, b spec.Bundle) []TestResult {
	t.Helper()
	r, err := tools.Check(t.Context(), b)
	if err != nil || len(r.Faults) > 0 {
		t.Fatal(err, r.Faults)
	}
	out, err := tools.Test(t.Context(), TestOptions{Bundle: b, Report: r})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestTheTestsOfANewDriverPass(t *testing.T) {
	t.Parallel()
	_, b := begun(t, "shop")
	results := tested(t, withPython(t), b)
	if len(results) != 3 {
		t.Errorf("%d tests ran", len(results))
	}
	for _, r := range results {
		if !r.Passed {
			t.Errorf("%s: %v", r.Name, r.Faults)
		}
	}
}

// The steps are those of a real install and upgrade, in their order and with their names.
func TestWithoutAFileAnInstallAndAnUpgradeAreTried(t *testing.T) {
	t.Parallel()
	r := tested(t, withPython(t), readDir(t, "examples", "drivers", "guestbook"))[0]
	var got []string
	for _, task := range r.Tasks {
		got = append(got, task.Title)
		for _, st := range task.Steps {
			got = append(got, "  "+st.Name)
			for _, a := range st.Actions {
				got = append(got, "    "+a.Name)
			}
		}
	}
	want := []string{
		"install guestbook 1.0.0", "  Check the change",
		"  " + slipway.StepSetupPre, "    check_input", "  Install the chart", "  Wait until it is ready", "  " + slipway.StepSetupPost, "    check_setup",
		"upgrade guestbook from 1.0.0 to 1.1.0", "  Check the change",
		"  " + slipway.StepUpgradePre, "    backup", "  " + slipway.StepUpgradeCore, "    upgrade", "  " + slipway.StepUpgradePost, "    check_upgrade",
	}
	if diff := cmp.Diff(want, got); diff != "" || !r.Passed {
		t.Errorf("%v\n%s", r.Faults, diff)
	}
}

// Each test of the file is one story; the word after "fault:" in its name is a part of what
// the comparison must say, and without it the test must pass.
func TestStoriesAreHeldAgainstWhatWasExpected(t *testing.T) {
	t.Parallel()
	_, b := begun(t, "shop")
	b = changed(t, b, map[string]string{"driver_test.yml": `application: application.toml
tests:
  - name: "another call, fault: call 1 was stop_components: [worker] (expected: start_components"
    from: 1.36.1
    upgrade: 1.37.0
    expect: { calls: [start_components: [worker]] }
  - name: "a call too many, fault: call 3 was not expected: execute_commands"
    from: 1.36.1
    upgrade: 1.37.0
    expect: { calls: [stop_components, get_component_images] }
  - name: "a call too few, fault: call 3 was not made: start_components"
    install: 1.36.1
    expect: { calls: [get_component_images, execute_commands, start_components] }
  - name: "another image, fault: the image of call 3, execute_commands, is docker.io/library/busybox:1.37.0"
    from: 1.36.1
    upgrade: 1.37.0
    expect:
      calls: [stop_components, get_component_images, { execute_commands: null, image: "x:1" }, upgrade_deployment_version, start_components, get_component_images, execute_commands]
  - name: "a play that nobody asked for, fault: nothing called execute_commands: [other]"
    install: 1.36.1
    cluster: [{ execute_commands: [other], exit_code: 1 }]
  - name: "a failure that was not expected, fault: failed with exit code 4 (Job shop-action)"
    install: 1.36.1
    cluster: [{ execute_commands: null, exit_code: 4 }]
  - name: "a failure that did not come, fault: it did not fail"
    install: 1.36.1
    expect: { error: exit code }
  - name: "another end, fault: stopped in the end: [] (expected: [worker])"
    from: 1.36.1
    upgrade: 1.37.0
    expect: { stopped: [worker] }
  - name: the worker does not become ready
    from: 1.36.1
    upgrade: 1.37.0
    cluster: [{ start_components: [worker], fails: "Deployment shop-worker is not ready: CrashLoopBackOff" }]
    expect: { error: "Start components (task 4) failed: Deployment shop-worker is not ready", stopped: [], version: 1.37.0 }
  - name: the new version does not become ready
    from: 1.36.1
    upgrade: 1.37.0
    cluster: [{ upgrade_deployment_version: 1.37.0, fails: not ready }]
    expect: { error: "Change the version (task 3) failed: not ready", stopped: [worker], version: 1.37.0 }
  - name: another Job is in the way
    install: 1.36.1
    cluster: [{ execute_commands: [sh, ...], running: true }]
    expect: { error: is still running; wait for it to end }
  - name: a command takes too long
    install: 1.36.1
    cluster: [{ execute_commands: [sh, ...], times_out: true }]
    expect: { error: "did not end within 2m0s (Job shop-action)" }
  - name: an image of the team's comes first, at the target version
    from: 1.36.1
    upgrade: 1.37.0
    components:
      worker: { image: "registry.example.com/mine:{{ app.version }}", env: { APP_NAME: mine, LEVEL: debug }, secrets: { KEY: vault } }
    expect:
      calls:
        - stop_components: [worker]
        - get_component_images: worker
          images: ["registry.example.com/mine:1.37.0"]
        - execute_commands: null
          image: registry.example.com/mine:1.37.0
          env: { APP_NAME: mine, LEVEL: debug, KEY: secret shop-slipway/vault, WEB_URL: "http://shop-web" }
        - upgrade_deployment_version
        - start_components
        - get_component_images
        - execute_commands
  - name: a version that the driver does not support is refused before anything runs
    from: 1.36.1
    upgrade: 2.0.0
    expect: { calls: [], error: the driver shop cannot do what the application asks for, version: 1.36.1 }
`})
	for _, r := range tested(t, withPython(t), b) {
		_, fault, wrong := strings.Cut(r.Name, "fault: ")
		switch {
		case !wrong && !r.Passed:
			t.Errorf("%s: %v", r.Name, r.Faults)
		case wrong && (len(r.Faults) != 1 || !strings.Contains(r.Faults[0].String(), fault) || r.Faults[0].Line == 0):
			t.Errorf("%s: %v", r.Name, r.Faults)
		}
	}
}

// What an action does wrong in Python is told with the line that did it.
func TestAnActionThatFailsIsToldWithItsLine(t *testing.T) {
	t.Parallel()
	_, b := begun(t, "shop")
	b = edited(t, changed(t, b, map[string]string{"driver_test.yml": ""}), "actions.py",
		`    """Look at the page as a reader does."""`, "    \"\"\"Look.\"\"\"\n    print('here')\n    raise ValueError(f\"no {context.app.name}\")")
	r := tested(t, withPython(t), b)[0]
	last := r.Tasks[0].Steps[len(r.Tasks[0].Steps)-1]
	if r.Passed || len(r.Tasks) != 1 || r.Tasks[0].Error != "ValueError: no shop" || last.State != slipway.StepFailed {
		t.Fatalf("%+v", r)
	}
	if a := last.Actions[0]; a.Where != "actions.py:49" || a.Output != "here" || a.Error != "ValueError: no shop" {
		t.Errorf("%+v", a)
	}
}

func TestWithoutPythonItIsSaidWhatToDo(t *testing.T) {
	t.Parallel()
	_, b := begun(t, "shop")
	tools := offline(t)
	r, err := tools.Check(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	tools.Python = func(context.Context) (Python, error) {
		return Python{}, slipway.Errorf(slipway.Unavailable, "not there").WithHint("make it with  slipway python install")
	}
	_, err = tools.Test(t.Context(), TestOptions{Bundle: b, Report: r})
	if e, ok := errorOf(err); !ok || e.Kind != slipway.Unavailable || !strings.Contains(e.Hint, "slipway python install") {
		t.Errorf("err = %v", err)
	}
}
