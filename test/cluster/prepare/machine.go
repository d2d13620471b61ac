package prepare

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// needs are the programs that come from Debian, and the package of each. cluster.sh
// installs the same packages; a test compares the two lists.
var needs = []struct{ program, pkg string }{
	{"containerd", "containerd"},
	{"ctr", "containerd"},
	{"runc", "runc"},
	{"/usr/lib/cni/bridge", "containernetworking-plugins"},
	{"etcd", "etcd-server"},
	{"iptables", "iptables"},
	{"ip", "iproute2"},
	{"conntrack", "conntrack"},
	{"busybox", "busybox-static"},
}

// Packages are the Debian packages that the cluster needs.
func Packages() []string {
	var all []string
	seen := map[string]bool{}
	for _, need := range needs {
		if !seen[need.pkg] {
			seen[need.pkg] = true
			all = append(all, need.pkg)
		}
	}
	return all
}

// CheckMachine says, in one error, everything that keeps a cluster from running here.
func CheckMachine() error {
	var problems []string
	if os.Geteuid() != 0 {
		problems = append(problems, "it must be started by root: it makes network interfaces, mounts and containers")
	}
	var missing []string
	for _, need := range needs {
		if _, err := exec.LookPath(need.program); err != nil && !slices.Contains(missing, need.pkg) {
			missing = append(missing, need.pkg)
		}
	}
	if len(missing) > 0 {
		problems = append(problems, fmt.Sprintf("Debian packages are missing: apt-get install -y --no-install-recommends %s", strings.Join(missing, " ")))
	}
	if _, err := os.Stat("/proc/sys/net/bridge/bridge-nf-call-iptables"); err != nil {
		// Without it, answers between two pods bypass the address translation of Services.
		problems = append(problems, "the kernel's bridge filter is not there: modprobe br_netfilter")
	}
	if _, err := os.Stat("/sys/fs/cgroup"); err != nil {
		problems = append(problems, "no control groups are mounted at /sys/fs/cgroup")
	}
	if len(problems) == 0 {
		return nil
	}
	return errors.New("the test cluster cannot run here: " + strings.Join(problems, "; "))
}
