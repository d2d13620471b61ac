package node

import (
	"bytes"
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"text/template"

	"slipway.dev/slipway/test/cluster/pki"
)

// The files that the parts read. They lie beside the code as text, since they are in the
// parts' own languages and are looked up in the parts' own manuals.
//
//go:embed configuration
var configurationFiles embed.FS

// identities are the parts that speak to the API server, under the names that
// Kubernetes's built-in roles expect of them.
func identities() []pki.Identity {
	return []pki.Identity{
		{
			File: "kube-apiserver", CommonName: "kube-apiserver", Addresses: serverAddresses(),
			Names: []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc." + ClusterDomain},
		},
		{File: "kube-apiserver-kubelet-client", CommonName: "kube-apiserver", Organizations: []string{"system:masters"}},
		{File: "admin", CommonName: "kubernetes-admin", Organizations: []string{"system:masters"}},
		{File: "kube-controller-manager", CommonName: "system:kube-controller-manager"},
		{File: "kube-scheduler", CommonName: "system:kube-scheduler"},
		{File: "kube-proxy", CommonName: "system:kube-proxy"},
		{File: "dns", CommonName: "slipway:test-dns"},
		{File: "network-policy", CommonName: "slipway:test-network-policy"},
		{
			File: "kubelet", CommonName: "system:node:" + NodeName, Organizations: []string{"system:nodes"},
			Names: []string{NodeName}, Addresses: serverAddresses()[:1],
		},
	}
}

// writeConfiguration writes certificates, kubeconfigs and the parts' files. Writing them
// again with the same content changes nothing.
func (c Cluster) writeConfiguration() error {
	authority, err := pki.Open(c.path("pki"))
	if err != nil {
		return err
	}
	for _, identity := range identities() {
		if err := authority.Issue(identity); err != nil {
			return err
		}
	}
	if err := authority.SigningKey("service-accounts"); err != nil {
		return err
	}
	for file, identity := range map[string]string{
		c.path("config", "kube-controller-manager.kubeconfig"): "kube-controller-manager",
		c.path("config", "kube-scheduler.kubeconfig"):          "kube-scheduler",
		c.path("config", "kube-proxy.kubeconfig"):              "kube-proxy",
		c.path("config", "kubelet.kubeconfig"):                 "kubelet",
		c.path("config", "dns.kubeconfig"):                     "dns",
		c.path("config", "network-policy.kubeconfig"):          "network-policy",
		c.Kubeconfig(): "admin",
	} {
		data, err := authority.Kubeconfig(c.APIServer(), identity)
		if err != nil {
			return err
		}
		if err := writeFile(file, data); err != nil {
			return err
		}
	}
	return c.writeTemplates()
}

func (c Cluster) writeTemplates() error {
	templates, err := template.New("").Option("missingkey=error").ParseFS(configurationFiles, "configuration/*")
	if err != nil {
		return fmt.Errorf("reading the parts' files: %w", err)
	}
	values, err := c.templateValues()
	if err != nil {
		return err
	}
	for _, each := range templates.Templates() {
		if each.Name() == "" {
			continue
		}
		var text bytes.Buffer
		if err := each.Execute(&text, values); err != nil {
			return fmt.Errorf("writing %s: %w", each.Name(), err)
		}
		folder := "config"
		if filepath.Ext(each.Name()) == ".conflist" {
			folder = "cni" // containerd takes every file of this folder for a network
		}
		if err := writeFile(c.path(folder, each.Name()), text.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

// writeFile writes a file as a whole, and only when its content differs: a test may be
// reading it, and kube-proxy ends when its file is so much as touched.
func writeFile(path string, data []byte) error {
	if now, err := os.ReadFile(path); err == nil && bytes.Equal(now, data) {
		return nil
	}
	if err := os.WriteFile(path+".new", data, 0o600); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

func (c Cluster) templateValues() (map[string]any, error) {
	runc, err := exec.LookPath("runc")
	if err != nil {
		return nil, fmt.Errorf("finding runc: %w", err)
	}
	return map[string]any{
		"Dir": c.Dir, "Socket": c.Socket(), "Runc": runc, "Handlers": Handlers, "PauseImage": PauseImage,
		"NodeAddress": NodeAddress, "NodeName": NodeName, "Bridge": Bridge, "Network": networkName,
		"PodNetwork": PodNetwork, "ClusterDomain": ClusterDomain, "OutsideNames": os.Getenv("SLIPWAY_CLUSTER_OUTSIDE_NAMES") == "yes",
		"KubeletPort": kubeletPort, "KubeletHealthPort": kubeletHealthPort,
		"ProxyMetricsPort": proxyMetricsPort, "ProxyHealthPort": proxyHealthPort, "DNSReadyPort": dnsReadyPort,
	}, nil
}
