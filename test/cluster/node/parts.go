package node

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"slipway.dev/slipway/test/cluster/process"
)

// part is one program of the cluster.
type part struct {
	name    string
	program string   // a path, or a name that is looked up
	args    []string // without the program's own name
	reads   []string // the files that it reads only when it starts
	healthy func(context.Context) error
	listens []string      // addresses that must be free before it starts
	within  time.Duration // how long a start may take
	after   string        // a part whose new start makes this one's necessary
}

// binaries are the folders of the programs that are compiled here.
type binaries struct{ kubernetes, dns, policy string }

// parts lists the programs in the order in which they are started. They end in the
// reverse order, so that each still finds what it depends on.
func (c Cluster) parts(built binaries) []part {
	config := func(file string) string { return c.path("config", file) }
	key := func(file string) string { return c.path("pki", file) }
	kubernetes := func(name string) string { return filepath.Join(built.kubernetes, name) }
	return []part{
		{
			name: "etcd", listens: []string{loopback(etcdPort), loopback(etcdPeerPort)},
			program: "etcd", within: 30 * time.Second,
			healthy: answers(fmt.Sprintf("http://127.0.0.1:%d/health", etcdPort)),
			args: []string{
				"--name=" + NodeName, "--data-dir=" + c.path("etcd"),
				fmt.Sprintf("--listen-client-urls=http://127.0.0.1:%d", etcdPort),
				fmt.Sprintf("--advertise-client-urls=http://127.0.0.1:%d", etcdPort),
				fmt.Sprintf("--listen-peer-urls=http://127.0.0.1:%d", etcdPeerPort),
				fmt.Sprintf("--initial-advertise-peer-urls=http://127.0.0.1:%d", etcdPeerPort),
				fmt.Sprintf("--initial-cluster=%s=http://127.0.0.1:%d", NodeName, etcdPeerPort),
				"--auto-compaction-retention=1",
			},
		},
		{
			name: "containerd", program: "containerd", within: 30 * time.Second,
			args:    []string{"--config", config("containerd.toml")},
			reads:   []string{config("containerd.toml")},
			healthy: c.runtimeAnswers,
		},
		{
			name: "kube-apiserver", listens: []string{fmt.Sprintf("%s:%d", NodeAddress, APIPort)},
			program: kubernetes("kube-apiserver"), within: 2 * time.Minute,
			healthy: c.apiAnswers,
			reads:   []string{key("ca.crt"), key("kube-apiserver.crt"), key("service-accounts.pub")},
			args: []string{
				"--bind-address=" + NodeAddress, "--advertise-address=" + NodeAddress,
				"--secure-port=" + strconv.Itoa(APIPort),
				fmt.Sprintf("--etcd-servers=http://127.0.0.1:%d", etcdPort),
				"--tls-cert-file=" + key("kube-apiserver.crt"), "--tls-private-key-file=" + key("kube-apiserver.key"),
				"--client-ca-file=" + key("ca.crt"),
				"--kubelet-certificate-authority=" + key("ca.crt"),
				"--kubelet-client-certificate=" + key("kube-apiserver-kubelet-client.crt"),
				"--kubelet-client-key=" + key("kube-apiserver-kubelet-client.key"),
				// The node's name is known to nobody; its address is.
				"--kubelet-preferred-address-types=InternalIP",
				"--service-account-issuer=https://kubernetes.default.svc." + ClusterDomain,
				"--service-account-key-file=" + key("service-accounts.pub"),
				"--service-account-signing-key-file=" + key("service-accounts.key"),
				"--service-cluster-ip-range=" + ServiceRange,
				"--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction",
				"--allow-privileged=true", "--profiling=false",
			},
		},
		{
			name: "kube-controller-manager", listens: []string{loopback(controllerManagerPort)},
			program: kubernetes("kube-controller-manager"), within: time.Minute,
			healthy: answers(fmt.Sprintf("https://127.0.0.1:%d/healthz", controllerManagerPort)),
			reads:   []string{key("ca.crt"), config("kube-controller-manager.kubeconfig")},
			args: append(c.client("kube-controller-manager", controllerManagerPort),
				"--cert-dir="+c.path("run", "kube-controller-manager"),
				"--root-ca-file="+key("ca.crt"),
				"--service-account-private-key-file="+key("service-accounts.key"),
				"--cluster-signing-cert-file="+key("ca.crt"), "--cluster-signing-key-file="+key("ca.key"),
				"--use-service-account-credentials=true",
			),
		},
		{
			name: "kube-scheduler", listens: []string{loopback(schedulerPort)},
			program: kubernetes("kube-scheduler"), within: time.Minute,
			healthy: answers(fmt.Sprintf("https://127.0.0.1:%d/healthz", schedulerPort)),
			reads:   []string{config("kube-scheduler.kubeconfig")},
			args: append(c.client("kube-scheduler", schedulerPort),
				"--cert-dir="+c.path("run", "kube-scheduler")),
		},
		{
			// Before the kubelet, so that no pod begins without it.
			name: "network-policy", program: filepath.Join(built.policy, "policy"), within: time.Minute,
			healthy: queuesAreRead,
			reads:   []string{config("network-policy.kubeconfig")},
			args: []string{
				"-kubeconfig", config("network-policy.kubeconfig"), "-node", NodeName, "-pods", PodNetwork, "-machine", NodeAddress,
				"-gate", strconv.Itoa(gateQueue), "-queue", strconv.Itoa(policyQueue),
			},
		},
		{
			name: "kubelet", listens: []string{fmt.Sprintf("%s:%d", NodeAddress, kubeletPort), loopback(kubeletHealthPort)},
			program: kubernetes("kubelet"), within: time.Minute, after: "containerd",
			healthy: answers(fmt.Sprintf("http://127.0.0.1:%d/healthz", kubeletHealthPort)),
			reads:   []string{config("kubelet.yaml"), config("kubelet.kubeconfig"), key("kubelet.crt")},
			args: []string{
				"--config=" + config("kubelet.yaml"), "--kubeconfig=" + config("kubelet.kubeconfig"),
				"--root-dir=" + c.path("kubelet"), "--cert-dir=" + c.path("kubelet", "pki"),
				"--hostname-override=" + NodeName, "--node-ip=" + NodeAddress,
			},
		},
		{
			name: "kube-proxy", listens: []string{loopback(proxyHealthPort), loopback(proxyMetricsPort)},
			program: kubernetes("kube-proxy"), within: time.Minute,
			healthy: answers(fmt.Sprintf("http://127.0.0.1:%d/livez", proxyHealthPort)),
			reads:   []string{config("kube-proxy.yaml"), config("kube-proxy.kubeconfig")},
			args:    []string{"--config=" + config("kube-proxy.yaml")},
		},
		{
			name: "dns", listens: []string{NodeAddress + ":53", loopback(dnsReadyPort)},
			program: filepath.Join(built.dns, "dns"), within: time.Minute,
			healthy: answers(fmt.Sprintf("http://127.0.0.1:%d/ready", dnsReadyPort)),
			reads:   []string{config("Corefile"), config("dns.kubeconfig")},
			args:    []string{"-conf", config("Corefile")},
		},
	}
}

// client are the arguments of a part that serves its own health and asks the API server
// both for its work and for who may see it. One of each runs, so nobody must be elected.
func (c Cluster) client(name string, port int) []string {
	kubeconfig := c.path("config", name+".kubeconfig")
	return []string{
		"--kubeconfig=" + kubeconfig, "--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
		"--bind-address=127.0.0.1", "--secure-port=" + strconv.Itoa(port), "--leader-elect=false", "--profiling=false",
	}
}

func loopback(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }

// spec says how the part is started. Its fingerprint covers what it reads only then.
func (c Cluster) spec(p part) (process.Spec, error) {
	program, err := exec.LookPath(p.program)
	if err != nil {
		return process.Spec{}, fmt.Errorf("finding %s: %w", p.program, err)
	}
	hash := sha256.New()
	fmt.Fprintf(hash, "%s %q\n", program, p.args)
	for _, file := range p.reads {
		data, err := os.ReadFile(file)
		if err != nil {
			return process.Spec{}, fmt.Errorf("reading what %s reads: %w", p.name, err)
		}
		fmt.Fprintf(hash, "%d ", len(data))
		hash.Write(data)
	}
	return process.Spec{
		Name: p.name, Path: program,
		Args: append([]string{filepath.Base(program)}, p.args...),
		// A whole environment of its own: a proxy or a locale of the person who starts
		// the cluster must not reach it.
		Env:         []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=" + c.Dir, "GOGC=75"},
		Dir:         c.Dir,
		Fingerprint: hex.EncodeToString(hash.Sum(nil)),
	}, nil
}
