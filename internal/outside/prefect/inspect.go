package prefect

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

//go:embed inspect_actions.py
var inspectScript string

// inspectLimit ends a reading that does not: a file may be made to take the parser long.
const inspectLimit = 5 * time.Second

// Location names one function of a bundle, as a driver's specification does: "actions.py::upgrade".
type Location struct {
	File     string `json:"file"`
	Function string `json:"function"`
}

// Function is what is known of an action's function without running it.
type Function struct {
	Location
	Line       int         `json:"line"`
	Async      bool        `json:"is_async"`
	Doc        string      `json:"doc"` // the first paragraph of its documentation
	Parameters []Parameter `json:"parameters"`
	// AnyKeyword says that it takes keyword arguments of any name (**kwargs).
	AnyKeyword bool `json:"any_keyword"`
}

// Parameter is one parameter that can be given by name.
type Parameter struct {
	Name       string `json:"name"`
	Required   bool   `json:"required"`
	Annotation string `json:"annotation"` // as written, or empty
}

// Problem is a fault in a driver's Python file, for its author.
type Problem struct {
	File    string `json:"file"`
	Line    int    `json:"line"` // 0 when it is about the whole file
	Column  int    `json:"column"`
	Message string `json:"message"`
}

// Inspect reads the given functions of the bundle in dir, without running or importing any
// of its code. Every location is in one of the two results. The error is for a Python that
// did not work, not for the bundle. Python is any interpreter from 3.11 on; it needs no packages.
func Inspect(ctx context.Context, python, dir string, locations []Location) ([]Function, []Problem, error) {
	question, err := json.Marshal(locations)
	if err != nil {
		return nil, nil, fmt.Errorf("inspect the actions in %s: %w", dir, err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, inspectLimit, fmt.Errorf("not done within %s", inspectLimit))
	defer cancel()
	// -I: neither the environment nor the current folder has a say in what is imported;
	// -S: no site-packages, which also makes it start in a tenth of the time.
	cmd := exec.CommandContext(ctx, python, "-I", "-S", "-B", "-c", inspectScript)
	cmd.Dir, cmd.Env = dir, []string{"LANG=C.UTF-8"}
	endWithChildren(cmd)
	cmd.Stdin = bytes.NewReader(question)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, nil, fmt.Errorf("inspect the actions in %s with %s: %w %s", dir, python, err, strings.TrimSpace(stderr.String()))
	}
	var answer struct {
		Functions []Function `json:"functions"`
		Problems  []Problem  `json:"problems"`
	}
	if err := json.Unmarshal(stdout.Bytes(), &answer); err != nil {
		return nil, nil, fmt.Errorf("inspect the actions in %s: read the answer: %w", dir, err)
	}
	return answer.Functions, answer.Problems, nil
}
