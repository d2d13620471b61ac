package kube

import (
	"context"
	"net"
	"net/netip"
	"net/url"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/slipway"
)

// notPublic are the networks that are no part of the public internet, or lead back from it
// into private ones. Jobs run what anybody may have written in a pull request, so the
// machines around a runner must be out of its reach: their metadata services above all.
var notPublic = prefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
	"192.0.0.0/24", "192.0.2.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
	"224.0.0.0/4", "240.0.0.0/4",
	"168.63.129.16/32", // Azure's own services for each machine, under an address that looks public

	"::/128", "::1/128", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8", "100::/64", "2001:db8::/32",
	"64:ff9b::/96", "64:ff9b:1::/48", "2001::/32", "2002::/16", // an IPv4 address in other clothes
)

// neverAllowed stays closed in the networks that an operator opens.
var neverAllowed = prefixes("127.0.0.0/8", "169.254.0.0/16", "168.63.129.16/32", "::1/128", "fe80::/10", "fd00:ec2::/32")

var everywhere = prefixes("0.0.0.0/0", "::/0")

func prefixes(list ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(list))
	for i, s := range list {
		out[i] = netip.MustParsePrefix(s)
	}
	return out
}

// clusterNetworks are the cluster's own: its nodes, pods and services, and where its API
// server answers. They may have addresses of the public internet.
func (c *Client) clusterNetworks(ctx context.Context) ([]netip.Prefix, error) {
	var out []netip.Prefix
	add := func(text string) {
		if p, err := parseNetwork(text); err == nil {
			out = append(out, p)
		}
	}
	var nodes corev1.NodeList
	if err := c.listAll(ctx, &nodes); err != nil {
		return nil, explain(err, "list the nodes")
	}
	for i := range nodes.Items {
		n := &nodes.Items[i]
		for _, cidr := range n.Spec.PodCIDRs {
			add(cidr)
		}
		for _, a := range n.Status.Addresses {
			add(a.Address) // a host name is no address, and is left out
		}
	}
	var services networkingv1.ServiceCIDRList
	// Older clusters have no such kind; their services' networks are private ones.
	if err := c.listAll(ctx, &services); err != nil && !meta.IsNoMatchError(err) && !apierrors.IsNotFound(err) {
		return nil, explain(err, "list the networks of services")
	}
	for i := range services.Items {
		for _, cidr := range services.Items[i].Spec.CIDRs {
			add(cidr)
		}
	}
	var ends discoveryv1.EndpointSliceList
	if err := c.listAll(ctx, &ends, client.InNamespace(metav1.NamespaceDefault), client.MatchingLabels{discoveryv1.LabelServiceName: "kubernetes"}); err != nil {
		return nil, explain(err, "list the addresses of the API server")
	}
	for i := range ends.Items {
		for _, e := range ends.Items[i].Endpoints {
			for _, a := range e.Addresses {
				add(a)
			}
		}
	}
	if c.config != nil {
		if u, err := url.Parse(c.config.Host); err == nil {
			add(u.Hostname())
		}
	}
	return tidy(out), nil
}

// runnerPolicies are the network policies of a runner namespace: nothing in, and out only
// to the public internet, to the cluster's names, to the mirror's one pod, and to what the
// operator has opened. inside are the cluster's own networks.
func runnerPolicies(s RunnerSpace, inside []netip.Prefix) ([]*networkingv1.NetworkPolicy, error) {
	closed := tidy(slices.Concat(notPublic, inside))
	public := egressPolicy(policyPublicName)
	for _, all := range everywhere {
		public.Spec.Egress = append(public.Spec.Egress, networkingv1.NetworkPolicyEgressRule{To: []networkingv1.NetworkPolicyPeer{block(all, closed)}})
	}
	names := egressPolicy(policyDNSName)
	names.Spec.Egress = append(names.Spec.Egress, networkingv1.NetworkPolicyEgressRule{
		Ports: portsOf(53, corev1.ProtocolUDP, corev1.ProtocolTCP),
		To:    []networkingv1.NetworkPolicyPeer{onePod(metav1.NamespaceSystem, map[string]string{"k8s-app": "kube-dns"})},
	})
	for _, text := range s.DNS {
		p, err := parseNetwork(text)
		if err != nil || !p.IsSingleIP() {
			return nil, slipway.Errorf(slipway.Invalid, "runners.dns: %q is not an address", text).WithHint("write 169.254.20.10")
		}
		names.Spec.Egress = append(names.Spec.Egress, networkingv1.NetworkPolicyEgressRule{
			Ports: portsOf(53, corev1.ProtocolUDP, corev1.ProtocolTCP), To: []networkingv1.NetworkPolicyPeer{block(p, nil)},
		})
	}
	out := []*networkingv1.NetworkPolicy{denyAll(), public, names}
	if s.Mirror {
		mirror := egressPolicy(policyMirrorName)
		mirror.Spec.Egress = []networkingv1.NetworkPolicyEgressRule{{
			Ports: portsOf(MirrorPort, corev1.ProtocolTCP),
			To:    []networkingv1.NetworkPolicyPeer{onePod(MirrorNamespace, map[string]string{"app.kubernetes.io/name": MirrorName})},
		}}
		out = append(out, mirror)
	}
	if len(s.AllowEgress) > 0 {
		allowed := egressPolicy(policyAllowedName)
		for _, text := range s.AllowEgress {
			p, err := parseNetwork(text)
			if err != nil {
				return nil, slipway.Errorf(slipway.Invalid, "runners.allow_egress: %q is not a network", text).WithHint("write 10.20.0.0/16, or one address")
			}
			// A wide network may hold the cluster; what is named exactly is meant.
			allowed.Spec.Egress = append(allowed.Spec.Egress, networkingv1.NetworkPolicyEgressRule{
				To: []networkingv1.NetworkPolicyPeer{block(p, tidy(slices.Concat(neverAllowed, inside)))},
			})
		}
		out = append(out, allowed)
	}
	return out, nil
}

// denyAll closes the namespace in both directions for every pod.
func denyAll() *networkingv1.NetworkPolicy {
	return &networkingv1.NetworkPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: policyDenyName},
		Spec:       networkingv1.NetworkPolicySpec{PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress}},
	}
}

func egressPolicy(name string) *networkingv1.NetworkPolicy {
	return &networkingv1.NetworkPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       networkingv1.NetworkPolicySpec{PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeEgress}},
	}
}

// onePod selects by labels in one namespace, which the cluster itself marks with its name.
func onePod(namespace string, labels map[string]string) networkingv1.NetworkPolicyPeer {
	return networkingv1.NetworkPolicyPeer{
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}},
		PodSelector:       &metav1.LabelSelector{MatchLabels: labels},
	}
}

// block is a network without those of closed that lie wholly inside of it.
func block(p netip.Prefix, closed []netip.Prefix) networkingv1.NetworkPolicyPeer {
	b := &networkingv1.IPBlock{CIDR: p.String()}
	for _, c := range closed {
		if c.Addr().Is4() == p.Addr().Is4() && c.Bits() > p.Bits() && p.Contains(c.Addr()) {
			b.Except = append(b.Except, c.String())
		}
	}
	return networkingv1.NetworkPolicyPeer{IPBlock: b}
}

func portsOf(port int, protocols ...corev1.Protocol) []networkingv1.NetworkPolicyPort {
	var out []networkingv1.NetworkPolicyPort
	for _, p := range protocols {
		out = append(out, networkingv1.NetworkPolicyPort{Protocol: &p, Port: new(intstr.FromInt32(int32(port)))})
	}
	return out
}

// parseNetwork reads a network or one address.
func parseNetwork(text string) (netip.Prefix, error) {
	if p, err := netip.ParsePrefix(text); err == nil {
		return netip.PrefixFrom(p.Addr().Unmap(), p.Bits()).Masked(), nil
	}
	a, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Prefix{}, &net.ParseError{Type: "network", Text: text}
	}
	a = a.Unmap().WithZone("")
	return netip.PrefixFrom(a, a.BitLen()), nil
}

// tidy sorts networks and drops those that lie in another, so that the same cluster gives
// the same policy, and a cluster of many private nodes a short one.
func tidy(list []netip.Prefix) []netip.Prefix {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b netip.Prefix) int {
		if c := a.Addr().Compare(b.Addr()); c != 0 {
			return c
		}
		return a.Bits() - b.Bits()
	})
	var out []netip.Prefix
	for _, p := range list {
		if n := len(out); n > 0 && out[n-1].Bits() <= p.Bits() && out[n-1].Contains(p.Addr()) {
			continue
		}
		out = append(out, p)
	}
	return out
}
