package kube

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// EnsureCRD installs or updates the custom resource definition in manifest (which is
// contract.CRD) and waits until the API server serves it.
func (c *Client) EnsureCRD(ctx context.Context, manifest []byte) error {
	var crd unstructured.Unstructured
	if err := yaml.Unmarshal(manifest, &crd.Object); err != nil {
		return fmt.Errorf("read the custom resource definition: %w", err)
	}
	name := crd.GetName()
	err := c.api.Apply(ctx, client.ApplyConfigurationFromUnstructured(&crd), client.FieldOwner(fieldManager), client.ForceOwnership)
	if err != nil {
		return explain(err, "install the custom resource definition %s", name)
	}
	for {
		var seen unstructured.Unstructured
		seen.SetGroupVersionKind(crd.GroupVersionKind())
		if err := c.api.Get(ctx, client.ObjectKey{Name: name}, &seen); err != nil {
			return explain(err, "read the custom resource definition %s", name)
		}
		for _, cond := range conditionsOf(&seen) {
			if cond.kind == "NamesAccepted" && cond.status == "False" {
				return explain(fmt.Errorf("%s: %s", cond.reason, cond.message), "install the custom resource definition %s", name)
			}
			if cond.kind == "Established" && cond.status == "True" {
				c.Forget()
				return nil
			}
		}
		if err := pause(ctx, 4); err != nil {
			return fmt.Errorf("wait for the custom resource definition %s: %w", name, err)
		}
	}
}

// condition is one of an object's status.conditions.
type condition struct{ kind, status, reason, message string }

func conditionsOf(u *unstructured.Unstructured) []condition {
	list, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	var out []condition
	for _, item := range list {
		m, ok := item.(map[string]any)
		if !ok {
			continue
		}
		text := func(key string) string { s, _ := m[key].(string); return s }
		out = append(out, condition{text("type"), text("status"), text("reason"), text("message")})
	}
	return out
}
