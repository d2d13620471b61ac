// Package node runs a real Kubernetes on this machine: one node, every part a plain
// process, no systemd and no container registry.
//
// Up works by level, not by edge: it looks at each part, leaves alone what runs as it
// should, and starts what does not. So the first start, a second `up`, a part that was
// killed and a machine that was restarted are one and the same path. Down ends
// everything and puts the machine back as Up found it.
//
// It is for tests and for the demonstration only. It must never be pointed at a machine
// that serves a cluster of its own, and it may never delete a folder, a process, a
// firewall chain or an interface that it did not make.
package node

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"slipway.dev/slipway/test/cluster/process"
)

// The cluster's addresses. They are private ones that few use, and the ports lie below
// the range from which Linux takes ports for outgoing connections.
const (
	NodeName    = "slipway-test"
	Bridge      = "slipway-test0"
	NodeAddress = "10.213.0.1" // the bridge's own: what pods reach the machine by
	PodNetwork  = "10.213.0.0/24"
	// OutsideAddress is one more of the machine's, which stands for a server in a private
	// network of its own. Nothing of the cluster listens on it.
	OutsideAddress = "10.215.0.1"
	ServiceRange   = "10.214.0.0/16"
	serviceFirst   = "10.214.0.1" // the API server's own Service
	ClusterDomain  = "cluster.local"
	networkName    = "slipway-test"

	APIPort               = 24443
	kubeletPort           = 24250
	kubeletHealthPort     = 24248
	proxyMetricsPort      = 24249
	proxyHealthPort       = 24256
	controllerManagerPort = 24257
	schedulerPort         = 24259
	dnsReadyPort          = 24281
	etcdPort              = 24379
	etcdPeerPort          = 24380
)

// Images that are always there, for tests to use.
const (
	PauseImage   = "docker.io/local/pause:1"
	BusyboxImage = "docker.io/local/busybox:1"
)

// DriverImages are the names of the image that a driver of "slipway driver init" starts
// with. Here they are Debian's busybox, which has the same programs.
var DriverImages = []string{"docker.io/library/busybox:1.36.1", "docker.io/library/busybox:1.37.0"}

// Handlers are the runtime handlers that containerd knows. The second stands for the
// sandbox's: it maps to plain runc, so that a RuntimeClass can be scheduled and refused
// for real where gVisor has no containerd shim. It isolates nothing.
var Handlers = []string{"runc", "slipway-actions"}

// runnersLabel marks a node that is prepared for runner pods.
const runnersLabel = "slipway.dev/actions-runtime=ready"

// Cluster is one test cluster, by the folder that holds everything it keeps.
type Cluster struct {
	Dir    string // the state
	Source string // the folder of this module, for what must be compiled
	Report func(format string, arguments ...any)
}

// DefaultDir is where the state is kept unless SLIPWAY_CLUSTER_DIR says otherwise.
func DefaultDir() string {
	if dir := os.Getenv("SLIPWAY_CLUSTER_DIR"); dir != "" {
		return dir
	}
	return "/var/lib/slipway-test-cluster"
}

// Kubeconfig is the path of the administrator's kubeconfig.
func (c Cluster) Kubeconfig() string { return c.path("kubeconfig") }

// APIServer is the address of the API server.
func (c Cluster) APIServer() string { return fmt.Sprintf("https://%s:%d", NodeAddress, APIPort) }

// Socket is containerd's.
func (c Cluster) Socket() string { return c.path("run", "containerd.sock") }

func (c Cluster) path(elements ...string) string {
	return filepath.Join(append([]string{c.Dir}, elements...)...)
}

// keeper keeps the processes. The mark names the state's folder, so that two clusters on
// one machine never end each other's processes.
func (c Cluster) keeper() process.Keeper {
	return process.Keeper{
		Records: c.path("run", "processes"),
		Logs:    c.path("logs"),
		Mark:    "SLIPWAY_TEST_CLUSTER=" + c.Dir,
	}
}

// ownerFile marks a folder as made here. Down refuses to remove one without it.
const ownerFile = "slipway-test-cluster"

// makeFolders makes the state's folders. Those under run do not survive a restart of the
// machine: what a program keeps there describes processes and mounts that are gone.
func (c Cluster) makeFolders(ctx context.Context) error {
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return fmt.Errorf("making the cluster's folder: %w", err)
	}
	if err := c.claim(); err != nil {
		return err
	}
	boot, err := process.BootID()
	if err != nil {
		return err
	}
	last, err := os.ReadFile(c.path("boot"))
	if err == nil && string(last) != boot {
		c.Report("the machine was restarted since; starting every part again")
		if err := unmountUnder(ctx, c.path("run")); err != nil {
			return err
		}
		if err := os.RemoveAll(c.path("run")); err != nil {
			return fmt.Errorf("clearing what the last boot left: %w", err)
		}
	} else if err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("reading the last boot's identity: %w", err)
	}
	for _, folder := range []string{
		"run/processes", "logs", "config", "pki", "cni", "pod-logs", "volume-plugins", "etcd", "containerd", "kubelet", "images",
	} {
		if err := os.MkdirAll(c.path(folder), 0o700); err != nil {
			return fmt.Errorf("making folder %s: %w", folder, err)
		}
	}
	// Pods of other users read their own logs and volumes through these.
	for _, folder := range []string{"", "run", "kubelet", "pod-logs", "containerd"} {
		if err := os.Chmod(c.path(folder), 0o711); err != nil {
			return fmt.Errorf("opening folder %s: %w", folder, err)
		}
	}
	if err := os.WriteFile(c.path("boot"), []byte(boot), 0o600); err != nil {
		return fmt.Errorf("recording the boot's identity: %w", err)
	}
	return nil
}

// claim makes the folder ours if it is empty, and otherwise insists that it already is.
func (c Cluster) claim() error {
	owned, err := c.owned()
	if err != nil || owned {
		return err
	}
	entries, err := os.ReadDir(c.Dir)
	if err != nil {
		return fmt.Errorf("reading the cluster's folder: %w", err)
	}
	if len(entries) > 0 {
		return fmt.Errorf("%s holds files that are not a test cluster's; name an empty folder in SLIPWAY_CLUSTER_DIR", c.Dir)
	}
	note := "The state of Slipway's test cluster. Remove it with: test/cluster/cluster.sh down\n"
	if err := os.WriteFile(c.path(ownerFile), []byte(note), 0o600); err != nil {
		return fmt.Errorf("claiming the cluster's folder: %w", err)
	}
	return nil
}

func (c Cluster) owned() (bool, error) {
	_, err := os.Stat(c.path(ownerFile))
	if os.IsNotExist(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("looking at the cluster's folder: %w", err)
	}
	return true, nil
}

// check refuses a folder whose path would not work, before anything is made.
func (c Cluster) check() error {
	if !filepath.IsAbs(c.Dir) || filepath.Clean(c.Dir) == "/" {
		return fmt.Errorf("the cluster's folder must be an absolute path of its own, and not %q", c.Dir)
	}
	// A Unix socket's path has room for 107 characters.
	if longest := c.Socket() + ".ttrpc"; len(longest) > 107 {
		return fmt.Errorf("the cluster's folder %q has too long a path for the sockets in it", c.Dir)
	}
	return nil
}

// addresses that the API server answers to.
func serverAddresses() []net.IP {
	return []net.IP{net.ParseIP(NodeAddress), net.ParseIP(serviceFirst), net.IPv4(127, 0, 0, 1)}
}
