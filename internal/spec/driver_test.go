package spec

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"slipway.dev/slipway/internal/slipway"
)

// driverHead is the least that a driver must say, with a chart in the bundle.
const driverHead = `apiVersion: slipway.dev/v1
kind: ApplicationDriver
metadata: { name: d }
spec:
  version: 1.0.0
  helm: { main: { location: ./chart/ } }
`

func bundleOf(t testing.TB, driver string, more ...string) Bundle {
	t.Helper()
	files := map[string][]byte{
		"driver.slipway.yml": []byte(driver), "actions.py": []byte("def a(): ..."), "lib/more.py": nil,
		"chart/Chart.yaml": []byte("apiVersion: v2\nname: d\nversion: 0.3.1\n"), "values.j2.yml": []byte("a: 1\n"),
	}
	for _, m := range more {
		files[m] = []byte("x = 1\n")
	}
	b, err := NewBundle(files)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// World: pure.
func TestParseDriverReadsEverything(t *testing.T) {
	t.Parallel()
	b, err := NewBundle(examples(t, "drivers/everything"))
	if err != nil {
		t.Fatal(err)
	}
	got, warnings, err := ParseDriver(b)
	if err != nil {
		t.Fatal(describe(err))
	}
	parameters := string(got.Parameters)
	got.Parameters = nil
	want := slipway.DriverSpec{
		APIVersion: "slipway.dev/v1", Name: "everything", Version: "1.4.2", SupportedVersions: ">=1.5.0 <2.0.0",
		Upgrades: []slipway.UpgradePath{{From: ">=1.5.0 <1.6.0", To: ">=1.6.0 <1.7.0"}, {From: ">=1.6.0 <1.7.0", To: ">=1.7.0 <1.8.0"}},
		Info:     slipway.DriverInfo{Description: "An example with every key", Authors: []string{"The Slipway authors"}, Homepage: "https://example.com/everything"},
		Chart: slipway.ChartRef{Location: "oci://registry.example.com/charts/everything", Values: "values.j2.yml", Versions: []slipway.ChartVersion{
			{App: ">=1.7.0", Chart: "4.2.1", Digest: "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"},
			{App: "<1.7.0", Chart: "4.1.0"},
		}},
		Components: map[string]slipway.Component{
			"server":      {Selector: map[string]string{"app.kubernetes.io/component": "server"}, Container: "server", Scalable: true, ReadyTimeout: 10 * time.Minute},
			"task-worker": {Selector: map[string]string{"app.kubernetes.io/component": "task-worker"}, Container: "task-worker", Scalable: true},
			"database":    {Selector: map[string]string{"app.kubernetes.io/name": "neo4j"}, Backup: &slipway.ComponentBackup{Kind: "neo4j", Order: 10}},
		},
		Services: map[string]slipway.Service{"web": {Component: "server", Kind: "http", Port: 8000, Scope: "external", Path: "/"}},
		Actions: []slipway.Action{
			{Name: "validate", Hook: slipway.Setup, Mode: slipway.Pre, File: "actions.py", Function: "validate"},
			{Name: "upgrade", Hook: slipway.Upgrade, Mode: slipway.Core, File: "actions.py", Function: "upgrade", Description: "Stop workers, run migration, restart, verify", Timeout: 45 * time.Minute, Irreversible: true, Stops: []string{"task-worker"}},
			{Name: "dump", Hook: slipway.BackupHook, Mode: slipway.Core, File: "actions.py", Function: "dump"},
		},
	}
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("got, want (-, +):\n%s", d)
	}
	wantWarnings := []string{
		"driver.slipway.yml:42:7: spec.components.database.backup.kind: leaves it to an action, and no action has hook: restore (add an action with hook: restore)",
		"driver.slipway.yml:43:23: spec.components.database.backup.kind: this slipway has no strategy neo4j; the actions of the hooks backup and restore have to do it (write kind: action)",
		"driver.slipway.yml:78:16: spec.actions[2].prompts: is accepted and has no effect yet: nobody is asked",
		"driver.slipway.yml:80:5: spec.checks: is accepted and has no effect yet",
	}
	if d := cmp.Diff(warnings, wantWarnings); d != "" {
		t.Errorf("warnings: got, want (-, +):\n%s", d)
	}
	if !strings.Contains(parameters, `"x-when":"edition == 'enterprise'"`) || !strings.Contains(parameters, `"maximum":32`) {
		t.Errorf("the schema is %s", parameters)
	}
	// What is stored is read again as it was.
	b1, err := marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	b2, err := marshal(got)
	if err != nil || string(b1) != string(b2) {
		t.Errorf("the JSON differs: %s, %s (%v)", b1, b2, err)
	}
}

// World: pure.
func TestParseDriverFindsEveryFaultWithItsPlace(t *testing.T) {
	t.Parallel()
	const action = "  actions:\n    - "
	cases := []struct {
		name, src string
		more      []string
		want      []string
	}{
		{"an empty file", "", nil, []string{"driver.slipway.yml is empty"}},
		{"only a comment", "# nothing\n", nil, []string{"driver.slipway.yml is empty"}},
		{"nothing of what is needed", "spec: {}\n", nil, []string{
			"driver.slipway.yml:1:1: apiVersion: is missing (write apiVersion: slipway.dev/v1)",
			"driver.slipway.yml:1:1: kind: is missing (write kind: ApplicationDriver)",
			"driver.slipway.yml:1:1: metadata: is missing (write metadata with a name)",
			"driver.slipway.yml:1:7: spec.version: is missing (write the driver's own version: 1.0.0)",
			"driver.slipway.yml:1:7: spec.helm: is missing (write spec.helm.main.location)",
		}},
		{"no YAML", "spec: [\n", nil, []string{"driver.slipway.yml:1:7: sequence end token ']' not found"}},
		{"two documents", driverHead + "---\na: 1\n", nil, []string{"driver.slipway.yml:8:2: has more than one document (remove the line --- and what follows)"}},
		{"a key twice", driverHead + "  version: 2.0.0\n", nil, []string{"driver.slipway.yml:7:3: spec.version: is there twice (the first is in line 5; keep one)"}},
		{"a newer format", strings.Replace(driverHead, "slipway.dev/v1", "slipway.dev/v2", 1), nil, []string{
			"driver.slipway.yml:1:13: apiVersion: slipway.dev/v2 needs a newer slipway (this slipway knows slipway.dev/v1)",
		}},
		{"another format", strings.Replace(driverHead, "slipway.dev/v1", "apps/v1", 1), nil, []string{
			`driver.slipway.yml:1:13: apiVersion: "apps/v1" is no version of a driver's format (write apiVersion: slipway.dev/v1)`,
		}},
		{"versions", strings.Replace(driverHead, "version: 1.0.0", "version: 1.10\n  supported_versions: newest\n  upgrades: [{ from: '>=1', too: '<2' }]", 1), nil, []string{
			"driver.slipway.yml:5:12: spec.version: 1.10 is no version of three parts (write 1.10.0)",
			`driver.slipway.yml:6:23: spec.supported_versions: "newest" is no range of versions (write it as in ">=1.5.0 <2.0.0")`,
			"driver.slipway.yml:7:16: spec.upgrades[0].to: is missing (a range of versions)",
			"driver.slipway.yml:7:29: spec.upgrades[0].too: unknown key (did you mean to?)",
		}},
		{"after a byte order mark", "\ufeff" + strings.Replace(driverHead, "./chart/", "../chart", 1), nil, []string{
			"driver.slipway.yml:6:29: spec.helm.main.location: leads outside of the driver's directory (give a path inside of the driver's directory)",
		}},
		{"ways back", strings.Replace(driverHead, "version: 1.0.0", "version: 1.0.0\n  rollbacks: [{ from: newest, to: '<2' }, { from: '>=1' }]", 1), nil, []string{
			`driver.slipway.yml:6:23: spec.rollbacks[0].from: "newest" is no range of versions (write it as in ">=1.5.0 <2.0.0")`,
			"driver.slipway.yml:6:45: spec.rollbacks[1].to: is missing (a range of versions)",
		}},
		{"a chart outside", strings.Replace(driverHead, "./chart/", "../chart", 1), nil, []string{
			"driver.slipway.yml:6:29: spec.helm.main.location: leads outside of the driver's directory (give a path inside of the driver's directory)",
		}},
		{"a chart that is not there", strings.Replace(driverHead, "./chart/", "charts", 1), nil, []string{
			"driver.slipway.yml:6:29: spec.helm.main.location: there is no charts/Chart.yaml in the driver's directory (put a Helm chart there, or name one by oci://… or https://…)",
		}},
		{"another version than the chart's", strings.Replace(driverHead, "./chart/", "chart, version: 1.0.0", 1), nil, []string{
			"driver.slipway.yml:6:45: spec.helm.main.version: is not the version of the chart in chart, which is 0.3.1 (leave it out, or write 0.3.1)",
		}},
		{"a remote chart", strings.Replace(driverHead, "./chart/", "oci://user:pw@reg/c, digest: sha256:1, values: nope.yml", 1), nil, []string{
			"driver.slipway.yml:6:19: spec.helm.main.version: is missing (write the exact version of the chart)",
			"driver.slipway.yml:6:29: spec.helm.main.location: holds a user name or password (leave the password out; the installation is configured with registries' credentials)",
			"driver.slipway.yml:6:58: spec.helm.main.digest: is no digest (write sha256: and 64 hexadecimal digits)",
			"driver.slipway.yml:6:76: spec.helm.main.values: there is no nope.yml in the driver's directory (known here: actions.py, chart/Chart.yaml, driver.slipway.yml, lib/more.py, values.j2.yml)",
		}},
		{"components", driverHead + `  components:
    Web: { selector: { a: b } }
    one: { selector: { app: x }, container: "No!" }
    two: { selector: { app: x } }
    all: { selector: {} }
    bad: { selector: { "a b": "c d" }, scalable: "yes", ready: { timeout: 90 } }
    none: { selectors: { a: c } }
`, nil, []string{
			`driver.slipway.yml:8:5: spec.components.Web: "Web" cannot name a component (use lower-case letters, digits and single hyphens, starting with a letter: web)`,
			`driver.slipway.yml:9:45: spec.components.one.container: "No!" cannot name a container`,
			"driver.slipway.yml:10:5: spec.components.two.selector: is the same as that of one (give each component labels of its own)",
			"driver.slipway.yml:11:22: spec.components.all.selector: may not be empty: it would match every workload (name a label)",
			`driver.slipway.yml:12:24: spec.components.bad.selector."a b": "a b" is no label (write it as app.kubernetes.io/component)`,
			`driver.slipway.yml:12:31: spec.components.bad.selector."a b": "c d" is no label's value (use letters, digits, dots and hyphens, at most 63)`,
			"driver.slipway.yml:12:50: spec.components.bad.scalable: must be true or false, not text (write it without quotes)",
			"driver.slipway.yml:12:75: spec.components.bad.ready.timeout: must be a time, not a whole number (write it with a unit: 45m, 90s, 1h30m)",
			"driver.slipway.yml:13:13: spec.components.none.selectors: unknown key (did you mean selector?)",
			"driver.slipway.yml:13:13: spec.components.none.selector: is missing (labels of the component's pods: { app.kubernetes.io/component: web })",
		}},
		{"services", driverHead + "  components: { web: { selector: { a: b } } }\n  services:\n    a: { component: wep, kind: 'Web Page', port: 70000, path: x }\n    b: {}\n", nil, []string{
			"driver.slipway.yml:9:21: spec.services.a.component: there is no component wep (did you mean web?)",
			"driver.slipway.yml:9:32: spec.services.a.kind: must be one word in lower case",
			"driver.slipway.yml:9:50: spec.services.a.port: is 70000; it must be from 1 to 65535",
			"driver.slipway.yml:9:63: spec.services.a.path: must start with / (write /x)",
			"driver.slipway.yml:10:8: spec.services.b.component: is missing (the component that serves it)",
		}},
		{"setup has no core", driverHead + action + `{ name: a, hook: setup, mode: core, location: "actions.py::a" }` + "\n", nil, []string{
			"driver.slipway.yml:8:37: spec.actions[0].mode: the core mode of the setup hook is the installation itself (use pre or post)",
		}},
		{"an action without all", driverHead + action + "{ hook: upgrade }\n", nil, []string{
			"driver.slipway.yml:8:9: spec.actions[0].name: is missing",
			"driver.slipway.yml:8:9: spec.actions[0].mode: is missing (write mode: pre, core or post)",
			`driver.slipway.yml:8:9: spec.actions[0].location: is missing (write location: "actions.py::function")`,
		}},
		{"words that are none", driverHead + action + `{ name: "9 lives", hook: upgrades, mode: before, location: "actions.py::a", timeout: 2d }` + "\n", nil, []string{
			`driver.slipway.yml:8:15: spec.actions[0].name: "9 lives" cannot name an action (use letters, digits, _ and -, at most 63, starting with a letter)`,
			`driver.slipway.yml:8:32: spec.actions[0].hook: "upgrades" is no hook (did you mean upgrade?)`,
			`driver.slipway.yml:8:48: spec.actions[0].mode: "before" is no mode (known here: core, post, pre)`,
			`driver.slipway.yml:8:92: spec.actions[0].timeout: "2d" is no time (write it with a unit: 45m, 90s, 1h30m)`,
		}},
		{"a time-out beyond the longest", driverHead + action + `{ name: a, hook: upgrade, mode: pre, location: "actions.py::a", timeout: 25h }` + "\n", nil, []string{
			"driver.slipway.yml:8:80: spec.actions[0].timeout: is 25h0m0s; it must be from 1s to 24h0m0s",
		}},
		{"what stops meanwhile", driverHead + "  components: { worker: { selector: { a: b } } }\n" + action + `{ name: a, hook: upgrade, mode: pre, location: "actions.py::a", stops: [worker, wroker, worker] }` + "\n", nil, []string{
			`driver.slipway.yml:9:87: spec.actions[0].stops[1]: there is no component "wroker" (did you mean worker?)`,
			"driver.slipway.yml:9:95: spec.actions[0].stops[2]: worker is named twice (name it once)",
		}},
		{"what stops without a component", driverHead + action + `{ name: a, hook: upgrade, mode: pre, location: "actions.py::a", stops: [worker] }` + "\n", nil, []string{
			`driver.slipway.yml:8:79: spec.actions[0].stops[0]: there is no component "worker" (declare it under spec.components)`,
		}},
		{"locations", driverHead + "  actions:\n" +
			`    - { name: a, hook: upgrade, mode: pre, location: "../actions.py::a" }
    - { name: b, hook: upgrade, mode: pre, location: "/etc/actions.py::a" }
    - { name: c, hook: upgrade, mode: pre, location: "actions.py:a" }
    - { name: d, hook: upgrade, mode: pre, location: "action.py::a" }
    - { name: e, hook: upgrade, mode: pre, location: "actions.py::a.b" }
    - { name: f, hook: upgrade, mode: pre, location: "actions.sh::a" }
    - { name: a, hook: upgrade, mode: post, location: "lib/more.py::ok" }
`, nil, []string{
			"driver.slipway.yml:8:54: spec.actions[0].location: leads outside of the driver's directory (give a file in the driver's directory)",
			"driver.slipway.yml:9:54: spec.actions[1].location: leads outside of the driver's directory (give a file in the driver's directory)",
			"driver.slipway.yml:10:54: spec.actions[2].location: names no function in a file (write it with two colons: actions.py::a)",
			"driver.slipway.yml:11:54: spec.actions[3].location: there is no action.py in the driver's directory (did you mean actions.py?)",
			`driver.slipway.yml:12:54: spec.actions[4].location: "a.b" cannot name a function (name one function of the file)`,
			"driver.slipway.yml:13:54: spec.actions[5].location: actions.sh is no Python file (name a file that ends in .py)",
			"driver.slipway.yml:14:15: spec.actions[6].name: a is the name of spec.actions[0] too (give each action a name of its own)",
		}},
		{"files that hide modules", driverHead + action + `{ name: a, hook: upgrade, mode: pre, location: "lib/more.py::a" }` + "\n",
			[]string{"prefect.py", "lib/slipway.py", "lib/json/__init__.py", "styrmin_backend/__init__.py", "chart/files/prefect.py", "types/data.py", "lib/helpers.py"}, []string{
				"lib/json/__init__.py: hides the Python module json from the actions (give the file another name)",
				"lib/slipway.py: hides the Python module slipway from the actions (give the file another name)",
				"prefect.py: hides the Python module prefect from the actions (give the file another name)",
				"styrmin_backend/__init__.py: hides the Python module styrmin_backend from the actions (give the file another name)",
			}},
		{"parameters", driverHead + `  parameters:
    type: object
    requierd: [a]
    properties:
      a: { type: strin }
      b: { type: integer, minimum: 3, default: 1 }
      c: { type: string, writeOnly: true, default: hunter2 }
      d: { type: integer, writeOnly: true }
      e: { type: object, properties: { x: { type: string, writeOnly: true } } }
      f: { $ref: "https://example.com/x.json" }
      "g-h": { type: string }
`, nil, []string{
			"driver.slipway.yml:9:5: spec.parameters.requierd: unknown key (did you mean required?)",
			"driver.slipway.yml:16:18: spec.parameters.properties.f.$ref: may not leave the file (write #/$defs/…)",
		}},
		{"parameters that are a schema", driverHead + `  parameters:
    type: object
    properties:
      a: { type: strin }
      b: { type: integer, minimum: "3" }
`, nil, []string{
			`driver.slipway.yml:10:18: spec.parameters.properties.a.type: must be array, boolean, integer, null, number, object or string (did you mean string?)`,
			`driver.slipway.yml:11:36: spec.parameters.properties.b.minimum: must be a number, not text`,
		}},
		{"parameters by our rules", driverHead + `  parameters:
    type: object
    properties:
      b: { type: integer, minimum: 3, default: 1 }
      c: { type: string, writeOnly: true, default: hunter2 }
      d: { type: integer, writeOnly: true }
      e: { type: object, properties: { x: { type: string, writeOnly: true } } }
      "g-h": { type: string }
      i: { type: array, items: { type: integer }, default: [1, x] }
`, nil, []string{
			"driver.slipway.yml:10:7: spec.parameters.properties.b.default: must be at least 3",
			"driver.slipway.yml:11:7: spec.parameters.properties.c.default: is a secret's value, which every reader of the driver would know (remove it)",
			"driver.slipway.yml:12:7: spec.parameters.properties.d.type: must be string: a secret is text (write type: string)",
			"driver.slipway.yml:13:7: spec.parameters.properties.e: holds a secret (writeOnly) inside of a table or list (make it a parameter of its own)",
			`driver.slipway.yml:14:7: spec.parameters.properties.g-h: "g-h" cannot name a parameter (use letters, digits and _, starting with a letter)`,
			"driver.slipway.yml:15:7: spec.parameters.properties.i.default[1]: must be a whole number, not text",
		}},
		{"a list of parameters", driverHead + `  parameters:
    - { name: a, type: enum }
    - { name: b, type: colour }
    - { type: string }
    - { name: c, type: string, secret: true, default: x }
    - { name: c, type: string, defualt: x }
`, nil, []string{
			"driver.slipway.yml:8:9: spec.parameters.a.values: is missing: an enum needs its values (write values: [a, b])",
			`driver.slipway.yml:9:24: spec.parameters.b.type: "colour" is no type (known here: boolean, enum, integer, number, string)`,
			"driver.slipway.yml:10:9: spec.parameters[2].name: is missing",
			"driver.slipway.yml:12:15: spec.parameters.c: is there twice",
			"driver.slipway.yml:12:32: spec.parameters.c.defualt: unknown key (did you mean default?)",
		}},
		{"tags and lost aliases", driverHead + "  info: !!map { authors: *who }\n", nil, []string{
			"driver.slipway.yml:7:9: spec.info: has a tag: !!map (remove the tag)",
		}},
		{"an alias of nothing", driverHead + "  info: { authors: *who }\n", nil, []string{
			"driver.slipway.yml:7:20: spec.info.authors: refers to nothing: *who (define it above with &who)",
		}},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, _, err := ParseDriver(bundleOf(t, tc.src, tc.more...))
			if d := cmp.Diff(faultsOf(t, err), tc.want); d != "" {
				t.Errorf("got, want (-, +):\n%s", d)
			}
		})
	}
}

// World: pure. What works but is not as it should be is said, with its place.
func TestParseDriverWarns(t *testing.T) {
	t.Parallel()
	_, warnings, err := ParseDriver(bundleOf(t, strings.Replace(driverHead, "slipway.dev", "styrmin.io", 1)+`  parameters: { a: { type: int, max: 3 } }
  components:
    - { name: web, selector: { a: b }, defaults: {} }
  services:
    - { name: site, component: web }
  python: { requires: [x] }
  actions:
    - { name: one, hook: upgrade, mode: pre, location: "actions.py::a" }
    - { name: two, hook: upgrade, mode: pre, location: "./actions.py::a" }
    - { name: three, hook: upgrade, mode: post, location: "actions.py::a" }
    - { name: four, hook: on_demand, mode: pre, location: "actions.py::b" }
`))
	if err != nil {
		t.Fatal(describe(err))
	}
	want := []string{
		"driver.slipway.yml:7:17: spec.parameters: has no properties; its keys are read as the parameters (write { type: object, properties: … })",
		"driver.slipway.yml:9:50: spec.components.web.defaults: is accepted and has no effect yet",
		"driver.slipway.yml:12:13: spec.python: is accepted and has no effect yet",
		"driver.slipway.yml:15:9: spec.actions[1]: runs a a second time in the same mode, after or before one",
		"driver.slipway.yml:17:27: spec.actions[3].hook: on_demand actions are accepted, and not run yet",
	}
	if d := cmp.Diff(warnings, want); d != "" {
		t.Errorf("got, want (-, +):\n%s", d)
	}
	http, _, err := ParseDriver(bundleOf(t, strings.Replace(driverHead, "./chart/", "http://charts.example.com/c, version: 1.0.0", 1)))
	if err != nil || LocalChart(http.Chart.Location) || http.Chart.Values != "values.j2.yml" {
		t.Errorf("a chart by http is %+v (%v)", http.Chart, err)
	}
}

// World: pure.
func TestADriverHasOneSpecification(t *testing.T) {
	t.Parallel()
	for want, files := range map[string]map[string][]byte{
		"the directory holds no driver.slipway.yml":                     {"actions.py": nil},
		"the driver holds driver.slipway.yml and driver.styrmin.yml":    {"driver.slipway.yml": nil, "driver.styrmin.yml": nil},
		"driver.slipway.yml has 70000 bytes; at most 65536 are allowed": {"driver.slipway.yml": make([]byte, 70000)},
	} {
		b, err := NewBundle(files)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := ParseDriver(b); err == nil || err.Error() != want {
			t.Errorf("ParseDriver() = %v, want %s", err, want)
		}
	}
}
