package spec

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"slipway.dev/slipway/internal/slipway"
)

var shop = slipway.DriverSpec{
	Name: "shop", Version: "1.4.2", SupportedVersions: ">=1.5.0 <2.0.0",
	Components: map[string]slipway.Component{"server": {Scalable: true, Container: "server"}, "task-worker": {}},
	Parameters: []byte(`{
		"type": "object", "required": ["admin_email", "license_key", "token"],
		"properties": {
			"admin_email": {"type": "string", "format": "email"},
			"workers": {"type": "integer", "minimum": 1, "maximum": 32, "default": 2},
			"edition": {"type": "string", "enum": ["community", "enterprise"], "default": "community"},
			"license_key": {"type": "string", "writeOnly": true},
			"token": {"type": "string", "writeOnly": true},
			"hosts": {"type": "array", "items": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string", "minLength": 2}}, "additionalProperties": false}},
			"resources": {"type": "object", "properties": {"cpu": {"type": "string", "default": "100m"}}, "default": {}},
			"odd": {"oneOf": [{"type": "string"}, {"type": "integer"}]}
		}}`),
}

// World: pure.
func TestCheckAgainstDriver(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, src string
		want      []string
	}{
		{"all is well", `
[parameters]
admin_email = "a@b.c"
license_key = { secret = "license" }
token = { secret = "tok" }
hosts = [{ name = "ab" }]
[components.server]
replicas = 2
`, nil},
		{"components", `
[parameters]
admin_email = "a@b.c"
license_key = { secret = "license" }
token.secret = "tok"
[components.taskworker]
[components.nonsense]
[components.task-worker]
replicas = 2
`, []string{
			"a.toml:10:13: components.taskworker: driver shop has no such component (did you mean task-worker?)",
			"a.toml:11:13: components.nonsense: driver shop has no such component (known here: server, task-worker)",
			"a.toml:13:12: components.task-worker.replicas: driver shop does not let this component be scaled (leave replicas out)",
		}},
		{"parameters", `
[parameters]
admin_email = "nobody"
adminemail = "a@b.c"
workers = 99
edition = "comunity"
hosts = [
  { name = "ab" },
  { name = "x", port = 1 },
  {},
]
resources = { cpu = 5 }
odd = true
license_key = "abc"
token = { secret = "Not A Name" }
`, []string{
			`a.toml:7:15: parameters.admin_email: is no e-mail address`,
			`a.toml:8:14: parameters.adminemail: the driver has no such parameter (did you mean admin_email?)`,
			`a.toml:9:11: parameters.workers: must be at most 32`,
			`a.toml:10:11: parameters.edition: must be community or enterprise (did you mean community?)`,
			`a.toml:13:12: parameters.hosts[1].name: needs at least 2 characters, and has 1`,
			`a.toml:13:24: parameters.hosts[1].port: the driver has no such parameter`,
			`a.toml:14:3: parameters.hosts[2].name: is missing`,
			`a.toml:16:21: parameters.resources.cpu: must be text, not a number`,
			`a.toml:17:7: parameters.odd: fits none of the forms that the driver allows (see the driver's description of this parameter)`,
			`a.toml:18:15: parameters.license_key: is a secret and cannot be written here (store it with: slipway secrets set NAME, and write license_key = { secret = "NAME" })`,
			`a.toml:19:1: parameters.token: "Not A Name" cannot name a secret (use lower-case letters, digits and single hyphens, starting with a letter: not-a-name)`,
		}},
		{"what is missing", "", []string{
			`a.toml:1:1: parameters.admin_email: is missing`,
			`a.toml:1:1: parameters.license_key: is missing (store it with: slipway secrets set NAME, and write license_key = { secret = "NAME" })`,
			`a.toml:1:1: parameters.token: is missing (store it with: slipway secrets set NAME, and write token = { secret = "NAME" })`,
		}},
		{"a secret where none belongs", `
[parameters]
admin_email = { secret = "mail" }
license_key = { secret = "license" }
token = { secret = "tok" }
`, []string{
			"a.toml:7:1: parameters.admin_email: is no secret of this driver (write its value)",
		}},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			src := []byte("schema_version = 1\nname = \"a\"\ndriver = { name = \"d\", version = \"1.0.0\" }\napp = { version = \"1.6.0\" }\n" + tc.src)
			s, err := ParseApplication(src, "a.toml")
			if err != nil {
				t.Fatal(describe(err))
			}
			var got []string
			for _, f := range CheckAgainstDriver(s, shop, PositionsOf(src, "a.toml")) {
				got = append(got, f.String())
			}
			if d := cmp.Diff(got, tc.want); d != "" {
				t.Errorf("got, want (-, +):\n%s", d)
			}
			for _, f := range CheckAgainstDriver(s, shop, Positions{}) {
				if f.Line != 0 || f.File != "" {
					t.Errorf("without a text there is a place: %s", f)
				}
			}
		})
	}
}

// World: pure.
func TestVersionsAgainstTheDriver(t *testing.T) {
	t.Parallel()
	ranged := shop
	ranged.Upgrades = []slipway.UpgradePath{{From: ">=1.5.0 <1.6.0", To: ">=1.6.0 <1.7.0"}, {From: ">=1.6.0 <1.7.0", To: ">=1.7.0 <1.8.0"}}
	back := shop
	back.AllowDowngrade = true
	free := slipway.DriverSpec{Name: "free", Version: "1.0.0"}
	cases := []struct {
		name, from, to string
		driver         slipway.DriverSpec
		want           string
	}{
		{"an install", "", "1.6.0", shop, ""},
		{"the same version", "1.6.0", "1.6.0", shop, ""},
		{"forward", "1.5.0", "1.9.9", shop, ""},
		{"a version with a v", "v1.5.0", "v1.6.0", shop, ""},
		{"too new", "1.6.0", "2.0.0", shop, "driver shop 1.4.2 supports versions >=1.5.0 <2.0.0, not 2.0.0 (deploy a version in that range, or load a newer driver)"},
		{"a pre-release", "", "1.7.0-rc.1", shop, "driver shop 1.4.2 supports versions >=1.5.0 <2.0.0, not 1.7.0-rc.1 (a pre-release is supported only when the driver's range names one, such as >=1.7.0-0)"},
		{"no version at all", "", "latest", shop, `"latest" is no version that driver shop could compare with >=1.5.0 <2.0.0 (use a version of the form 1.4.2)`},
		{"back", "1.7.0", "1.6.0", shop, "driver shop 1.4.2 does not go back from 1.7.0 to 1.6.0 (deploy 1.7.0 or a later version)"},
		{"back where that is allowed", "1.7.0", "1.6.0", back, ""},
		{"one step", "1.5.3", "1.6.1", ranged, ""},
		{"a step left out", "1.5.3", "1.7.1", ranged, "driver shop 1.4.2 has no upgrade from 1.5.3 to 1.7.1 (upgrade first to a version in >=1.6.0 <1.7.0)"},
		{"from nowhere", "1.8.0", "1.9.0", ranged, "driver shop 1.4.2 has no upgrade from 1.8.0 to 1.9.0 (its upgrades start from >=1.5.0 <1.6.0 or >=1.6.0 <1.7.0)"},
		{"versions without order, nobody minds", "blue", "green", free, ""},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := ""
			if err := UpgradeAllowed(tc.driver, tc.from, tc.to); err != nil {
				e, _ := err.(*slipway.Error) //nolint:errorlint // spec returns nothing else
				got = e.Msg + " (" + e.Hint + ")"
			}
			if got != tc.want {
				t.Errorf("UpgradeAllowed() = %q, want %q", got, tc.want)
			}
		})
	}
}

// World: pure.
func TestEffectiveParametersFillInWhatIsNotGiven(t *testing.T) {
	t.Parallel()
	given := map[string]any{"workers": 5, "resources": map[string]any{"memory": "1Gi"}}
	got, err := EffectiveParameters(shop, given)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"workers": int64(5), "edition": "community", "resources": map[string]any{"memory": "1Gi", "cpu": "100m"}}
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("got, want (-, +):\n%s", d)
	}
	if d := cmp.Diff(given, map[string]any{"workers": 5, "resources": map[string]any{"memory": "1Gi"}}); d != "" {
		t.Errorf("the given parameters were changed:\n%s", d)
	}
	if d := cmp.Diff(SecretParameters(shop), []string{"license_key", "token"}); d != "" {
		t.Errorf("SecretParameters: got, want (-, +):\n%s", d)
	}
}

// World: pure.
func TestChartForPicksByVersion(t *testing.T) {
	t.Parallel()
	d := slipway.DriverSpec{Name: "d", Version: "1.0.0", Chart: slipway.ChartRef{Location: "oci://r/c", Values: "v", Versions: []slipway.ChartVersion{
		{App: ">=1.7.0", Chart: "4.2.1", Digest: "sha256:aa"}, {App: ">=1.5.0", Chart: "4.1.0"},
	}}}
	for version, want := range map[string]slipway.ChartRef{
		"1.7.2": {Location: "oci://r/c", Values: "v", Version: "4.2.1", Digest: "sha256:aa"},
		"1.6.0": {Location: "oci://r/c", Values: "v", Version: "4.1.0"},
	} {
		got, err := ChartFor(d, version)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(got, want); diff != "" {
			t.Errorf("%s: got, want (-, +):\n%s", version, diff)
		}
	}
	for _, version := range []string{"1.4.0", "blue"} {
		if _, err := ChartFor(d, version); !slipway.Is(err, slipway.Invalid) {
			t.Errorf("ChartFor(%s) = %v", version, err)
		}
	}
}

// World: pure.
func TestDiffIsReadable(t *testing.T) {
	t.Parallel()
	two, three := 2, 3
	old := slipway.ApplicationSpec{
		Driver: slipway.DriverRef{Name: "d", Version: "1.0.0"}, App: slipway.AppRef{Version: "1.0.0"},
		Parameters: map[string]any{"hosts": []any{"a", "b"}, "key": map[string]any{"secret": "k1"}, "api_token": "abc", "n": int64(1), "gone": true},
		Components: map[string]slipway.ComponentConfig{"web": {Replicas: &two, Env: map[string]string{"LOG_LEVEL": "info", "DB_PASSWORD": "x", "EMPTY": ""}, Secrets: map[string]string{"DB_TOKEN": "t1"}}},
	}
	new := slipway.ApplicationSpec{
		Driver: slipway.DriverRef{Name: "d", Version: "1.0.0"}, App: slipway.AppRef{Version: "1.1.0"},
		Parameters: map[string]any{"hosts": []any{"a", "c"}, "key": map[string]any{"secret": "k2"}, "api_token": "def", "n": 2.0, "more": map[string]any{"x": []any{}}},
		Components: map[string]slipway.ComponentConfig{"web": {Replicas: &three, Env: map[string]string{"LOG_LEVEL": "", "DB_PASSWORD": "y", "EMPTY": ""}, Secrets: map[string]string{"DB_TOKEN": "t2"}}},
	}
	want := []DiffLine{
		{"app.version", "1.0.0", "1.1.0"},
		{"components.web.env.DB_PASSWORD", masked, masked},
		{"components.web.env.LOG_LEVEL", "info", `""`},
		{"components.web.replicas", "2", "3"},
		{"components.web.secrets.DB_TOKEN", "secret t1", "secret t2"},
		{"parameters.api_token", masked, masked},
		{"parameters.gone", "true", ""},
		{"parameters.hosts[1]", "b", "c"},
		{"parameters.key", "secret k1", "secret k2"},
		{"parameters.more.x", "", "[]"},
		{"parameters.n", "1", "2"},
	}
	if d := cmp.Diff(Diff(old, new), want); d != "" {
		t.Errorf("got, want (-, +):\n%s", d)
	}
}
