package kube

import (
	"encoding/base64"
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Manifest is one object as it was applied.
type Manifest struct {
	Object Object
	doc    *unstructured.Unstructured
	remove [][]part // what people added by hand, for PutBack
}

// NewManifest takes a decoded manifest. namespace is where it goes when it does not say.
func NewManifest(doc map[string]any, namespace string) Manifest {
	if doc["kind"] == "Secret" && doc["apiVersion"] == "v1" {
		doc = encoded(doc)
	}
	u := &unstructured.Unstructured{Object: doc}
	kind := u.GroupVersionKind()
	o := Object{
		Group: kind.Group, Version: kind.Version, Kind: kind.Kind, Namespace: u.GetNamespace(), Name: u.GetName(),
		Component: u.GetLabels()[LabelComponent],
	}
	if o.Namespace == "" && !ClusterWide(o) {
		o.Namespace = namespace
	}
	return Manifest{Object: o, doc: u}
}

func (m Manifest) copied() Manifest {
	m.doc = &unstructured.Unstructured{Object: runtime.DeepCopyJSON(m.doc.Object)}
	return m
}

// podTemplate is where the pod template of a workload stands; nil for any other object.
func (m Manifest) podTemplate() []string {
	switch {
	case m.Object.Group == "apps" && (m.Object.Kind == KindDeployment || m.Object.Kind == KindStatefulSet || m.Object.Kind == KindDaemonSet):
		return []string{"spec", "template"}
	case m.Object.Group == "batch" && m.Object.Kind == KindCronJob:
		return []string{"spec", "jobTemplate", "spec", "template"}
	}
	return nil
}

// SecretVersions is which versions of its secrets the application was applied with, as
// name@version; empty when no pod reads any.
func SecretVersions(ms []Manifest) string {
	for _, m := range ms {
		at := m.podTemplate()
		if at == nil {
			continue
		}
		notes, _, _ := unstructured.NestedStringMap(m.doc.Object, append(at, "metadata", "annotations")...)
		if v := notes[AnnotationSecrets]; v != "" {
			return v
		}
	}
	return ""
}

// Standing is how the component of a workload is to stand now, which may be another way
// than when it was applied: components are stopped and started between two applies.
type Standing struct {
	Stopped  bool
	Replicas *int // what the team set; nil: as the chart says
}

// Standings returns the manifests with each component as it is to stand now.
func Standings(ms []Manifest, components map[string]Standing) []Manifest {
	out := make([]Manifest, len(ms))
	for i, m := range ms {
		out[i] = m
		if m.podTemplate() != nil && m.Object.Component != "" {
			out[i] = m.standing(components[m.Object.Component])
		}
	}
	return out
}

func (m Manifest) standing(s Standing) Manifest {
	m = m.copied()
	doc := m.doc.Object
	key, value := StoppedNode()
	selector := append(m.podTemplate(), "spec", "nodeSelector", key)
	switch m.Object.Kind {
	case KindDaemonSet:
		if s.Stopped {
			setIn(doc, value, selector...)
		} else {
			unstructured.RemoveNestedField(doc, selector...)
		}
	case KindCronJob:
		// A chart may itself suspend one, and a start by hand then counts: what is not to be
		// stopped is left as it is.
		if s.Stopped {
			setIn(doc, true, "spec", "suspend")
		} else if on, _, _ := unstructured.NestedBool(doc, "spec", "suspend"); on {
			unstructured.RemoveNestedField(doc, "spec", "suspend")
		}
	default:
		n, said, _ := unstructured.NestedInt64(doc, "spec", "replicas")
		switch {
		case s.Stopped:
			setIn(doc, int64(0), "spec", "replicas")
		case said && n == 0:
			// It was applied stopped and started since, or the team wants none of it.
			was := m.doc.GetAnnotations()[AnnotationReplicas]
			unstructured.RemoveNestedField(doc, "metadata", "annotations", AnnotationReplicas)
			if before, err := strconv.ParseInt(was, 10, 64); err == nil {
				n = before
			}
			if s.Replicas != nil {
				n = int64(*s.Replicas)
			}
			if was == "" && s.Replicas == nil {
				unstructured.RemoveNestedField(doc, "spec", "replicas")
				break
			}
			setIn(doc, n, "spec", "replicas")
		}
	}
	return m
}

// setIn sets a field, making the objects on the way.
func setIn(doc map[string]any, value any, path ...string) {
	for _, key := range path[:len(path)-1] {
		next, ok := doc[key].(map[string]any)
		if !ok {
			next = map[string]any{}
			doc[key] = next
		}
		doc = next
	}
	doc[path[len(path)-1]] = value
}

// encoded writes the stringData of a Secret as the API server keeps it. Applied twice as
// stringData, a value would be gone that somebody changed in between: the server then takes
// it for one that nobody wants any more.
func encoded(doc map[string]any) map[string]any {
	plain, ok := doc["stringData"].(map[string]any)
	if !ok {
		return doc
	}
	out := runtime.DeepCopyJSON(doc)
	delete(out, "stringData")
	for k, v := range plain {
		setIn(out, base64.StdEncoding.EncodeToString([]byte(fmt.Sprint(v))), "data", k)
	}
	return out
}
