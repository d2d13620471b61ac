//go:build e2e

package prefect

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// World: real Python and Prefect's real engine against the stand-in for its server.
func TestRehearsalRunsActionsAsPrefectDoes(t *testing.T) {
	t.Parallel()
	bundle := t.TempDir()
	source := `import os, time
from prefect import flow, get_run_logger, task, variables

COUNT = 0

@task
def three():
    return 3

@flow
def inner():
    get_run_logger().info("inside")

@flow
async def good(target_version: str = ""):
    global COUNT
    COUNT += 1
    get_run_logger().info("to %s, %s, run %s", target_version, three(), COUNT)
    print("printed")
    inner()

@flow(retries=2, retry_delay_seconds=60)
def stubborn():
    path = os.environ["HOME"] + "/tries"
    n = len(open(path).read()) if os.path.exists(path) else 0
    open(path, "a").write("x")
    if n < 2:
        raise ValueError(f"try {n}")

@flow
def bad():
    raise ValueError("no domain")

@flow
def dies():
    os._exit(9)

@flow
def hangs():
    time.sleep(60)

@flow
def asks():
    variables.Variable.get("x")
    raise ValueError("after asking")
`
	if err := os.WriteFile(filepath.Join(bundle, "actions.py"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	r, err := NewRehearsal(t.Context(), RehearsalConfig{Python: mustPython(t), Dir: t.TempDir(), API: http.NotFoundHandler()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	t.Logf("Python was ready after %s", time.Since(begun))
	for _, tc := range []struct {
		function string
		state    StateType
		message  string
		runs     int
		log      string
	}{
		{"good", Completed, "", 1, "to 1.1.0, 3, run 1"},
		{"good", Completed, "", 1, "to 1.1.0, 3, run 1"}, // nothing is left of the first
		{"stubborn", Completed, "", 3, ""},
		{"bad", Failed, "ValueError: no domain", 1, "Encountered exception"},
		{"dies", Crashed, "exit code 9", 1, ""},
		{"hangs", Crashed, "killed by signal 9", 1, ""},
		{"asks", Failed, "ValueError: after asking", 1, ""},
		{"nothing", Crashed, "", 0, ""},
	} {
		limit := time.Minute
		if tc.function == "hangs" {
			limit = 2 * time.Second
		}
		params := map[string]any{}
		if tc.function == "good" {
			params["target_version"] = "1.1.0"
		}
		begun := time.Now()
		out, err := r.Run(t.Context(), Launch{
			Action: Action{Dir: bundle, File: "actions.py", Function: tc.function, Params: params}, RunDir: t.TempDir(),
		}, tc.function, limit)
		if err != nil {
			t.Fatalf("%s: %v", tc.function, err)
		}
		t.Logf("%s took %s", tc.function, time.Since(begun))
		logs := ""
		for _, l := range out.Logs {
			logs += l.Message + "\n"
		}
		if out.State != tc.state || !strings.Contains(out.Message, tc.message) || out.Runs != tc.runs || !strings.Contains(logs, tc.log) {
			t.Errorf("%s: %+v", tc.function, out)
		}
		if out.Expired != (tc.function == "hangs") {
			t.Errorf("%s: expired = %v", tc.function, out.Expired)
		}
		if tc.function == "good" && (!strings.Contains(out.Output, "printed") || !strings.Contains(logs, "inside")) {
			t.Errorf("output %q, logs %q", out.Output, logs)
		}
		if tc.function == "asks" && len(out.Unknown) == 0 {
			t.Error("nobody said that a test has no variables")
		}
	}
}
