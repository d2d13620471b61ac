package cluster_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"slipway.dev/slipway/test/cluster/node"
)

// web runs a pod that answers on 8080 and 9090, and returns its address.
func (w *world) web(name string) string {
	w.t.Helper()
	w.kubectl("", "run", name, "--image="+node.BusyboxImage, "--image-pull-policy=Never", "--labels=app="+name, "--command", "--",
		"sh", "-c", "cd /tmp; httpd -p 9090; exec httpd -f -p 8080")
	var ip string
	w.wait("the address of pod "+name, func() error {
		pod, err := w.client.CoreV1().Pods(w.namespace).Get(w.t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if ip = pod.Status.PodIP; ip == "" || pod.Status.Phase != corev1.PodRunning {
			return fmt.Errorf("it is %s", pod.Status.Phase)
		}
		return nil
	})
	return ip
}

// reaches starts a fresh pod with a label, which tries each address from its first moment
// on, and returns those that answered.
func (w *world) reaches(name, label string, targets ...string) string {
	w.t.Helper()
	script := "r=\n"
	for _, t := range targets {
		host, port, _ := strings.Cut(t, ":")
		if host == "dns" {
			script += "timeout 10 nslookup kubernetes.default.svc.cluster.local >/dev/null 2>&1 && r=\"$r dns\"\n"
			continue
		}
		script += fmt.Sprintf("timeout 3 nc %s %s </dev/null >/dev/null 2>&1 && r=\"$r %s\"\n", host, port, t)
	}
	w.kubectl("", "run", name, "--image="+node.BusyboxImage, "--image-pull-policy=Never", "--restart=Never", "--labels="+label, "--command", "--",
		"sh", "-c", script+"echo reached$r")
	w.wait("the end of pod "+name, func() error {
		pod, err := w.client.CoreV1().Pods(w.namespace).Get(w.t.Context(), name, metav1.GetOptions{})
		if err == nil && pod.Status.Phase != corev1.PodSucceeded {
			err = fmt.Errorf("it is %s", pod.Status.Phase)
		}
		return err
	})
	return strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(w.kubectl("", "logs", name)), "reached"))
}

func (w *world) policy(name, spec string) {
	w.t.Helper()
	p := networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := yaml.UnmarshalStrict([]byte(spec), &p.Spec); err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.client.NetworkingV1().NetworkPolicies(w.namespace).Create(w.t.Context(), &p, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

// World: cluster. Every denial stands beside the same connection without the policy.
func TestPoliciesOfWhatAPodMayReach(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	web := w.web("web")
	api, machine := "10.214.0.1:443", fmt.Sprintf("%s:%d", node.NodeAddress, node.APIPort)
	targets := []string{web + ":8080", api, machine, "dns:"}
	all := fmt.Sprintf("%s:8080 %s %s dns", web, api, machine)
	if got := w.reaches("before", "role=client", targets...); got != all {
		t.Fatalf("without a policy it reaches %q, want %q", got, all)
	}
	w.policy("nothing", "{podSelector: {matchLabels: {role: client}}, policyTypes: [Egress]}")
	if got := w.reaches("denied", "role=client", targets...); got != "" {
		t.Errorf("with nothing allowed it reaches %q", got)
	}
	if got := w.reaches("other", "role=other", targets...); got != all {
		t.Errorf("a pod that the policy does not select reaches %q, want %q", got, all)
	}
	w.policy("names", fmt.Sprintf(`{podSelector: {matchLabels: {role: client}}, policyTypes: [Egress],
		egress: [{to: [{ipBlock: {cidr: %s/32}}], ports: [{protocol: UDP, port: 53}, {protocol: TCP, port: 53}]}]}`, node.NodeAddress))
	if got := w.reaches("names", "role=client", targets...); got != "dns" {
		t.Errorf("with names allowed it reaches %q, want dns", got)
	}
	w.policy("but-private", fmt.Sprintf(`{podSelector: {matchLabels: {role: client}}, policyTypes: [Egress],
		egress: [{to: [{ipBlock: {cidr: 0.0.0.0/0, except: [%s]}}]}]}`, node.PodNetwork))
	if got := w.reaches("public", "role=client", targets...); got != "dns" {
		t.Errorf("with everything allowed but the pods' network it reaches %q, want dns", got)
	}
	w.policy("web", `{podSelector: {matchLabels: {role: client}}, policyTypes: [Egress], egress: [{to: [{podSelector: {matchLabels: {app: web}}}], ports: [{port: 8080}]}]}`)
	if got, want := w.reaches("web-only", "role=client", append(targets, web+":9090")...), web+":8080 dns"; got != want {
		t.Errorf("with one pod's port allowed it reaches %q, want %q", got, want)
	}
}

// World: cluster.
func TestPoliciesOfWhoMayReachAPod(t *testing.T) {
	t.Parallel()
	w, stranger := newWorld(t), newWorld(t)
	web := w.web("web")
	targets := []string{web + ":8080", web + ":9090"}
	both := strings.Join(targets, " ")
	if got := stranger.reaches("before", "role=friend", targets...); got != both {
		t.Fatalf("without a policy another namespace's pod reaches %q, want %q", got, both)
	}
	w.policy("friends", `{podSelector: {matchLabels: {app: web}}, policyTypes: [Ingress], ingress: [{from: [{podSelector: {matchLabels: {role: friend}}}], ports: [{port: 8080}]}]}`)
	for _, tc := range []struct {
		name, label string
		w           *world
		want        string
	}{
		{"a friend, on the port", "role=friend", w, web + ":8080"},
		{"somebody else", "role=other", w, ""},
		{"a friend of another namespace", "role=friend", stranger, ""},
	} {
		if got := tc.w.reaches("after-"+strings.ReplaceAll(tc.label, "=", "-"), tc.label, targets...); got != tc.want {
			t.Errorf("%s reaches %q, want %q", tc.name, got, tc.want)
		}
	}
	w.policy("namespace", fmt.Sprintf(`{podSelector: {matchLabels: {app: web}}, policyTypes: [Ingress],
		ingress: [{from: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %s}}}]}]}`, stranger.namespace))
	if got := stranger.reaches("let-in", "role=any", targets...); got != both {
		t.Errorf("with its namespace let in, a pod reaches %q, want %q", got, both)
	}
}
