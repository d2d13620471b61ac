package spec

import (
	"slices"
	"strings"

	"slipway.dev/slipway/internal/slipway"
)

// DriverTestsFile is the name of the file in a driver's directory that says what its
// actions must do on a simulated cluster.
const DriverTestsFile = "driver_test.yml"

// DriverTests are the tests of a driver's actions.
type DriverTests struct {
	Application string // an application's file beside it; empty: the driver's defaults
	Tests       []DriverTest
}

// DriverTest is one story: an install, an upgrade, or both, with what the cluster plays and
// what must come of it.
type DriverTest struct {
	Place
	Name        string
	From        string // what is installed when the story begins; empty: nothing
	Install     string // the version that is installed, with the hooks of setup; empty: none
	Upgrade     string // the version that it is then upgraded to; empty: none
	Application string // in the place of DriverTests.Application
	Parameters  map[string]any
	Components  map[string]slipway.ComponentConfig
	Plays       []Play
	Expect      Expectation
}

// Place is where in the file something stands.
type Place struct{ Line, Column int }

// CallPattern picks calls of one primitive.
type CallPattern struct {
	Place
	Primitive slipway.Primitive
	Args      []string // components, the command's arguments, or the one version or component
}

// Play is what the cluster does when it is asked in a certain way. Without any of its
// fields set, all goes well.
type Play struct {
	CallPattern
	Times    int // how many of the calls it is for; 0: all
	ExitCode int
	Output   string
	TimesOut bool
	Running  bool // another action's Job is in the way
	Fails    string
	Images   []string
}

// Expectation is what must come of a story. What is not said is not looked at.
type Expectation struct {
	Place
	Calls   []ExpectedCall // nil: any; empty: none
	Error   string         // part of the error it ends with; empty: it must succeed
	Stopped []string       // the components that are stopped in the end; nil: any
	Version string         // that the application has in the end
}

// ExpectedCall is a call that must be made, with what must be true of it.
type ExpectedCall struct {
	CallPattern
	Image   string
	EnvFrom string
	Env     map[string]string
	Images  []string
	Fails   string
}

// The elements of a command that stand for what a test does not care about.
const (
	AnyArgument  = "*"   // one argument
	AnyArguments = "..." // as many as there are, at the end
)

// Matches reports whether a call is one of those that the pattern picks. Components are
// compared as they were asked for; a pattern without any picks every call.
func (p CallPattern) Matches(primitive slipway.Primitive, args []string) bool {
	if p.Primitive != primitive {
		return false
	}
	if len(p.Args) == 0 {
		return true
	}
	want := p.Args
	if want[len(want)-1] == AnyArguments {
		want = want[:len(want)-1]
		args = args[:min(len(args), len(want))]
	}
	return slices.EqualFunc(want, args, func(w, a string) bool { return w == AnyArgument || w == a })
}

// String writes the pattern as a test's file does.
func (p CallPattern) String() string {
	if len(p.Args) == 0 {
		return string(p.Primitive)
	}
	switch p.Primitive {
	case slipway.ChangeVersion, slipway.ComponentImages:
		return string(p.Primitive) + ": " + p.Args[0]
	}
	return string(p.Primitive) + ": [" + strings.Join(p.Args, ", ") + "]"
}
