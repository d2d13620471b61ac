package helm

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"slipway.dev/slipway/internal/outside/kube"
	"slipway.dev/slipway/internal/slipway"
)

// Patch is what goes into a chart's manifests after they are rendered.
type Patch struct {
	App        slipway.Application // whose labels they get
	Components map[string]ComponentPatch
}

// ComponentPatch is what a team set on a component, and what Slipway holds it to.
type ComponentPatch struct {
	Selector  map[string]string
	Container string        // the declared container; empty: the pod's only one, or its first
	Image     string        // its version token replaced; empty: the chart's
	Replicas  *int          // nil: the chart's
	Env       []kube.EnvVar // in the order in which new ones are added
	Secrets   string        // name@version of each secret it uses; a new one restarts its pods
	Stopped   bool          // keep it at no replicas, suspended, or on no node
}

// Patched is the outcome of PostRender.
type Patched struct {
	Manifests []byte
	Objects   []kube.Object   // all but the chart's hooks, in order
	Workloads []kube.Workload // after the patch, in order; Component says whose each is
	Notes     []string        // for people: what the patch met
}

// PostRender puts p into manifests, a stream of YAML documents. It calls nobody and is
// deterministic: the same manifests and patch give the same bytes. Selectors are never
// touched, because they cannot be changed later; hooks get labels and nothing else, but
// that a failed hook's log is asked for.
func PostRender(manifests []byte, p Patch) (Patched, error) {
	t := &patching{patch: p, used: map[string]int{}, out: Patched{}}
	docs, err := decode(manifests)
	if err != nil {
		return Patched{}, err
	}
	for _, doc := range docs {
		if err := t.object(doc); err != nil {
			return Patched{}, err
		}
	}
	if err := t.unmatched(); err != nil {
		return Patched{}, err
	}
	t.autoscalers(docs)
	t.out.Manifests, err = encode(docs)
	return t.out, err
}

// decode reads a stream of YAML documents; those without content are left out.
func decode(manifests []byte) ([]map[string]any, error) {
	var docs []map[string]any
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(manifests)))
	for n := 1; ; n++ {
		raw, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return docs, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read document %d of the manifests: %w", n, err)
		}
		text, err := yaml.YAMLToJSON(raw)
		if err != nil {
			return nil, slipway.Errorf(slipway.Invalid, "document %d of the chart's manifests is not YAML: %v", n, err)
		}
		var doc any
		// This decoder keeps whole numbers whole; the standard one makes floats of them.
		if err := json.Unmarshal(text, &doc); err != nil {
			return nil, fmt.Errorf("read document %d of the manifests: %w", n, err)
		}
		switch doc := doc.(type) {
		case nil: // comments alone
		case map[string]any:
			docs = append(docs, doc)
		default:
			return nil, slipway.Errorf(slipway.Invalid, "document %d of the chart's manifests is no Kubernetes object", n)
		}
	}
}

func encode(docs []map[string]any) ([]byte, error) {
	var b bytes.Buffer
	for _, doc := range docs {
		raw, err := yaml.Marshal(doc)
		if err != nil {
			return nil, fmt.Errorf("write the manifests: %w", err)
		}
		b.WriteString("---\n")
		b.Write(raw)
	}
	return b.Bytes(), nil
}

// patching is one run of PostRender.
type patching struct {
	patch Patch
	used  map[string]int // how many workloads each component has matched
	out   Patched
}

// object patches one object, and those in a List.
func (t *patching) object(doc map[string]any) error {
	u := &unstructured.Unstructured{Object: doc}
	if items, ok := doc["items"].([]any); ok && u.GetKind() == "List" {
		for _, item := range items {
			if m, ok := item.(map[string]any); ok {
				if err := t.object(m); err != nil {
					return err
				}
			}
		}
		return nil
	}
	if u.GetKind() == "" {
		return nil // Helm will refuse it in its own words
	}
	addLabels(doc, kube.ApplicationLabels(t.patch.App), "metadata")
	if hook := u.GetAnnotations()["helm.sh/hook"]; hook != "" {
		keepHookLog(u)
		return nil
	}
	kind := u.GroupVersionKind()
	ref := kube.Object{Group: kind.Group, Version: kind.Version, Kind: kind.Kind, Namespace: u.GetNamespace(), Name: u.GetName()}
	if ref.Namespace == "" && !kube.ClusterWide(ref) {
		ref.Namespace = t.patch.App.Namespace
	}
	w, ok, err := kube.WorkloadOf(u)
	if err != nil {
		return slipway.Errorf(slipway.Invalid, "%s of the chart is not valid: %v", ref, err)
	}
	if ok {
		name, err := t.workload(doc, w)
		if err != nil {
			return err
		}
		ref.Component = name
		if w, _, err = kube.WorkloadOf(u); err != nil {
			return slipway.Errorf(slipway.Invalid, "%s of the chart is not valid after the changes to its component: %v", ref, err)
		}
		w.Namespace = ref.Namespace
		t.out.Workloads = append(t.out.Workloads, w)
	}
	t.out.Objects = append(t.out.Objects, ref)
	return nil
}

// workload patches one workload and returns the name of its component, if it has one.
func (t *patching) workload(doc map[string]any, w kube.Workload) (string, error) {
	at := []string{"spec", "template"}
	if w.Kind == kube.KindCronJob {
		at = []string{"spec", "jobTemplate", "spec", "template"}
	}
	addLabels(doc, kube.ApplicationLabels(t.patch.App), append(at, "metadata")...)

	name := ""
	for _, candidate := range slices.Sorted(maps.Keys(t.patch.Components)) {
		if !w.Matches(t.patch.Components[candidate].Selector) {
			continue
		}
		if name != "" {
			return "", slipway.Errorf(slipway.Invalid, "the components %q and %q both select %s", name, candidate, w).
				WithHint("narrow the selectors in the driver")
		}
		name = candidate
	}
	if name == "" {
		return "", nil
	}
	t.used[name]++
	c := t.patch.Components[name]
	mark := map[string]string{kube.LabelComponent: name}
	addLabels(doc, mark, "metadata")
	addLabels(doc, mark, append(at, "metadata")...)
	if c.Secrets != "" {
		setString(doc, c.Secrets, append(at, "metadata", "annotations", kube.AnnotationSecrets)...)
	}
	if err := t.container(doc, at, name, c, w); err != nil {
		return "", err
	}
	return name, t.scale(doc, at, name, c, w)
}

// container sets the image and the environment of the declared container.
func (t *patching) container(doc map[string]any, at []string, name string, c ComponentPatch, w kube.Workload) error {
	if c.Image == "" && len(c.Env) == 0 {
		return nil
	}
	list, _, _ := unstructured.NestedFieldNoCopy(doc, append(at, "spec", "containers")...)
	containers, _ := list.([]any)
	index := 0
	switch {
	case c.Container != "":
		index = slices.IndexFunc(w.Containers, func(k kube.Container) bool { return k.Name == c.Container })
		if index < 0 {
			return slipway.Errorf(slipway.Invalid, "the component %q declares the container %q, but %s has: %s",
				name, c.Container, w, strings.Join(w.ContainerNames(), ", ")).WithHint("correct the component's container in the driver")
		}
	case c.Image != "" && len(w.Containers) > 1:
		return slipway.Errorf(slipway.Invalid, "the component %q has an image, but %s has several containers and the driver declares none: %s",
			name, w, strings.Join(w.ContainerNames(), ", ")).WithHint("declare the component's container in the driver")
	}
	if index >= len(containers) {
		return slipway.Errorf(slipway.Invalid, "%s of the component %q has no container", w, name)
	}
	container, ok := containers[index].(map[string]any)
	if !ok {
		return slipway.Errorf(slipway.Invalid, "%s of the component %q has a container that is none", w, name)
	}
	if c.Image != "" {
		container["image"] = c.Image
	}
	if len(c.Env) > 0 {
		have, _ := container["env"].([]any)
		container["env"] = mergeEnv(have, c.Env)
	}
	return nil
}

// unmatched refuses settings that would silently have no effect.
func (t *patching) unmatched() error {
	for _, name := range slices.Sorted(maps.Keys(t.patch.Components)) {
		c := t.patch.Components[name]
		if t.used[name] == 0 && (c.Image != "" || c.Replicas != nil || len(c.Env) > 0) {
			return slipway.Errorf(slipway.Invalid, "the component %q is configured, but no workload of the chart is selected by it", name).
				WithHint("remove components.%s, or let the driver's parameters enable it", name)
		}
	}
	return nil
}
