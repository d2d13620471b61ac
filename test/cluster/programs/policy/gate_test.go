package main

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// World: pure.
func TestWhoseAnAddressIs(t *testing.T) {
	t.Parallel()
	pod := func(namespace string, phase v1.PodPhase, ips ...string) *v1.Pod {
		p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace}, Spec: v1.PodSpec{NodeName: "node"}, Status: v1.PodStatus{Phase: phase}}
		for _, ip := range ips {
			p.Status.PodIPs = append(p.Status.PodIPs, v1.PodIP{IP: ip})
		}
		return p
	}
	host, waiting := pod("policed", v1.PodPending), pod("policed", v1.PodPending)
	host.Spec.HostNetwork, waiting.Spec.NodeName = true, ""
	for _, tc := range []struct {
		name string
		pods []*v1.Pod
		want bool
	}{
		{"nobody is there", nil, true},
		{"the pod has told it", []*v1.Pod{pod("policed", v1.PodRunning, "10.0.0.7"), pod("policed", v1.PodPending)}, true},
		{"a pod under a policy has not told its own yet", []*v1.Pod{pod("policed", v1.PodPending), pod("policed", v1.PodRunning, "10.0.0.8")}, false},
		{"only a pod under no policy has not", []*v1.Pod{pod("free", v1.PodPending)}, true},
		{"one that has ended had it, and a new one may have it", []*v1.Pod{pod("policed", v1.PodSucceeded, "10.0.0.7"), pod("policed", v1.PodPending)}, false},
		{"one on the machine's own network has none", []*v1.Pod{host}, true},
		{"one that has no node yet has none", []*v1.Pod{waiting}, true},
	} {
		if got := settled("10.0.0.7", tc.pods, func(namespace string) bool { return namespace == "policed" }); got != tc.want {
			t.Errorf("%s: got %v, want %v", tc.name, got, tc.want)
		}
	}
}
