package kube

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// steadyFor is how long a container without a readiness probe must have run. Kubernetes
// calls it ready the moment it starts, even one that ends with an error a moment later.
const steadyFor = 1900 * time.Millisecond

// steadiness is since when a workload is current, with how many restarts of its pods.
type steadiness struct {
	since    time.Time
	restarts int32
}

// unsteady returns "" when what the cluster calls current can be believed: at once when
// probes say so, and after a moment when there are none.
func (w *readiness) unsteady(ctx context.Context, o Object, u *unstructured.Unstructured) (string, error) {
	load, ok, err := WorkloadOf(u)
	if err != nil || !ok || load.Kind == KindCronJob || !slices.ContainsFunc(load.template.Spec.Containers, withoutProbe) {
		return "", err
	}
	pods, err := w.c.newestPods(ctx, u)
	if err != nil || len(pods) == 0 {
		return "", err
	}
	var restarts int32
	for _, p := range pods {
		for _, s := range p.Status.ContainerStatuses {
			restarts += s.RestartCount
		}
	}
	was, seen := w.steady[o]
	if !seen || was.restarts != restarts {
		was = steadiness{w.c.now(), restarts}
		w.steady[o] = was
	}
	if w.c.now().Sub(was.since) >= w.c.steadyFor {
		return "", nil
	}
	return fmt.Sprintf("%s has just started, and has no readiness probe", o), nil
}

func withoutProbe(c corev1.Container) bool { return c.ReadinessProbe == nil }
