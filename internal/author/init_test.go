package author

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/spec"
)

// begun writes a new driver and reads it.
func begun(t testing.TB, name string) (dir string, b spec.Bundle) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), name)
	if _, err := Init(name, dir); err != nil {
		t.Fatal(err)
	}
	b, err := spec.ReadBundleDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return dir, b
}

// World: real Python reads, real Helm renders.
func TestANewDriverIsValidAsItIs(t *testing.T) {
	t.Parallel()
	tools := offline(t)
	for _, name := range []string{"a", "shop", strings.Repeat("long", 10)} {
		_, b := begun(t, name)
		r, err := tools.Check(t.Context(), b)
		if err != nil || len(r.Faults)+len(r.Warnings) > 0 {
			t.Fatalf("%s: %v %v %v", name, err, r.Faults, r.Warnings)
		}
		src, _ := b.File("application.toml")
		app, err := spec.ParseApplication(src, "application.toml")
		if err != nil {
			t.Fatal(err)
		}
		out, err := tools.Preview(t.Context(), Preview{Bundle: b, Spec: r.Spec, App: app, At: spec.PositionsOf(src, "application.toml")})
		if err != nil || out.Values["greeting"] != "Hello from "+name {
			t.Errorf("%s: %v %v", name, out.Values, err)
		}
	}
}

func TestInitOverwritesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mine := filepath.Join(dir, "actions.py")
	if err := os.WriteFile(mine, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	written, err := Init("shop", dir)
	if !slipway.Is(err, slipway.Conflict) || !strings.Contains(err.Error(), "actions.py already") || len(written) > 0 {
		t.Errorf("Init() = %v, %v", written, err)
	}
	if got := listing(t, dir); !maps.Equal(got, map[string]string{mine: "mine"}) {
		t.Errorf("the directory holds %v", slices.Sorted(maps.Keys(got)))
	}
	if _, err := Init("Shop", t.TempDir()); !slipway.Is(err, slipway.Invalid) {
		t.Errorf("a bad name: %v", err)
	}
}
