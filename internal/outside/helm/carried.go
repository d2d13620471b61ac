package helm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/registry"

	"slipway.dev/slipway/internal/slipway"
)

// Packed fetches a chart by reference for carrying it along with a driver: its packed
// form, and the registry's manifest when the reference pins that.
func (c *Client) Packed(ctx context.Context, ref slipway.ChartRef) (chart, manifest []byte, err error) {
	if ref.Digest != "" && !digestPattern(ref.Digest) {
		return nil, nil, slipway.Errorf(slipway.Invalid, "the chart's digest %q is not of the form sha256:<64 hexadecimal digits>", ref.Digest)
	}
	ctx, cancel := context.WithTimeout(ctx, pullTimeout)
	defer cancel()
	got, err := c.fetch(ctx, ref)
	if err != nil {
		return nil, nil, err
	}
	if _, err := unpackAs(got, ref); err != nil {
		return nil, nil, err
	}
	if ref.Digest != "" && strings.EqualFold(ref.Digest, digestOf(got.manifest)) {
		manifest = got.manifest
	}
	return got.packed, manifest, nil
}

// carried loads a chart that the bundle carries along, or returns nil when it carries
// none. What the driver pins by digest is checked as if it had been pulled.
func (c *Client) carried(ref slipway.ChartRef, bundleDir, bundleDigest string) (*Chart, error) {
	if bundleDir == "" {
		return nil, nil
	}
	file := filepath.Join(bundleDir, filepath.FromSlash(ref.CarriedAt()))
	packed, err := os.ReadFile(file + ".tgz")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read the carried chart %s: %w", ref.Location, err)
	case int64(len(packed)) > c.opts.MaxChartBytes:
		return nil, tooLarge("the chart "+ref.Location, c.opts.MaxChartBytes)
	}
	key := bundleDigest + " " + digestOf(packed) + " " + ref.Digest
	if ch := c.loaded.get(key); ch != nil {
		return ch, nil
	}
	shown := ref.Location + " (carried by the driver)"
	raw, err := os.ReadFile(file + ".json")
	if err != nil {
		return nil, fmt.Errorf("read about the carried chart %s: %w", ref.Location, err)
	}
	if err := pinned(packed, raw, ref, shown); err != nil {
		return nil, err
	}
	ch, err := unpackAs(pulled{packed: packed, ref: shown}, ref)
	if err == nil {
		c.loaded.put(key, ch)
	}
	return ch, err
}

// pinned checks a carried chart against the digest that the driver names: its own, or that
// of the registry's manifest, which then is carried too and must name the chart.
func pinned(packed, about []byte, ref slipway.ChartRef, shown string) error {
	var a struct {
		Manifest string `json:"manifest"`
	}
	if err := json.Unmarshal(about, &a); err != nil {
		return slipway.Errorf(slipway.Invalid, "the description of the chart %s cannot be read", shown)
	}
	if a.Manifest == "" || !strings.EqualFold(ref.Digest, digestOf([]byte(a.Manifest))) {
		return matches(packed, ref.Digest, shown)
	}
	var m struct {
		Layers []layer `json:"layers"`
	}
	if err := json.Unmarshal([]byte(a.Manifest), &m); err != nil {
		return slipway.Errorf(slipway.Invalid, "the manifest of the chart %s cannot be read", shown)
	}
	named := slices.ContainsFunc(m.Layers, func(l layer) bool {
		return (l.MediaType == registry.ChartLayerMediaType || l.MediaType == registry.LegacyChartLayerMediaType) && l.Digest == digestOf(packed)
	})
	if !named {
		return slipway.Errorf(slipway.Conflict, "the chart %s is not the one that its manifest names", shown).
			WithHint("push the driver again with --with-charts")
	}
	return nil
}
