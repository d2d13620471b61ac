package spec

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"slipway.dev/slipway/contract"
	"slipway.dev/slipway/internal/slipway"
)

func testsOf(t *testing.T, text string) (DriverTests, error) {
	t.Helper()
	b, err := NewBundle(map[string][]byte{DriverTestsFile: []byte(text), "application.toml": []byte("x")})
	if err != nil {
		t.Fatal(err)
	}
	out, ok, err := ParseDriverTests(b)
	if !ok {
		t.Fatal("there are tests")
	}
	return out, err
}

// World: pure.
func TestDriverTestsAreRead(t *testing.T) {
	t.Parallel()
	got, err := testsOf(t, `application: application.toml
tests:
  - name: all of it
    from: 1.0.0
    upgrade: 1.1.0
    parameters: { level: debug, n: 3 }
    components: { web: { image: "x:{{ app.version }}", replicas: 2 } }
    cluster:
      - execute_commands: [app, migrate, ...]
        times: 1
        exit_code: 3
        output: no
      - start_components: worker
        fails: not ready
    expect:
      calls:
        - stop_components
        - get_component_images: web
          images: [x]
        - execute_commands: [app, "*"]
          image: x:1.1.0
          env: { A: b }
          fails: exit code 3
      error: exit code
      stopped: []
      version: 1.0.0
`)
	if err != nil {
		t.Fatal(err)
	}
	two := 2
	want := DriverTests{Application: "application.toml", Tests: []DriverTest{{
		Place: Place{3, 5}, Name: "all of it", From: "1.0.0", Upgrade: "1.1.0", Parameters: map[string]any{"level": "debug", "n": int64(3)},
		Components: map[string]slipway.ComponentConfig{"web": {Image: "x:{{ app.version }}", Replicas: &two}},
		Plays: []Play{
			{CallPattern: CallPattern{Place{9, 9}, slipway.ExecuteCommands, []string{"app", "migrate", "..."}}, Times: 1, ExitCode: 3, Output: "no"},
			{CallPattern: CallPattern{Place{13, 9}, slipway.StartComponents, []string{"worker"}}, Fails: "not ready"},
		},
		Expect: Expectation{Place: Place{16, 7}, Error: "exit code", Stopped: []string{}, Version: "1.0.0", Calls: []ExpectedCall{
			{CallPattern: CallPattern{Place: Place{17, 11}, Primitive: slipway.StopComponents}},
			{CallPattern: CallPattern{Place{18, 11}, slipway.ComponentImages, []string{"web"}}, Images: []string{"x"}},
			{CallPattern: CallPattern{Place{20, 11}, slipway.ExecuteCommands, []string{"app", "*"}}, Image: "x:1.1.0", Env: map[string]string{"A": "b"}, Fails: "exit code 3"},
		}},
	}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// What the schema takes, spec takes; what spec refuses for its form, the schema refuses.
func TestDriverTestsAgreeWithTheirSchema(t *testing.T) {
	t.Parallel()
	schema := compileContract(t, contract.DriverTestsSchema)
	for _, tc := range []struct{ text, fault string }{
		{"tests:\n  - { name: a, install: 1.0.0 }\n", ""},
		{"tests:\n  - { name: a, from: 1.0.0, upgrade: 1.1.0, cluster: [{ execute_commands: null, times_out: true }] }\n", ""},
		{"tests: []\n", "has 0 tests"},
		{"test: []\n", "did you mean tests?"},
		{"tests:\n  - { install: 1.0.0 }\n", "tests[0].name: is missing"},
		{"tests:\n  - { name: a }\n", "neither installs nor upgrades"},
		{"tests:\n  - { name: a, upgrade: 1.1.0 }\n", "tests[0].from: is missing"},
		{"tests:\n  - { name: a, from: 1.0.0, install: 1.1.0 }\n", "stands beside install"},
		{"tests:\n  - { name: a, install: 1.5 }\n", `write it in quotes: "1.5"`},
		{"tests:\n  - { name: a, install: 1.0.0, expect: { calls: [{ stop_components: [a], start_components: [a] }] } }\n", "names 2 calls"},
		{"tests:\n  - { name: a, install: 1.0.0, expect: { calls: [{ image: x }] } }\n", "names 0 calls"},
		{"tests:\n  - { name: a, install: 1.0.0, cluster: [{ execute_commands: app migrate }] }\n", "write one command as a list"},
		{"tests:\n  - { name: a, install: 1.0.0, cluster: [{ execute_commands: [a], exit_code: 256 }] }\n", "from 0 to 255"},
		{"tests:\n  - { name: a, install: 1.0.0, expects: {} }\n", "did you mean expect?"},
	} {
		root, faults := parseYAML([]byte(tc.text), DriverTestsFile)
		if len(faults) > 0 {
			t.Fatal(faults)
		}
		bySchema := schema.Validate(asJSON(t, root))
		_, bySpec := testsOf(t, tc.text)
		if (bySchema == nil) != (tc.fault == "") || (bySpec == nil) != (tc.fault == "") {
			t.Errorf("%q: the schema says %v, spec says %v", tc.text, bySchema, bySpec)
			continue
		}
		if bySpec == nil {
			continue
		}
		e, _ := bySpec.(*slipway.Error) //nolint:errorlint // ParseDriverTests returns nothing else
		if text := strings.Join(Sentences(e.Fields), "\n"); !strings.Contains(text, tc.fault) || e.Fields[0].Line == 0 {
			t.Errorf("%q: %s, want %s", tc.text, text, tc.fault)
		}
	}
}

func TestPatternsPickCalls(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		pattern, args []string
		want          bool
	}{
		{nil, []string{"a"}, true},
		{[]string{"a", "b"}, []string{"a", "b"}, true},
		{[]string{"a"}, []string{"a", "b"}, false},
		{[]string{"a", "*"}, []string{"a", "b"}, true},
		{[]string{"a", "*"}, []string{"a"}, false},
		{[]string{"a", "..."}, []string{"a"}, true},
		{[]string{"a", "..."}, []string{"a", "b", "c"}, true},
		{[]string{"b", "..."}, []string{"a", "b"}, false},
		{[]string{"a", "b", "..."}, []string{"a"}, false},
	} {
		p := CallPattern{Primitive: slipway.ExecuteCommands, Args: tc.pattern}
		if got := p.Matches(slipway.ExecuteCommands, tc.args); got != tc.want {
			t.Errorf("%q of %q = %v", tc.pattern, tc.args, got)
		}
		if p.Matches(slipway.StopComponents, tc.args) {
			t.Errorf("%q picks another primitive", tc.pattern)
		}
	}
}
