package kube

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// steadyFor is how long a container without a readiness probe must have run. Kubernetes
// calls it ready the moment it starts, even one that ends with an error a moment later.
const steadyFor = time.Second

// longSince is how old a start must be to be believed by the node's clock alone, which
// need not agree with ours.
const longSince = time.Minute

// steadiness is since when a pod has been seen to run, with how many restarts.
type steadiness struct {
	since    time.Time
	restarts int32
}

// unsteady returns "" when what the cluster calls current can be believed: at once when
// probes say so, and after a moment when there are none.
func (w *readiness) unsteady(ctx context.Context, u *unstructured.Unstructured) (string, error) {
	load, ok, err := WorkloadOf(u)
	if err != nil || !ok || load.Kind == KindCronJob || !slices.ContainsFunc(load.template.Spec.Containers, withoutProbe) {
		return "", err
	}
	pods, err := w.c.newestPods(ctx, u)
	if err != nil {
		return "", err
	}
	w.watchRunning(pods)
	for i := range pods {
		p := &pods[i]
		if p.DeletionTimestamp != nil || p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded {
			continue
		}
		seen, runs := w.steady[p.UID]
		if !runs {
			return "pod " + p.Name + " does not run", nil
		}
		if left := w.c.steadyFor - w.c.now().Sub(seen.since); left > 0 {
			w.again = min(w.again, left)
			return "pod " + p.Name + " has just started, and has no readiness probe", nil
		}
	}
	return "", nil
}

// watchRunning notes which pods run, and since when we have known that.
func (w *readiness) watchRunning(pods []corev1.Pod) {
	now := w.c.now()
	for i := range pods {
		p := &pods[i]
		var restarts int32
		var started time.Time // the latest of its containers
		runs := len(p.Status.ContainerStatuses) > 0
		for _, s := range p.Status.ContainerStatuses {
			restarts += s.RestartCount
			if s.State.Running == nil {
				runs = false
			} else if s.State.Running.StartedAt.After(started) {
				started = s.State.Running.StartedAt.Time
			}
		}
		was, seen := w.steady[p.UID]
		switch {
		case !runs:
			delete(w.steady, p.UID)
		case seen && was.restarts == restarts:
		case !started.IsZero() && now.Sub(started) > longSince:
			w.steady[p.UID] = steadiness{started, restarts}
		default:
			w.steady[p.UID] = steadiness{now, restarts}
		}
	}
}

func withoutProbe(c corev1.Container) bool { return c.ReadinessProbe == nil }
