package helm

// World: fake registry and repository over loopback HTTP; a bundle's directory of the test.

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"slipway.dev/slipway/internal/slipway"
)

// carry puts a chart into a bundle's directory, as an unpacked bundle has it.
func carry(t *testing.T, dir string, ref slipway.ChartRef, packed, manifest []byte) {
	t.Helper()
	file := filepath.Join(dir, filepath.FromSlash(ref.CarriedAt()))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	about := must(json.Marshal(map[string]string{"location": ref.Location, "version": ref.Version, "manifest": string(manifest)}))
	for name, content := range map[string][]byte{file + ".tgz": packed, file + ".json": about} {
		if err := os.WriteFile(name, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestACarriedChartNeedsNoRegistry(t *testing.T) {
	t.Parallel()
	chart := packed(t, "1.0.0")
	s := newSource(t, chart)
	c := New(nil, Options{})
	for _, tc := range []struct {
		name   string
		digest string
	}{
		{"that the driver pins by nothing", ""},
		{"that the driver pins by its own digest", digest(chart)},
		{"that the driver pins by its manifest's digest", digest(s.manifest)},
	} {
		ref := slipway.ChartRef{Location: s.oci("/charts/gb"), Version: "1.0.0", Digest: tc.digest}
		got, manifest, err := c.Packed(t.Context(), ref)
		if err != nil {
			t.Fatalf("a chart %s: %v", tc.name, err)
		}
		if carries := manifest != nil; carries != (tc.digest == digest(s.manifest)) {
			t.Errorf("a chart %s: with the manifest %v", tc.name, carries)
		}
		dir := t.TempDir()
		carry(t, dir, ref, got, manifest)
		before := s.requests.Load()
		ch, err := c.Chart(t.Context(), ref, dir, "sha256:"+tc.name)
		if err != nil || ch.Name != "gb" || ch.Version != "1.0.0" {
			t.Errorf("a chart %s: %+v, %v", tc.name, ch, err)
		}
		if s.requests.Load() != before {
			t.Errorf("a chart %s was pulled all the same", tc.name)
		}
	}
}

func TestACarriedChartThatIsAnother(t *testing.T) {
	t.Parallel()
	chart, other := packed(t, "1.0.0"), packed(t, "1.0.0", "gb/evil.txt", "x")
	s := newSource(t, chart)
	c := New(nil, Options{})
	ref := slipway.ChartRef{Location: s.oci("/charts/gb"), Version: "1.0.0"}
	for _, tc := range []struct {
		name     string
		digest   string
		packed   []byte
		manifest []byte
		kind     slipway.Kind
	}{
		{"than the driver's digest", digest(chart), other, nil, slipway.Conflict},
		{"than the manifest names", digest(s.manifest), other, s.manifest, slipway.Conflict},
		{"beside a manifest that the driver does not pin", digest(chart), other, s.manifest, slipway.Conflict},
		{"of another version", "", packed(t, "2.0.0"), nil, slipway.Invalid},
		{"that is none", "", []byte("hello"), nil, slipway.Invalid},
	} {
		ref := ref
		ref.Digest = tc.digest
		dir := t.TempDir()
		carry(t, dir, ref, tc.packed, tc.manifest)
		if _, err := c.Chart(t.Context(), ref, dir, ""); !slipway.Is(err, tc.kind) {
			t.Errorf("a chart %s: %v (%s), want %s", tc.name, err, slipway.KindOf(err), tc.kind)
		}
	}
}
