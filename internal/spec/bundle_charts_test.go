package spec

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"slipway.dev/slipway/internal/slipway"
)

// World: a directory of the test.
func TestCarriedChartsAreNoPartOfTheIdentity(t *testing.T) {
	t.Parallel()
	plain := bundleOf(t, driverHead)
	chart := CarriedChart{Location: "oci://charts.example.com/gb", Version: "1.0.0", Packed: []byte("packed"), Manifest: []byte("{}")}
	with, err := plain.WithCharts([]CarriedChart{chart})
	if err != nil {
		t.Fatal(err)
	}
	ref := slipway.ChartRef{Location: chart.Location, Version: chart.Version}
	if with.Digest() != plain.Digest() || plain.Carries(ref) || !with.Carries(ref) {
		t.Errorf("with the chart %s, without %s", with.Digest(), plain.Digest())
	}
	tgz, digest := mustPack(t, with)
	back, err := Unpack(bytes.NewReader(tgz), DefaultLimits())
	if err != nil || digest != plain.Digest() || back.Digest() != plain.Digest() || !back.Carries(ref) {
		t.Fatalf("unpacked %s (%v), carries it: %v", back.Digest(), err, back.Carries(ref))
	}
	if got := back.Charts(); len(got) != 1 || got[0].Location != chart.Location || string(got[0].Packed) != "packed" || string(got[0].Manifest) != "{}" {
		t.Errorf("the chart came back as %+v", got)
	}
	if back.WithoutCharts().Carries(ref) {
		t.Error("it still carries the chart")
	}

	// On a disk the charts come later than the driver, or are there already.
	store := t.TempDir()
	for _, b := range []Bundle{plain, back, plain} {
		dir, err := b.WriteTo(store)
		if err != nil {
			t.Fatal(err)
		}
		there, err := ReadBundleDir(dir)
		if err != nil || there.Digest() != plain.Digest() {
			t.Fatalf("on the disk it is %s, %v", there.Digest(), err)
		}
		if b.Carries(ref) && !there.Carries(ref) {
			t.Error("the chart is not on the disk")
		}
	}
	if _, err := os.Stat(filepath.Join(store, strings.Replace(digest, ":", "-", 1), ref.CarriedAt()+".tgz")); err != nil {
		t.Error(err)
	}
}

// World: pure.
func TestWhatIsNoCarriedChartIsRefused(t *testing.T) {
	t.Parallel()
	at := slipway.ChartRef{Location: "oci://x/y", Version: "1"}.CarriedAt()
	about := `{"location":"oci://x/y","version":"1"}`
	for name, members := range map[string][]member{
		"a chart that nothing describes":          {file(at+".tgz", "x")},
		"a description of no chart":               {file(at+".json", about)},
		"a description of another chart":          {file(at+".tgz", "x"), file(at+".json", strings.Replace(about, "y", "z", 1))},
		"a description with more than it may say": {file(at+".tgz", "x"), file(at+".json", strings.Replace(about, "{", `{"x":1,`, 1))},
		"anything else":                           {file(slipway.ChartsDir+"/x.py", "x")},
	} {
		if _, err := Unpack(bytes.NewReader(packed(t, members...)), DefaultLimits()); !slipway.Is(err, slipway.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
