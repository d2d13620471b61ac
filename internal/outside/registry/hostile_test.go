package registry

// World: a registry of go-containerregistry in this process, and registries that lie.

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/spec"
)

func asError(err error, e **slipway.Error) bool { return errors.As(err, e) }

// archive is a tar.gz with one member before the driver's own.
func archive(t testing.TB, h tar.Header, content []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	w := tar.NewWriter(z)
	h.Size = int64(len(content))
	if h.Mode == 0 {
		h.Mode = 0o644
	}
	b := driver(t, "1.0.0")
	for _, err := range []error{w.WriteHeader(&h), write(w, content)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range b.Paths() {
		raw, _ := b.File(p)
		if err := errors.Join(w.WriteHeader(&tar.Header{Name: p, Mode: 0o644, Size: int64(len(raw))}), write(w, raw)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func write(w *tar.Writer, content []byte) error {
	if len(content) == 0 {
		return nil
	}
	_, err := w.Write(content)
	return err
}

// with puts a content of one's own into a driver's artifact.
func with(t testing.TB, content []byte) artifact {
	t.Helper()
	a, _, err := assemble(driver(t, "1.0.0"))
	if err != nil {
		t.Fatal(err)
	}
	a.blobs[1] = newBlob(ContentMediaType, content, nil)
	return rewritten(t, a, func(m *ocispec.Manifest) { m.Layers[0] = a.blobs[1].desc })
}

// repacked packs a bundle with another compression.
func repacked(t testing.TB, b spec.Bundle) artifact {
	t.Helper()
	packed, _, err := spec.Pack(b)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(w, z); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return with(t, out.Bytes())
}

func TestPullRefusesWhatIsNoDriver(t *testing.T) {
	t.Parallel()
	r := start(t)
	c := client(t, Options{})
	good, _, err := assemble(driver(t, "1.0.0"))
	if err != nil {
		t.Fatal(err)
	}
	change := func(f func(*ocispec.Manifest)) artifact { return rewritten(t, good, f) }
	bomb := bytes.Repeat([]byte{0}, 64<<20)
	for i, tc := range []struct {
		name string
		a    artifact
		kind slipway.Kind
		says string
	}{
		{"a Helm chart", change(func(m *ocispec.Manifest) {
			m.ArtifactType, m.Config.MediaType = "", "application/vnd.cncf.helm.config.v1+json"
		}), slipway.Invalid, "it is a Helm chart"},
		{"an image", change(func(m *ocispec.Manifest) { m.ArtifactType, m.Config.MediaType = "", ocispec.MediaTypeImageConfig }), slipway.Invalid, "is no driver"},
		{"a driver of a later major form", change(func(m *ocispec.Manifest) { m.ArtifactType = "application/vnd.slipway.driver.v2" }), slipway.Invalid, "of the type application/vnd.slipway.driver.v2"},
		{"without content", change(func(m *ocispec.Manifest) { m.Layers = nil }), slipway.Invalid, "holds 0 driver's directories"},
		{"with content twice", change(func(m *ocispec.Manifest) { m.Layers = append(m.Layers, m.Layers[0]) }), slipway.Invalid, "holds 2 driver's directories"},
		{"with another identity than it says", change(func(m *ocispec.Manifest) { m.Annotations[annotationIdentity] = "sha256:" + strings.Repeat("0", 64) }), slipway.Invalid, "says that it holds the driver"},
		{"with too many charts", change(func(m *ocispec.Manifest) {
			for range maxCharts + 1 {
				m.Layers = append(m.Layers, newBlob(ChartMediaType, nil, nil).desc)
			}
		}), slipway.TooLarge, "more than 64 charts"},
		{"with a layer that says it is huge", change(func(m *ocispec.Manifest) { m.Layers[0].Size = 1 << 60 }), slipway.TooLarge, "larger than 10485760 bytes"},
		{"with a negative size", change(func(m *ocispec.Manifest) { m.Layers[0].Size = -1 }), slipway.Invalid, "a layer that cannot be"},
		{"with a digest that is none", change(func(m *ocispec.Manifest) { m.Layers[0].Digest = "sha256:../../x" }), slipway.Invalid, "a layer that cannot be"},
		{"with another size than the layer's", change(func(m *ocispec.Manifest) { m.Layers[0].Size-- }), slipway.Invalid, "other content"},
		{"with a layer that is missing", change(func(m *ocispec.Manifest) { m.Layers[0].Digest = describe("", []byte("none")).Digest }), slipway.NotFound, "has no"},
		{"a gzip bomb", with(t, archive(t, tar.Header{Name: "zeros"}, bomb)), slipway.TooLarge, "more than 10485760 bytes"},
		{"a link", with(t, archive(t, tar.Header{Name: "x", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}, nil)), slipway.Invalid, "holds a link"},
		{"a hard link", with(t, archive(t, tar.Header{Name: "x", Typeflag: tar.TypeLink, Linkname: "../../x"}, nil)), slipway.Invalid, "holds a link"},
		{"a device", with(t, archive(t, tar.Header{Name: "x", Typeflag: tar.TypeChar}, nil)), slipway.Invalid, "no regular file"},
		{"a path that leads outside", with(t, archive(t, tar.Header{Name: "../../etc/cron.d/x"}, []byte("x"))), slipway.Invalid, "leads outside"},
		{"an absolute path", with(t, archive(t, tar.Header{Name: "/etc/cron.d/x"}, []byte("x"))), slipway.Invalid, "is absolute"},
		{"charts in the directory", with(t, archive(t, tar.Header{Name: slipway.ChartsDir + "/x"}, []byte("x"))), slipway.Invalid, "no chart that was packed"},
		{"no archive", with(t, []byte("hello")), slipway.Invalid, "no readable tar.gz"},
	} {
		tag := fmt.Sprint("t", i)
		put(t, c, at(t, r, "g/b:"+tag), tc.a)
		began := time.Now()
		_, err := c.Pull(t.Context(), at(t, r, "g/b:"+tag), nil)
		if err == nil {
			t.Errorf("%s: it was pulled", tc.name)
			continue
		}
		t.Run(tc.name, func(t *testing.T) { refused(t, err, tc.kind, tc.says) })
		if d := time.Since(began); d > 20*time.Second {
			t.Errorf("%s: the refusal took %s", tc.name, d)
		}
	}
	put(t, c, at(t, r, "g/b:2.0.0"), good)
	_, err = c.Pull(t.Context(), at(t, r, "g/b:2.0.0"), nil)
	refused(t, err, slipway.Invalid, "holds version 1.0.0 of the driver")
	_, err = c.Pull(t.Context(), at(t, r, "g/b:none"), nil)
	refused(t, err, slipway.NotFound, "has no")
	_, err = c.Pull(t.Context(), at(t, r, "g/b"), nil)
	refused(t, err, slipway.Invalid, "neither a version nor a digest")
}

// A later Slipway may add layers that need not be understood.
func TestPullPassesOverLayersThatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	r := start(t)
	c := client(t, Options{})
	a, _, err := assemble(driver(t, "1.0.0"))
	if err != nil {
		t.Fatal(err)
	}
	extra := newBlob("application/vnd.slipway.driver.images.lock.v1+json", []byte("{}"), nil)
	a.blobs = append(a.blobs, extra)
	put(t, c, at(t, r, "g/b:x"), rewritten(t, a, func(m *ocispec.Manifest) { m.Layers = append(m.Layers, extra.desc) }))
	if got, err := c.Pull(t.Context(), at(t, r, "g/b:x"), nil); err != nil || got.Bundle.Digest() != driver(t, "1.0.0").Digest() {
		t.Errorf("Pull() = %s, %v", got.Bundle.Digest(), err)
	}
}

func TestARegistryThatMisbehaves(t *testing.T) {
	t.Parallel()
	manifest := "application/vnd.oci.image.manifest.v1+json"
	for _, tc := range []struct {
		name   string
		answer http.HandlerFunc
		kind   slipway.Kind
		says   string
	}{
		{"it refuses", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }, slipway.Forbidden, "check the credentials"},
		{"it is gone for good", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }, slipway.NotFound, "has no"},
		{"it does not understand", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadRequest) }, slipway.Invalid, "400 Bad Request"},
		{"it redirects without end", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path, http.StatusFound) }, slipway.Unavailable, "redirects without end"},
		{"it leads out of TLS's way", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://registry.example.com"+r.URL.Path, http.StatusFound)
		}, slipway.Invalid, "without TLS"},
		{"its manifest says it is huge", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", manifest)
			w.Header().Set("Content-Length", "99999999999")
			w.Header().Set("Docker-Content-Digest", "sha256:"+strings.Repeat("0", 64))
		}, slipway.TooLarge, "the manifest of"},
		{"its manifest is another one", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", manifest)
			w.Header().Set("Docker-Content-Digest", "sha256:"+strings.Repeat("0", 64))
			w.Header().Set("Content-Length", "2")
			if r.Method == http.MethodGet {
				_, _ = w.Write([]byte("{}"))
			}
		}, slipway.Invalid, "other content"},
		{"it never answers", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, slipway.Unavailable, "did not answer in time"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := httptest.NewServer(tc.answer)
			t.Cleanup(s.Close)
			c := client(t, Options{Timeout: time.Second})
			ref, err := ParseReference(strings.Replace(s.URL, "http://", Scheme, 1) + "/g/b:1.0.0")
			if err != nil {
				t.Fatal(err)
			}
			_, err = c.Pull(t.Context(), ref, nil)
			refused(t, err, tc.kind, tc.says)
		})
	}
}

func TestARegistryThatIsNotThere(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.NotFoundHandler())
	host := strings.TrimPrefix(s.URL, "http://")
	s.Close()
	c := client(t, Options{})
	_, err := c.Pull(t.Context(), Reference{Registry: host, Repository: "g/b", Tag: "x"}, nil)
	refused(t, err, slipway.Unavailable, "does not answer")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Pull(ctx, Reference{Registry: host, Repository: "g/b", Tag: "x"}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted, it says %v", err)
	}
}

// Without TLS only this machine is spoken to, unless the caller says otherwise.
func TestPlainHTTPIsForThisMachineAlone(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		host    string
		allowed bool
		plain   bool
	}{
		{"127.0.0.1:5000", false, true}, {"localhost", false, true}, {"[::1]:5000", false, true},
		{"registry.example.com", false, false}, {"127.0.0.1.example.com", false, false}, {"10.0.0.1:5000", false, false},
		{"registry.example.com", true, true},
	} {
		repo, err := client(t, Options{PlainHTTP: tc.allowed}).repository(t.Context(), Reference{Registry: tc.host, Repository: "a"})
		if err != nil {
			t.Errorf("%s: %v", tc.host, err)
		} else if repo.PlainHTTP != tc.plain {
			t.Errorf("%s, allowed %v: without TLS %v, want %v", tc.host, tc.allowed, repo.PlainHTTP, tc.plain)
		}
	}
}
