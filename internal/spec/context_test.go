package spec

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"slipway.dev/slipway/contract"
	"slipway.dev/slipway/internal/slipway"
)

// World: pure. The Python package reads what the schema says, so that is what we write.
func TestContextFitsItsSchemaAndItsOwnReader(t *testing.T) {
	t.Parallel()
	schema := compileContract(t, contract.ContextSchema)
	two := 2
	s := slipway.ApplicationSpec{
		Name: "shop", App: slipway.AppRef{Version: "1.6.0"},
		Parameters: map[string]any{"admin_email": "a@b.c", "license_key": map[string]any{"secret": "license"}, "hosts": []any{map[string]any{"name": "ab"}}},
		Components: map[string]slipway.ComponentConfig{"server": {
			Image: "reg/s:{{ app.version }}", Replicas: &two, Env: map[string]string{"A": "1", "E": ""}, Secrets: map[string]string{"P": "db"},
		}},
	}
	d := shop
	d.Chart = slipway.ChartRef{Location: "chart", Version: "0.3.1"}
	d.Services = map[string]slipway.Service{"web": {Component: "server", Kind: "http", Port: 80, Path: "/"}}
	install := exampleContext(t, slipway.Driver{Name: "shop", Version: "1.4.2", Digest: "sha256:00", Spec: d}, s)
	install.App.PreviousVersion = nil
	for name, c := range map[string]GlobalContext{
		"frozen":     install,
		"for a run":  install.ForAction(slipway.Action{Name: "up", Hook: slipway.Upgrade, Mode: slipway.Core}, 9, 1),
		"of nothing": exampleContext(t, slipway.Driver{}, slipway.ApplicationSpec{}),
	} {
		b, err := c.JSON()
		if err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(doc); err != nil {
			t.Errorf("%s: %v\n%s", name, err, b)
		}
		back, err := DecodeContext(b)
		if err != nil {
			t.Fatal(err)
		}
		again, err := back.JSON()
		if err != nil || string(again) != string(b) {
			t.Errorf("%s: read and written again it is\n%s, was\n%s (%v)", name, again, b, err)
		}
	}

	b, err := install.JSON()
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	want := `{
		"server": {"selector": {}, "kinds": [], "container": "server", "image_override": "reg/s:{{ app.version }}", "replicas": 2, "stopped": false,
			"env": {"A": {"value": "1"}, "E": {"value": ""}, "P": {"secret_ref": {"name": "shop-slipway", "key": "db"}}}},
		"task-worker": {"selector": {}, "kinds": [], "container": null, "image_override": null, "replicas": null, "stopped": false, "env": {}}
	}`
	var wantComponents any
	if err := json.Unmarshal([]byte(want), &wantComponents); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got["components"], wantComponents); diff != "" {
		t.Errorf("components: got, want (-, +):\n%s", diff)
	}
	wantParameters := map[string]any{
		"admin_email": "a@b.c", "workers": 2.0, "edition": "community", "hosts": []any{map[string]any{"name": "ab"}},
		"resources":   map[string]any{},
		"license_key": map[string]any{"secret_ref": map[string]any{"name": "shop-slipway", "key": "license"}},
	}
	if diff := cmp.Diff(got["parameters"], wantParameters); diff != "" {
		t.Errorf("parameters: got, want (-, +):\n%s", diff)
	}
	config, _ := got["instance"].(map[string]any)["config"].(map[string]any)
	if config["license_key"] != nil || config["workers"] != 2.0 || config["region"] != "eu-1" {
		t.Errorf("the merged configuration is %v", config)
	}
}

// World: pure.
func TestDecodeContextRefusesANewerOne(t *testing.T) {
	t.Parallel()
	if _, err := DecodeContext([]byte(`{"schema_version": 2}`)); !slipway.Is(err, slipway.Internal) {
		t.Errorf("DecodeContext() = %v", err)
	}
	if _, err := DecodeContext([]byte(`{`)); err == nil {
		t.Error("what is no JSON is read")
	}
}

// World: pure. The frozen context is given to many at once, and nobody may change it.
func TestForActionLeavesTheFrozenContextAsItIs(t *testing.T) {
	t.Parallel()
	_, d, _ := loadExample(t, "guestbook")
	c := exampleContext(t, d, slipway.ApplicationSpec{Name: "guestbook", App: slipway.AppRef{Version: "1.0.0"}})
	before, err := c.JSON()
	if err != nil {
		t.Fatal(err)
	}
	run := c.ForAction(d.Spec.Actions[0], 7, 2)
	if run.Task.Action != "check_input" || run.Task.Hook != slipway.Setup || run.Task.Mode != slipway.Pre || run.Task.StepID != 7 || run.Task.Attempt != 2 {
		t.Errorf("the run's task is %+v", run.Task)
	}
	if after, err := c.JSON(); err != nil || string(after) != string(before) {
		t.Errorf("the frozen context changed (%v)", err)
	}
	if !c.Components["worker"].Stopped || c.Components["web"].Kinds[0] != "Deployment" {
		t.Errorf("states and kinds are lost: %+v", c.Components)
	}
}

// World: pure.
func TestValuesSayWhatIsWrong(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, template, want string }{
		{"an unknown name", "a: 1\nb: {{ paramters.x }}\n", "the values template values.j2.yml of driver d 1.0.0 cannot be rendered: line 2: paramters is not defined (did you mean parameters?)"},
		{"a bad filter", "a: {{ 1 | to_yml }}\n", `the values template values.j2.yml of driver d 1.0.0 cannot be rendered: line 1: the filter "to_yml" is not available (did you mean to_yaml?)`},
		{"no YAML", "a: {{ 'x: y' }}\n", `the values template values.j2.yml of driver d 1.0.0 renders to no YAML: mapping value is not allowed in this context, at "a: x: y"`},
		{"a list", "- a\n", "the values template values.j2.yml of driver d 1.0.0 renders to a list, not to a table"},
		{"a key twice", "a: 1\n{% if true %}a: 2{% endif %}\n", `the values template values.j2.yml of driver d 1.0.0 renders to no YAML: is there twice, at "a: 2"`},
		{"no number", "a: [.nan]\n", "the values template values.j2.yml of driver d 1.0.0 renders a[0] as a number that is none"},
		{"an include", "{% include 'x' %}", "the values template values.j2.yml of driver d 1.0.0 cannot be rendered: line 1: {% include %} is not available (the template is one file)"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			b, err := NewBundle(map[string][]byte{"driver.slipway.yml": []byte(driverHead), "values.j2.yml": []byte(tc.template), "chart/Chart.yaml": []byte("version: 1.0.0")})
			if err != nil {
				t.Fatal(err)
			}
			d, _, err := ParseDriver(b)
			if err != nil {
				t.Fatal(describe(err))
			}
			c := exampleContext(t, slipway.Driver{Name: "d", Version: "1.0.0", Spec: d}, slipway.ApplicationSpec{Name: "a", App: slipway.AppRef{Version: "1.0.0"}})
			_, err = Values(b, d, c)
			if !slipway.Is(err, slipway.Invalid) || err.Error() != tc.want {
				t.Errorf("Values() = %v (%s), want\n%s", err, slipway.KindOf(err), tc.want)
			}
		})
	}
}

// World: pure.
func TestValuesThatAreFarTooMany(t *testing.T) {
	t.Parallel()
	b, err := NewBundle(map[string][]byte{"values.j2.yml": []byte("{% for i in range(9999) %}a{{ i }}: [1, 2, 3, 4]\n{% endfor %}")})
	if err != nil {
		t.Fatal(err)
	}
	_, err = Values(b, slipway.DriverSpec{Chart: slipway.ChartRef{Values: "values.j2.yml"}}, GlobalContext{})
	if !slipway.Is(err, slipway.TooLarge) {
		t.Errorf("Values() = %v", err)
	}
}

// World: pure. Helm reads YAML 1.1, and so must we.
func TestValuesAreReadAsHelmReadsThem(t *testing.T) {
	t.Parallel()
	const template = `
yes: yes
quoted: "yes"
off: [Off, on, "on", no, NO, y, n, ~, null, ]
port: 8080
big: 12345678901
float: 1.50
exp: 1e3
padded: 08
octal: 0o17
date: 2026-01-02
text: |
  two
  lines
folded: >-
  one
  line
anchor: &a { x: 1 }
alias: *a
merged: { <<: *a, y: 2 }
empty:
nested: {{ {"a": [1, {"b": none}]} | to_json }}
list:
{%- for c in components | dictsort %}
  - {{ c[0] }}
{%- endfor %}
`
	b, err := NewBundle(map[string][]byte{"driver.slipway.yml": []byte(driverHead + "  components: { w: { selector: { a: b } }, v: { selector: { a: c } } }\n"), "values.j2.yml": []byte(template), "chart/Chart.yaml": []byte("version: 1.0.0")})
	if err != nil {
		t.Fatal(err)
	}
	d, _, err := ParseDriver(b)
	if err != nil {
		t.Fatal(describe(err))
	}
	got, err := Values(b, d, exampleContext(t, slipway.Driver{Spec: d}, slipway.ApplicationSpec{Name: "a", App: slipway.AppRef{Version: "1.0.0"}}))
	if err != nil {
		t.Fatal(describe(err))
	}
	want := map[string]any{
		"yes": true, "quoted": "yes", "off": []any{false, true, "on", false, false, true, false, nil, nil}, "port": int64(8080), "big": int64(12345678901),
		"float": 1.5, "exp": int64(1000), "padded": int64(8), "octal": int64(15), "date": "2026-01-02", "text": "two\nlines\n", "folded": "one line",
		"anchor": map[string]any{"x": int64(1)}, "alias": map[string]any{"x": int64(1)}, "merged": map[string]any{"x": int64(1), "y": int64(2)},
		"empty": nil, "nested": map[string]any{"a": []any{int64(1), map[string]any{"b": nil}}}, "list": []any{"v", "w"},
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("got, want (-, +):\n%s", diff)
	}
	none := d
	none.Chart.Values = ""
	if got, err := Values(b, none, GlobalContext{}); err != nil || len(got) != 0 {
		t.Errorf("without a template: %v, %v", got, err)
	}
}

// World: pure.
func TestAliasesCannotGrowWithoutEnd(t *testing.T) {
	t.Parallel()
	bomb := "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
	for i := range 9 {
		prev, next := string(rune('a'+i)), string(rune('b'+i))
		bomb += next + ": &" + next + " [" + strings.TrimSuffix(strings.Repeat("*"+prev+",", 10), ",") + "]\n"
	}
	_, faults := parseYAML([]byte(bomb), "f")
	if len(faults) == 0 || !strings.Contains(faults[0].Msg, "too large once its aliases are filled in") {
		t.Errorf("%d faults: %v", len(faults), faults)
	}
	for _, deep := range []string{strings.Repeat("[", 5000), strings.Repeat("{a: ", 5000), strings.Repeat("- ", 5000), strings.Repeat("!x ", 5000)} {
		if _, faults := parseYAML([]byte(deep), "f"); len(faults) != 1 || !strings.Contains(faults[0].Msg, "nested more than") {
			t.Errorf("%.10q…: %v", deep, faults)
		}
	}
}
