package prefect

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func python3(tb testing.TB) string {
	tb.Helper()
	path, err := exec.LookPath("python3")
	if err != nil {
		tb.Fatal("these tests need Python 3.11 or later as python3: ", err)
	}
	return path
}

func TestInspect(t *testing.T) {
	t.Parallel()
	const imports = "from prefect import flow\n"
	for _, tc := range []struct {
		name     string
		source   string
		function string // "upgrade" when empty
		file     string // "actions.py" when empty
		want     *Function
		problem  *Problem
	}{
		{name: "an action as in the documentation",
			source: imports + "\n@flow\nasync def upgrade(context: GlobalContext, target_version: str) -> None:\n    \"\"\"Stop, migrate, start.\n\n    Much more.\n    \"\"\"\n",
			want: &Function{Line: 4, Async: true, Doc: "Stop, migrate, start.", Parameters: []Parameter{
				{Name: "context", Required: true, Annotation: "GlobalContext"}, {Name: "target_version", Required: true, Annotation: "str"}}}},
		{name: "defaults, keyword-only parameters and any keyword",
			source: imports + "@flow(name='x', retries=2)\ndef upgrade(context, a: int | None = 1, *, b, c=2, **rest): pass\n",
			want: &Function{Line: 3, AnyKeyword: true, Parameters: []Parameter{
				{Name: "context", Required: true}, {Name: "a", Annotation: "int | None"}, {Name: "b", Required: true}, {Name: "c"}}}},
		{name: "the decorator by its module", source: "import prefect\n@prefect.flow\ndef upgrade(): pass\n", want: &Function{Line: 3, Parameters: []Parameter{}}},
		{name: "the decorator under another name", source: "from prefect import flow as action\n@action(log_prints=True)\ndef upgrade(): pass\n", want: &Function{Line: 3, Parameters: []Parameter{}}},
		{name: "the decorator from its own module", source: "from prefect.flows import flow\n@flow\ndef upgrade(): pass\n", want: &Function{Line: 3, Parameters: []Parameter{}}},
		{name: "an import that only a type checker needs", source: imports + "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import nothing_there\n@flow\ndef upgrade(): pass\n", want: &Function{Line: 6, Parameters: []Parameter{}}},
		{name: "code that would do harm is not run", source: imports + "import os\nos.abort()\n@flow\ndef upgrade(): pass\n", want: &Function{Line: 5, Parameters: []Parameter{}}},
		{name: "the last of two definitions", source: imports + "@flow\ndef upgrade(a): pass\n@flow\ndef upgrade(b): pass\n", want: &Function{Line: 5, Parameters: []Parameter{{Name: "b", Required: true}}}},

		{name: "no such file", file: "other.py", problem: &Problem{Message: "the bundle has no file other.py"}},
		{name: "a file outside the bundle", file: "../../../../etc/passwd", problem: &Problem{Message: "../../../../etc/passwd is outside the bundle"}},
		{name: "no such function", source: imports + "@flow\ndef upgrad(): pass\n", problem: &Problem{Message: "there is no function upgrade; there is upgrad"}},
		{name: "a method is not a function of the file", source: imports + "class A:\n    @flow\n    def upgrade(self): pass\n", problem: &Problem{Message: "there is no function upgrade"}},
		{name: "no decorator", source: imports + "\ndef upgrade(): pass\n", problem: &Problem{Line: 3, Column: 1, Message: `upgrade is not a Prefect flow: write @flow above it, with "from prefect import flow" at the top`}},
		{name: "somebody else's decorator", source: "from mine import flow\n@flow\ndef upgrade(): pass\n", problem: &Problem{Line: 3, Column: 1, Message: `upgrade is not a Prefect flow: write @flow above it, with "from prefect import flow" at the top`}},
		{name: "a task", source: "from prefect import task\n@task\ndef upgrade(): pass\n", problem: &Problem{Line: 3, Column: 1, Message: `upgrade is not a Prefect flow: write @flow above it, with "from prefect import flow" at the top`}},
		{name: "a value", source: "upgrade = 1\n", problem: &Problem{Line: 1, Column: 1, Message: "upgrade is not a function: write it as a def with @flow above it"}},
		{name: "a parameter by position only", source: imports + "@flow\ndef upgrade(context, /): pass\n", problem: &Problem{Line: 3, Column: 13, Message: "parameter context can only be given by position, and actions are called by name: remove the /"}},
		{name: "a syntax error", source: imports + "def upgrade(:\n    pass\n", problem: &Problem{Line: 2, Column: 13, Message: "invalid syntax"}},
		{name: "a wrong indentation", source: "def upgrade():\npass\n", problem: &Problem{Line: 2, Column: 1, Message: "expected an indented block after function definition on line 1"}},
		{name: "not text", source: "\xff\xfe\x00", problem: &Problem{Message: "*"}},
		{name: "too large", source: strings.Repeat("#\n", 1<<19+1), problem: &Problem{Message: "actions.py is larger than 1 MiB"}},
		{name: "nested too deep", source: "x = " + strings.Repeat("(", 5000) + strings.Repeat(")", 5000), problem: &Problem{Message: "*"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "actions.py"), []byte(tc.source), 0o644); err != nil {
				t.Fatal(err)
			}
			at := Location{File: tc.file, Function: tc.function}
			if at.File == "" {
				at.File = "actions.py"
			}
			if at.Function == "" {
				at.Function = "upgrade"
			}
			functions, problems, err := Inspect(t.Context(), python3(t), dir, []Location{at})
			if err != nil {
				t.Fatal(err)
			}
			var wantFunctions []Function
			var wantProblems []Problem
			if tc.want != nil {
				tc.want.Location = at
				wantFunctions = append(wantFunctions, *tc.want)
			}
			if tc.problem != nil {
				tc.problem.File = at.File
				wantProblems = append(wantProblems, *tc.problem)
				if tc.problem.Message == "*" && len(problems) == 1 { // in Python's own words
					wantProblems[0] = problems[0]
				}
			}
			if diff := cmp.Diff(wantFunctions, functions, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("functions (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(wantProblems, problems, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

// TestInspectNeedsAPythonThatWorks: faults of the installation are errors, not problems.
func TestInspectNeedsAPythonThatWorks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, _, err := Inspect(t.Context(), filepath.Join(dir, "python"), dir, nil); err == nil {
		t.Error("Inspect() with no Python = nil")
	}
	slow := filepath.Join(dir, "slow")
	if err := os.WriteFile(slow, []byte("#!/bin/sh\nsleep 60\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	begun := time.Now()
	if _, _, err := Inspect(ctx, slow, dir, nil); err == nil || time.Since(begun) > 3*time.Second {
		t.Errorf("Inspect() with a slow Python = %v after %s", err, time.Since(begun))
	}
}
