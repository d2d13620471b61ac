package main

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/florianl/go-nfqueue"
	"github.com/mdlayher/netlink"
	v1 "k8s.io/api/core/v1"
)

// settled reports whether it is known which pod has an address, or that it cannot matter:
// every pod that is under a policy and has not ended has told its own. A pod that has
// ended still shows an address that may be another's by now.
func settled(ip string, pods []*v1.Pod, policed func(namespace string) bool) bool {
	waiting := false
	for _, pod := range pods {
		if pod.Spec.HostNetwork || pod.Spec.NodeName == "" || pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed {
			continue
		}
		for _, have := range pod.Status.PodIPs {
			if have.IP == ip {
				return true
			}
		}
		if len(pod.Status.PodIPs) == 0 && policed(pod.Namespace) {
			waiting = true
		}
	}
	return !waiting
}

// patience is how long a packet is held. The kubelet tells a pod's address within about
// two seconds.
const patience = 8 * time.Second

// openGate holds the packets of a queue until both of their addresses are settled. One
// that waits for too long is dropped: who sent it tries again, or was never a pod.
func openGate(ctx context.Context, queue int, settled func(ip string) bool) (*nfqueue.Nfqueue, error) {
	q, err := nfqueue.Open(&nfqueue.Config{
		NfQueue: uint16(queue), MaxPacketLen: 128, MaxQueueLen: 4096, Copymode: nfqueue.NfQnlCopyPacket,
		Flags: nfqueue.NfQaCfgFlagGSO, WriteTimeout: 100 * time.Millisecond,
	})
	if err != nil {
		return nil, fmt.Errorf("opening queue %d: %w", queue, err)
	}
	known := func(a nfqueue.Attribute) bool {
		source, destination, ok := addresses(a.Payload)
		return !ok || settled(source) && settled(destination)
	}
	decide := func(a nfqueue.Attribute) {
		verdict := nfqueue.NfDrop
		for deadline := time.Now().Add(patience); time.Now().Before(deadline) && ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
			if known(a) {
				verdict = nfqueue.NfAccept
				break
			}
		}
		// A queue that was closed has dropped its packets.
		_ = q.SetVerdict(*a.PacketID, verdict)
	}
	err = q.RegisterWithErrorFunc(ctx, func(a nfqueue.Attribute) int {
		if known(a) {
			_ = q.SetVerdict(*a.PacketID, nfqueue.NfAccept)
			return 0
		}
		if a.Payload != nil { // the buffer is used again for the next packet
			kept := append([]byte(nil), *a.Payload...)
			a.Payload = &kept
		}
		go decide(a)
		return 0
	}, func(err error) int {
		if e, ok := err.(*netlink.OpError); ok && (e.Timeout() || e.Temporary()) || ctx.Err() != nil {
			return 0
		}
		fmt.Println("policy: reading the queue:", err)
		return 0
	})
	if err != nil {
		_ = q.Close()
		return nil, fmt.Errorf("listening on queue %d: %w", queue, err)
	}
	return q, nil
}

// addresses reads the two of an IPv4 packet. The cluster has no other pods.
func addresses(payload *[]byte) (source, destination string, ok bool) {
	if payload == nil || len(*payload) < 20 || (*payload)[0]>>4 != 4 {
		return "", "", false
	}
	p := *payload
	return netip.AddrFrom4([4]byte(p[12:16])).String(), netip.AddrFrom4([4]byte(p[16:20])).String(), true
}
