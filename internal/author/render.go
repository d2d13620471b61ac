package author

import (
	"cmp"
	"context"
	"fmt"

	"slipway.dev/slipway/internal/outside/helm"
	"slipway.dev/slipway/internal/reconcile/application"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/spec"
)

// Rendering asks for what a driver makes of a configuration.
type Rendering struct {
	Bundle  spec.Bundle
	Spec    slipway.DriverSpec
	App     slipway.Application // whose labels the objects get; its namespace is the context's
	Context spec.GlobalContext
	Stopped map[string]bool // components that are to stay stopped
	Upgrade bool            // render as for an upgrade
	Kube    string          // the Kubernetes version that the chart is told; empty: KubeVersion
}

// KubeVersion is what charts are told where no cluster is asked, so that the same driver
// renders the same everywhere. Helm's own answer depends on how the program was built.
const KubeVersion = "1.37.0"

// Rendered is what a driver makes of a configuration: the values of its chart, and the
// chart as it would be applied. Secrets are references in both.
type Rendered struct {
	Values map[string]any
	helm.Rendered
}

// Render renders the values and the chart of a driver as an apply would. The chart must be
// in the bundle: nothing is fetched.
func (t *Tools) Render(ctx context.Context, r Rendering) (Rendered, error) {
	ref, err := spec.ChartFor(r.Spec, r.Context.App.Version)
	if err != nil {
		return Rendered{}, err
	}
	if !spec.LocalChart(ref.Location) && !r.Bundle.Carries(ref) {
		return Rendered{}, slipway.Errorf(slipway.Unavailable, "the chart is not in the driver's bundle").
			WithHint("it is at %s; put a copy into the driver's directory to render it without a network", ref.Location)
	}
	dir, err := r.Bundle.WriteTo(t.Dir)
	if err != nil {
		return Rendered{}, fmt.Errorf("unpack the driver: %w", err)
	}
	chart, err := t.Charts.Chart(ctx, ref, dir, r.Bundle.Digest())
	if err != nil {
		return Rendered{}, err
	}
	values, err := spec.Values(r.Bundle, r.Spec, r.Context)
	if err != nil {
		return Rendered{}, err
	}
	out, err := t.Charts.Render(ctx, helm.RenderRequest{
		Chart: chart, Values: values, Release: r.Context.Instance.HelmRelease, Namespace: r.Context.Instance.Namespace,
		Patch: application.PatchFor(r.App, r.Spec, r.Context, r.Stopped, ""), Upgrade: r.Upgrade,
		Kube: cmp.Or(r.Kube, KubeVersion),
	})
	return Rendered{Values: values, Rendered: out}, err
}

// render renders an imagined application.
func (t *Tools) render(ctx context.Context, b spec.Bundle, d slipway.DriverSpec, app slipway.ApplicationSpec) (Rendered, error) {
	frozen, err := spec.ContextOf(d, app)
	if err != nil {
		return Rendered{}, err
	}
	return t.Render(ctx, Rendering{
		Bundle: b, Spec: d, Context: frozen,
		App: slipway.Application{Project: frozen.Environment.Project, Environment: frozen.Environment.Name, Name: app.Name, Namespace: frozen.Instance.Namespace},
	})
}
