package spec

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"slipway.dev/slipway/internal/slipway"
)

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// loadExample reads a driver of examples/ as the CLI does.
func loadExample(t testing.TB, name string) (Bundle, slipway.Driver, []string) {
	t.Helper()
	b, err := ReadBundleDir("../../examples/drivers/" + name)
	if err != nil {
		t.Fatal(err)
	}
	d, warnings, err := ParseDriver(b)
	if err != nil {
		t.Fatal(describe(err))
	}
	return b, slipway.Driver{Name: d.Name, Version: d.Version, Digest: b.Digest(), Spec: d}, warnings
}

// describe writes an error with its fields, for a test's message.
func describe(err error) string {
	e, ok := err.(*slipway.Error) //nolint:errorlint // spec returns nothing else
	if !ok {
		return err.Error()
	}
	lines := []string{e.Error()}
	for _, f := range e.Fields {
		lines = append(lines, "  "+f.String())
	}
	return strings.Join(lines, "\n")
}

func exampleContext(t testing.TB, d slipway.Driver, s slipway.ApplicationSpec) GlobalContext {
	t.Helper()
	c, err := BuildContext(ContextInput{
		Task:        slipway.Task{ID: 41, Kind: slipway.UpgradeTask},
		Change:      slipway.Change{Number: 3, Revision: 4, Kind: slipway.UpgradeChange},
		Cluster:     ContextCluster{ID: "c-1", Name: "main"},
		Environment: slipway.Environment{ID: 7, Project: "demo", Name: "dev", Namespace: "demo-dev", Settings: map[string]string{"region": "eu-1"}},
		Application: slipway.Application{ID: 12, Project: "demo", Environment: "dev", Name: s.Name},
		Spec:        s, Driver: d, PreviousVersion: "1.0.0", PreviousDriver: "1.0.0",
		States: []slipway.ComponentState{{Component: "worker", Stopped: true}},
		Kinds:  map[string][]string{"web": {"Deployment"}},
	})
	if err != nil {
		t.Fatal(describe(err))
	}
	return c
}

// World: pure. Every example that a person is told to try must be right.
func TestExampleApplicationsFitTheirDrivers(t *testing.T) {
	t.Parallel()
	for file, version := range map[string]string{"guestbook.toml": "1.0.0", "guestbook-1.1.toml": "1.1.0", "guestbook-1.2.toml": "1.2.0", "reference.toml": "1.0.0"} {
		src := readFile(t, "../../examples/applications/"+file)
		s, err := ParseApplication(src, file)
		if err != nil {
			t.Errorf("%s", describe(err))
			continue
		}
		if s.App.Version != version || s.Name != "guestbook" {
			t.Errorf("%s is %s %s", file, s.Name, s.App.Version)
		}
		b, d, _ := loadExample(t, s.Driver.Name)
		if d.Version != s.Driver.Version {
			t.Errorf("%s asks for driver version %s; there is %s", file, s.Driver.Version, d.Version)
		}
		if faults := CheckAgainstDriver(s, d.Spec, PositionsOf(src, file)); len(faults) > 0 {
			t.Errorf("%s: %v", file, faults)
		}
		values, err := Values(b, d.Spec, exampleContext(t, d, s))
		if err != nil {
			t.Errorf("%s: %s", file, describe(err))
		}
		if len(values) == 0 {
			t.Errorf("%s: no values", file)
		}
	}
}

// World: pure.
func TestGuestbookValues(t *testing.T) {
	t.Parallel()
	b, d, warnings := loadExample(t, "guestbook")
	if len(warnings) > 0 {
		t.Errorf("warnings: %v", warnings)
	}
	s, err := ParseApplication(readFile(t, "../../examples/applications/guestbook-1.1.toml"), "guestbook-1.1.toml")
	if err != nil {
		t.Fatal(describe(err))
	}
	s.Parameters["greeting"] = `Say "hello": yes`
	s.Parameters["data_path"] = "/var/lib/guestbook/"
	got, err := Values(b, d.Spec, exampleContext(t, d, s))
	if err != nil {
		t.Fatal(describe(err))
	}
	want := map[string]any{
		"image": "registry.example.com/guestbook", "appVersion": "1.1.0", "adminEmail": "ops@example.com", "logLevel": "info",
		"web":   map[string]any{"env": map[string]any{"GREETING": `Say "hello": yes`}},
		"store": map[string]any{"hostPath": "/var/lib/guestbook/demo-dev/guestbook"},
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("got, want (-, +):\n%s", diff)
	}
}

// World: pure. The older format loads as it is; the warnings say what was converted.
func TestReferenceDriverLoadsUnchanged(t *testing.T) {
	t.Parallel()
	_, d, warnings := loadExample(t, "reference")
	if got, want := d.Spec.SupportedVersions, ">=1.0 <2.0"; got != want {
		t.Errorf("supported versions %q, want %q", got, want)
	}
	want := []string{
		`driver.styrmin.yml:10:23: spec.supported_versions: is written as Python writes ranges; read as >=1.0 <2.0 (write ">=1.0 <2.0")`,
		`driver.styrmin.yml:28:5: spec.parameters: is a list; read as a JSON Schema (write { type: object, properties: … })`,
		`driver.styrmin.yml:55:16: spec.actions[1].prompts: is accepted and has no effect yet: nobody is asked`,
	}
	if diff := cmp.Diff(warnings, want); diff != "" {
		t.Errorf("warnings: got, want (-, +):\n%s", diff)
	}
	wantSchema := `{"properties":{"admin_email":{"title":"Administrator e-mail","type":"string"},` +
		`"log_level":{"default":"info","enum":["debug","info","warn","error"]},"workers":{"default":1,"type":"integer"}},` +
		`"required":["admin_email"],"type":"object"}`
	if got := string(d.Spec.Parameters); got != wantSchema {
		t.Errorf("schema: got %s, want %s", got, wantSchema)
	}
}
