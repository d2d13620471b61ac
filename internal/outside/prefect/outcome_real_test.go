//go:build e2e

package prefect

import (
	"strings"
	"testing"
)

func TestAnActionEnds(t *testing.T) {
	for _, tc := range []struct {
		name       string
		file       string
		function   string
		params     map[string]any
		want       Outcome // State, Name, Crashed and Runs are compared
		message    string  // a part of Message
		firstError string  // a part of FirstError
	}{
		{name: "it returns", function: "succeed", want: Outcome{State: Completed, Name: "Completed", Runs: 1}},
		{name: "it uses tasks", function: "with_tasks", want: Outcome{State: Completed, Name: "Completed", Runs: 1}},
		{name: "it raises", function: "fail", want: Outcome{State: Failed, Name: "Failed", Runs: 1},
			message: "ValueError: the migration table is locked"},
		{name: "its file cannot be imported", file: "broken.py", function: "upgrade", want: Outcome{State: Crashed, Name: "Crashed", Crashed: true},
			message: "exit code 1", firstError: "No module named 'no_such_module'"},
		{name: "the file has no such function", function: "nothing", want: Outcome{State: Crashed, Name: "Crashed", Crashed: true},
			message: "exit code 1", firstError: "nothing"},
		{name: "a parameter has the wrong type", function: "typed", params: map[string]any{"context": map[string]any{}, "replicas": "many"},
			want: Outcome{State: Failed, Name: "Failed"}, message: "Validation of flow parameters failed"},
		{name: "a parameter has a name that the function does not know", function: "succeed", params: map[string]any{"context": map[string]any{}, "colour": "red"},
			want: Outcome{State: Crashed, Name: "Crashed", Crashed: true}, message: "exit code 1", firstError: "colour"},
		{name: "it calls sys.exit", function: "quit", want: Outcome{State: Crashed, Name: "Crashed", Crashed: true, Runs: 1},
			message: "system exit", firstError: "Crash detected"},
		{name: "it is killed", function: "kill", want: Outcome{State: Crashed, Name: "Crashed", Crashed: true, Runs: 1},
			message: "killed by signal 9", firstError: "ended without reporting a result: killed by signal 9"},
		{name: "it logs an error and is killed", function: "kill_after_error", want: Outcome{State: Crashed, Name: "Crashed", Crashed: true, Runs: 1},
			message: "killed by signal 9", firstError: "the disk is full"},
		{name: "it has a time limit of its own", function: "slow_by_itself", want: Outcome{State: Failed, Name: "TimedOut", Runs: 1}, message: "exceeded timeout"},
		{name: "it suspends itself", function: "suspend", want: Outcome{State: Crashed, Name: "Crashed", Crashed: true, Runs: 1}, message: "does not resume", firstError: "suspended itself"},
		{name: "it fails twice and has retries", function: "succeed_at_last", want: Outcome{State: Completed, Name: "Completed", Runs: 3}},
	} {
		for _, start := range []string{"cold", "warm"} {
			t.Run(tc.name+", "+start, func(t *testing.T) {
				r := realRunner(t, nil)
				if start == "warm" {
					withSpare(t, r)
				}
				if tc.file == "" {
					tc.file = "actions.py"
				}
				id, p, _ := begin(t, r, testAction(t, tc.file, tc.function, tc.params), nil)
				got := finish(t, r, id, p, WaitOptions{})
				if got.State != tc.want.State || got.Name != tc.want.Name || got.Crashed != tc.want.Crashed || got.Runs != tc.want.Runs {
					t.Errorf("Wait() = %+v, want %+v", got, tc.want)
				}
				if !strings.Contains(got.Message, tc.message) {
					t.Errorf("Message = %q, want %q in it", got.Message, tc.message)
				}
				if !strings.Contains(got.FirstError, tc.firstError) {
					t.Errorf("FirstError = %q, want %q in it", got.FirstError, tc.firstError)
				}
				if p.alive() {
					t.Error("the process lives on")
				}
				if t.Failed() {
					t.Logf("output:\n%s\nlog:\n%s", printed(p), logs(t, r, id))
				}
			})
		}
	}
}

// withSpare gives the runner a warm interpreter, and none after that.
func withSpare(tb testing.TB, r *Runner) {
	tb.Helper()
	s, err := r.startSpare()
	if err != nil {
		tb.Fatal(err)
	}
	select {
	case <-s.ready:
	case <-s.done:
		tb.Fatalf("the spare ended: %v", s.exit)
	case <-tb.Context().Done():
	}
	r.spare.spare = s
	tb.Cleanup(r.dropSpare)
}
