package helm

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"slipway.dev/slipway/internal/outside/kube"
)

// addLabels adds labels to the metadata at path.
func addLabels(doc map[string]any, labels map[string]string, path ...string) {
	into := descend(doc, slices.Concat(path, []string{"labels"})...)
	for k, v := range labels {
		into[k] = v
	}
}

// set sets the field at path, making the objects on the way.
func set(doc map[string]any, value any, path ...string) {
	last := len(path) - 1
	descend(doc, path[:last]...)[path[last]] = value
}

func setString(doc map[string]any, value string, path ...string) { set(doc, value, path...) }

// descend returns the object at path. What stands there and is no object is replaced: a
// chart may well render labels: null.
func descend(doc map[string]any, path ...string) map[string]any {
	for _, key := range path {
		next, ok := doc[key].(map[string]any)
		if !ok {
			next = map[string]any{}
			doc[key] = next
		}
		doc = next
	}
	return doc
}

// mergeEnv sets variables on a container's env: one of the same name is replaced in its
// place, because a later one may use it as $(NAME), and new ones are added at the end.
func mergeEnv(have []any, set []kube.EnvVar) []any {
	out := slices.Clone(have)
	at := map[string]int{}
	for i, item := range out {
		if m, ok := item.(map[string]any); ok {
			if name, ok := m["name"].(string); ok {
				at[name] = i
			}
		}
	}
	for _, v := range set {
		if i, ok := at[v.Name]; ok {
			out[i] = envItem(v)
			continue
		}
		at[v.Name] = len(out)
		out = append(out, envItem(v))
	}
	return out
}

func envItem(v kube.EnvVar) map[string]any {
	if v.SecretName == "" {
		return map[string]any{"name": v.Name, "value": v.Value}
	}
	return map[string]any{"name": v.Name, "valueFrom": map[string]any{"secretKeyRef": map[string]any{
		"name": v.SecretName, "key": v.SecretKey}}}
}

const hookLogPolicy = "helm.sh/hook-output-log-policy"

// keepHookLog asks for the log of a hook that fails. Helm throws it away otherwise, and
// with it the only word of why.
func keepHookLog(u *unstructured.Unstructured) {
	if kind := u.GetKind(); kind != "Job" && kind != "Pod" {
		return
	}
	policy := u.GetAnnotations()[hookLogPolicy]
	if strings.Contains(policy, "hook-failed") {
		return
	}
	if policy != "" {
		policy += ","
	}
	setString(u.Object, policy+"hook-failed", "metadata", "annotations", hookLogPolicy)
}
