package helm

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"helm.sh/helm/v4/pkg/registry"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"
	"oras.land/oras-go/v2/registry/remote/errcode"
	"oras.land/oras-go/v2/registry/remote/retry"

	"k8s.io/apimachinery/pkg/util/json"

	"slipway.dev/slipway/internal/slipway"
)

// maxManifestBytes bounds an OCI manifest, as registries do.
const maxManifestBytes = 4 << 20

// pullOCI fetches a chart from a registry. The driver's digest may be that of the
// manifest, which registries and helm pull show, or that of the packed chart.
func (c *Client) pullOCI(ctx context.Context, ref slipway.ChartRef) (pulled, error) {
	name := strings.TrimPrefix(ref.Location, "oci://")
	shown := ref.Location + ":" + ref.Version
	repo, err := remote.NewRepository(name)
	if err != nil {
		return pulled{}, slipway.Errorf(slipway.Invalid, "the chart's location %q is no repository of a registry", ref.Location).
			WithHint("write oci://registry/path/chart, with the version in helm.main.version")
	}
	host, _, _ := strings.Cut(repo.Reference.Host(), ":")
	repo.PlainHTTP = loopback(host)
	if repo.Client, err = c.registryClient(); err != nil {
		return pulled{}, err
	}
	// A tag may not hold a plus sign, so Helm writes an underscore for it.
	want := strings.ReplaceAll(ref.Version, "+", "_")
	if want == "" {
		return pulled{}, slipway.Errorf(slipway.Invalid, "the chart %s has no version", ref.Location).WithHint("set helm.main.version in the driver")
	}
	desc, err := repo.Resolve(ctx, want)
	if err != nil {
		return pulled{}, registryError(shown, err)
	}
	if desc.Size > maxManifestBytes {
		return pulled{}, tooLarge("the manifest of "+shown, maxManifestBytes)
	}
	raw, err := content.FetchAll(ctx, repo, desc) // checks size and digest
	if err != nil {
		return pulled{}, registryError(shown, err)
	}
	// The layers of an OCI manifest, as far as they are needed.
	var manifest struct {
		Layers []layer `json:"layers"`
	}
	if err := json.Unmarshal(raw, &manifest); err != nil {
		return pulled{}, slipway.Errorf(slipway.Invalid, "%s is no chart: its manifest cannot be read", shown)
	}
	for _, l := range manifest.Layers {
		if l.MediaType != registry.ChartLayerMediaType && l.MediaType != registry.LegacyChartLayerMediaType {
			continue
		}
		if l.Size > c.opts.MaxChartBytes {
			return pulled{}, tooLarge("the chart "+shown, c.opts.MaxChartBytes)
		}
		blob, err := repo.Blobs().Resolve(ctx, l.Digest)
		if err != nil {
			return pulled{}, registryError(shown, err)
		}
		if blob.Size > c.opts.MaxChartBytes {
			return pulled{}, tooLarge("the chart "+shown, c.opts.MaxChartBytes)
		}
		packed, err := content.FetchAll(ctx, repo.Blobs(), blob)
		if err != nil {
			return pulled{}, registryError(shown, err)
		}
		if strings.EqualFold(ref.Digest, desc.Digest.String()) {
			return pulled{packed, shown, raw}, nil
		}
		return pulled{packed, shown, raw}, matches(packed, ref.Digest, shown)
	}
	return pulled{}, slipway.Errorf(slipway.Invalid, "%s is no chart: it has no layer of the type %s", shown, registry.ChartLayerMediaType)
}

type layer struct {
	MediaType string `json:"mediaType"`
	Digest    string `json:"digest"`
	Size      int64  `json:"size"`
}

// registryClient knows the credentials of registries from a Docker configuration, if one
// is set. Credential helpers in it are programs, and are run.
func (c *Client) registryClient() (*auth.Client, error) {
	client := &auth.Client{
		Client: &http.Client{Transport: retry.NewTransport(outsideHTTP.Transport), CheckRedirect: outsideHTTP.CheckRedirect},
		Cache:  auth.NewCache(),
		Header: http.Header{"User-Agent": {"slipway"}},
	}
	if c.opts.RegistryConfig == "" {
		return client, nil
	}
	store, err := credentials.NewStore(c.opts.RegistryConfig, credentials.StoreOptions{})
	if err != nil {
		return nil, slipway.Errorf(slipway.Invalid, "the registry configuration %s cannot be read", c.opts.RegistryConfig)
	}
	client.Credential = credentials.Credential(store)
	return client, nil
}

func registryError(ref string, err error) error {
	var answer *errcode.ErrorResponse
	switch {
	case errors.Is(err, errdef.ErrNotFound):
		return slipway.Errorf(slipway.NotFound, "the registry has no chart %s", ref)
	case errors.Is(err, errdef.ErrSizeExceedsLimit):
		return slipway.Errorf(slipway.TooLarge, "%s is larger than its registry says", ref)
	case errors.Is(err, content.ErrMismatchedDigest), errors.Is(err, content.ErrTrailingData), errors.Is(err, content.ErrInvalidDescriptorSize):
		return slipway.Errorf(slipway.Invalid, "the registry sent other content for %s than it announced", ref)
	case errors.As(err, &answer) && (answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden):
		return slipway.Errorf(slipway.Forbidden, "the registry refuses to give the chart %s", ref).
			WithHint("check the registry's credentials and the chart's location")
	case errors.As(err, &answer) && answer.StatusCode < http.StatusInternalServerError:
		return slipway.Errorf(slipway.Invalid, "the registry refuses the chart %s with %d %s", ref, answer.StatusCode, http.StatusText(answer.StatusCode))
	}
	return unreachable(ref, err)
}
