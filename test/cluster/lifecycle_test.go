//go:build lifecycle

package cluster_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"slipway.dev/slipway/test/cluster/node"
)

// World: cluster. It takes the cluster down and up again, with everything in it, so it
// has a build tag of its own and must run alone: go test -tags lifecycle -run Lifecycle .
func TestLifecycle(t *testing.T) {
	cluster := theCluster(t)
	do := func(name string, run func(context.Context) error) {
		t.Helper()
		begun := time.Now()
		if err := run(t.Context()); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		t.Logf("%s took %s", name, time.Since(begun).Round(100*time.Millisecond))
	}
	do("down, whatever was up", cluster.Down)
	before := lookAtMachine(t)
	do("down once more", cluster.Down)
	do("up from nothing", cluster.Up)
	do("up once more", cluster.Up)

	startWitness(t, cluster)
	kill(t, cluster, "kubelet", "containerd")
	do("up after kubelet and containerd were killed", cluster.Up)
	if restarts := witnessRestarts(t, cluster); restarts != 0 {
		t.Errorf("the pod was restarted %d times when only its keepers were killed", restarts)
	}

	kill(t, cluster, "etcd", "kube-apiserver")
	do("up after etcd and the API server were killed", cluster.Up)
	witnessRestarts(t, cluster)

	// As near to a restart of the machine as a test comes: no process, no network, and
	// the state of another boot.
	killEverything(t, cluster)
	if output, err := exec.Command("ip", "link", "delete", node.Bridge).CombinedOutput(); err != nil {
		t.Fatalf("removing the bridge: %v: %s", err, output)
	}
	if err := os.WriteFile(filepath.Join(cluster.Dir, "boot"), []byte("another boot"), 0o600); err != nil {
		t.Fatal(err)
	}
	do("up after everything was killed", cluster.Up)
	witnessRestarts(t, cluster)

	kill(t, cluster, "containerd")
	do("down after containerd was killed", cluster.Down)
	if diff := cmp.Diff(lookAtMachine(t), before); diff != "" {
		t.Errorf("down left something behind (-after +before):\n%s", diff)
	}

	do("up again", cluster.Up)
	startWitness(t, cluster)
	killEverything(t, cluster)
	do("down after everything was killed", cluster.Down)
	if diff := cmp.Diff(lookAtMachine(t), before); diff != "" {
		t.Errorf("down left something behind (-after +before):\n%s", diff)
	}

	do("up, for those who come after", cluster.Up)
	loadGuestbook(t, cluster)
}

// machine is what a cluster could leave behind.
type machine struct {
	Marked     []string // processes
	Interfaces []string
	Firewall   string
	Mounts     []string
	Settings   map[string]string
	Paths      []string
}

func lookAtMachine(t *testing.T) machine {
	t.Helper()
	seen := machine{Settings: map[string]string{}}
	for _, pid := range marked(t, theCluster(t)) {
		command, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err == nil {
			seen.Marked = append(seen.Marked, string(bytes.ReplaceAll(command, []byte{0}, []byte(" "))))
		}
	}
	interfaces, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, each := range interfaces {
		seen.Interfaces = append(seen.Interfaces, each.Name)
	}
	for _, command := range []string{"iptables-save", "ip6tables-save"} {
		output, err := exec.Command(command).Output()
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(output)) {
			// Not the comments, which hold the time, and not the tables that an empty
			// firewall gets by being looked at.
			if strings.HasPrefix(line, "-A ") || strings.Contains(line, "KUBE") || strings.Contains(line, "CNI") || strings.Contains(line, "SLIPWAY") {
				seen.Firewall += line
			}
		}
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		seen.Mounts = append(seen.Mounts, strings.Fields(line)[1])
	}
	for _, setting := range []string{"net/ipv4/ip_forward", "net/bridge/bridge-nf-call-iptables", "vm/overcommit_memory", "kernel/panic", "kernel/panic_on_oops"} {
		value, err := os.ReadFile("/proc/sys/" + setting)
		if err != nil {
			t.Fatal(err)
		}
		seen.Settings[setting] = strings.TrimSpace(string(value))
	}
	for _, pattern := range []string{
		node.DefaultDir(), "/var/lib/kubelet", "/var/lib/cni", "/var/log/containers/*", "/var/log/pods/*",
		"/run/containerd", "/run/netns/*", "/opt/containerd", "/opt/cni", "/etc/cni/*", "/sys/fs/cgroup/*/kubepods", "/sys/fs/cgroup/kubepods",
	} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		seen.Paths = append(seen.Paths, found...)
	}
	return seen
}

// marked lists the processes that the cluster started.
func marked(t *testing.T, cluster node.Cluster) []int {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	var found []int
	for _, file := range files {
		environment, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		if bytes.Contains(environment, []byte("SLIPWAY_TEST_CLUSTER="+cluster.Dir+"\x00")) {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, pid)
		}
	}
	return found
}

// kill kills parts of the cluster by their names, as the machine's memory manager might.
func kill(t *testing.T, cluster node.Cluster, parts ...string) {
	t.Helper()
	all, err := cluster.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range parts {
		for _, each := range all {
			if each.Part == part {
				if err := syscall.Kill(each.PID, syscall.SIGKILL); err != nil {
					t.Fatalf("killing %s: %v", part, err)
				}
			}
		}
	}
}

// killEverything kills the parts, the shims, and the containers' own processes.
func killEverything(t *testing.T, cluster node.Cluster) {
	t.Helper()
	pids := marked(t, cluster)
	groups, err := filepath.Glob("/sys/fs/cgroup/*/kubepods/*/*/*/cgroup.procs")
	if err != nil {
		t.Fatal(err)
	}
	shallower, err := filepath.Glob("/sys/fs/cgroup/*/kubepods/*/*/cgroup.procs")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(groups, shallower...) {
		data, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		for _, field := range strings.Fields(string(data)) {
			pid, err := strconv.Atoi(field)
			if err != nil {
				t.Fatal(err)
			}
			pids = append(pids, pid)
		}
	}
	for _, pid := range pids {
		// Most are in several groups, and gone at the second.
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			t.Fatalf("killing process %d: %v", pid, err)
		}
	}
}

func clientOf(t *testing.T, cluster node.Cluster) kubernetes.Interface {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", cluster.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// startWitness runs a pod that lives through what is done to the cluster.
func startWitness(t *testing.T, cluster node.Cluster) {
	t.Helper()
	_, err := clientOf(t, cluster).CoreV1().Pods("default").Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "witness"},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "main", Image: node.BusyboxImage, ImagePullPolicy: corev1.PullNever, Command: []string{"sleep", "86400"},
		}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	witnessRestarts(t, cluster)
}

// witnessRestarts waits until the witness runs, and a command can be run in it, and says
// how often it was started again.
func witnessRestarts(t *testing.T, cluster node.Cluster) int32 {
	t.Helper()
	w := &world{t: t, cluster: cluster, client: clientOf(t, cluster), namespace: "default"}
	var restarts int32
	w.wait("the witness", func() error {
		pod, err := w.client.CoreV1().Pods("default").Get(t.Context(), "witness", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if len(pod.Status.ContainerStatuses) != 1 || !pod.Status.ContainerStatuses[0].Ready {
			return fmt.Errorf("it is %s: %+v", pod.Status.Phase, pod.Status.ContainerStatuses)
		}
		restarts = pod.Status.ContainerStatuses[0].RestartCount
		// The kubelet's last word may be older than the witness's end.
		if output, err := w.kubectlCommand("", "exec", "witness", "--", "true"); err != nil {
			return fmt.Errorf("running a command in it: %w: %s", err, output)
		}
		return nil
	})
	return restarts
}
