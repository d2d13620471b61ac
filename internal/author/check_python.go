package author

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"slipway.dev/slipway/internal/outside/prefect"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/spec"
)

// python reads the functions of the actions without running them, and learns what
// arguments each takes.
func (c *check) python(ctx context.Context) {
	var at []prefect.Location
	for _, a := range c.Spec.Actions {
		if _, there := c.bundle.File(a.File); there && a.Function != "" { // else that is a fault already
			at = append(at, prefect.Location{File: a.File, Function: a.Function})
		}
	}
	if len(at) == 0 {
		return
	}
	dir, err := c.bundle.WriteTo(c.tools.Dir)
	var functions []prefect.Function
	var problems []prefect.Problem
	if err == nil {
		functions, problems, err = prefect.Inspect(ctx, c.tools.Interpreter, dir, at)
	}
	if err != nil {
		// Tools that do not work are no fault of the driver's author.
		c.warn(slipway.FieldError{Path: "spec.actions", Msg: "the functions of the actions were not checked: " + message(err),
			Hint: "Python 3.11 or newer is needed; another one is named by --python-interpreter"})
		return
	}
	for _, p := range problems {
		f := slipway.FieldError{File: p.File, Line: p.Line, Column: p.Column, Msg: p.Message}
		if !slices.Contains(c.report.Faults, f) { // a file that cannot be read is one fault, however many actions it has
			c.fault(f)
		}
	}
	seen := map[prefect.Location]bool{}
	for _, f := range functions {
		names := c.arguments(f, !seen[f.Location])
		seen[f.Location] = true
		for i, a := range c.Spec.Actions {
			if a.File == f.File && a.Function == f.Function {
				c.report.Spec.Actions[i].Parameters = names
			}
		}
	}
}

// arguments lists what Slipway gives to a function, and reports what it cannot give.
func (c *check) arguments(f prefect.Function, report bool) []string {
	names := []string{}
	for _, p := range f.Parameters {
		switch {
		case slices.Contains(spec.ActionParameters, p.Name):
			names = append(names, p.Name)
		case p.Required && report:
			c.fault(slipway.FieldError{
				File: f.File, Line: f.Line, Column: 1, Path: f.Function,
				Msg:  fmt.Sprintf("the parameter %q is required, and Slipway does not know what to give for it", p.Name),
				Hint: "an action may take " + strings.Join(spec.ActionParameters, ", ") + "; give others a default",
			})
		}
	}
	if f.AnyKeyword {
		return slices.Clone(spec.ActionParameters)
	}
	return names
}
