package kube

import (
	"context"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/slipway"
)

// pageOfObjects bounds one answer of the API server.
const pageOfObjects = 250

// otherKinds are looked for beyond what was applied: an object with our labels that no
// change made, such as a copy of one that was renamed by hand. Pods and what else a
// controller makes are not among them.
var otherKinds = []schema.GroupVersionKind{
	{Group: "apps", Version: "v1", Kind: KindDeployment}, {Group: "apps", Version: "v1", Kind: KindStatefulSet},
	{Group: "apps", Version: "v1", Kind: KindDaemonSet}, {Group: "batch", Version: "v1", Kind: KindCronJob},
	{Group: "batch", Version: "v1", Kind: "Job"}, {Version: "v1", Kind: "Service"}, {Version: "v1", Kind: "ConfigMap"},
}

// look lists the objects that carry the application's labels, one request for each kind
// and page, rather than one for each object.
func (k *comparing) look(ctx context.Context, ms []Manifest) error {
	k.seen, k.scaled = map[Object]*unstructured.Unstructured{}, map[Object]bool{}
	type place struct {
		kind      schema.GroupVersionKind
		namespace string
	}
	asked := map[place]bool{}
	for _, m := range ms {
		p := place{m.Object.kind(), m.Object.Namespace}
		if asked[p] {
			continue
		}
		asked[p] = true
		if err := k.list(ctx, p.kind, p.namespace, false); err != nil {
			return err
		}
	}
	for _, kind := range otherKinds {
		if asked[place{kind, k.app.Namespace}] {
			continue
		}
		if err := k.list(ctx, kind, k.app.Namespace, true); err != nil {
			return err
		}
	}
	return k.autoscalers(ctx)
}

// list reads the objects of one kind; with bare, their metadata only. A kind that is not
// served, or may not be listed, is left to the reading of each object.
func (k *comparing) list(ctx context.Context, kind schema.GroupVersionKind, namespace string, bare bool) error {
	next := ""
	for {
		opts := []client.ListOption{client.InNamespace(namespace), client.MatchingLabels(ApplicationLabels(k.app)),
			client.Limit(pageOfObjects), client.Continue(next)}
		var list client.ObjectList
		full, part := &unstructured.UnstructuredList{}, &metav1.PartialObjectMetadataList{}
		full.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		part.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		if list = full; bare {
			list = part
		}
		err := k.c.api.List(ctx, list, opts...)
		switch {
		case apierrors.IsNotFound(err), meta.IsNoMatchError(err), apierrors.IsForbidden(err):
			return nil
		case apierrors.IsResourceExpired(err) && next != "":
			next = "" // the list took too long to walk: from the start
			continue
		case err != nil:
			return explain(err, "list the %ss of %s in namespace %s", kind.Kind, k.app.Name, namespace)
		}
		for i := range full.Items {
			u := &full.Items[i]
			u.SetGroupVersionKind(kind)
			k.seen[objectOf(u)] = u
		}
		for i := range part.Items {
			u := &unstructured.Unstructured{}
			u.SetGroupVersionKind(kind)
			u.SetNamespace(part.Items[i].Namespace)
			u.SetName(part.Items[i].Name)
			u.SetLabels(part.Items[i].Labels)
			u.SetAnnotations(part.Items[i].Annotations)
			u.SetOwnerReferences(part.Items[i].OwnerReferences)
			u.SetManagedFields(part.Items[i].ManagedFields)
			u.SetDeletionTimestamp(part.Items[i].DeletionTimestamp)
			k.seen[objectOf(u)] = u
		}
		if next = list.GetContinue(); next == "" {
			return nil
		}
	}
}

func objectOf(u *unstructured.Unstructured) Object {
	kind := u.GroupVersionKind()
	return Object{Group: kind.Group, Kind: kind.Kind, Namespace: u.GetNamespace(), Name: u.GetName()}
}

// autoscalers finds what is scaled by others than us, whoever made the autoscaler.
func (k *comparing) autoscalers(ctx context.Context) error {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscalerList"})
	err := k.c.api.List(ctx, list, client.InNamespace(k.app.Namespace))
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) || apierrors.IsForbidden(err) {
		return nil
	}
	if err != nil {
		return explain(err, "list the autoscalers in namespace %s", k.app.Namespace)
	}
	for i := range list.Items {
		target, _, _ := unstructured.NestedStringMap(list.Items[i].Object, "spec", "scaleTargetRef")
		group, _, versioned := strings.Cut(target["apiVersion"], "/")
		if !versioned {
			group = ""
		}
		k.scaled[Object{Group: group, Kind: target["kind"], Namespace: k.app.Namespace, Name: target["name"]}] = true
	}
	return nil
}

// extras tells the objects that carry the application's labels and were made by no change.
// What a controller made of them, the chart's own hooks, what the chart wants to be kept,
// and what Slipway makes beside the chart, are none.
func (k *comparing) extras(ms []Manifest) {
	known := map[Object]bool{}
	for _, m := range ms {
		known[m.Object.plain()] = true
	}
	var extra []Object
	for o, u := range k.seen {
		notes := u.GetAnnotations()
		switch {
		case known[o], len(u.GetOwnerReferences()) > 0, u.GetDeletionTimestamp() != nil,
			u.GetLabels()[LabelManagedBy] == managedBy, u.GetLabels()[LabelRole] == roleAction,
			u.GetLabels()["owner"] == "helm", // Helm's record of a release
			notes["helm.sh/hook"] != "", notes["helm.sh/resource-policy"] == "keep":
			continue
		}
		extra = append(extra, o)
	}
	sortObjects(extra)
	for _, o := range extra {
		k.out.Differences = append(k.out.Differences, slipway.Difference{
			Object: o.String(), Component: k.seen[o].GetLabels()[LabelComponent], Kind: slipway.DiffExtra, By: writerOf(writers(k.seen[o]), nil),
		})
	}
}
