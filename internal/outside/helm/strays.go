package helm

import (
	"context"
	"fmt"
	"slices"

	"helm.sh/helm/v4/pkg/release/common"
	releasev1 "helm.sh/helm/v4/pkg/release/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"slipway.dev/slipway/internal/outside/kube"
)

// strays are the objects that the revisions after one have made, beyond those that stay.
// Helm compares a release with its last deployed revision, so what a failed one made
// beyond that is nobody's: no upgrade removes it.
func strays(past []*releasev1.Release, after int, stay []kube.Object) ([]kube.Object, error) {
	known := map[kube.Object]bool{}
	for _, o := range stay {
		o.Component, o.Version = "", "" // the same object in another version of its API
		known[o] = true
	}
	var out []kube.Object
	for _, rel := range past {
		if rel.Version <= after {
			continue
		}
		objects, err := objectsOf(rel)
		if err != nil {
			return nil, err
		}
		for _, o := range objects {
			plain := o
			plain.Component, plain.Version = "", ""
			if !known[plain] {
				known[plain] = true // named once
				out = append(out, o)
			}
		}
	}
	slices.Reverse(out) // what was made last goes first
	return out, nil
}

// deployed is the number of the last revision that Helm brought to its end; 0: none.
func deployed(past []*releasev1.Release) int {
	n := 0
	for _, rel := range past {
		if s := rel.Info.Status; s == common.StatusDeployed || s == common.StatusSuperseded {
			n = max(n, rel.Version)
		}
	}
	return n
}

// objectsOf lists the objects in the manifest of a revision.
func objectsOf(rel *releasev1.Release) ([]kube.Object, error) {
	docs, err := decode([]byte(rel.Manifest))
	if err != nil {
		return nil, fmt.Errorf("read revision %d of the release %s: %w", rel.Version, rel.Name, err)
	}
	var out []kube.Object
	for _, doc := range flatten(docs) {
		u := &unstructured.Unstructured{Object: doc}
		kind := u.GroupVersionKind()
		o := kube.Object{Group: kind.Group, Version: kind.Version, Kind: kind.Kind, Namespace: u.GetNamespace(), Name: u.GetName(),
			Component: u.GetLabels()[kube.LabelComponent]}
		if o.Namespace == "" && !kube.ClusterWide(o) {
			o.Namespace = rel.Namespace
		}
		if o.Kind != "" && o.Name != "" {
			out = append(out, o)
		}
	}
	return out, nil
}

// sweep deletes the strays of a release, and returns a note for each.
func (c *Client) sweep(ctx context.Context, release, namespace string, past []*releasev1.Release, after int, stay []kube.Object) ([]string, error) {
	left, err := strays(past, after, stay)
	if err != nil {
		return nil, err
	}
	var notes []string
	for _, o := range left {
		gone, err := c.kube.DeleteOwned(ctx, o, release, namespace)
		if err != nil {
			return notes, err
		}
		if gone {
			notes = append(notes, fmt.Sprintf("Deleted %s, left by a failed revision of the release %s", o, release))
		}
	}
	return notes, nil
}
