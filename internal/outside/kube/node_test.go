package kube

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"slipway.dev/slipway/internal/slipway"
)

// The tests of this file stand on a fake API server.

func listOf(cpu, memory, disk string) corev1.ResourceList {
	l := corev1.ResourceList{}
	for name, text := range map[corev1.ResourceName]string{corev1.ResourceCPU: cpu, corev1.ResourceMemory: memory, corev1.ResourceEphemeralStorage: disk} {
		if text != "" {
			l[name] = resource.MustParse(text)
		}
	}
	return l
}

func workerNode(name string, change func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"kubernetes.io/arch": "amd64", RunnerNodeLabel: "ready"}}}
	n.Status.Allocatable = listOf("4", "8Gi", "100Gi")
	n.Status.Allocatable[corev1.ResourcePods] = resource.MustParse("110")
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	if change != nil {
		change(n)
	}
	return n
}

func podOn(node, name string, phase corev1.PodPhase, spec corev1.PodSpec) *corev1.Pod {
	spec.NodeName = node
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: spec, Status: corev1.PodStatus{Phase: phase}}
}

func requesting(l corev1.ResourceList) corev1.Container {
	return corev1.Container{Resources: corev1.ResourceRequirements{Requests: l}}
}

func TestNodes(t *testing.T) {
	t.Parallel()
	sidecar := requesting(listOf("200m", "256Mi", ""))
	sidecar.RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
	w := newWorld(t, anyField(interceptor.Funcs{}), runtimeClass(),
		workerNode("b", func(n *corev1.Node) {
			n.Spec.Unschedulable = true
			n.Labels = map[string]string{"kubernetes.io/arch": "arm64"}
			n.Status.Conditions[0].Status = corev1.ConditionUnknown
			n.Spec.Taints = []corev1.Taint{
				{Key: "slipway.dev/actions-only", Value: "true", Effect: corev1.TaintEffectNoSchedule},
				{Key: "node.kubernetes.io/unschedulable", Effect: corev1.TaintEffectNoSchedule},
				{Key: "gpu", Value: "true", Effect: corev1.TaintEffectNoExecute},
				{Key: "slow", Effect: corev1.TaintEffectPreferNoSchedule},
			}
		}),
		workerNode("a", nil),
		podOn("a", "plain", corev1.PodRunning, corev1.PodSpec{Containers: []corev1.Container{requesting(listOf("500m", "1Gi", "1Gi")), requesting(listOf("250m", "", ""))}}),
		podOn("a", "with a sidecar and an init container that is larger", corev1.PodPending, corev1.PodSpec{
			InitContainers: []corev1.Container{sidecar, requesting(listOf("1", "128Mi", ""))},
			Containers:     []corev1.Container{requesting(listOf("300m", "512Mi", ""))},
			Overhead:       listOf("100m", "512Mi", ""),
		}),
		podOn("a", "over", corev1.PodSucceeded, corev1.PodSpec{Containers: []corev1.Container{requesting(listOf("4", "4Gi", ""))}}),
		podOn("", "not placed", corev1.PodPending, corev1.PodSpec{Containers: []corev1.Container{requesting(listOf("4", "4Gi", ""))}}),
	)
	got, class, err := w.Nodes(soon(t))
	if err != nil || !class {
		t.Fatal(class, err)
	}
	const gib = slipway.GiB
	want := []slipway.Node{
		{
			Name: "a", Ready: true, Schedulable: true, Architecture: slipway.AMD64, Runners: true,
			// 750m and 1300m; 1Gi and (256Mi+512Mi)+512Mi.
			CPU: slipway.Amount{Allocatable: 4000, Requested: 2050}, Memory: slipway.Amount{Allocatable: 8 * gib, Requested: gib + 1280<<20},
			Disk: slipway.Amount{Allocatable: 100 * gib, Requested: gib}, Pods: slipway.Amount{Allocatable: 110, Requested: 2},
		},
		{
			Name: "b", Architecture: slipway.ARM64, Taints: []string{"gpu=true:NoExecute"},
			CPU: slipway.Amount{Allocatable: 4000}, Memory: slipway.Amount{Allocatable: 8 * gib}, Disk: slipway.Amount{Allocatable: 100 * gib}, Pods: slipway.Amount{Allocatable: 110},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNodesWithoutTheSandbox(t *testing.T) {
	t.Parallel()
	w := newWorld(t, anyField(interceptor.Funcs{}), workerNode("a", nil))
	if got, class, err := w.Nodes(soon(t)); err != nil || class || len(got) != 1 {
		t.Errorf("%d nodes, class %v, %v", len(got), class, err)
	}
}

func TestNodesAreAllOrAnError(t *testing.T) {
	t.Parallel()
	for _, broken := range []client.ObjectList{&corev1.PodList{}, &corev1.NodeList{}} {
		w := newWorld(t, anyField(interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if sameKind(list, broken) {
				return errors.New("connection reset by peer")
			}
			return c.List(ctx, list, opts...)
		}}), runtimeClass(), workerNode("a", nil))
		if got, _, err := w.Nodes(soon(t)); !slipway.Is(err, slipway.Unavailable) || got != nil {
			t.Errorf("%T: %v, %v", broken, got, err)
		}
	}
	w := newWorld(t, anyField(interceptor.Funcs{Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
		return errors.New("connection refused")
	}}), workerNode("a", nil))
	if _, _, err := w.Nodes(soon(t)); !slipway.Is(err, slipway.Unavailable) {
		t.Errorf("a RuntimeClass that cannot be read is not a missing one: %v", err)
	}
}

func sameKind(a, b client.ObjectList) bool {
	switch a.(type) {
	case *corev1.PodList:
		_, ok := b.(*corev1.PodList)
		return ok
	case *corev1.NodeList:
		_, ok := b.(*corev1.NodeList)
		return ok
	}
	return false
}
