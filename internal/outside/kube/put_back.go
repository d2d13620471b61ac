package kube

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/slipway"
)

// PutBack applies one object as it was applied before: a field that somebody changed is
// taken back, what somebody added by hand is removed, an object that is gone is made again.
// It may be repeated.
func (c *Client) PutBack(ctx context.Context, m Manifest) error {
	for try := 0; ; try++ {
		u, err := c.apply(ctx, m)
		if err == nil && len(m.remove) > 0 {
			err = c.removeAdded(ctx, u, m.remove)
		}
		switch {
		case err == nil:
			return nil
		case m.Object.Kind == "Secret":
			return secretError(err, m.Object.Namespace, m.Object.Name)
		case apierrors.IsInvalid(err):
			told := explain(err, "put back %s in namespace %s", m.Object, m.Object.Namespace)
			var e *slipway.Error
			if errors.As(told, &e) {
				e.Hint = "delete it with  kubectl delete -n " + m.Object.Namespace + " " + strings.ToLower(m.Object.Kind) + " " + m.Object.Name + "  if it holds no data, then repair again"
			}
			return told
		case !again(err) || try == maxTries:
			return explain(err, "put back %s in namespace %s", m.Object, m.Object.Namespace)
		}
		if err := pause(ctx, try); err != nil {
			return err
		}
	}
}

// removeAdded takes fields out of an object as it was just read. The write is refused when
// somebody else wrote in between; the whole is then repeated.
func (c *Client) removeAdded(ctx context.Context, u *unstructured.Unstructured, paths [][]part) error {
	took := false
	for _, path := range paths {
		took = removeAt(u.Object, path) || took
	}
	if !took {
		return nil
	}
	return c.api.Update(ctx, u, client.FieldOwner(fieldManager))
}

// dryRun asks the API server what the object would be if it were applied again.
func (c *Client) dryRun(ctx context.Context, m Manifest) (*unstructured.Unstructured, error) {
	return c.apply(ctx, m, client.DryRunAll)
}

func (c *Client) apply(ctx context.Context, m Manifest, opts ...client.ApplyOption) (*unstructured.Unstructured, error) {
	u := m.copied().doc
	u.SetNamespace(m.Object.Namespace)
	namespaced, err := c.api.IsObjectNamespaced(u)
	if err != nil {
		return nil, err
	}
	if !namespaced {
		u.SetNamespace("")
	}
	opts = append(opts, client.FieldOwner(fieldManager), client.ForceOwnership)
	err = c.api.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), opts...)
	return u, err
}

func sortObjects(os []Object) {
	slices.SortFunc(os, func(a, b Object) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
}
