package kube

import (
	"bytes"
	"context"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/slipway"
)

// CompareSecret looks whether a Secret of ours is as it was written. Of a key whose value
// is nil only the presence is compared: it has another value by now than it was written
// with.
func (c *Client) CompareSecret(ctx context.Context, namespace, name string, data map[string][]byte) ([]slipway.Difference, error) {
	var s corev1.Secret
	err := c.api.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &s)
	if apierrors.IsNotFound(err) {
		return []slipway.Difference{{Object: "Secret " + name, Kind: slipway.DiffMissing}}, nil
	}
	if err != nil {
		return nil, explain(err, "read the Secret %s in namespace %s", name, namespace)
	}
	var out []slipway.Difference
	keys := slices.Sorted(maps.Keys(data))
	for _, k := range slices.Sorted(maps.Keys(s.Data)) {
		if _, ok := data[k]; !ok {
			keys = append(keys, k)
		}
	}
	for _, k := range keys {
		wanted, known := data[k]
		live, there := s.Data[k]
		if known && there && (wanted == nil || bytes.Equal(wanted, live)) {
			continue
		}
		out = append(out, slipway.Difference{Object: "Secret " + name, Kind: slipway.DiffChanged, Path: "key " + k, Hidden: true})
	}
	return out, nil
}

// CompareRecord looks whether the application's record says what it was given. Its change
// is not compared: it only ever grows.
func (c *Client) CompareRecord(ctx context.Context, app slipway.Application, want Record) ([]slipway.Difference, error) {
	name := recordKind.Kind + " " + app.Name
	got, err := c.GetRecord(ctx, app)
	if slipway.Is(err, slipway.NotFound) || slipway.Is(err, slipway.Invalid) { // its kind may be gone as well
		return []slipway.Difference{{Object: name, Kind: slipway.DiffMissing}}, nil
	}
	if err != nil {
		return nil, err
	}
	var out []slipway.Difference
	for _, f := range []struct{ path, applied, live string }{
		{"version", want.Version, got.Version},
		{"revision", decimal(want.Revision), decimal(got.Revision)},
		{"driver", want.Driver.Name + " " + want.Driver.Version, got.Driver.Name + " " + got.Driver.Version},
	} {
		if f.applied != f.live {
			out = append(out, slipway.Difference{Object: name, Kind: slipway.DiffChanged, Path: f.path, Applied: f.applied, Live: f.live})
		}
	}
	return out, nil
}
