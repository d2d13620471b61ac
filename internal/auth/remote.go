package auth

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// Remote is the address of the one who sent a request. X-Forwarded-For is read from its
// end, as far as those who wrote it are trusted proxies: everything before that, anyone
// can have made up.
func (a *Authenticator) Remote(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= 0 && a.trusts(ip); i-- {
		next, err := netip.ParseAddr(strings.TrimSpace(hops[i]))
		if err != nil {
			break
		}
		ip = next
	}
	return ip.Unmap().WithZone("").String()
}

func (a *Authenticator) trusts(ip netip.Addr) bool {
	for _, p := range a.proxies {
		if p.Contains(ip.Unmap()) {
			return true
		}
	}
	return false
}

// throttled is the address that failures count against: of IPv6 the network, since one
// household has more addresses than there are failures to allow.
func throttled(remote string) string {
	ip, err := netip.ParseAddr(remote)
	if err != nil || ip.Is4() {
		return remote
	}
	p, err := ip.Prefix(64)
	if err != nil {
		return remote
	}
	return p.String()
}
