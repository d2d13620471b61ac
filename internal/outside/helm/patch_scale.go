package helm

import (
	"fmt"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"slipway.dev/slipway/internal/outside/kube"
	"slipway.dev/slipway/internal/slipway"
)

// scale sets the replicas of a component, or keeps it stopped.
func (t *patching) scale(doc map[string]any, at []string, name string, c ComponentPatch, w kube.Workload) error {
	scalable := w.Kind == kube.KindDeployment || w.Kind == kube.KindStatefulSet
	if c.Replicas != nil && !scalable {
		return slipway.Errorf(slipway.Invalid, "the component %q has replicas, but a %s has none", name, w.Kind).
			WithHint("remove components.%s.replicas", name)
	}
	if c.Replicas != nil {
		set(doc, int64(*c.Replicas), "spec", "replicas")
	}
	if !c.Stopped {
		return nil
	}
	switch w.Kind {
	case kube.KindCronJob:
		set(doc, true, "spec", "suspend")
	case kube.KindDaemonSet:
		key, value := kube.StoppedNode()
		setString(doc, value, append(at, "spec", "nodeSelector", key)...)
	default:
		// What it would have, so that a start finds the current configuration's number.
		if n, ok, _ := unstructured.NestedFieldNoCopy(doc, "spec", "replicas"); ok {
			setString(doc, fmt.Sprint(n), "metadata", "annotations", kube.AnnotationReplicas)
		}
		set(doc, int64(0), "spec", "replicas")
	}
	return nil
}

// autoscalers looks for HorizontalPodAutoscalers that set the replicas of a component.
// Where one does, a number of ours would be undone in seconds and done again by the next
// change, so it is left out, and said.
func (t *patching) autoscalers(docs []map[string]any) {
	for _, doc := range flatten(docs) {
		u := &unstructured.Unstructured{Object: doc}
		if u.GetKind() != "HorizontalPodAutoscaler" {
			continue
		}
		kind, _, _ := unstructured.NestedString(doc, "spec", "scaleTargetRef", "kind")
		name, _, _ := unstructured.NestedString(doc, "spec", "scaleTargetRef", "name")
		i := slices.IndexFunc(t.out.Workloads, func(w kube.Workload) bool { return w.Kind == kind && w.Name == name })
		if i < 0 {
			continue
		}
		w := t.out.Workloads[i]
		c, ok := t.patch.Components[w.Component]
		if !ok || c.Replicas == nil || c.Stopped {
			continue
		}
		for _, target := range flatten(docs) {
			o := &unstructured.Unstructured{Object: target}
			if o.GetKind() == kind && o.GetName() == name {
				unstructured.RemoveNestedField(target, "spec", "replicas")
			}
		}
		t.out.Notes = append(t.out.Notes, "replicas = "+strconv.Itoa(*c.Replicas)+" of the component "+w.Component+
			" was left out: the HorizontalPodAutoscaler "+u.GetName()+" scales "+w.String())
	}
}

// flatten is the documents, with those of a List in its place.
func flatten(docs []map[string]any) []map[string]any {
	var out []map[string]any
	for _, doc := range docs {
		items, ok := doc["items"].([]any)
		if !ok || doc["kind"] != "List" {
			out = append(out, doc)
			continue
		}
		for _, item := range items {
			if m, ok := item.(map[string]any); ok {
				out = append(out, m)
			}
		}
	}
	return out
}
