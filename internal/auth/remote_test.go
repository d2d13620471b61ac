package auth

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
)

// Pure.
func TestRemoteBelievesTrustedProxiesOnly(t *testing.T) {
	t.Parallel()
	a := &Authenticator{proxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("192.0.2.1/32"), netip.MustParsePrefix("2001:db8::/32")}}
	for _, tc := range []struct {
		name, peer string
		forwarded  []string
		want       string
	}{
		{"no proxy", "198.51.100.1:5", nil, "198.51.100.1"},
		{"a stranger makes an address up", "198.51.100.1:5", []string{"203.0.113.9"}, "198.51.100.1"},
		{"one proxy", "10.1.2.3:5", []string{"203.0.113.9"}, "203.0.113.9"},
		{"what the client sent before the proxy wrote is not believed", "10.1.2.3:5", []string{"1.1.1.1, 203.0.113.9"}, "203.0.113.9"},
		{"two proxies", "10.1.2.3:5", []string{"1.1.1.1", "203.0.113.9, 192.0.2.1"}, "203.0.113.9"},
		{"only proxies", "10.1.2.3:5", []string{"10.9.9.9"}, "10.9.9.9"},
		{"a proxy that wrote nothing", "10.1.2.3:5", nil, "10.1.2.3"},
		{"a proxy that wrote nonsense", "10.1.2.3:5", []string{"unknown"}, "10.1.2.3"},
		{"IPv4 in IPv6", "[::ffff:10.1.2.3]:5", []string{"::ffff:203.0.113.9"}, "203.0.113.9"},
		{"IPv6 with a zone", "[fe80::1%eth0]:5", nil, "fe80::1"},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr = tc.peer
		r.Header["X-Forwarded-For"] = tc.forwarded
		if got := a.Remote(r); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
}
