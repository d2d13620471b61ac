package kube

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/slipway"
)

// ApplySecret writes a Secret with exactly data: keys that data lacks are removed. A
// Secret of that name that is not ours is refused.
func (c *Client) ApplySecret(ctx context.Context, namespace, name string, data map[string][]byte, labels map[string]string) error {
	want := maps.Clone(labels)
	if want == nil {
		want = map[string]string{}
	}
	want[LabelManagedBy] = managedBy
	for try := 0; ; try++ {
		var s corev1.Secret
		err := c.api.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &s)
		switch {
		case apierrors.IsNotFound(err):
			s = corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: want},
				Type: corev1.SecretTypeOpaque, Data: data}
			err = c.api.Create(ctx, &s, client.FieldOwner(fieldManager))
			if err == nil {
				return nil
			}
		case err != nil:
			return explain(err, "read the Secret %s in namespace %s", name, namespace)
		default:
			if s.Labels[LabelManagedBy] != managedBy {
				return foreignSecret(namespace, name)
			}
			if len(s.Data) == len(data) && (len(data) == 0 || reflect.DeepEqual(s.Data, data)) && within(want, s.Labels) {
				return nil
			}
			s.Data = data
			for k, v := range want {
				s.Labels[k] = v
			}
			err = c.api.Update(ctx, &s, client.FieldOwner(fieldManager))
			if err == nil {
				return nil
			}
		}
		if !again(err) || try == maxTries {
			return secretError(err, namespace, name)
		}
		if err := pause(ctx, try); err != nil {
			return fmt.Errorf("write the Secret %s in namespace %s: %w", name, namespace, err)
		}
	}
}

// DeleteSecret removes a Secret of ours. One that is gone, or not ours, is left at that.
func (c *Client) DeleteSecret(ctx context.Context, namespace, name string) error {
	var s corev1.Secret
	err := c.api.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &s)
	if apierrors.IsNotFound(err) || err == nil && s.Labels[LabelManagedBy] != managedBy {
		return nil
	}
	if err != nil {
		return explain(err, "read the Secret %s in namespace %s", name, namespace)
	}
	err = client.IgnoreNotFound(c.api.Delete(ctx, &s, client.Preconditions{UID: &s.UID}))
	return explain(err, "delete the Secret %s in namespace %s", name, namespace)
}

func foreignSecret(namespace, name string) error {
	return slipway.Errorf(slipway.Conflict, "the Secret %s in namespace %s exists and is not Slipway's", name, namespace).
		WithHint("rename or remove it, then try again")
}

// secretError says that a Secret was not written. The API server's own words may quote
// what it refused, which is a value, so nothing of them goes on but the reason.
func secretError(err error, namespace, name string) error {
	told := explain(err, "write the Secret %s in namespace %s", name, namespace)
	var e *slipway.Error
	if !errors.As(told, &e) || e.Kind == slipway.Unavailable {
		return told
	}
	e.Msg = fmt.Sprintf("write the Secret %s in namespace %s: %s", name, namespace, apierrors.ReasonForError(err))
	e.Err = nil
	return e
}

// within reports whether every pair of part is in whole.
func within(part, whole map[string]string) bool {
	for k, v := range part {
		if w, ok := whole[k]; !ok || w != v {
			return false
		}
	}
	return true
}
