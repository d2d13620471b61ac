package helm

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"helm.sh/helm/v4/pkg/chart/v2/loader"

	"slipway.dev/slipway/internal/slipway"
)

// Chart loads the chart that a driver names: a path inside its bundle, which lies in
// bundleDir and is known by bundleDigest, or a reference that is pulled, unless the bundle
// carries that chart along.
func (c *Client) Chart(ctx context.Context, ref slipway.ChartRef, bundleDir, bundleDigest string) (*Chart, error) {
	switch {
	case strings.HasPrefix(ref.Location, "oci://"), strings.HasPrefix(ref.Location, "https://"), strings.HasPrefix(ref.Location, "http://"):
		if ch, err := c.carried(ref, bundleDir, bundleDigest); ch != nil || err != nil {
			return ch, err
		}
		return c.Pull(ctx, ref)
	case !filepath.IsLocal(ref.Location):
		return nil, slipway.Errorf(slipway.Invalid, "the chart's location %q leads out of the bundle", ref.Location).
			WithHint("write a path inside the bundle, oci://… or https://…")
	}
	return c.LoadDir(filepath.Join(bundleDir, ref.Location), bundleDigest)
}

// pulled is a packed chart that came from outside, and the digest it was asked for by.
type pulled struct {
	packed   []byte
	ref      string
	manifest []byte // of a registry; nil from elsewhere
}

const pullTimeout = 2 * time.Minute

// Pull fetches a chart by reference, or takes it from the cache when its digest is known
// and it was fetched before. The reference's version must be exact.
func (c *Client) Pull(ctx context.Context, ref slipway.ChartRef) (*Chart, error) {
	if c.opts.CacheDir == "" {
		return nil, slipway.Errorf(slipway.Invalid, "the chart %s would have to be pulled, and this Slipway has no place to keep it", ref.Location)
	}
	if ref.Digest != "" && !digestPattern(ref.Digest) {
		return nil, slipway.Errorf(slipway.Invalid, "the chart's digest %q is not of the form sha256:<64 hexadecimal digits>", ref.Digest)
	}
	file := ""
	if ref.Digest != "" {
		sum := sha256.Sum256([]byte(ref.Location + "\n" + ref.Version + "\n" + ref.Digest))
		file = filepath.Join(c.opts.CacheDir, hex.EncodeToString(sum[:])+".tgz")
		if ch, err := c.cached(file, ref); err == nil {
			return ch, nil
		} else if !errors.Is(err, os.ErrNotExist) {
			// Damaged by a full disk or a crash: what is pulled now takes its place.
			c.log.Warn("a cached chart is not usable and is pulled again", "chart", ref.Location, "error", err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, pullTimeout)
	defer cancel()
	got, err := c.fetch(ctx, ref)
	if err != nil {
		return nil, err
	}
	ch, err := unpackAs(got, ref)
	if err != nil {
		return nil, err
	}
	if file != "" {
		if err := keep(file, got.packed); err != nil {
			c.log.Warn("a pulled chart was not kept", "chart", ref.Location, "error", err)
		}
	}
	return ch, nil
}

// fetch gets a packed chart from outside, checked against the reference's digest.
func (c *Client) fetch(ctx context.Context, ref slipway.ChartRef) (pulled, error) {
	if strings.HasPrefix(ref.Location, "oci://") {
		return c.pullOCI(ctx, ref)
	}
	return c.pullHTTP(ctx, ref)
}

// unpackAs unpacks a chart and refuses one of another version than the reference's.
func unpackAs(got pulled, ref slipway.ChartRef) (*Chart, error) {
	ch, err := unpack(got.packed, got.ref)
	if err != nil {
		return nil, err
	}
	if ref.Version != "" && ch.Version != ref.Version {
		return nil, slipway.Errorf(slipway.Invalid, "the chart %s says that its version is %s, not %s", got.ref, ch.Version, ref.Version)
	}
	return ch, nil
}

// cached loads a chart that was pulled before. The content is checked against the digest
// of the packed chart, which is kept beside it: a disk may lie.
func (c *Client) cached(file string, ref slipway.ChartRef) (*Chart, error) {
	if ch := c.loaded.get(file); ch != nil {
		return ch, nil
	}
	sum, err := os.ReadFile(file + ".sha256")
	if err != nil {
		return nil, err
	}
	packed, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if got := sha256.Sum256(packed); hex.EncodeToString(got[:]) != string(sum) {
		return nil, fmt.Errorf("%s is damaged", file)
	}
	ch, err := unpack(packed, ref.Location)
	if err == nil {
		c.loaded.put(file, ch)
	}
	return ch, err
}

// keep writes a packed chart into the cache, whole or not at all.
func keep(file string, packed []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	sum := sha256.Sum256(packed)
	for _, f := range []struct {
		name string
		data []byte
	}{{file, packed}, {file + ".sha256", []byte(hex.EncodeToString(sum[:]))}} {
		tmp, err := os.CreateTemp(filepath.Dir(file), "pull-*")
		if err != nil {
			return err
		}
		_, err = tmp.Write(f.data)
		err = errors.Join(err, tmp.Close())
		if err == nil {
			err = os.Rename(tmp.Name(), f.name)
		}
		if err != nil {
			return errors.Join(err, os.Remove(tmp.Name()))
		}
	}
	return nil
}

func unpack(packed []byte, ref string) (*Chart, error) {
	ch, err := loader.LoadArchive(bytes.NewReader(packed))
	if err != nil {
		return nil, slipway.Errorf(slipway.Invalid, "the chart %s cannot be unpacked: %v", ref, err)
	}
	sum := sha256.Sum256(packed)
	return checked(ch, ref, "sha256:"+hex.EncodeToString(sum[:]))
}

func digestPattern(s string) bool {
	hexes, ok := strings.CutPrefix(s, "sha256:")
	if !ok || len(hexes) != 64 {
		return false
	}
	_, err := hex.DecodeString(hexes)
	return err == nil
}

func digestOf(raw []byte) string {
	sum := sha256.Sum256(raw)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// matches refuses content that is not what the driver was loaded with.
func matches(packed []byte, want, ref string) error {
	if want == "" {
		return nil
	}
	if got := digestOf(packed); got != strings.ToLower(want) {
		return slipway.Errorf(slipway.Conflict, "the chart %s has the digest %s, but the driver names %s", ref, got, want).
			WithHint("its publisher may have replaced it; load the driver anew if that is meant")
	}
	return nil
}

// limited reads at most limit bytes, and says so when there are more.
func limited(r io.Reader, limit int64, ref string) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, unreachable(ref, err)
	}
	if int64(len(raw)) > limit {
		return nil, tooLarge(ref, limit)
	}
	return raw, nil
}

func tooLarge(ref string, limit int64) error {
	return slipway.Errorf(slipway.TooLarge, "%s is larger than %d MiB", ref, limit>>20)
}

// unreachable is the error for a source that does not answer. Its own words may hold a
// URL with credentials, so they go to the log's cause only as far as they are ours.
func unreachable(ref string, err error) error {
	e := slipway.Errorf(slipway.Unavailable, "%s does not answer", ref).WithHint("check the network and the chart's location, then try again")
	var dns *net.DNSError
	var op *net.OpError
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		e.Msg = ref + " did not answer in time"
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("pull %s: %w", ref, context.Canceled)
	case errors.As(err, &dns):
		e.Msg = fmt.Sprintf("%s does not answer: no such host %s", ref, dns.Name)
	case errors.As(err, &op) && op.Err != nil:
		e.Msg = fmt.Sprintf("%s does not answer: %s", ref, op.Err)
	}
	return e
}

// shown is a URL without its credentials and query, which may be a signature.
func shown(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// loopback reports whether host is this machine: the one place where a chart may come
// from without TLS.
func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// outsideHTTP is how charts are fetched. A redirect must not leave TLS behind.
var outsideHTTP = &http.Client{
	Transport: http.DefaultTransport,
	CheckRedirect: func(r *http.Request, via []*http.Request) error {
		if len(via) >= 5 {
			return errors.New("too many redirects")
		}
		if r.URL.Scheme != "https" && !loopback(r.URL.Hostname()) {
			return errors.New("a redirect leads to an address without TLS")
		}
		return nil
	},
}
