package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// live reads one workload again.
func (c *Client) live(ctx context.Context, w Workload) (Workload, client.Object, error) {
	key := client.ObjectKey{Namespace: w.Namespace, Name: w.Name}
	switch w.Kind {
	case KindDeployment:
		var d appsv1.Deployment
		err := c.api.Get(ctx, key, &d)
		return ofDeployment(&d), &d, err
	case KindStatefulSet:
		var s appsv1.StatefulSet
		err := c.api.Get(ctx, key, &s)
		return ofStatefulSet(&s), &s, err
	case KindDaemonSet:
		var d appsv1.DaemonSet
		err := c.api.Get(ctx, key, &d)
		return ofDaemonSet(&d), &d, err
	case KindCronJob:
		var j batchv1.CronJob
		err := c.api.Get(ctx, key, &j)
		return ofCronJob(&j), &j, err
	}
	return Workload{}, nil, fmt.Errorf("%s is no workload that can be stopped", w)
}

// change patches one workload by what decide makes of its newest state; nil leaves it
// alone. The patch is refused and decided again when somebody wrote in between.
func (c *Client) change(ctx context.Context, w Workload, doing string, decide func(Workload) map[string]any) (Workload, error) {
	for try := 0; ; try++ {
		now, object, err := c.live(ctx, w)
		if err != nil {
			return now, explain(err, "read %s in namespace %s", w, w.Namespace)
		}
		patch := decide(now)
		if patch == nil {
			return now, nil
		}
		meta, _ := patch["metadata"].(map[string]any)
		if meta == nil {
			meta = map[string]any{}
			patch["metadata"] = meta
		}
		meta["resourceVersion"] = object.GetResourceVersion()
		raw, err := json.Marshal(patch)
		if err != nil {
			return now, fmt.Errorf("%s %s: %w", doing, w, err)
		}
		err = c.api.Patch(ctx, object, client.RawPatch(types.MergePatchType, raw), client.FieldOwner(fieldManager))
		if err == nil {
			return now, nil
		}
		if !apierrors.IsConflict(err) && !passing(err) || try == maxTries {
			return now, explain(err, "%s %s in namespace %s", doing, w, w.Namespace)
		}
		if err := pause(ctx, try); err != nil {
			return now, fmt.Errorf("%s %s: %w", doing, w, err)
		}
	}
}

// stopPatch is what stops w; nil when it is stopped already.
func stopPatch(w Workload) map[string]any {
	if w.Stopped {
		return nil
	}
	switch w.Kind {
	case KindCronJob:
		return map[string]any{"spec": map[string]any{"suspend": true}}
	case KindDaemonSet:
		return nodeSelectorPatch("true")
	}
	return map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{AnnotationReplicas: strconv.Itoa(w.Replicas)}},
		"spec":     map[string]any{"replicas": 0},
	}
}

// startPatch is what starts w with the given replicas, or with those it had before it was
// stopped; nil when it is not stopped.
func startPatch(w Workload, replicas *int) map[string]any {
	if !w.Stopped {
		return nil
	}
	switch w.Kind {
	case KindCronJob:
		return map[string]any{"spec": map[string]any{"suspend": false}}
	case KindDaemonSet:
		return nodeSelectorPatch(nil)
	}
	n := 1
	if was, err := strconv.Atoi(w.Remember); err == nil {
		n = was
	}
	if replicas != nil {
		n = *replicas
	}
	return map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{AnnotationReplicas: nil}},
		"spec":     map[string]any{"replicas": n},
	}
}

func nodeSelectorPatch(value any) map[string]any {
	key, _ := StoppedNode()
	return map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{
		"nodeSelector": map[string]any{key: value}}}}}
}
