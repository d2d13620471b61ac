package node

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// The kernel's queues in which the first packets of pods' connections wait: until it is
// known whose they are, and for the verdict of the NetworkPolicies.
const (
	gateQueue   = 24213
	policyQueue = 24214
)

// ensurePolicyQueues shows the part network-policy the first packet of every connection
// that begins or ends in a pod, or that a pod makes to this machine. What the machine
// itself begins is let through, as the kubelet's probes must be.
//
// A packet goes on with the next table after a verdict, and not with the next rule. So
// the first queue stands in a table before the filter and the second in one after it: the
// cluster's own rules are still obeyed, and Services' addresses are translated.
//
// While nobody reads the queues, packets pass. A crash of the part fails the tests of
// denials, which say so, rather than every test.
func ensurePolicyQueues(ctx context.Context) error {
	for table, queue := range map[string]int{"mangle": gateQueue, "security": policyQueue} {
		rules := []string{"*" + table, ":" + chain + " - [0:0]"}
		for _, direction := range []string{"-i", "-o"} {
			rules = append(rules, fmt.Sprintf("-A %s %s %s -m conntrack --ctstate NEW -j NFQUEUE --queue-num %d --queue-bypass", chain, direction, Bridge, queue))
		}
		restore := exec.CommandContext(ctx, "iptables-restore", "--noflush", "--wait", "10")
		restore.Stdin = strings.NewReader(strings.Join(append(rules, "COMMIT", ""), "\n"))
		if output, err := restore.CombinedOutput(); err != nil {
			return fmt.Errorf("writing the firewall's rules: %w: %s", err, bytes.TrimSpace(output))
		}
		if err := jump(ctx, table, chain, "FORWARD", "INPUT"); err != nil {
			return err
		}
	}
	return nil
}

// queuesAreRead is the health of the part network-policy, by the kernel's word.
func queuesAreRead(context.Context) error {
	data, err := os.ReadFile("/proc/net/netfilter/nfnetlink_queue")
	if err != nil {
		return fmt.Errorf("reading who reads the queues: %w", err)
	}
	var read []string
	for line := range strings.Lines(string(data)) {
		if fields := strings.Fields(line); len(fields) > 0 {
			read = append(read, fields[0])
		}
	}
	for _, queue := range []int{gateQueue, policyQueue} {
		if !slices.Contains(read, fmt.Sprint(queue)) {
			return fmt.Errorf("nobody reads queue %d", queue)
		}
	}
	return nil
}
