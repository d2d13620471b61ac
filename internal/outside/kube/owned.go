package kube

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// DeleteOwned deletes an object if Helm made it for that release, and reports whether it
// did. What is gone, is another's, or is marked to be kept stays as it is.
func (c *Client) DeleteOwned(ctx context.Context, o Object, release, namespace string) (bool, error) {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(o.kind())
	err := c.api.Get(ctx, client.ObjectKey{Namespace: o.Namespace, Name: o.Name}, u)
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return false, nil
	}
	if err != nil {
		return false, explain(err, "read %s in namespace %s", o, o.Namespace)
	}
	if !ownedBy(u, release, namespace) || u.GetDeletionTimestamp() != nil {
		return false, nil
	}
	uid := u.GetUID()
	err = c.api.Delete(ctx, u, client.Preconditions{UID: &uid}, client.PropagationPolicy("Background"))
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return false, nil
	}
	return err == nil, explain(err, "delete %s in namespace %s", o, o.Namespace)
}
