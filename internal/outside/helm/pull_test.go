package helm

// World: fake registry and repository over loopback HTTP.

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"slipway.dev/slipway/internal/slipway"
)

// packed is a chart of one file, as helm package makes it.
func packed(t *testing.T, version string, more ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	files := append([]string{"gb/Chart.yaml", "apiVersion: v2\nname: gb\nversion: " + version + "\n"}, more...)
	for i := 0; i < len(files); i += 2 {
		if err := w.WriteHeader(&tar.Header{Name: files[i], Mode: 0o644, Size: int64(len(files[i+1]))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(files[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// source serves one chart as a file, in a repository and in a registry.
type source struct {
	*httptest.Server
	chart    []byte
	manifest []byte
	requests atomic.Int32
	lies     bool // sends other content than it announces
}

func newSource(t *testing.T, chart []byte) *source {
	t.Helper()
	s := &source{chart: chart}
	config := []byte("{}")
	s.manifest = must(json.Marshal(map[string]any{
		"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
		"config": map[string]any{"mediaType": "application/vnd.cncf.helm.config.v1+json", "digest": digest(config), "size": len(config)},
		"layers": []any{map[string]any{"mediaType": "application/vnd.cncf.helm.chart.content.v1.tar+gzip", "digest": digest(chart), "size": len(chart)}},
	}))
	mux := http.NewServeMux()
	mux.HandleFunc("GET /stable/index.yaml", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "apiVersion: v1\nentries:\n  gb:\n  - {version: 1.0.0, urls: [files/gb-1.0.0.tgz]}\n  - {version: 9.0.0, urls: [\"http://charts.example.com/gb.tgz\"]}\n")
	})
	mux.HandleFunc("GET /stable/files/gb-1.0.0.tgz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(s.chart) })
	mux.HandleFunc("GET /locked/gb.tgz", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) })
	mux.HandleFunc("GET /broken/gb.tgz", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	mux.HandleFunc("GET /away/gb.tgz", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://charts.example.com/gb.tgz", http.StatusFound)
	})
	mux.HandleFunc("GET /slow/gb.tgz", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	mux.HandleFunc("GET /v2/charts/gb/manifests/{ref}", func(w http.ResponseWriter, r *http.Request) {
		if ref := r.PathValue("ref"); ref != "1.0.0" && ref != digest(s.manifest) {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
		w.Header().Set("Docker-Content-Digest", digest(s.manifest))
		_, _ = w.Write(s.manifest)
	})
	mux.HandleFunc("GET /v2/charts/gb/blobs/{digest}", func(w http.ResponseWriter, r *http.Request) {
		if r.PathValue("digest") != digest(s.chart) {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		out := s.chart
		if s.lies {
			out = bytes.Repeat([]byte("x"), len(s.chart))
		}
		w.Header().Set("Content-Length", fmt.Sprint(len(out)))
		_, _ = w.Write(out)
	})
	mux.HandleFunc("GET /v2/private/gb/manifests/{ref}", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *source) oci(path string) string {
	return strings.Replace(s.URL, "http://", "oci://", 1) + path
}

func TestPull(t *testing.T) {
	t.Parallel()
	chart := packed(t, "1.0.0")
	s := newSource(t, chart)
	const none = "sha256:0000000000000000000000000000000000000000000000000000000000000000"
	for _, tc := range []struct {
		name string
		ref  slipway.ChartRef
		kind slipway.Kind // "": it is pulled
		want string
	}{
		{"by the address of its file", slipway.ChartRef{Location: s.URL + "/stable/files/gb-1.0.0.tgz"}, "", ""},
		{"from a repository", slipway.ChartRef{Location: s.URL + "/stable/gb", Version: "1.0.0", Digest: digest(chart)}, "", ""},
		{"from a registry", slipway.ChartRef{Location: s.oci("/charts/gb"), Version: "1.0.0"}, "", ""},
		{"from a registry, by the manifest's digest", slipway.ChartRef{Location: s.oci("/charts/gb"), Version: "1.0.0", Digest: digest(s.manifest)}, "", ""},
		{"from a registry, by the chart's digest", slipway.ChartRef{Location: s.oci("/charts/gb"), Version: "1.0.0", Digest: digest(chart)}, "", ""},

		{"with another digest than the driver's", slipway.ChartRef{Location: s.URL + "/stable/gb", Version: "1.0.0", Digest: none}, slipway.Conflict, "but the driver names " + none},
		{"with another digest than the driver's, from a registry", slipway.ChartRef{Location: s.oci("/charts/gb"), Version: "1.0.0", Digest: none}, slipway.Conflict, "but the driver names " + none},
		{"with a digest that is none", slipway.ChartRef{Location: s.oci("/charts/gb"), Version: "1.0.0", Digest: "sha256:abc"}, slipway.Invalid, "is not of the form"},
		{"with another version inside", slipway.ChartRef{Location: s.URL + "/stable/files/gb-1.0.0.tgz", Version: "2.0.0"}, slipway.Invalid, "says that its version is 1.0.0, not 2.0.0"},
		{"of no version", slipway.ChartRef{Location: s.URL + "/stable/gb"}, slipway.Invalid, "has no version"},
		{"of no version, from a registry", slipway.ChartRef{Location: s.oci("/charts/gb")}, slipway.Invalid, "has no version"},
		{"that the repository has not", slipway.ChartRef{Location: s.URL + "/stable/gb", Version: "7.0.0"}, slipway.NotFound, "has no chart gb 7.0.0"},
		{"that the registry has not", slipway.ChartRef{Location: s.oci("/charts/gb"), Version: "7.0.0"}, slipway.NotFound, "the registry has no chart"},
		{"where there is nothing", slipway.ChartRef{Location: s.URL + "/none/gb.tgz"}, slipway.NotFound, "there is nothing at"},
		{"that one may not read", slipway.ChartRef{Location: s.URL + "/locked/gb.tgz"}, slipway.Forbidden, "may not be read"},
		{"that the registry refuses", slipway.ChartRef{Location: s.oci("/private/gb"), Version: "1.0.0"}, slipway.Forbidden, "refuses to give"},
		{"from a server that fails", slipway.ChartRef{Location: s.URL + "/broken/gb.tgz"}, slipway.Unavailable, "502"},
		{"by a redirect without TLS", slipway.ChartRef{Location: s.URL + "/away/gb.tgz"}, slipway.Unavailable, "does not answer"},
		{"that the index has without TLS", slipway.ChartRef{Location: s.URL + "/stable/gb", Version: "9.0.0"}, slipway.Invalid, "an address that cannot be used"},
		{"without TLS from afar", slipway.ChartRef{Location: "http://charts.example.com/gb.tgz"}, slipway.Invalid, "without TLS"},
		{"from nowhere", slipway.ChartRef{Location: "oci:///"}, slipway.Invalid, "is no repository"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := New(nil, Options{CacheDir: t.TempDir()})
			ch, err := c.Chart(t.Context(), tc.ref, "", "")
			if tc.kind == "" {
				if err != nil || ch.Name != "gb" || ch.Digest != digest(chart) {
					t.Errorf("Chart() = %+v, %v", ch, err)
				}
				return
			}
			if !slipway.Is(err, tc.kind) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Chart() = %v (%s), want %s: %s", err, slipway.KindOf(err), tc.kind, tc.want)
			}
		})
	}
}

func TestPullHasLimits(t *testing.T) {
	t.Parallel()
	large := newSource(t, packed(t, "1.0.0", "gb/templates/a", strings.Repeat("incompressible? "+digest([]byte("a")), 10)))
	c := New(nil, Options{CacheDir: t.TempDir(), MaxChartBytes: 100})
	for _, ref := range []slipway.ChartRef{{Location: large.URL + "/stable/files/gb-1.0.0.tgz"}, {Location: large.oci("/charts/gb"), Version: "1.0.0"}} {
		if _, err := c.Chart(t.Context(), ref, "", ""); !slipway.Is(err, slipway.TooLarge) {
			t.Errorf("Chart(%s) = %v, want too large", ref.Location, err)
		}
	}
	liar := newSource(t, packed(t, "1.0.0"))
	liar.lies = true
	c = New(nil, Options{CacheDir: t.TempDir()})
	if _, err := c.Chart(t.Context(), slipway.ChartRef{Location: liar.oci("/charts/gb"), Version: "1.0.0"}, "", ""); !slipway.Is(err, slipway.Invalid) {
		t.Errorf("from a registry that lies: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := c.Chart(ctx, slipway.ChartRef{Location: liar.URL + "/slow/gb.tgz"}, "", ""); !slipway.Is(err, slipway.Unavailable) {
		t.Errorf("from a server that does not answer: %v", err)
	}
	for name, chart := range map[string][]byte{
		"out of its folder": packed(t, "1.0.0", "gb/../../etc/x", "x"),
		"no archive":        []byte("not gzip"),
	} {
		s := newSource(t, chart)
		if _, err := c.Chart(t.Context(), slipway.ChartRef{Location: s.URL + "/stable/files/gb-1.0.0.tgz"}, "", ""); !slipway.Is(err, slipway.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPullKeepsWhatItsDigestNames(t *testing.T) {
	t.Parallel()
	chart := packed(t, "1.0.0")
	s := newSource(t, chart)
	dir := t.TempDir()
	ref := slipway.ChartRef{Location: s.oci("/charts/gb"), Version: "1.0.0", Digest: digest(s.manifest)}
	pull := func(want bool) {
		t.Helper()
		before := s.requests.Load()
		// A new client each time, as after a restart.
		if _, err := New(nil, Options{CacheDir: dir}).Chart(t.Context(), ref, "", ""); err != nil {
			t.Fatal(err)
		}
		if asked := s.requests.Load() > before; asked != want {
			t.Errorf("the registry was asked: %v, want %v", asked, want)
		}
	}
	pull(true)
	pull(false)
	files, err := filepath.Glob(filepath.Join(dir, "*.tgz"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	if err := os.WriteFile(files[0], []byte("rotten"), 0o600); err != nil {
		t.Fatal(err)
	}
	pull(true) // damaged: pulled again
	pull(false)
	// Without a digest a tag may mean something else each time.
	ref.Digest = ""
	pull(true)
	pull(true)
}

func TestChartInABundle(t *testing.T) {
	t.Parallel()
	c := New(nil, Options{})
	dir := t.TempDir()
	write(t, dir, "chart/Chart.yaml", "apiVersion: v2\nname: gb\nversion: 1.0.0\n")
	if err := os.WriteFile(filepath.Join(dir, "gb.tgz"), packed(t, "2.0.0"), 0o600); err != nil {
		t.Fatal(err)
	}
	for location, want := range map[string]string{"chart": "1.0.0", "./chart": "1.0.0", "gb.tgz": "2.0.0"} {
		ch, err := c.Chart(t.Context(), slipway.ChartRef{Location: location}, dir, "sha256:b")
		if err != nil || ch.Version != want {
			t.Errorf("Chart(%s) = %+v, %v", location, ch, err)
		}
	}
	for _, location := range []string{"../chart", "/etc", ""} {
		if _, err := c.Chart(t.Context(), slipway.ChartRef{Location: location}, dir, ""); !slipway.Is(err, slipway.Invalid) {
			t.Errorf("Chart(%q) = %v, want invalid", location, err)
		}
	}
	if _, err := c.Chart(t.Context(), slipway.ChartRef{Location: "oci://registry.example.com/x", Version: "1.0.0"}, dir, ""); !slipway.Is(err, slipway.Invalid) {
		t.Errorf("a pull without a place to keep it: %v", err)
	}
}
