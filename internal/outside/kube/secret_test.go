package kube

// World: fake API server (controller-runtime's).

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"slipway.dev/slipway/internal/slipway"
)

func TestApplySecretWritesExactlyItsData(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	writes := 0
	w := newWorld(t, interceptor.Funcs{Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
		writes++
		return c.Update(ctx, o, opts...)
	}})
	labels := ApplicationLabels(guestbook)
	for _, data := range []map[string][]byte{{"db": []byte("one"), "mail": []byte("two")}, {"db": []byte("three")}, {"db": []byte("three")}} {
		if err := w.ApplySecret(ctx, "ns", "guestbook-slipway", data, labels); err != nil {
			t.Fatal(err)
		}
	}
	var got corev1.Secret
	if err := w.api.Get(ctx, client.ObjectKey{Namespace: "ns", Name: "guestbook-slipway"}, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got.Data, map[string][]byte{"db": []byte("three")}); diff != "" || got.Labels[LabelApplication] != "guestbook" {
		t.Errorf("labels %v, data (-got +want):\n%s", got.Labels, diff)
	}
	if writes != 1 {
		t.Errorf("%d updates, want one: the last data were there already", writes)
	}
	for range 2 {
		if err := w.DeleteSecret(ctx, "ns", "guestbook-slipway"); err != nil {
			t.Error(err)
		}
	}
}

func TestApplySecretLeavesAForeignOneAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, interceptor.Funcs{}, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "db"}, Data: map[string][]byte{"a": []byte("theirs")}})
	if err := w.ApplySecret(t.Context(), "ns", "db", nil, nil); !slipway.Is(err, slipway.Conflict) {
		t.Errorf("ApplySecret() = %v, want a conflict", err)
	}
	if err := w.DeleteSecret(t.Context(), "ns", "db"); err != nil {
		t.Error(err)
	}
	var got corev1.Secret
	if err := w.api.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "db"}, &got); err != nil || string(got.Data["a"]) != "theirs" {
		t.Errorf("the foreign Secret is %v, %v", got.Data, err)
	}
}

func TestApplySecretNeverQuotesAValue(t *testing.T) {
	t.Parallel()
	const value = "hunter2hunter2"
	w := newWorld(t, interceptor.Funcs{Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
		return apierrors.NewInvalid(schema.GroupKind{Kind: "Secret"}, "db", field.ErrorList{field.Invalid(field.NewPath("data"), value, "too odd")})
	}})
	err := w.ApplySecret(t.Context(), "ns", "db", map[string][]byte{"a": []byte(value)}, nil)
	for e := err; e != nil; e = errors.Unwrap(e) {
		if strings.Contains(e.Error(), value) {
			t.Errorf("the value is in the error: %v", e)
		}
	}
	if !slipway.Is(err, slipway.Invalid) {
		t.Errorf("ApplySecret() = %v, want invalid", err)
	}
}

func TestEnsureNamespace(t *testing.T) {
	t.Parallel()
	env := slipway.Environment{Project: "shop", Name: "production", Namespace: "shop-production"}
	for _, tc := range []struct {
		name   string
		labels map[string]string // of the namespace that is there; nil: there is none
		kind   slipway.Kind
		want   map[string]string
		goes   bool // with DeleteNamespace
	}{
		{"none is there", nil, "", map[string]string{LabelProject: "shop", LabelEnvironment: "production", LabelInstallation: "installation-1", LabelManagedBy: "slipway"}, true},
		{"one that somebody made for us", map[string]string{"team": "a", LabelManagedBy: "terraform"}, "",
			map[string]string{"team": "a", LabelProject: "shop", LabelEnvironment: "production", LabelInstallation: "installation-1", LabelManagedBy: "terraform"}, false},
		{"another installation's", map[string]string{LabelInstallation: "installation-2"}, slipway.Conflict, map[string]string{LabelInstallation: "installation-2"}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var there []client.Object
			if tc.labels != nil {
				there = append(there, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop-production", Labels: tc.labels}})
			}
			w := newWorld(t, interceptor.Funcs{}, there...)
			for range 2 {
				if err := w.EnsureNamespace(t.Context(), env); slipway.KindOf(err) != tc.kind {
					t.Errorf("EnsureNamespace() = %v, want %q", err, tc.kind)
				}
			}
			var got corev1.Namespace
			if err := w.api.Get(t.Context(), client.ObjectKey{Name: "shop-production"}, &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(got.Labels, tc.want); diff != "" {
				t.Errorf("the labels (-got +want):\n%s", diff)
			}
			if err := w.DeleteNamespace(t.Context(), env); err != nil {
				t.Error(err)
			}
			err := w.api.Get(t.Context(), client.ObjectKey{Name: "shop-production"}, &got)
			if apierrors.IsNotFound(err) != tc.goes {
				t.Errorf("after DeleteNamespace: %v, want gone %v", err, tc.goes)
			}
		})
	}
}
