package registry

import (
	"encoding/json"
	"fmt"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/spec"
)

// The types by which a driver is recognised in a registry. They are a promise.
const (
	ArtifactType    = "application/vnd.slipway.driver.v1"
	ConfigMediaType = "application/vnd.slipway.driver.config.v1+json"
	// ContentMediaType is the layer with the driver's directory, packed by spec.Pack.
	ContentMediaType = "application/vnd.slipway.driver.content.v1.tar+gzip"
	// ChartMediaType is Helm's own, for a chart that the driver names by reference and that
	// travels with it.
	ChartMediaType = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
)

const (
	annotationIdentity      = "dev.slipway.driver.digest"
	annotationChartLocation = "dev.slipway.chart.location"
	annotationChartVersion  = "dev.slipway.chart.version"
	annotationChartManifest = "dev.slipway.chart.manifest"
)

// artifact is a driver in the form of a registry: a manifest, and the blobs it names.
type artifact struct {
	desc     ocispec.Descriptor // of the manifest
	manifest []byte
	blobs    []blob
}

type blob struct {
	desc    ocispec.Descriptor
	content []byte
}

func (a artifact) size() int64 {
	n := a.desc.Size
	for _, b := range a.blobs {
		n += b.desc.Size
	}
	return n
}

// config is what a catalogue reads without fetching the content: the driver's
// specification, as it was checked, and its identity.
type config struct {
	Digest string             `json:"digest"`
	Driver slipway.DriverSpec `json:"driver"`
	// Parameters stands in for the field of that name, which is bytes to Go.
	Parameters json.RawMessage `json:"parameters,omitempty"`
}

// assemble makes the artifact of a bundle. The same bundle always gives the same artifact:
// there is no time in it, and no order that is left to chance.
func assemble(b spec.Bundle) (artifact, slipway.DriverSpec, error) {
	ds, _, err := spec.ParseDriver(b)
	if err != nil {
		return artifact{}, ds, err
	}
	packed, identity, err := spec.Pack(b.WithoutCharts())
	if err != nil {
		return artifact{}, ds, err
	}
	c := config{Digest: identity, Driver: ds, Parameters: ds.Parameters}
	c.Driver.Parameters = nil
	rawConfig, err := json.Marshal(c)
	if err != nil {
		return artifact{}, ds, fmt.Errorf("write the driver's configuration: %w", err)
	}
	a := artifact{blobs: []blob{newBlob(ConfigMediaType, rawConfig, nil), newBlob(ContentMediaType, packed, nil)}}
	for _, ch := range b.Charts() {
		about := map[string]string{annotationChartLocation: ch.Location, annotationChartVersion: ch.Version}
		if len(ch.Manifest) > 0 {
			about[annotationChartManifest] = string(ch.Manifest)
		}
		a.blobs = append(a.blobs, newBlob(ChartMediaType, ch.Packed, about))
	}
	m := ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest,
		ArtifactType: ArtifactType, Config: a.blobs[0].desc,
		Annotations: map[string]string{
			ocispec.AnnotationTitle: ds.Name, ocispec.AnnotationVersion: ds.Version, annotationIdentity: identity,
		},
	}
	if ds.Info.Description != "" {
		m.Annotations[ocispec.AnnotationDescription] = ds.Info.Description
	}
	if ds.Info.Homepage != "" {
		m.Annotations[ocispec.AnnotationURL] = ds.Info.Homepage
	}
	for _, l := range a.blobs[1:] {
		m.Layers = append(m.Layers, l.desc)
	}
	if a.manifest, err = json.Marshal(m); err != nil {
		return artifact{}, ds, fmt.Errorf("write the driver's manifest: %w", err)
	}
	a.desc = describe(ocispec.MediaTypeImageManifest, a.manifest)
	a.desc.ArtifactType = ArtifactType
	return a, ds, nil
}

func newBlob(mediaType string, content []byte, annotations map[string]string) blob {
	d := describe(mediaType, content)
	d.Annotations = annotations
	return blob{d, content}
}

func describe(mediaType string, content []byte) ocispec.Descriptor {
	return ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(content), Size: int64(len(content))}
}
