package helm

import (
	"bytes"
	"context"
	"errors"
	"sync/atomic"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/release"
	releasev1 "helm.sh/helm/v4/pkg/release/v1"
	"k8s.io/apimachinery/pkg/util/json"

	"slipway.dev/slipway/internal/slipway"
)

// RenderRequest asks for a chart's manifests.
type RenderRequest struct {
	Chart     *Chart
	Values    map[string]any
	Release   string
	Namespace string
	Patch     Patch
	Upgrade   bool   // render as for an upgrade
	Kube      string // the Kubernetes version to render for, such as 1.34.0; empty: Helm's own
	Redact    Redactor
}

// Rendered is a chart as it would be applied.
type Rendered struct {
	Patched
	Hooks []string // the chart's own hooks, as kind/name
}

// Render renders a chart and patches it without speaking to a cluster.
func (c *Client) Render(ctx context.Context, r RenderRequest) (Rendered, error) {
	ch, err := r.Chart.fresh()
	if err != nil {
		return Rendered{}, err
	}
	values, err := copied(r.Values)
	if err != nil {
		return Rendered{}, err
	}
	cfg := action.NewConfiguration(action.ConfigurationSetLogger(discard))
	in := action.NewInstall(cfg)
	in.DryRunStrategy = action.DryRunClient
	in.ReleaseName, in.Namespace = r.Release, r.Namespace
	in.IsUpgrade = r.Upgrade
	if r.Kube != "" {
		in.KubeVersion, err = common.ParseKubeVersion(r.Kube)
		if err != nil {
			return Rendered{}, slipway.Errorf(slipway.Invalid, "%q is no Kubernetes version", r.Kube)
		}
	}
	post := &postRenderer{patch: r.Patch}
	in.PostRenderer = post
	got, err := post.run(ctx, func() (release.Releaser, error) {
		return in.RunWithContext(context.WithoutCancel(ctx), ch, values)
	})
	if post.stage.Load() == rendered && post.err != nil {
		return Rendered{}, post.err
	}
	if err != nil {
		return Rendered{}, r.Redact.told(err, "render the chart "+r.Chart.Name)
	}
	out := Rendered{Patched: post.out}
	if rel, ok := got.(*releasev1.Release); ok {
		out.Manifests = []byte(rel.Manifest)
		for _, h := range rel.Hooks {
			out.Hooks = append(out.Hooks, h.Kind+"/"+h.Name)
		}
	}
	return out, nil
}

// postRenderer is PostRender as Helm calls it.
type postRenderer struct {
	patch Patch
	stage atomic.Int32
	out   Patched
	err   error // ours, before Helm wraps it in its words
}

const (
	rendering int32 = iota
	rendered
	abandoned
)

func (p *postRenderer) Run(in *bytes.Buffer) (*bytes.Buffer, error) {
	if !p.stage.CompareAndSwap(rendering, rendered) {
		return nil, errors.New("nobody waits for it any more")
	}
	p.out, p.err = PostRender(in.Bytes(), p.patch)
	if p.err != nil {
		return nil, p.err
	}
	return bytes.NewBuffer(p.out.Manifests), nil
}

// run does a run of Helm's that renders with p. Templates hear of no context, so one that
// goes on for ever is left to itself when ctx ends; p then lets it come no further. After
// the rendering the run must end with ctx by itself, and is waited for.
func (p *postRenderer) run(ctx context.Context, act func() (release.Releaser, error)) (release.Releaser, error) {
	type outcome struct {
		rel release.Releaser
		err error
	}
	done := make(chan outcome, 1)
	go func() {
		rel, err := act()
		done <- outcome{rel, err}
	}()
	select {
	case o := <-done:
		return o.rel, o.err
	case <-ctx.Done():
	}
	if p.stage.CompareAndSwap(rendering, abandoned) {
		return nil, context.Cause(ctx)
	}
	o := <-done
	return o.rel, o.err
}

// copied returns values of its own to Helm, which changes those it is given.
func copied(values map[string]any) (map[string]any, error) {
	raw, err := json.Marshal(values)
	if err != nil {
		return nil, slipway.Errorf(slipway.Invalid, "the chart's values cannot be written as JSON: %v", err)
	}
	out := map[string]any{}
	if err := json.Unmarshal(raw, &out); err != nil {
		return nil, slipway.Errorf(slipway.Invalid, "the chart's values are no object: %v", err)
	}
	if out == nil {
		out = map[string]any{} // from null
	}
	return out, nil
}
