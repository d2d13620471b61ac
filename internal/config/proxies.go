package config

import "net/netip"

// Proxies are the networks whose X-Forwarded-For is believed. Load has checked them.
func (c Config) Proxies() []netip.Prefix {
	var out []netip.Prefix
	for _, text := range c.TrustedProxies {
		if p, err := netip.ParsePrefix(text); err == nil {
			out = append(out, p)
		} else if a, err := netip.ParseAddr(text); err == nil {
			out = append(out, netip.PrefixFrom(a, a.BitLen()))
		}
	}
	return out
}
