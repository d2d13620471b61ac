package kube

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/slipway"
)

// DefaultStopTimeout bounds a stop: long enough for a pod's grace period and a drain.
const DefaultStopTimeout = 5 * time.Minute

// Stop takes the workloads down and waits until none of their pods is left, terminating
// ones included: an old worker must not write while a migration runs. A workload that is
// stopped already is only waited for.
func (c *Client) Stop(ctx context.Context, ws []Workload, timeout time.Duration) error {
	if len(ws) == 0 {
		return nil
	}
	for _, w := range ws {
		if _, err := c.change(ctx, w, "stop", stopPatch); err != nil {
			return err
		}
	}
	if timeout <= 0 {
		timeout = DefaultStopTimeout
	}
	var left []string
	on := []watched{{&corev1.PodList{}, []client.ListOption{client.InNamespace(ws[0].Namespace)}}}
	err := c.await(ctx, timeout, on, func(ctx context.Context) (bool, error) {
		left = left[:0]
		for _, w := range ws {
			more, err := c.remains(ctx, w)
			if err != nil {
				return false, err
			}
			left = append(left, more...)
		}
		return len(left) == 0, nil
	})
	if errors.Is(err, errTimeout) {
		names := make([]string, len(ws))
		for i, w := range ws {
			names[i] = w.String()
		}
		return slipway.Errorf(slipway.Unavailable, "%s did not stop within %s: %s", strings.Join(names, ", "), timeout, strings.Join(left, ", ")).
			WithHint("see what keeps it with  kubectl describe pod -n %s", ws[0].Namespace)
	}
	if err != nil {
		return fmt.Errorf("wait for %s to stop: %w", ws[0], err)
	}
	return nil
}

// remains lists what is left of a stopped workload: its pods, and its controller when
// that has not seen the stop yet and could still start one.
func (c *Client) remains(ctx context.Context, w Workload) ([]string, error) {
	now, object, err := c.live(ctx, w)
	if err != nil {
		if gone := client.IgnoreNotFound(err); gone == nil {
			return c.podsLeft(ctx, w)
		}
		return nil, explain(err, "read %s in namespace %s", w, w.Namespace)
	}
	if !now.Stopped {
		return []string{fmt.Sprintf("%s was started again by somebody else", w)}, nil
	}
	left, err := c.podsLeft(ctx, now)
	if err != nil || len(left) > 0 {
		return left, err
	}
	seen := true
	switch o := object.(type) {
	case *appsv1.Deployment:
		seen = o.Status.ObservedGeneration >= o.Generation && o.Status.Replicas == 0
		if seen {
			seen, err = c.replicaSetsIdle(ctx, now, o)
		}
	case *appsv1.StatefulSet:
		seen = o.Status.ObservedGeneration >= o.Generation && o.Status.Replicas == 0
	case *appsv1.DaemonSet:
		seen = o.Status.ObservedGeneration >= o.Generation && o.Status.CurrentNumberScheduled == 0
	}
	if err == nil && !seen {
		left = append(left, fmt.Sprintf("the controller of %s has not acted yet", w))
	}
	return left, err
}

// replicaSetsIdle reports whether no ReplicaSet of the Deployment could make a pod.
func (c *Client) replicaSetsIdle(ctx context.Context, w Workload, d *appsv1.Deployment) (bool, error) {
	var sets appsv1.ReplicaSetList
	if err := c.api.List(ctx, &sets, client.InNamespace(w.Namespace), client.MatchingLabelsSelector{Selector: w.selector}); err != nil {
		return false, explain(err, "list the ReplicaSets of %s in namespace %s", w, w.Namespace)
	}
	for i := range sets.Items {
		s := &sets.Items[i]
		if !metav1.IsControlledBy(s, d) {
			continue
		}
		if count(s.Spec.Replicas) > 0 || s.Status.Replicas > 0 || s.Status.ObservedGeneration < s.Generation {
			return false, nil
		}
	}
	return true, nil
}

// podsLeft names the pods of w that have not ended.
func (c *Client) podsLeft(ctx context.Context, w Workload) ([]string, error) {
	pods, err := c.podsOf(ctx, w)
	if err != nil {
		return nil, err
	}
	var left []string
	for i := range pods {
		p := &pods[i]
		switch {
		case p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed:
			// its containers have ended; an evicted pod stays as a record
		case p.DeletionTimestamp != nil:
			left = append(left, fmt.Sprintf("pod %s is terminating", p.Name))
		default:
			left = append(left, fmt.Sprintf("pod %s is %s", p.Name, strings.ToLower(string(p.Status.Phase))))
		}
	}
	return left, nil
}

// podsOf lists the pods of w, of a CronJob those of its Jobs.
func (c *Client) podsOf(ctx context.Context, w Workload) ([]corev1.Pod, error) {
	var pods corev1.PodList
	if w.Kind != KindCronJob {
		if w.selector == nil {
			return nil, nil
		}
		err := c.api.List(ctx, &pods, client.InNamespace(w.Namespace), client.MatchingLabelsSelector{Selector: w.selector})
		return pods.Items, explain(err, "list the pods of %s in namespace %s", w, w.Namespace)
	}
	var jobs batchv1.JobList
	if err := c.api.List(ctx, &jobs, client.InNamespace(w.Namespace)); err != nil {
		return nil, explain(err, "list the Jobs of %s in namespace %s", w, w.Namespace)
	}
	owned := map[string]bool{}
	for i := range jobs.Items {
		if slices.ContainsFunc(jobs.Items[i].OwnerReferences, func(o metav1.OwnerReference) bool { return o.UID == w.uid }) {
			owned[jobs.Items[i].Name] = true
		}
	}
	if len(owned) == 0 {
		return nil, nil
	}
	if err := c.api.List(ctx, &pods, client.InNamespace(w.Namespace), client.HasLabels{labelJobName}); err != nil {
		return nil, explain(err, "list the pods of %s in namespace %s", w, w.Namespace)
	}
	return slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool { return !owned[p.Labels[labelJobName]] }), nil
}

// Start brings stopped workloads up again and waits until they are ready. replicas is the
// current configuration's; nil: as the chart had it. One that runs is only waited for.
func (c *Client) Start(ctx context.Context, app slipway.Application, ws []Workload, replicas *int, opts ReadyOptions) error {
	objects := make([]Object, 0, len(ws))
	for _, w := range ws {
		if _, err := c.change(ctx, w, "start", func(now Workload) map[string]any { return startPatch(now, replicas) }); err != nil {
			return err
		}
		objects = append(objects, w.Object())
	}
	return c.Ready(ctx, app, objects, opts)
}
