package template

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"github.com/pelletier/go-toml/v2"
)

type corpusCase struct {
	Name, Template string
	YAML           bool // compared as YAML
	Refused        bool // Jinja2 renders it and we say that we do not
	Lax            bool // Jinja2 fails on it and we do not
}

type goldenCase struct {
	Output *string
	Error  string
}

func readCorpus(t testing.TB) (cases []corpusCase, golden map[string]goldenCase, context map[string]any) {
	t.Helper()
	read := func(name string) []byte {
		b, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	var corpus struct{ Case []corpusCase }
	var file struct{ Cases map[string]goldenCase }
	if err := errors.Join(
		toml.Unmarshal(read("corpus.toml"), &corpus),
		json.Unmarshal(read("golden.json"), &file),
	); err != nil {
		t.Fatal(err)
	}
	return corpus.Case, file.Cases, readContext(t, read("context.json"))
}

// readContext decodes with whole numbers as int64, as package spec does.
func readContext(t testing.TB, b []byte) map[string]any {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(string(b)))
	dec.UseNumber()
	var m map[string]any
	if err := dec.Decode(&m); err != nil {
		t.Fatal(err)
	}
	var numbers func(v any) any
	numbers = func(v any) any {
		switch v := v.(type) {
		case map[string]any:
			for k, e := range v {
				v[k] = numbers(e)
			}
		case []any:
			for i, e := range v {
				v[i] = numbers(e)
			}
		case json.Number:
			if n, err := v.Int64(); err == nil {
				return n
			}
			f, _ := v.Float64()
			return f
		}
		return v
	}
	return numbers(m).(map[string]any)
}

// World: pure, against what real Jinja2 3.1.6 rendered (testdata/golden.py).
func TestRenderAgreesWithJinja2(t *testing.T) {
	t.Parallel()
	cases, golden, context := readCorpus(t)
	if len(cases) < 300 || len(cases) != len(golden) {
		t.Fatalf("%d cases and %d golden ones; run golden.py", len(cases), len(golden))
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			want := golden[c.Name]
			got, err := Render(c.Template, maps.Clone(context), DefaultLimits())
			var e *Error
			switch {
			case err != nil && !errors.As(err, &e):
				t.Fatalf("the error is %T, not *Error: %v", err, err)
			case err != nil && want.Output != nil && !c.Refused:
				t.Errorf("%q: we fail with %v; Jinja2 renders %q", c.Template, err, *want.Output)
			case err != nil && (strings.Contains(e.Msg, "%!") || strings.Contains(e.Error(), "panic")):
				t.Errorf("%q: the error is no sentence: %v", c.Template, err)
			case err == nil && want.Output == nil && !c.Lax:
				t.Errorf("%q: we render %q; Jinja2 fails with %s", c.Template, got, want.Error)
			case err == nil && c.Refused:
				t.Errorf("%q: marked as refused, and rendered %q", c.Template, got)
			case err == nil && want.Output != nil && c.YAML:
				compareYAML(t, got, *want.Output)
			case err == nil && want.Output != nil && got != *want.Output:
				t.Errorf("%q: got, want (-, +):\n%s", c.Template, cmp.Diff(got, *want.Output))
			}
		})
	}
}

func compareYAML(t *testing.T, got, want string) {
	t.Helper()
	var g, w any
	if err := yaml.Unmarshal([]byte(got), &g); err != nil {
		t.Fatalf("got is no YAML: %v\n%s", err, got)
	}
	if err := yaml.Unmarshal([]byte(want), &w); err != nil {
		t.Fatalf("want is no YAML: %v\n%s", err, want)
	}
	if d := cmp.Diff(g, w); d != "" {
		t.Errorf("got, want as YAML (-, +):\n%s\ngot:\n%s", d, got)
	}
}

// World: pure, against what real Jinja2 3.1.6 rendered (testdata/random_templates.py). Nobody
// thought of these templates, which is their point.
func TestRenderAgreesWithJinja2OnRandomTemplates(t *testing.T) {
	t.Parallel()
	_, _, context := readCorpus(t)
	b, err := os.ReadFile("testdata/random.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases map[string]string
	if err := json.Unmarshal(b, &cases); err != nil {
		t.Fatal(err)
	}
	refused := 0
	for src, want := range cases {
		got, err := Render(src, maps.Clone(context), DefaultLimits())
		switch {
		case err != nil:
			refused++
		case got != want:
			t.Errorf("%q: got %q, want %q", src, got, want)
		}
	}
	if rate := float64(refused) / float64(len(cases)); len(cases) < 1000 || rate > 0.15 {
		t.Errorf("%d of %d templates are refused", refused, len(cases))
	}
}
