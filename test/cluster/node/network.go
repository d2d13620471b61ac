package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// bridgeHardware is the bridge's own hardware address. Without one it takes that of a
// pod, and changes it when the pod goes, and connections to it stall meanwhile.
const bridgeHardware = "02:53:4c:49:50:01"

// ensureNetwork makes the bridge that pods are attached to, with the address under which
// they reach this machine, and returns whether it had to.
func ensureNetwork(ctx context.Context) (made bool, err error) {
	if err := addressesAreFree(); err != nil {
		return false, err
	}
	for setting, value := range map[string]string{
		"net/ipv4/ip_forward": "1",
		// Answers between two pods must pass the firewall too, or a Service's address
		// would not be translated back.
		"net/bridge/bridge-nf-call-iptables": "1",
	} {
		if err := os.WriteFile("/proc/sys/"+setting, []byte(value), 0o644); err != nil {
			return false, fmt.Errorf("setting %s: %w", setting, err)
		}
	}
	if _, err := net.InterfaceByName(Bridge); err != nil {
		if err := run(ctx, "ip", "link", "add", "name", Bridge, "address", bridgeHardware, "type", "bridge"); err != nil {
			return false, fmt.Errorf("making the pods' bridge: %w", err)
		}
		made = true
	}
	if err := run(ctx, "ip", "address", "replace", NodeAddress+"/24", "dev", Bridge); err != nil {
		return made, fmt.Errorf("giving the pods' bridge its address: %w", err)
	}
	if err := run(ctx, "ip", "address", "replace", OutsideAddress+"/32", "dev", Bridge); err != nil {
		return made, fmt.Errorf("giving the pods' bridge its second address: %w", err)
	}
	if err := run(ctx, "ip", "link", "set", Bridge, "up"); err != nil {
		return made, fmt.Errorf("starting the pods' bridge: %w", err)
	}
	if err := ensureFirewall(ctx); err != nil {
		return made, err
	}
	return made, ensurePolicyQueues(ctx)
}

// chain is our own in the firewall. It stands after those of Kubernetes.
const chain = "SLIPWAY-TEST"

// ensureFirewall lets pods out where the machine forwards nothing by itself (one with
// Docker does not), and refuses what is sent to a Service's address and was not
// translated: before kube-proxy knows a new Service, such packets would leave the
// machine, and on some networks somebody answers them.
func ensureFirewall(ctx context.Context) error {
	restore := exec.CommandContext(ctx, "iptables-restore", "--noflush", "--wait", "10")
	restore.Stdin = strings.NewReader(strings.Join([]string{
		"*filter",
		":" + chain + " - [0:0]", // makes it, or empties it
		"-A " + chain + " -d " + ServiceRange + " -p tcp -j REJECT --reject-with tcp-reset",
		"-A " + chain + " -d " + ServiceRange + " -j REJECT",
		"-A " + chain + " -i " + Bridge + " -j ACCEPT",
		"-A " + chain + " -o " + Bridge + " -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT",
		"COMMIT", "",
	}, "\n"))
	if output, err := restore.CombinedOutput(); err != nil {
		return fmt.Errorf("writing the firewall's rules: %w: %s", err, bytes.TrimSpace(output))
	}
	return jump(ctx, "filter", chain, "FORWARD", "OUTPUT")
}

// jump makes chains of a table lead to one of ours.
func jump(ctx context.Context, table, to string, from ...string) error {
	for _, each := range from {
		if run(ctx, "iptables", "--wait", "10", "-t", table, "-C", each, "-j", to) == nil {
			continue
		}
		if err := run(ctx, "iptables", "--wait", "10", "-t", table, "-A", each, "-j", to); err != nil {
			return fmt.Errorf("writing the firewall's rules: %w", err)
		}
	}
	return nil
}

// addressesAreFree refuses to start where another interface uses our addresses: packets
// would go to the wrong one of the two, now and then.
func addressesAreFree() error {
	interfaces, err := net.Interfaces()
	if err != nil {
		return fmt.Errorf("listing network interfaces: %w", err)
	}
	for _, each := range interfaces {
		if each.Name == Bridge {
			continue
		}
		addresses, err := each.Addrs()
		if err != nil {
			continue // it went away between the two questions
		}
		for _, address := range addresses {
			for _, ours := range []string{PodNetwork, ServiceRange, OutsideAddress + "/32"} {
				_, network, err := net.ParseCIDR(ours)
				if err != nil {
					return fmt.Errorf("reading our own address range: %w", err)
				}
				if ip, _, err := net.ParseCIDR(address.String()); err == nil && network.Contains(ip) {
					return fmt.Errorf("interface %s has the address %s, which lies in the test cluster's range %s", each.Name, address, ours)
				}
			}
		}
	}
	return nil
}

func removeBridge(ctx context.Context) error {
	if _, err := net.InterfaceByName(Bridge); err != nil {
		return nil // not there
	}
	if err := run(ctx, "ip", "link", "delete", Bridge, "type", "bridge"); err != nil {
		return fmt.Errorf("removing the pods' bridge: %w", err)
	}
	return nil
}

// The firewall's commands and tables in which Kubernetes and its network plugins work.
var (
	firewallCommands = []string{"iptables", "ip6tables"}
	firewallTables   = []string{"filter", "nat", "mangle", "security"}
)

// firewallChains lists the chains that are there, by command and table.
func firewallChains() (map[string][]string, error) {
	found := map[string][]string{}
	for _, command := range firewallCommands {
		for _, table := range firewallTables {
			rules, err := firewallRules(command, table)
			if err != nil {
				return nil, err
			}
			for _, rule := range rules {
				if chain, ok := strings.CutPrefix(rule, "-N "); ok {
					found[command+" "+table] = append(found[command+" "+table], chain)
				}
			}
		}
	}
	return found, nil
}

func firewallRules(command, table string) ([]string, error) {
	output, err := exec.Command(command, "--wait", "10", "-t", table, "-S").CombinedOutput()
	if err != nil {
		if command == "ip6tables" {
			return nil, nil // a kernel without the newer protocol has no such tables
		}
		return nil, fmt.Errorf("reading the firewall's table %s: %w: %s", table, err, bytes.TrimSpace(output))
	}
	return strings.Split(strings.TrimSpace(string(output)), "\n"), nil
}

// removeChains takes out what the cluster put into the firewall: the chains of
// Kubernetes and of its network plugins that were not there before, and the rules that
// lead to them.
func removeChains(ctx context.Context, remembered before) error {
	var problems []error
	for _, command := range firewallCommands {
		for _, table := range firewallTables {
			rules, err := firewallRules(command, table)
			if err != nil {
				problems = append(problems, err)
				continue
			}
			script := removalScript(table, rules, remembered.Chains[command+" "+table])
			if script == "" {
				continue
			}
			ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
			restore := exec.CommandContext(ctx, command+"-restore", "--noflush", "--wait", "10")
			restore.Stdin = strings.NewReader(script)
			if output, err := restore.CombinedOutput(); err != nil {
				problems = append(problems, fmt.Errorf("clearing the firewall's table %s: %w: %s", table, err, bytes.TrimSpace(output)))
			}
			cancel()
		}
	}
	return errors.Join(problems...)
}

// removalScript is what iptables-restore must be told to take our chains out of a table.
// It does all of it or nothing.
func removalScript(table string, rules, keep []string) string {
	var ours []string
	for _, rule := range rules {
		name, ok := strings.CutPrefix(rule, "-N ")
		if ok && (strings.HasPrefix(name, chain) || strings.HasPrefix(name, "KUBE-") || strings.HasPrefix(name, "CNI-")) && !slices.Contains(keep, name) {
			ours = append(ours, name)
		}
	}
	if len(ours) == 0 {
		return ""
	}
	var script strings.Builder
	fmt.Fprintf(&script, "*%s\n", table)
	for _, rule := range rules {
		fields := strings.Fields(rule)
		if len(fields) < 3 || fields[0] != "-A" || slices.Contains(ours, fields[1]) {
			continue
		}
		for i, field := range fields[:len(fields)-1] {
			if (field == "-j" || field == "-g") && slices.Contains(ours, fields[i+1]) {
				fmt.Fprintf(&script, "-D%s\n", strings.TrimPrefix(rule, "-A"))
				break
			}
		}
	}
	for _, name := range ours {
		fmt.Fprintf(&script, "-F %s\n", name)
	}
	for _, name := range ours {
		fmt.Fprintf(&script, "-X %s\n", name)
	}
	script.WriteString("COMMIT\n")
	return script.String()
}

// run runs a short command, and makes its words part of the error.
func run(ctx context.Context, name string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if output, err := exec.CommandContext(ctx, name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, bytes.TrimSpace(output))
	}
	return nil
}
