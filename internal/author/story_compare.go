package author

import (
	"fmt"
	"slices"
	"strings"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/spec"
)

// compare holds a story against what was expected of it. err is how it ended.
func (y *story) compare(t spec.DriverTest, err error) {
	e := t.Expect
	switch text := words(err); {
	case e.Error == "" && err != nil:
		y.wrong(t.Place, "failed: "+text, "expect.error says so when it shall fail")
	case e.Error != "" && err == nil:
		y.wrong(e.Place, "it did not fail", fmt.Sprintf("the expected error is %q", e.Error))
	case e.Error != "" && !strings.Contains(text, e.Error):
		y.wrong(e.Place, "it failed with "+text, fmt.Sprintf("the expected error is %q", e.Error))
	}
	if e.Calls != nil {
		y.compareCalls(e)
	}
	if got := y.cluster.stoppedComponents(); e.Stopped != nil && !slices.Equal(got, slices.Sorted(slices.Values(e.Stopped))) {
		y.wrong(e.Place, "stopped in the end: "+listed(got), "expected: "+listed(e.Stopped))
	}
	if e.Version != "" && y.cluster.version != e.Version {
		y.wrong(e.Place, "the version in the end is "+orNone(y.cluster.version), "expected: "+e.Version)
	}
	for _, p := range y.cluster.plays {
		if p.used == 0 {
			y.wrong(p.Place, "nothing called "+p.String(), "the cluster was to answer it; the calls were: "+callList(y.calls()))
		}
	}
}

func words(err error) string {
	e, ok := errorOf(err)
	switch {
	case err == nil:
		return ""
	case !ok:
		return err.Error()
	}
	text := e.Msg
	for _, f := range e.Fields {
		text += "\n" + f.String()
	}
	return text
}

func (y *story) wrong(at spec.Place, msg, hint string) {
	f := slipway.FieldError{Msg: msg, Hint: hint}
	if at.Line > 0 { // a driver without a file of tests is tried too
		f.File, f.Line, f.Column = spec.DriverTestsFile, at.Line, at.Column
	}
	y.result.Faults = append(y.result.Faults, f)
}

// compareCalls holds the calls against the expected ones, in order. After the first that
// is another one nothing is compared: what follows would be noise.
func (y *story) compareCalls(e spec.Expectation) {
	got := y.calls()
	for i, want := range e.Calls {
		if i >= len(got) {
			y.wrong(want.Place, fmt.Sprintf("call %d was not made: %s", i+1, want), "the calls were: "+callList(got))
			return
		}
		if !want.Matches(got[i].Primitive, got[i].Args) {
			y.wrong(want.Place, fmt.Sprintf("call %d was %s", i+1, describe(got[i])), "expected: "+want.String())
			return
		}
		y.compareCall(i, want, got[i], e.Error != "")
	}
	if len(got) > len(e.Calls) {
		y.wrong(e.Place, fmt.Sprintf("call %d was not expected: %s", len(e.Calls)+1, describe(got[len(e.Calls)])), "the calls were: "+callList(got))
	}
}

func (y *story) compareCall(i int, want spec.ExpectedCall, got Call, mayFail bool) {
	say := func(what, is, expected string) {
		y.wrong(want.Place, fmt.Sprintf("%s of call %d, %s, is %s", what, i+1, got.Primitive, orNone(is)), "expected: "+expected)
	}
	switch {
	case want.Fails != "" && !strings.Contains(got.Error, want.Fails):
		say("the error", got.Error, want.Fails)
	case want.Fails == "" && got.Code != "" && !mayFail:
		y.wrong(want.Place, fmt.Sprintf("call %d, %s, failed: %s", i+1, got.Primitive, got.Error), "add fails: to the call when it shall")
	}
	if want.Images != nil && !slices.Equal(want.Images, got.images()) {
		say("the result", listed(got.images()), listed(want.Images))
	}
	if want.EnvFrom != "" && want.EnvFrom != got.EnvFrom {
		say("env_from_component", got.EnvFrom, want.EnvFrom)
	}
	if want.Image != "" && (got.Command == nil || got.Command.Image != want.Image) {
		image := ""
		if got.Command != nil {
			image = got.Command.Image
		}
		say("the image", image, want.Image)
	}
	for _, name := range sortedKeys(want.Env) {
		value, set := "", false
		if got.Command != nil {
			for _, v := range got.Command.Env {
				if v.Name == name {
					value, set = v.Value, true
				}
			}
		}
		if !set || value != want.Env[name] {
			say("the variable "+name, value, want.Env[name])
		}
	}
}

// describe writes a call as a file of tests does.
func describe(c Call) string {
	return spec.CallPattern{Primitive: c.Primitive, Args: c.Args}.String()
}

func callList(calls []Call) string {
	if len(calls) == 0 {
		return "none"
	}
	var out []string
	for _, c := range calls {
		out = append(out, describe(c))
	}
	return strings.Join(out, "; ")
}

func listed(s []string) string { return "[" + strings.Join(s, ", ") + "]" }

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
