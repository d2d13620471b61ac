package helm

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"

	"sigs.k8s.io/yaml"

	"slipway.dev/slipway/internal/slipway"
)

// maxIndexBytes bounds the index of a chart repository; large public ones have 10 MiB.
const maxIndexBytes = 40 << 20

// pullHTTP fetches a packed chart by its own address, or by the repository and the name
// that the location ends with: https://charts.example.com/stable/guestbook.
func (c *Client) pullHTTP(ctx context.Context, ref slipway.ChartRef) (pulled, error) {
	at, err := url.Parse(ref.Location)
	if err != nil || at.Host == "" {
		return pulled{}, slipway.Errorf(slipway.Invalid, "the chart's location %q is no address", ref.Location)
	}
	if at.Scheme != "https" && !loopback(at.Hostname()) {
		return pulled{}, slipway.Errorf(slipway.Invalid, "the chart at %s would be pulled without TLS", shown(at)).WithHint("use https://")
	}
	if !strings.HasSuffix(at.Path, ".tgz") {
		if at, err = c.inRepository(ctx, at, ref.Version); err != nil {
			return pulled{}, err
		}
	}
	packed, err := get(ctx, at, c.opts.MaxChartBytes)
	if err != nil {
		return pulled{}, err
	}
	return pulled{packed, shown(at), nil}, matches(packed, ref.Digest, shown(at))
}

// inRepository looks a chart up in the index of its repository.
func (c *Client) inRepository(ctx context.Context, at *url.URL, version string) (*url.URL, error) {
	if version == "" {
		return nil, slipway.Errorf(slipway.Invalid, "the chart %s has no version", shown(at)).WithHint("set helm.main.version in the driver")
	}
	name := path.Base(at.Path)
	base := *at
	base.Path = strings.TrimSuffix(path.Dir(at.Path), "/") + "/"
	index := base
	index.Path += "index.yaml"
	raw, err := get(ctx, &index, maxIndexBytes)
	if err != nil {
		return nil, err
	}
	var listed struct {
		Entries map[string][]struct {
			Version string   `json:"version"`
			URLs    []string `json:"urls"`
		} `json:"entries"`
	}
	if err := yaml.Unmarshal(raw, &listed); err != nil {
		return nil, slipway.Errorf(slipway.Invalid, "%s is no index of charts", shown(&index))
	}
	for _, entry := range listed.Entries[name] {
		if entry.Version != version || len(entry.URLs) == 0 {
			continue
		}
		to, err := base.Parse(entry.URLs[0])
		if err != nil || to.Scheme != "https" && !loopback(to.Hostname()) {
			return nil, slipway.Errorf(slipway.Invalid, "%s points the chart %s %s to an address that cannot be used", shown(&index), name, version)
		}
		return to, nil
	}
	return nil, slipway.Errorf(slipway.NotFound, "%s has no chart %s %s", shown(&index), name, version)
}

func get(ctx context.Context, at *url.URL, limit int64) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, slipway.Errorf(slipway.Invalid, "%s is no address", shown(at))
	}
	req.Header.Set("User-Agent", "slipway")
	res, err := outsideHTTP.Do(req)
	if err != nil {
		return nil, unreachable(shown(at), err)
	}
	defer func() { _, _ = io.CopyN(io.Discard, res.Body, 4<<10); _ = res.Body.Close() }() // for the connection's reuse
	switch {
	case res.StatusCode == http.StatusOK:
	case res.StatusCode == http.StatusNotFound:
		return nil, slipway.Errorf(slipway.NotFound, "there is nothing at %s", shown(at))
	case res.StatusCode == http.StatusUnauthorized || res.StatusCode == http.StatusForbidden:
		return nil, slipway.Errorf(slipway.Forbidden, "%s may not be read without credentials", shown(at))
	default:
		return nil, slipway.Errorf(slipway.Unavailable, "%s answers with %s", shown(at), res.Status)
	}
	if res.ContentLength > limit {
		return nil, tooLarge(shown(at), limit)
	}
	return limited(res.Body, limit, shown(at))
}
