//go:build e2e

package prefect

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheTokenStaysInTheEnvironment looks for the token in all that Prefect stores and in
// every command line of the machine, while the action runs and after it.
func TestTheTokenStaysInTheEnvironment(t *testing.T) {
	const token = "slw_Zk4tokenthatmustnotbefoundanywhere"
	r := realRunner(t, nil)
	for _, start := range []string{"cold", "warm"} {
		t.Run(start, func(t *testing.T) {
			if start == "warm" {
				withSpare(t, r)
			}
			env := map[string]string{"SLIPWAY_TOKEN": token, "STYRMIN_TOKEN": token}
			id, p, launch := begin(t, r, testAction(t, "actions.py", "sleep", map[string]any{"context": map[string]any{}, "seconds": 2}), env)
			running(t, r, id, "sleeping")
			for _, path := range glob(t, "/proc/[0-9]*/cmdline") {
				if data, _ := os.ReadFile(path); bytes.Contains(data, []byte(token)) {
					t.Errorf("the token is in %s: %q", path, data)
				}
			}
			if got := finish(t, r, id, p, WaitOptions{}); got.State != Completed {
				t.Fatalf("Wait() = %+v", got)
			}
			failing, failed, _ := begin(t, r, testAction(t, "actions.py", "leak", nil), env)
			finish(t, r, failing, failed, WaitOptions{})

			for _, call := range []struct{ method, path string }{
				{"POST", "/flow_runs/filter"}, {"POST", "/flows/filter"}, {"POST", "/deployments/filter"}, {"POST", "/work_pools/filter"},
				{"POST", "/logs/filter"}, {"POST", "/events/filter"}, {"POST", "/flow_run_states/"}, {"GET", "/flow_runs/" + id},
			} {
				var answer json.RawMessage
				method, path := call.method, call.path
				if path == "/flow_run_states/" {
					method, path = "GET", path+"?flow_run_id="+id
				}
				if err := r.client.call(t.Context(), method, path, map[string]any{}, &answer); err != nil {
					t.Errorf("%s %s: %v", method, path, err)
				}
				if len(answer) < 3 {
					t.Errorf("%s %s shows nothing, so this proves nothing", method, path)
				}
				if bytes.Contains(answer, []byte(token)) {
					t.Errorf("the token is in the answer of %s %s", method, path)
				}
			}
			for _, path := range append(append(glob(t, filepath.Join(sharedServer(t).Dir, "*")), glob(t, filepath.Join(r.Dir, "*"))...), glob(t, filepath.Join(launch.RunDir, "*"))...) {
				if data, err := os.ReadFile(path); err == nil && bytes.Contains(data, []byte(token)) {
					t.Errorf("the token is in the file %s", path)
				}
			}
		})
	}
}

// TestATokenThatAnActionLogsIsRedacted: the author was told not to, and does it all the same.
func TestATokenThatAnActionLogsIsRedacted(t *testing.T) {
	const token = "slw_Zk4anothertokenthatmustnotbefound"
	r := realRunner(t, nil)
	for _, start := range []string{"cold", "warm"} {
		t.Run(start, func(t *testing.T) {
			if start == "warm" {
				withSpare(t, r)
			}
			id, p, launch := begin(t, r, testAction(t, "actions.py", "log_the_token", nil), map[string]string{"SLIPWAY_TOKEN": token})
			got := finish(t, r, id, p, WaitOptions{})
			if !got.Crashed || strings.Contains(got.FirstError, token) || !strings.Contains(got.FirstError, "error with <redacted>") {
				t.Errorf("Wait() = %+v", got)
			}
			text := logs(t, r, id)
			if strings.Contains(text, token) || !strings.Contains(text, "logged <redacted>") {
				t.Errorf("the log is %s", text)
			}
			output, err := os.ReadFile(filepath.Join(launch.RunDir, "output.log"))
			if err != nil || bytes.Contains(output, []byte(token)) {
				t.Errorf("the output is %s, %v", output, err)
			}
		})
	}
}

// TestTheAuthStringIsPrivate: in one file that only its owner can read, and in no command line.
func TestTheAuthStringIsPrivate(t *testing.T) {
	s := sharedServer(t)
	info, err := os.Stat(filepath.Join(s.Dir, "auth"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file of the auth string has mode %v, %v", info.Mode(), err)
	}
	_, password, _ := strings.Cut(s.Endpoint().Auth, ":")
	for _, path := range append(glob(t, "/proc/[0-9]*/cmdline"), s.logFile()) {
		if data, _ := os.ReadFile(path); bytes.Contains(data, []byte(password)) {
			t.Errorf("the auth string is in %s", path)
		}
	}
}

func glob(tb testing.TB, pattern string) []string {
	tb.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil {
		tb.Fatal(err)
	}
	return paths
}
