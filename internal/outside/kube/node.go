package kube

import (
	"context"
	"errors"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	podresources "k8s.io/component-helpers/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/slipway"
)

// Nodes returns every node by name, with what is reserved on it, and whether the sandbox
// of runner pods is there. It returns all of them or an error.
func (c *Client) Nodes(ctx context.Context) (nodes []slipway.Node, runtimeClass bool, err error) {
	switch _, err := c.sandbox(ctx); {
	case err == nil:
		runtimeClass = true
	case !sandboxMissing(err):
		return nil, false, err
	}
	// Pods first: one that is placed between the two lists is missed until the next look,
	// rather than counted on a node that is not listed.
	reserved, err := c.reservedByNode(ctx)
	if err != nil {
		return nil, false, err
	}
	var list corev1.NodeList
	if err := c.listAll(ctx, &list); err != nil {
		return nil, false, explain(err, "list the nodes")
	}
	for i := range list.Items {
		nodes = append(nodes, nodeOf(&list.Items[i], reserved[list.Items[i].Name]))
	}
	slices.SortFunc(nodes, func(a, b slipway.Node) int { return strings.Compare(a.Name, b.Name) })
	return nodes, runtimeClass, nil
}

// sandboxMissing reports whether err says that there is no RuntimeClass, and not that the
// API server does not answer: that has its cause with it.
func sandboxMissing(err error) bool {
	var e *slipway.Error
	return errors.As(err, &e) && e.Kind == slipway.Unavailable && e.Err == nil
}

// live leaves out pods that are over: they reserve nothing, and may be many.
var live = fields.AndSelectors(
	fields.OneTermNotEqualSelector("status.phase", string(corev1.PodSucceeded)),
	fields.OneTermNotEqualSelector("status.phase", string(corev1.PodFailed)),
)

// reservedByNode sums what the pods that are not over have reserved.
func (c *Client) reservedByNode(ctx context.Context) (map[string]slipway.Capacity, error) {
	var pods corev1.PodList
	if err := c.listAll(ctx, &pods, client.MatchingFieldsSelector{Selector: live}); err != nil {
		return nil, explain(err, "list the pods of all namespaces")
	}
	out := map[string]slipway.Capacity{}
	for i := range pods.Items {
		p := &pods.Items[i]
		if p.Spec.NodeName == "" || over(p) {
			continue
		}
		have, takes := out[p.Spec.NodeName], reservedBy(p)
		out[p.Spec.NodeName] = slipway.Capacity{
			CPU: have.CPU + takes.CPU, Memory: have.Memory + takes.Memory, Disk: have.Disk + takes.Disk, Pods: have.Pods + 1,
		}
	}
	return out, nil
}

// reservedBy is what one pod reserves, by the scheduler's own rule, with init containers,
// sidecars, what the runtime adds, and requests of the pod as a whole. Where a pod is being
// resized it counts what the node has promised by now.
func reservedBy(p *corev1.Pod) slipway.Capacity {
	r := podresources.PodRequests(p, podresources.PodResourcesOptions{UseStatusResources: true})
	return slipway.Capacity{CPU: r.Cpu().MilliValue(), Memory: r.Memory().Value(), Disk: r.StorageEphemeral().Value(), Pods: 1}
}

func nodeOf(n *corev1.Node, reserved slipway.Capacity) slipway.Node {
	has := n.Status.Allocatable
	out := slipway.Node{
		Name: n.Name, Schedulable: !n.Spec.Unschedulable, Architecture: slipway.Architecture(n.Status.NodeInfo.Architecture),
		Runners: n.Labels[RunnerNodeLabel] == runnerNodeReady,
		CPU:     slipway.Amount{Allocatable: has.Cpu().MilliValue(), Requested: reserved.CPU},
		Memory:  slipway.Amount{Allocatable: has.Memory().Value(), Requested: reserved.Memory},
		Disk:    slipway.Amount{Allocatable: has.StorageEphemeral().Value(), Requested: reserved.Disk},
		Pods:    slipway.Amount{Allocatable: has.Pods().Value(), Requested: reserved.Pods},
	}
	if label := n.Labels[corev1.LabelArchStable]; label != "" {
		out.Architecture = slipway.Architecture(label) // what pods select by
	}
	for _, cond := range n.Status.Conditions {
		if cond.Type == corev1.NodeReady {
			out.Ready = cond.Status == corev1.ConditionTrue
		}
	}
	for _, t := range n.Spec.Taints {
		if keepsRunnersAway(t) && t.Key != corev1.TaintNodeUnschedulable {
			out.Taints = append(out.Taints, t.ToString())
		}
	}
	return out
}

// keepsRunnersAway reports whether runner pods do not tolerate the taint. They tolerate one.
// What is only preferred keeps nobody away.
func keepsRunnersAway(t corev1.Taint) bool {
	if t.Effect == corev1.TaintEffectPreferNoSchedule {
		return false
	}
	return t.Key != runnerTaint || t.Value != runnerTaintValue || t.Effect != corev1.TaintEffectNoSchedule
}
