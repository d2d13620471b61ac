package kube

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/slipway"
)

// EnsureNamespace makes the environment's namespace, or marks an existing one as ours. A
// namespace of another installation is refused: two Slipways would undo each other's work.
func (c *Client) EnsureNamespace(ctx context.Context, env slipway.Environment) error {
	want := map[string]string{
		LabelProject: env.Project, LabelEnvironment: env.Name,
		LabelInstallation: c.installation, LabelManagedBy: managedBy,
	}
	for try := 0; ; try++ {
		var ns corev1.Namespace
		err := c.api.Get(ctx, client.ObjectKey{Name: env.Namespace}, &ns)
		switch {
		case apierrors.IsNotFound(err):
			ns = corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: env.Namespace, Labels: want}}
			err = c.api.Create(ctx, &ns, client.FieldOwner(fieldManager))
			if err == nil {
				return nil
			}
		case err != nil:
			return explain(err, "read namespace %s", env.Namespace)
		case ns.DeletionTimestamp != nil:
			return slipway.Errorf(slipway.Conflict, "the namespace %s is being deleted", env.Namespace).
				WithHint("wait until it is gone, then try again")
		default:
			if other := ns.Labels[LabelInstallation]; other != "" && other != c.installation {
				return slipway.Errorf(slipway.Conflict, "the namespace %s belongs to another Slipway (installation %s)", env.Namespace, other).
					WithHint("give the environment %s another namespace", env.Ref())
			}
			labels := maps.Clone(ns.Labels)
			if labels == nil {
				labels = map[string]string{}
			}
			for k, v := range want {
				if k == LabelManagedBy && labels[k] != "" {
					continue // made by somebody's tool: ours to use, not ours to claim
				}
				labels[k] = v
			}
			if maps.Equal(labels, ns.Labels) {
				return nil
			}
			ns.Labels = labels
			err = c.api.Update(ctx, &ns, client.FieldOwner(fieldManager))
			if err == nil {
				return nil
			}
		}
		if !again(err) || try == maxTries {
			return explain(err, "write namespace %s", env.Namespace)
		}
		if err := pause(ctx, try); err != nil {
			return fmt.Errorf("write namespace %s: %w", env.Namespace, err)
		}
	}
}

// DeleteNamespace deletes the environment's namespace if this installation made it.
// Others are left alone, without an error. It does not wait for the end.
func (c *Client) DeleteNamespace(ctx context.Context, env slipway.Environment) error {
	var ns corev1.Namespace
	err := c.api.Get(ctx, client.ObjectKey{Name: env.Namespace}, &ns)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return explain(err, "read namespace %s", env.Namespace)
	}
	if ns.Labels[LabelInstallation] != c.installation || ns.Labels[LabelManagedBy] != managedBy {
		return nil
	}
	err = c.api.Delete(ctx, &ns, client.Preconditions{UID: &ns.UID})
	return explain(client.IgnoreNotFound(err), "delete namespace %s", env.Namespace)
}
