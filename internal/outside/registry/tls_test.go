package registry

// World: a registry of go-containerregistry behind TLS in this process.

import (
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"

	"slipway.dev/slipway/internal/slipway"
)

// A registry of this machine may have TLS all the same, and then its certificate counts.
func TestARegistryOfThisMachineWithTLS(t *testing.T) {
	t.Parallel()
	s := httptest.NewTLSServer(registry.New())
	t.Cleanup(s.Close)
	to, err := ParseReference(strings.Replace(s.URL, "https://", Scheme, 1) + "/g/b")
	if err != nil {
		t.Fatal(err)
	}
	_, err = client(t, Options{}).Push(t.Context(), PushRequest{Bundle: driver(t, "1.0.0"), To: to})
	refused(t, err, slipway.Unavailable, "is not trusted")

	c := client(t, Options{})
	trusted := x509.NewCertPool()
	trusted.AddCert(s.Certificate())
	m, ok := c.transport.(*metered)
	if !ok {
		t.Fatalf("the transport is %T", c.transport)
	}
	base, ok := m.next.(*http.Transport)
	if !ok {
		t.Fatalf("the transport below is %T", m.next)
	}
	base.TLSClientConfig.RootCAs = trusted
	if _, err := c.Push(t.Context(), PushRequest{Bundle: driver(t, "1.0.0"), To: to}); err != nil {
		t.Error(err)
	}
}
