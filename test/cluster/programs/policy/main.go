// Command policy makes the test cluster's NetworkPolicies hold. What a policy means is
// decided by the controller of Kubernetes's network group (kube-network-policies), as it
// is: the kernel shows it the first packet of each connection, and it accepts or drops.
//
// Two things are added, because the machines of this cluster lack them. The controller
// would write the rules that show it packets with a means of nftables that not every
// kernel has; package node writes them with iptables instead, and what the controller says
// about its own is only noise in the log. And it learns a pod's address from the API
// server a moment after the pod has begun, or from a runtime newer than Debian's; gate.go
// holds packets until then, or the first moment of every pod would be free of policies.
//
// It runs as a process of the machine and is started by package node. It must never hold
// anything of our own: it is what our policies are tried against.
package main

import (
	"context"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/kube-network-policies/pkg/networkpolicy"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "the file with which to reach the API server")
	node := flag.String("node", "", "the node whose pods are looked after")
	queue := flag.Int("queue", 0, "the kernel's queue in which packets wait for the verdict")
	gate := flag.Int("gate", 0, "the queue in which they wait before that, until their pods are known")
	podNetwork := flag.String("pods", "", "the network of the pods")
	machine := flag.String("machine", "", "the machine's own address in it")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	network, err := netip.ParsePrefix(*podNetwork)
	if err == nil {
		err = run(ctx, *kubeconfig, *node, *gate, *queue, func(ip string) bool {
			address, err := netip.ParseAddr(ip)
			return err == nil && network.Contains(address) && ip != *machine
		})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "policy:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, kubeconfig, node string, gate, queue int, isPod func(ip string) bool) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	// Not only faster: to the controller an empty list of rules means everything and an
	// absent one nothing, and in this form an empty list is always absent.
	config.ContentType = "application/vnd.kubernetes.protobuf"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	informed := informers.NewSharedInformerFactory(client, 0)
	policies, pods := informed.Networking().V1().NetworkPolicies(), informed.Core().V1().Pods()
	controller, err := networkpolicy.NewController(client, policies, informed.Core().V1().Namespaces(), pods,
		nil, nil, nil, nil, networkpolicy.Config{QueueID: queue, NodeName: node})
	if err != nil {
		return fmt.Errorf("making the controller: %w", err)
	}
	informed.Start(ctx.Done())
	for kind, ok := range informed.WaitForCacheSync(ctx.Done()) {
		if !ok {
			return fmt.Errorf("reading the cluster's %s", kind)
		}
	}
	held, err := openGate(ctx, gate, func(ip string) bool {
		if !isPod(ip) {
			return true
		}
		all, err := pods.Lister().List(labels.Everything())
		if err != nil {
			return true // the lister reads memory
		}
		return settled(ip, all, func(namespace string) bool {
			found, err := policies.Lister().NetworkPolicies(namespace).List(labels.Everything())
			return err == nil && len(found) > 0
		})
	})
	if err != nil {
		return err
	}
	defer held.Close()
	return controller.Run(ctx)
}
