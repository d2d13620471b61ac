package spec

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"slipway.dev/slipway/internal/slipway"
)

// faultsOf returns the faults of an error as lines of text.
func faultsOf(t testing.TB, err error) []string {
	t.Helper()
	if err == nil {
		return nil
	}
	var e *slipway.Error
	if !errors.As(err, &e) {
		t.Fatalf("the error is %T: %v", err, err)
	}
	var out []string
	for _, f := range e.Fields {
		out = append(out, f.String())
	}
	if len(out) == 0 {
		out = []string{e.Error()}
	}
	return out
}

const head = "schema_version = 1\nname = \"a\"\ndriver = { name = \"d\", version = \"1.0.0\" }\napp = { version = \"1.0.0\" }\n"

// World: pure.
func TestParseApplicationFindsEveryFaultWithItsPlace(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, src string
		want      []string
	}{
		{"an empty file lacks everything", "", []string{
			"a.toml:1:1: schema_version: is missing (write schema_version = 1 as the first line)",
			`a.toml:1:1: name: is missing (write name = "…")`,
			"a.toml:1:1: driver: is missing (write [driver] with name and version, as shown by: slipway driver list; or [services.runner] for a pool of runners)",
			"a.toml:1:1: app: is missing (write [app] with the version of the application to run)",
		}},
		{"misspelt keys are told what they mean", head + "[component.web]\nreplicas = 1\n[components.web]\nreplica = 2\nimages = \"x\"\nx-mine = 1\n", []string{
			"a.toml:5:2: component: unknown key (did you mean components?)",
			"a.toml:8:1: components.web.replica: unknown key (did you mean replicas?)",
			"a.toml:9:1: components.web.images: unknown key (did you mean image?)",
		}},
		{"an unknown key that is like none gets the list", head + "[components.web]\nnonsense = 1\n", []string{
			"a.toml:6:1: components.web.nonsense: unknown key (known here: env, image, replicas, secrets)",
		}},
		{"kinds of values", "schema_version = \"1\"\nname = 7\ndriver = \"d\"\napp = { version = 1.10 }\nparameters = []\n", []string{
			"a.toml:1:18: schema_version: must be a whole number, not text",
			`a.toml:2:8: name: must be text, not a whole number (write it in quotes: "7")`,
			"a.toml:3:10: driver: must be a table, not text",
			`a.toml:4:19: app.version: must be text, not a number (write it in quotes: "1.10")`,
			"a.toml:5:1: parameters: must be a table, not a list",
		}},
		{"names", strings.Replace(head, `"a"`, `"My_App"`, 1) + "[components.Web]\nsecrets = { A = \"Not A Name\", \"9A\" = \"ok\" }\n", []string{
			`a.toml:2:8: name: "My_App" cannot name an application (use lower-case letters, digits and single hyphens, starting with a letter: my-app)`,
			`a.toml:5:13: components.Web: "Web" cannot name a component (use lower-case letters, digits and single hyphens, starting with a letter: web)`,
			`a.toml:6:17: components.Web.secrets.A: "Not A Name" cannot name a secret (use lower-case letters, digits and single hyphens, starting with a letter: not-a-name)`,
			`a.toml:6:31: components.Web.secrets.9A: "9A" cannot name an environment variable (use letters, digits and underscores: LOG_LEVEL)`,
		}},
		{"a newer format", strings.Replace(head, "= 1", "= 2", 1), []string{
			"a.toml:1:18: schema_version: is 2; this slipway knows 1 (write schema_version = 1, or use a newer slipway)",
		}},
		{"environment", head + "[components.web.env]\nPORT = 8080\nON = true\nBIG = \"x\"\n[components.web.secrets]\nBIG = \"s\"\n", []string{
			`a.toml:6:8: components.web.env.PORT: must be text, not a whole number (write it in quotes: "8080")`,
			`a.toml:7:6: components.web.env.ON: must be text, not true or false (write it in quotes: "true")`,
			"a.toml:10:1: components.web.secrets.BIG: is set in components.web.env as well (keep one of the two)",
		}},
		{"replicas", head + "[components.a]\nreplicas = -1\n[components.b]\nreplicas = \"2\"\n[components.c]\nreplicas = 2.0\n", []string{
			"a.toml:6:12: components.a.replicas: is -1; it must be from 0 to 1000",
			"a.toml:8:12: components.b.replicas: must be a whole number, not text (write it without quotes)",
			"a.toml:10:12: components.c.replicas: must be a whole number, not a number",
		}},
		{"images", head + `[components]
a.image = "web:{{ app.version }}-{{ app.name }}"
b.image = "https://reg/web:1"
c.image = "Reg.example/UPPER:1"
d.image = ""
e.image = "web:{% if x %}1{% endif %}"
f.image = "registry.example.com:5000/team/web:{{app.version}}@sha256:` + strings.Repeat("0", 64) + `"
`, []string{
			`a.toml:6:11: components.a.image: only {{ app.version }} is replaced in an image; nothing else may stand in braces (write the image in full, or with the version: "registry.example.com/web:{{ app.version }}")`,
			"a.toml:7:11: components.b.image: is no image reference: https://reg/web:1 (leave out the scheme: reg/web:1)",
			"a.toml:8:11: components.c.image: is no image reference: Reg.example/UPPER:1 (write it as registry/name:tag, in lower case but for the tag)",
			"a.toml:9:11: components.d.image: may not be empty (leave it out to run the chart's image)",
			`a.toml:10:11: components.e.image: only {{ app.version }} is replaced in an image; nothing else may stand in braces (write the image in full, or with the version: "registry.example.com/web:{{ app.version }}")`,
		}},
		{"values that JSON lacks", head + "[parameters]\nwhen = 2026-01-02\nlimit = inf\ndeep = [{ a = 12:30:00 }]\n", []string{
			`a.toml:6:8: parameters.when: a parameter cannot be a date or time (write it in quotes: "2026-01-02")`,
			"a.toml:7:9: parameters.limit: a parameter cannot be inf (write a number with an end)",
			`a.toml:8:15: parameters.deep[0].a: a parameter cannot be a date or time (write it in quotes: "12:30:00")`,
		}},
		{"versions", strings.Replace(head, `app = { version = "1.0.0" }`, `app = { version = "1.0 beta" }`, 1), []string{
			`a.toml:4:19: app.version: "1.0 beta" is no version (use letters, digits, dots and hyphens, at most 63 of them: "1.4.2")`,
		}},
		{"columns count characters", head + "parameters = { \"ü\" = \"ä\", when = 2026-01-02 }\n", []string{
			`a.toml:5:34: parameters.when: a parameter cannot be a date or time (write it in quotes: "2026-01-02")`,
		}},
		{"what is no TOML ends there", "name = guestbook\n", []string{
			`a.toml:1:8: unexpected character U+0067 'g' at start of value (put text in quotes: "…")`,
		}},
		{"after a byte order mark", "\ufeffname = guestbook\n", []string{
			`a.toml:1:8: unexpected character U+0067 'g' at start of value (put text in quotes: "…")`,
		}},
		{"a key twice", "name = \"a\"\nname = \"b\"\n", []string{"a.toml:2:1: name: key name is already defined"}},
		{"a table twice", "[app]\nversion = \"1\"\n[app]\n", []string{"a.toml:3:2: app: table app already exists"}},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := ParseApplication([]byte(tc.src), "a.toml")
			if d := cmp.Diff(faultsOf(t, err), tc.want); d != "" {
				t.Errorf("got, want (-, +):\n%s", d)
			}
			if !slipway.Is(err, slipway.Invalid) {
				t.Errorf("the kind is %s", slipway.KindOf(err))
			}
		})
	}
}

// World: pure.
func TestParseApplicationReadsEverySpelling(t *testing.T) {
	t.Parallel()
	three := 3
	want := slipway.ApplicationSpec{
		SchemaVersion: 1, Name: "a", Driver: slipway.DriverRef{Name: "d", Version: "1.0.0"}, App: slipway.AppRef{Version: "v1.1.0-rc.1"},
		Parameters: map[string]any{
			"n": int64(1000), "h": int64(255), "f": 0.5, "w": int64(2), "on": true, "l": []any{int64(1), "x", []any{}},
			"t": map[string]any{"a": map[string]any{"b": "c"}}, "s": map[string]any{"secret": "license"}, "m": "two\nlines\n",
		},
		Components: map[string]slipway.ComponentConfig{"web": {
			Image: "reg/web:{{ app.version }}", Replicas: &three, Env: map[string]string{"A": "1", "b.c": ""}, Secrets: map[string]string{"P": "db"},
		}, "worker": {}},
	}
	for name, src := range map[string]string{
		"tables": `
schema_version = 1
name = 'a'
[driver]
name = "d"
version = "1.0.0"
[app]
version = "v1.1.0-rc.1"
[parameters]
n = 1_000
h = 0xff
f = 0.5
w = 2.0
on = true
l = [1, "x", []]
m = """
two
lines
"""
[parameters.t.a]
b = "c"
[parameters.s]
secret = "license"
[components.web]
image = "reg/web:{{ app.version }}"
replicas = 3
[components.web.env]
A = "1"
"b.c" = ""
[components.web.secrets]
P = "db"
[components.worker]
env = {}
`,
		"dotted keys": "schema_version = 1\r\nname = \"a\"\r\ndriver.name = \"d\"\r\ndriver.version = \"1.0.0\"\r\napp.version = \"v1.1.0-rc.1\"\r\n" +
			"parameters = { n = 1000, h = 255, f = 5e-1, w = +2, on = true, l = [ 1, 'x', [], ], t.a.b = \"c\", s = { secret = \"license\" }, m = \"two\\nlines\\n\" }\r\n" +
			"components.web.image = \"reg/web:{{ app.version }}\"\r\ncomponents.web.replicas = 3\r\ncomponents.web.env.A = \"1\"\r\ncomponents.web.env.\"b.c\" = ''\r\n" +
			"components.web.secrets.P = \"db\"\r\ncomponents.worker = {}\r\n",
	} {
		got, err := ParseApplication([]byte(src), "a.toml")
		if err != nil {
			t.Errorf("%s: %s", name, describe(err))
			continue
		}
		if d := cmp.Diff(got, want); d != "" {
			t.Errorf("%s: got, want (-, +):\n%s", name, d)
		}
		if a, b := string(Canonical(got)), string(Canonical(want)); a != b {
			t.Errorf("%s: canonical\n%s\nwant\n%s", name, a, b)
		}
	}
}

// World: pure.
func TestAFileThatIsTooLarge(t *testing.T) {
	t.Parallel()
	_, err := ParseApplication([]byte("# "+strings.Repeat("x", MaxApplicationBytes)), "a.toml")
	if !slipway.Is(err, slipway.TooLarge) {
		t.Errorf("ParseApplication() = %v", err)
	}
}

// World: pure.
func TestSecretsOf(t *testing.T) {
	t.Parallel()
	got := SecretsOf(slipway.ApplicationSpec{
		Parameters: map[string]any{"a": map[string]any{"secret": "license"}, "b": map[string]any{"secret": "db", "more": 1}, "c": "x"},
		Components: map[string]slipway.ComponentConfig{"web": {Secrets: map[string]string{"P": "db", "Q": "db", "R": "api"}}, "w": {}},
	})
	if want := []string{"api", "db", "license"}; !slices.Equal(got, want) {
		t.Errorf("SecretsOf() = %q, want %q", got, want)
	}
}
