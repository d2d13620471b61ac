package spec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"slipway.dev/slipway/internal/slipway"
)

// CarriedChart is a chart that the driver names by reference, and that travels with the
// bundle to where its registry cannot be reached. It is no part of the bundle's identity,
// as it would not be if it were pulled.
type CarriedChart struct {
	Location string // as the driver names it
	Version  string
	Packed   []byte // the chart's own tgz
	Manifest []byte // of the registry it came from, when the driver pins that; may be nil
}

// carriedAbout is what stands beside a carried chart.
type carriedAbout struct {
	Location string `json:"location"`
	Version  string `json:"version"`
	Manifest string `json:"manifest,omitempty"`
}

// WithCharts returns the bundle with these charts in place of those that it carries.
func (b Bundle) WithCharts(charts []CarriedChart) (Bundle, error) {
	again := newBundler(DefaultLimits())
	for _, name := range b.Paths() {
		if err := again.add(name, b.files[name].content, b.files[name].executable); err != nil {
			return Bundle{}, err
		}
	}
	for _, c := range charts {
		about, err := json.Marshal(carriedAbout{c.Location, c.Version, string(c.Manifest)})
		if err != nil {
			return Bundle{}, fmt.Errorf("describe the chart %s: %w", c.Location, err)
		}
		at := slipway.ChartRef{Location: c.Location, Version: c.Version}.CarriedAt()
		if err := again.add(at+".json", about, false); err != nil {
			return Bundle{}, err
		}
		if err := again.add(at+".tgz", c.Packed, false); err != nil {
			return Bundle{}, err
		}
	}
	return again.bundle()
}

// WithoutCharts returns the bundle alone.
func (b Bundle) WithoutCharts() Bundle { return Bundle{files: b.files} }

// Carries reports whether the bundle holds the chart of a reference.
func (b Bundle) Carries(ref slipway.ChartRef) bool {
	_, ok := b.carried[ref.CarriedAt()+".tgz"]
	return ok
}

// Charts returns the charts that the bundle carries, always in the same order.
func (b Bundle) Charts() []CarriedChart {
	var out []CarriedChart
	for _, name := range slices.Sorted(maps.Keys(b.carried)) {
		at, ok := strings.CutSuffix(name, ".json")
		if !ok {
			continue
		}
		about, err := readAbout(b.carried[name].content)
		if err != nil {
			continue // bundle has refused it
		}
		c := CarriedChart{Location: about.Location, Version: about.Version, Packed: b.carried[at+".tgz"].content}
		if about.Manifest != "" {
			c.Manifest = []byte(about.Manifest)
		}
		out = append(out, c)
	}
	return out
}

func readAbout(raw []byte) (carriedAbout, error) {
	var about carriedAbout
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	err := d.Decode(&about)
	return about, err
}

// checkCarried refuses charts that no bundle of ours would carry.
func checkCarried(carried map[string]bundleFile) error {
	for name, f := range carried {
		base, ending := strings.TrimSuffix(name, path.Ext(name)), path.Ext(name)
		other := map[string]string{".json": ".tgz", ".tgz": ".json"}[ending]
		if _, ok := carried[base+other]; !ok || other == "" {
			return slipway.Errorf(slipway.Invalid, "the driver's %s is no chart that was packed with it: %s", slipway.ChartsDir, cut(name, 80)).
				WithHint("remove %s; push the driver with --with-charts to pack them", slipway.ChartsDir)
		}
		if ending != ".json" {
			continue
		}
		about, err := readAbout(f.content)
		if err != nil || (slipway.ChartRef{Location: about.Location, Version: about.Version}).CarriedAt() != base {
			return slipway.Errorf(slipway.Invalid, "%s does not describe the chart beside it", cut(name, 80)).
				WithHint("remove %s; push the driver with --with-charts to pack them", slipway.ChartsDir)
		}
	}
	return nil
}
