package node

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"slipway.dev/slipway/test/cluster/process"
)

// before is what the machine was like before the cluster, so that Down can tell what
// the cluster added from what was there.
type before struct {
	BootID   string              `json:"boot_id"`
	Settings map[string]string   `json:"settings"` // the kernel's, by their path under /proc/sys
	Chains   map[string][]string `json:"chains"`   // the firewall's, by command and table
	Absent   []string            `json:"absent"`   // paths that were not there
}

// settings are those that the cluster's parts change when they start.
var settings = []string{
	"net/ipv4/ip_forward", "net/bridge/bridge-nf-call-iptables", "net/bridge/bridge-nf-call-ip6tables",
	"net/ipv4/conf/all/route_localnet", "net/netfilter/nf_conntrack_tcp_be_liberal",
	"vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops",
	"kernel/keys/root_maxkeys", "kernel/keys/root_maxbytes",
}

// outside are the paths beyond the cluster's folder that its programs write to, because
// they cannot be told otherwise. Parents stand after what lies in them.
var outside = []string{
	"/var/lib/kubelet/device-plugins", "/var/lib/kubelet",
	"/var/log/containers",
	"/var/lib/cni/results", "/var/lib/cni",
	"/run/containerd/s", "/run/containerd/io.containerd.runtime.v1.linux", "/run/containerd",
	"/etc/cni/net.d", "/etc/cni",
	"/opt/cni/bin", "/opt/cni",
}

// rememberMachine writes down what the machine is like, unless that has been done. After
// a restart of the machine its settings and chains are fresh, and are looked at again.
func (c Cluster) rememberMachine() error {
	boot, err := process.BootID()
	if err != nil {
		return err
	}
	remembered, err := c.machineBefore()
	if err != nil {
		return err
	}
	if remembered.BootID == boot {
		return nil
	}
	if remembered.BootID == "" {
		for _, path := range append(slices.Clone(outside), controlGroups()...) {
			if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
				remembered.Absent = append(remembered.Absent, path)
			}
		}
	}
	remembered.BootID, remembered.Settings = boot, map[string]string{}
	for _, setting := range settings {
		value, err := os.ReadFile(filepath.Join("/proc/sys", setting))
		if errors.Is(err, fs.ErrNotExist) {
			continue // a kernel without it
		}
		if err != nil {
			return fmt.Errorf("reading the kernel's setting %s: %w", setting, err)
		}
		remembered.Settings[setting] = strings.TrimSpace(string(value))
	}
	if remembered.Chains, err = firewallChains(); err != nil {
		return err
	}
	data, err := json.MarshalIndent(remembered, "", "  ")
	if err != nil {
		return fmt.Errorf("remembering the machine: %w", err)
	}
	if err := os.WriteFile(c.path("machine-before.json"), data, 0o600); err != nil {
		return fmt.Errorf("remembering the machine: %w", err)
	}
	return nil
}

// machineBefore reads what was remembered; nothing remembered is an empty answer.
func (c Cluster) machineBefore() (before, error) {
	var remembered before
	data, err := os.ReadFile(c.path("machine-before.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return remembered, nil
	}
	if err != nil {
		return remembered, fmt.Errorf("reading what the machine was like: %w", err)
	}
	if err := json.Unmarshal(data, &remembered); err != nil {
		return remembered, fmt.Errorf("reading what the machine was like: %w", err)
	}
	return remembered, nil
}

// restoreSettings sets the kernel's settings back. The machine's own administrator may
// have changed one meanwhile; then theirs is lost, which is why they are this few.
func restoreSettings(remembered before) error {
	boot, err := process.BootID()
	if err != nil {
		return err
	}
	if remembered.BootID != boot {
		return nil
	}
	var problems []error
	for setting, value := range remembered.Settings {
		path := filepath.Join("/proc/sys", setting)
		now, err := os.ReadFile(path)
		if err != nil {
			problems = append(problems, fmt.Errorf("reading the kernel's setting %s: %w", setting, err))
			continue
		}
		if strings.TrimSpace(string(now)) == value {
			continue
		}
		if err := os.WriteFile(path, []byte(value), 0o644); err != nil {
			problems = append(problems, fmt.Errorf("restoring the kernel's setting %s: %w", setting, err))
		}
	}
	return errors.Join(problems...)
}

// removeOutside removes what the programs left beyond the cluster's folder: files that
// are ours by their content or their name, and folders that were not there and are empty.
func (c Cluster) removeOutside(remembered before) error {
	var problems []error
	links, err := filepath.Glob("/var/log/containers/*.log")
	if err != nil {
		return fmt.Errorf("looking for links to logs: %w", err)
	}
	for _, link := range links {
		target, err := os.Readlink(link)
		if err == nil && strings.HasPrefix(target, c.path("pod-logs")+"/") {
			problems = append(problems, os.Remove(link))
		}
	}
	results, err := filepath.Glob("/var/lib/cni/results/" + networkName + "-*")
	if err != nil {
		return fmt.Errorf("looking for records of networks: %w", err)
	}
	for _, result := range results {
		problems = append(problems, os.Remove(result))
	}
	sockets, err := filepath.Glob("/run/containerd/s/*")
	if err != nil {
		return fmt.Errorf("looking for sockets of shims: %w", err)
	}
	for _, socket := range sockets {
		// A killed shim leaves its socket, whose name does not say whose it was. One that
		// nobody listens on is of no use to anyone.
		connection, err := net.DialTimeout("unix", socket, time.Second)
		if err == nil {
			problems = append(problems, connection.Close())
		} else if errors.Is(err, syscall.ECONNREFUSED) {
			problems = append(problems, os.Remove(socket))
		}
	}
	if slices.Contains(remembered.Absent, "/var/lib/kubelet/device-plugins") {
		problems = append(problems, os.RemoveAll("/var/lib/kubelet/device-plugins"))
	}
	for _, path := range outside {
		if !slices.Contains(remembered.Absent, path) {
			continue
		}
		if entries, err := os.ReadDir(path); err == nil && len(entries) == 0 {
			problems = append(problems, os.Remove(path))
		}
	}
	for _, group := range controlGroups() {
		if slices.Contains(remembered.Absent, group) {
			problems = append(problems, removeControlGroup(group))
		}
	}
	return errors.Join(problems...)
}

// controlGroups are where the kubelet keeps its pods' groups: one tree, or with the
// first version one for each controller.
func controlGroups() []string {
	all := []string{"/sys/fs/cgroup/kubepods"}
	controllers, err := filepath.Glob("/sys/fs/cgroup/*/cgroup.procs")
	if err != nil {
		return all // the pattern is a constant, and sound
	}
	for _, file := range controllers {
		all = append(all, filepath.Join(filepath.Dir(file), "kubepods"))
	}
	return all
}

// removeControlGroup removes a tree of groups from its leaves up; only an empty group
// can be removed, so nothing that lives is touched.
func removeControlGroup(root string) error {
	var groups []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if entry.IsDir() {
			groups = append(groups, path)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("looking through the control group %s: %w", root, err)
	}
	slices.Reverse(groups)
	for _, group := range groups {
		if err := os.Remove(group); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("removing the control group %s: %w", group, err)
		}
	}
	return nil
}
