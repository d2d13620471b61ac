package helm

import (
	"context"

	"helm.sh/helm/v4/pkg/release/common"

	"slipway.dev/slipway/internal/outside/kube"
	"slipway.dev/slipway/internal/slipway"
)

// Applied is what the release was last applied with, object by object in the order of the
// apply, without the chart's hooks. It is what Helm keeps of the revision, and no second
// rendering: a chart may draw passwords by lot.
//
// It is an error of kind NotFound when the cluster has no such release, and a Conflict when
// its last revision did not come to its end: then nobody knows how much of it was applied.
func (c *Client) Applied(ctx context.Context, app slipway.Application, release string) ([]kube.Manifest, error) {
	past, err := history(c.configuration(ctx, app.Namespace), release)
	if err != nil {
		return nil, Redactor(nil).told(err, "read the release "+release)
	}
	rel := newest(past)
	if rel == nil {
		return nil, slipway.Errorf(slipway.NotFound, "Helm's record of the release %s is gone from namespace %s", release, app.Namespace).
			WithHint("deploy the application again; that makes the release anew")
	}
	if rel.Info.Status != common.StatusDeployed {
		return nil, slipway.Errorf(slipway.Conflict, "the last change of the release %s did not come to its end (%s)", release, rel.Info.Status).
			WithHint("deploy again first")
	}
	docs, err := decode([]byte(rel.Manifest))
	if err != nil {
		return nil, Redactor(nil).told(err, "read the release "+release)
	}
	var out []kube.Manifest
	for _, doc := range flatten(docs) {
		// What Helm marks its objects with is not in its record. Without it the objects would
		// lose these marks, since they are ours to apply.
		setString(doc, "Helm", "metadata", "labels", kube.LabelManagedBy)
		setString(doc, release, "metadata", "annotations", "meta.helm.sh/release-name")
		setString(doc, app.Namespace, "metadata", "annotations", "meta.helm.sh/release-namespace")
		if m := kube.NewManifest(doc, app.Namespace); m.Object.Kind != "" && m.Object.Name != "" {
			out = append(out, m)
		}
	}
	return out, nil
}
