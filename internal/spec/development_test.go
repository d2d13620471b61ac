package spec

import (
	"strings"
	"testing"
)

// World: pure.
func TestDevelopmentVersionsComeBeforeTheirVersion(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{"1.4.0": "1.4.0-dev.3", "1.4.0-rc.1": "1.4.0-rc.1.dev.3", "1.4.0+build": "1.4.0-dev.3"} {
		if got := DevelopmentVersion(version, 3); got != want {
			t.Errorf("DevelopmentVersion(%s) = %s, want %s", version, got, want)
		}
	}
}

func TestOnlyTheVersionOfADriverIsReplaced(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ written, want string }{
		{"  version: 1.0.0 # mine", "  version: 1.0.0-dev.1 # mine"},
		{`  version: "1.0.0"`, "  version: 1.0.0-dev.1"},
		{"  version:   '1.0.0'   ", "  version:   1.0.0-dev.1   "},
	} {
		text := "apiVersion: slipway.dev/v1\nkind: ApplicationDriver\nmetadata: { name: x }\nspec:\n" + tc.written + "\n  helm: { main: { location: chart, version: 1.0.0 } }\n"
		b, err := NewBundle(map[string][]byte{"driver.slipway.yml": []byte(text), "chart/Chart.yaml": []byte("version: 1.0.0\n")})
		if err != nil {
			t.Fatal(err)
		}
		out, err := WithVersion(b, "1.0.0-dev.1")
		if err != nil {
			t.Fatal(err)
		}
		got, _ := out.File("driver.slipway.yml")
		if want := strings.Replace(text, tc.written, tc.want, 1); string(got) != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if b.Digest() == out.Digest() {
			t.Error("the digest is the same")
		}
	}
}

func TestOnlyTheDriversVersionOfAnApplicationIsReplaced(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ written, want string }{
		{"[driver]\nname = \"x\"\nversion = \"1.0.0\" # of it\n", "[driver]\nname = \"x\"\nversion = \"1.0.0-dev.1\" # of it\n"},
		{"driver = { name = \"x\", version = '1.0.0' }\n", "driver = { name = \"x\", version = \"1.0.0-dev.1\" }\n"},
	} {
		const rest = "[app]\nversion = \"1.0.0\"\n"
		got, err := WithDriverVersion([]byte("schema_version = 1\nname = \"x\"\n"+tc.written+rest), "a.toml", "1.0.0-dev.1")
		if err != nil {
			t.Fatal(err)
		}
		if want := "schema_version = 1\nname = \"x\"\n" + tc.want + rest; string(got) != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
