package kube

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/slipway"
)

// Gone waits until none of the objects that the release owned is left, nor any pod of the
// application but those of its actions' Jobs: an old worker must not outlive the record of
// whose it was. What the chart marks to be kept is not waited for.
func (c *Client) Gone(ctx context.Context, app slipway.Application, release string, objects []Object, timeout time.Duration) error {
	pods := []client.ListOption{client.InNamespace(app.Namespace), client.MatchingLabels{LabelApplication: app.Name}}
	var left []string
	err := c.await(ctx, timeout, []watched{{&corev1.PodList{}, pods}}, func(ctx context.Context) (bool, error) {
		left = left[:0]
		for _, o := range objects {
			there, err := c.ownedThere(ctx, o, release, app.Namespace)
			if err != nil {
				return false, err
			}
			if there {
				left = append(left, o.String())
			}
		}
		var list corev1.PodList
		if err := c.api.List(ctx, &list, pods...); err != nil {
			return false, explain(err, "list the pods of %s in namespace %s", app.Name, app.Namespace)
		}
		for i := range list.Items {
			if p := &list.Items[i]; p.Labels[LabelRole] != roleAction {
				left = append(left, "pod "+p.Name)
			}
		}
		return len(left) == 0, nil
	})
	if errors.Is(err, errTimeout) {
		return slipway.Errorf(slipway.Unavailable, "%s of %s did not go within %s", strings.Join(left, ", "), app.Name, timeout).
			WithHint("see what keeps it with  kubectl describe -n %s, then delete the application again", app.Namespace)
	}
	if err != nil {
		return fmt.Errorf("wait for the end of %s: %w", app.Name, err)
	}
	return nil
}

// ownedThere reports whether an object that the release owns, and need not keep, is there.
func (c *Client) ownedThere(ctx context.Context, o Object, release, namespace string) (bool, error) {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(o.kind())
	err := c.api.Get(ctx, client.ObjectKey{Namespace: o.Namespace, Name: o.Name}, u)
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return false, nil
	}
	return err == nil && ownedBy(u, release, namespace), explain(err, "read %s in namespace %s", o, o.Namespace)
}

// ownedBy reports whether Helm made the object for that release and may delete it.
func ownedBy(u *unstructured.Unstructured, release, namespace string) bool {
	notes := u.GetAnnotations()
	return notes["meta.helm.sh/release-name"] == release && notes["meta.helm.sh/release-namespace"] == namespace &&
		notes["helm.sh/resource-policy"] != "keep"
}
