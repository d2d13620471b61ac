package registry

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/registry/remote"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/spec"
)

const (
	// maxManifestBytes bounds a manifest, as registries do.
	maxManifestBytes = 4 << 20
	// maxCharts is more than any driver's table of chart versions needs.
	maxCharts = 64
)

// Pulled is a driver that came from a registry.
type Pulled struct {
	Bundle    spec.Bundle
	Driver    slipway.DriverSpec
	Reference Reference // with the digest of its manifest
	SignedBy  string    // the file of the key whose signature was verified; empty: none was asked for
}

// Pull fetches a driver and checks all of it. With keys, a valid signature of one of them
// is needed before any content is fetched.
func (c *Client) Pull(ctx context.Context, from Reference, keys []VerifyingKey) (Pulled, error) {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	if from.wanted() == "" {
		return Pulled{}, slipway.Errorf(slipway.Invalid, "%s names neither a version nor a digest", from).
			WithHint("add one: %s:1.0.0", from)
	}
	repo, err := c.repository(ctx, from)
	if err != nil {
		return Pulled{}, err
	}
	return c.pull(ctx, repo, from, keys)
}

func (c *Client) pull(ctx context.Context, repo *remote.Repository, from Reference, keys []VerifyingKey) (Pulled, error) {
	out := Pulled{Reference: from}
	desc, err := repo.Resolve(ctx, from.wanted())
	if err != nil {
		return out, explain(from, "pull", err)
	}
	if from.Digest != "" && desc.Digest.String() != from.Digest {
		return out, explain(from, "pull", content.ErrMismatchedDigest)
	}
	m, err := readManifest(ctx, repo, desc, from)
	if err != nil {
		return out, err
	}
	layers, err := c.layersOf(m, from)
	if err != nil {
		return out, err
	}
	out.Reference.Digest = desc.Digest.String()
	if len(keys) > 0 {
		if out.SignedBy, err = c.verify(ctx, repo, out.Reference, desc, keys); err != nil {
			return out, err
		}
	}
	if out.Bundle, err = c.unpack(ctx, repo, layers, from); err != nil {
		return out, err
	}
	if out.Driver, _, err = spec.ParseDriver(out.Bundle); err != nil {
		return out, err
	}
	if said := m.Annotations[annotationIdentity]; said != "" && said != out.Bundle.Digest() {
		return out, slipway.Errorf(slipway.Invalid, "%s says that it holds the driver %s, and holds %s", from, cut(said), out.Bundle.Digest())
	}
	if isVersion(from.Tag) && from.Tag != VersionTag(out.Driver.Version) {
		return out, slipway.Errorf(slipway.Invalid, "%s holds version %s of the driver", from, out.Driver.Version).
			WithHint("tell its publisher; a digest in place of the tag pulls it all the same")
	}
	return out, nil
}

// readManifest reads the manifest of a driver, and refuses that of anything else.
func readManifest(ctx context.Context, repo *remote.Repository, desc ocispec.Descriptor, from Reference) (ocispec.Manifest, error) {
	var m ocispec.Manifest
	no := func(is string) (ocispec.Manifest, error) {
		return m, slipway.Errorf(slipway.Invalid, "%s is no driver: it is %s", from, is).
			WithHint("a driver is pushed with  slipway driver push")
	}
	switch {
	case desc.MediaType != ocispec.MediaTypeImageManifest:
		return no("of the type " + cut(desc.MediaType))
	case desc.Size > maxManifestBytes || desc.Size < 0:
		return m, slipway.Errorf(slipway.TooLarge, "the manifest of %s is larger than %d MiB", from, maxManifestBytes>>20)
	}
	raw, err := content.FetchAll(ctx, repo, desc) // checks size and digest
	if err != nil {
		return m, explain(from, "pull", err)
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return m, &slipway.Error{Kind: slipway.Invalid, Msg: "the manifest of " + from.String() + " cannot be read", Err: err}
	}
	is := m.ArtifactType
	if is == "" {
		is = m.Config.MediaType // what the type of an artifact was before manifests had a field for it
	}
	switch {
	case is == ArtifactType, m.ArtifactType == "" && is == ConfigMediaType:
		return m, nil
	case m.Config.MediaType == "application/vnd.cncf.helm.config.v1+json":
		return no("a Helm chart")
	}
	return no("of the type " + cut(is))
}

// layersOf picks the driver's content and charts, and refuses what is too much before any
// of it is fetched.
func (c *Client) layersOf(m ocispec.Manifest, from Reference) ([]ocispec.Descriptor, error) {
	var main, charts []ocispec.Descriptor
	left := c.opts.Limits.Packed
	for _, l := range m.Layers {
		switch l.MediaType {
		case ContentMediaType:
			main = append(main, l)
		case ChartMediaType:
			charts = append(charts, l)
		default:
			continue // of a later Slipway, which must not need it to be understood
		}
		if err := l.Digest.Validate(); err != nil || l.Digest.Algorithm() != digest.SHA256 || l.Size < 0 {
			return nil, slipway.Errorf(slipway.Invalid, "the manifest of %s names a layer that cannot be", from)
		}
		if left -= l.Size; left < 0 {
			return nil, slipway.Errorf(slipway.TooLarge, "%s is larger than %d bytes", from, c.opts.Limits.Packed)
		}
	}
	switch {
	case len(main) != 1:
		return nil, slipway.Errorf(slipway.Invalid, "%s holds %d driver's directories; it must hold one", from, len(main))
	case len(charts) > maxCharts:
		return nil, slipway.Errorf(slipway.TooLarge, "%s holds more than %d charts", from, maxCharts)
	}
	return append(main, charts...), nil
}

// unpack fetches the layers and makes a bundle of them.
func (c *Client) unpack(ctx context.Context, repo *remote.Repository, layers []ocispec.Descriptor, from Reference) (spec.Bundle, error) {
	var total int64
	for _, l := range layers {
		total += l.Size
	}
	c.meter.expect(total)
	raw := make([][]byte, len(layers))
	for i, l := range layers {
		var err error
		if raw[i], err = content.FetchAll(ctx, repo, l); err != nil { // checks size and digest
			return spec.Bundle{}, explain(from, "pull", err)
		}
	}
	b, err := spec.Unpack(bytes.NewReader(raw[0]), c.opts.Limits)
	if err != nil {
		return spec.Bundle{}, err
	}
	if len(b.Charts()) > 0 {
		return spec.Bundle{}, slipway.Errorf(slipway.Invalid, "%s holds charts inside of the driver's directory", from)
	}
	if len(layers) == 1 {
		return b, nil
	}
	charts := make([]spec.CarriedChart, 0, len(layers)-1)
	for i, l := range layers[1:] {
		ch := spec.CarriedChart{
			Location: l.Annotations[annotationChartLocation], Version: l.Annotations[annotationChartVersion], Packed: raw[i+1],
		}
		if m := l.Annotations[annotationChartManifest]; m != "" {
			ch.Manifest = []byte(m)
		}
		charts = append(charts, ch)
	}
	return b.WithCharts(charts)
}
