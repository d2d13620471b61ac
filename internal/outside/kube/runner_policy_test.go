package kube

import (
	"net/netip"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	"pgregory.net/rapid"

	"slipway.dev/slipway/internal/slipway"
)

// The tests of this file stand in the pure world.

// opens reports whether the policies let a pod of the namespace out to an address, by the
// rule of NetworkPolicies: any of their blocks may.
func opens(ps []*networkingv1.NetworkPolicy, a netip.Addr, port int32) bool {
	for _, p := range ps {
		for _, r := range p.Spec.Egress {
			if len(r.Ports) > 0 && (r.Ports[0].Port == nil || r.Ports[0].Port.IntVal != port) {
				continue
			}
			for _, to := range r.To {
				if to.IPBlock == nil || !netip.MustParsePrefix(to.IPBlock.CIDR).Contains(a) {
					continue
				}
				closed := false
				for _, e := range to.IPBlock.Except {
					closed = closed || netip.MustParsePrefix(e).Contains(a)
				}
				if !closed {
					return true
				}
			}
		}
	}
	return false
}

func TestRunnersReachThePublicInternetOnly(t *testing.T) {
	t.Parallel()
	inside := prefixes("52.1.0.0/16", "10.42.0.0/24", "34.118.224.0/20", "20.30.40.50/32", "2600:1f00::/56")
	ps, err := runnerPolicies(RunnerSpace{}, inside)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		what, address string
		want          bool
	}{
		{"github.com", "140.82.121.4", true},
		{"an address beside the cluster's", "52.2.0.1", true},
		{"GitHub's IPv6", "2a0a:a440::1", true},
		{"a node with a public address", "20.30.40.50", false},
		{"pods with public addresses", "52.1.3.4", false},
		{"services with public addresses", "34.118.225.1", false},
		{"pods with public IPv6 addresses", "2600:1f00::7", false},
		{"a private network", "10.0.0.1", false},
		{"another private network", "192.168.178.1", false},
		{"the metadata service", "169.254.169.254", false},
		{"the metadata service of AWS in IPv6", "fd00:ec2::254", false},
		{"the machine services of Azure", "168.63.129.16", false},
		{"the metadata service of Alibaba", "100.100.100.200", false},
		{"a metadata service behind NAT64", "64:ff9b::a9fe:a9fe", false},
		{"a private network by 6to4", "2002:a00:1::1", false},
		{"a link-local neighbour", "fe80::1", false},
		{"all neighbours", "ff02::1", false},
		{"nobody", "0.0.0.0", false},
	} {
		if got := opens(ps, netip.MustParseAddr(tc.address), 443); got != tc.want {
			t.Errorf("%s (%s): open %v, want %v", tc.what, tc.address, got, tc.want)
		}
	}
}

func TestRunnersAreClosedInBothDirections(t *testing.T) {
	t.Parallel()
	ps, err := runnerPolicies(RunnerSpace{Mirror: true, DNS: []string{"169.254.20.10"}, AllowEgress: []string{"10.20.0.0/16"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	deny := ps[0]
	if deny.Name != policyDenyName || len(deny.Spec.PolicyTypes) != 2 || len(deny.Spec.Ingress) != 0 || len(deny.Spec.Egress) != 0 {
		t.Errorf("the first policy does not close everything: %+v", deny.Spec)
	}
	for _, p := range ps {
		if len(p.Spec.Ingress) > 0 {
			t.Errorf("%s lets something in", p.Name)
		}
		if len(p.Spec.PodSelector.MatchLabels)+len(p.Spec.PodSelector.MatchExpressions) > 0 {
			t.Errorf("%s holds for some pods only", p.Name)
		}
		for _, r := range p.Spec.Egress {
			if len(r.To) == 0 {
				t.Errorf("%s opens every way out", p.Name)
			}
			for _, to := range r.To {
				if to.IPBlock == nil && (to.NamespaceSelector == nil || to.PodSelector == nil || len(to.PodSelector.MatchLabels) == 0 || len(r.Ports) == 0) {
					t.Errorf("%s opens more of the cluster than a port of a pod: %+v", p.Name, to)
				}
			}
		}
	}
}

func TestMirrorIsOnePodOnOnePort(t *testing.T) {
	t.Parallel()
	count := func(s RunnerSpace) (n int) {
		ps, err := runnerPolicies(s, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range ps {
			if p.Name != policyMirrorName {
				continue
			}
			n++
			r := p.Spec.Egress[0]
			if len(p.Spec.Egress) != 1 || len(r.Ports) != 1 || r.Ports[0].Port.IntVal != 5000 || *r.Ports[0].Protocol != "TCP" {
				t.Errorf("the mirror's ports: %+v", r.Ports)
			}
			if to := r.To[0]; to.NamespaceSelector.MatchLabels["kubernetes.io/metadata.name"] != "slipway-actions-mirror" {
				t.Errorf("the mirror's place: %+v", to)
			}
		}
		return n
	}
	if with, without := count(RunnerSpace{Mirror: true}), count(RunnerSpace{}); with != 1 || without != 0 {
		t.Errorf("%d policies with a mirror, %d without", with, without)
	}
}

func TestAllowedNetworksOpenNoMachineOfTheCluster(t *testing.T) {
	t.Parallel()
	inside := prefixes("10.20.3.4/32", "10.42.0.0/16")
	for _, tc := range []struct {
		what    string
		allow   []string
		address string
		port    int32
		want    bool
	}{
		{"a GitHub Enterprise Server", []string{"10.20.0.0/16"}, "10.20.9.9", 443, true},
		{"one address", []string{"10.20.9.9"}, "10.20.9.9", 443, true},
		{"its neighbour", []string{"10.20.9.9"}, "10.20.9.8", 443, false},
		{"a node in the same network", []string{"10.20.0.0/16"}, "10.20.3.4", 6443, false},
		{"pods in a wider network", []string{"10.0.0.0/8"}, "10.42.1.1", 443, false},
		{"the metadata service, when everything is allowed", []string{"0.0.0.0/0"}, "169.254.169.254", 80, false},
		{"an address of the cluster that is named exactly", []string{"10.42.1.1"}, "10.42.1.1", 443, true},
	} {
		ps, err := runnerPolicies(RunnerSpace{AllowEgress: tc.allow}, inside)
		if err != nil {
			t.Fatal(err)
		}
		if got := opens(ps, netip.MustParseAddr(tc.address), tc.port); got != tc.want {
			t.Errorf("%s: open %v, want %v", tc.what, got, tc.want)
		}
	}
	ps, err := runnerPolicies(RunnerSpace{DNS: []string{"10.20.3.4"}}, inside)
	if err != nil {
		t.Fatal(err)
	}
	if a := netip.MustParseAddr("10.20.3.4"); !opens(ps, a, 53) || opens(ps, a, 6443) {
		t.Error("a name server on a node is open on port 53 and on no other")
	}
	for _, s := range []RunnerSpace{{AllowEgress: []string{"github.example.com"}}, {DNS: []string{"10.0.0.0/8"}}} {
		if _, err := runnerPolicies(s, nil); !slipway.Is(err, slipway.Invalid) || !strings.Contains(err.Error(), "runners.") {
			t.Errorf("%+v: %v", s, err)
		}
	}
}

// Each except must lie strictly within its block, or the API server refuses the policy;
// and the order of the cluster's nodes must not change it.
func TestBlocksAreValidAndSteady(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var inside []netip.Prefix
		for range rapid.IntRange(0, 12).Draw(t, "networks") {
			b := rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "address")
			p, _ := netip.AddrFrom4([4]byte(b)).Prefix(rapid.IntRange(8, 32).Draw(t, "bits"))
			inside = append(inside, p)
		}
		again := rapid.Permutation(inside).Draw(t, "another order")
		a, err := runnerPolicies(RunnerSpace{AllowEgress: []string{"10.0.0.0/8"}}, inside)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := runnerPolicies(RunnerSpace{AllowEgress: []string{"10.0.0.0/8"}}, again)
		for i := range a {
			if !sameSpec(a[i], b[i]) {
				t.Fatalf("%s differs with the order of the nodes", a[i].Name)
			}
			for _, r := range a[i].Spec.Egress {
				for _, to := range r.To {
					if to.IPBlock == nil {
						continue
					}
					whole := netip.MustParsePrefix(to.IPBlock.CIDR)
					for _, e := range to.IPBlock.Except {
						p := netip.MustParsePrefix(e)
						if !whole.Contains(p.Addr()) || p.Bits() <= whole.Bits() || p != p.Masked() {
							t.Fatalf("except %s in %s", p, whole)
						}
					}
				}
			}
		}
		for _, p := range inside {
			if opens(a[:3], p.Addr(), 443) {
				t.Fatalf("%s of the cluster is open", p)
			}
		}
	})
}
