package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"slipway.dev/slipway/internal/change"
	"slipway.dev/slipway/internal/outside/helm"
	"slipway.dev/slipway/internal/outside/prefect"
	"slipway.dev/slipway/internal/reconcile/application"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/spec"
)

// tools look at a driver's files for package change, which may not see the folders that
// know Python and Helm.
type tools struct {
	interpreter string // any Python from 3.11 on
	dir         string // where bundles are unpacked
	charts      *helm.Client
}

// Inspect reads the actions' functions without running them.
func (t tools) Inspect(ctx context.Context, b spec.Bundle, actions []slipway.Action) (change.Inspection, error) {
	out := change.Inspection{Parameters: map[string][]string{}}
	if len(actions) == 0 {
		return out, nil
	}
	dir, err := b.WriteTo(t.dir)
	if err != nil {
		return out, err
	}
	var at []prefect.Location
	for _, a := range actions {
		at = append(at, prefect.Location{File: a.File, Function: a.Function})
	}
	functions, problems, err := prefect.Inspect(ctx, t.interpreter, dir, at)
	if err != nil {
		return out, err
	}
	for _, p := range problems {
		out.Faults = append(out.Faults, slipway.FieldError{File: p.File, Line: p.Line, Column: p.Column, Msg: p.Message})
	}
	for _, f := range functions {
		for _, a := range actions {
			if a.File != f.File || a.Function != f.Function {
				continue
			}
			names := []string{}
			for _, p := range f.Parameters {
				if slices.Contains(spec.ActionParameters, p.Name) {
					names = append(names, p.Name)
				} else if p.Required {
					out.Faults = append(out.Faults, slipway.FieldError{
						File: f.File, Line: f.Line, Path: f.Function,
						Msg:  fmt.Sprintf("the parameter %q is required, and Slipway does not know what to give for it", p.Name),
						Hint: "an action may take " + strings.Join(spec.ActionParameters, ", ") + "; give others a default",
					})
				}
			}
			if f.AnyKeyword {
				names = slices.Clone(spec.ActionParameters)
			}
			out.Parameters[a.Name] = names
		}
	}
	return out, nil
}

// chart loads the driver's chart for an application version; ok is false when it is not
// in the bundle, and so not known without asking others.
func (t tools) chart(ctx context.Context, b spec.Bundle, d slipway.DriverSpec, version string) (ch *helm.Chart, ok bool, err error) {
	ref, err := spec.ChartFor(d, version)
	if err != nil || !spec.LocalChart(ref.Location) {
		return nil, false, err
	}
	dir, err := b.WriteTo(t.dir)
	if err != nil {
		return nil, false, err
	}
	ch, err = t.charts.Chart(ctx, ref, dir, b.Digest())
	return ch, err == nil, err
}

// Rendered renders the chart as it would be applied, and sums up each component's pods.
func (t tools) Rendered(ctx context.Context, b spec.Bundle, d slipway.Driver, s slipway.ApplicationSpec, c spec.GlobalContext) (map[string]string, error) {
	ch, ok, err := t.chart(ctx, b, d.Spec, s.App.Version)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, slipway.Errorf(slipway.Unavailable, "the chart is not in the driver's bundle")
	}
	values, err := spec.Values(b, d.Spec, c)
	if err != nil {
		return nil, err
	}
	app := slipway.Application{
		Project: c.Environment.Project, Environment: c.Environment.Name, Name: s.Name, Namespace: c.Instance.Namespace,
	}
	out, err := t.charts.Render(ctx, helm.RenderRequest{
		Chart: ch, Values: values, Release: c.Instance.HelmRelease, Namespace: c.Instance.Namespace,
		Patch: application.PatchFor(app, d.Spec, c, nil, ""),
	})
	if err != nil {
		return nil, err
	}
	sums := map[string]string{}
	for _, w := range out.Workloads {
		if w.Component == "" {
			continue
		}
		sum := sha256.New()
		_, _ = io.WriteString(sum, sums[w.Component]+w.String()+w.TemplateHash()) // a hash takes everything
		sums[w.Component] = hex.EncodeToString(sum.Sum(nil))
	}
	return sums, nil
}

// CheckChart renders the chart with default parameters and looks for each component.
func (t tools) CheckChart(ctx context.Context, b spec.Bundle, d slipway.DriverSpec) (change.ChartFacts, error) {
	facts := change.ChartFacts{}
	version := spec.ExampleVersion(d)
	ch, ok, err := t.chart(ctx, b, d, version)
	if slipway.Is(err, slipway.Invalid) || slipway.Is(err, slipway.NotFound) {
		facts.Faults = append(facts.Faults, slipway.FieldError{Path: "spec.helm.main.location", Msg: err.Error()})
		return facts, nil
	}
	if err != nil {
		return facts, err
	}
	if !ok {
		facts.Warnings = append(facts.Warnings, "the chart is not in the bundle, so it is checked when it is first installed")
		return facts, nil
	}
	facts.Chart = d.Chart
	frozen, err := spec.ExampleContext(d, version)
	if err != nil {
		// Parameters without a default cannot be guessed.
		facts.Warnings = append(facts.Warnings, "the chart was not rendered: "+err.Error())
		return facts, nil //nolint:nilerr // it is a fault or a warning of the driver
	}
	values, err := spec.Values(b, d, frozen)
	if err != nil {
		facts.Faults = append(facts.Faults, slipway.FieldError{File: d.Chart.Values, Path: "spec.helm.main.values", Msg: err.Error()})
		return facts, nil //nolint:nilerr // it is a fault or a warning of the driver
	}
	app := slipway.Application{Project: "example", Environment: "check", Name: d.Name, Namespace: "example-check"}
	out, err := t.charts.Render(ctx, helm.RenderRequest{
		Chart: ch, Values: values, Release: d.Name, Namespace: app.Namespace,
		Patch: application.PatchFor(app, d, frozen, nil, ""),
	})
	if err != nil {
		facts.Faults = append(facts.Faults, slipway.FieldError{Path: "spec.helm.main", Msg: err.Error()})
		return facts, nil //nolint:nilerr // it is a fault or a warning of the driver
	}
	found := map[string][]string{}
	for _, w := range out.Workloads {
		found[w.Component] = append(found[w.Component], w.ContainerNames()...)
	}
	for _, name := range slices.Sorted(maps.Keys(d.Components)) {
		containers, ok := found[name]
		want := d.Components[name].Container
		switch {
		case !ok:
			facts.Warnings = append(facts.Warnings, fmt.Sprintf("spec.components.%s: no workload of the chart is selected with the default parameters", name))
		case want != "" && !slices.Contains(containers, want):
			facts.Faults = append(facts.Faults, slipway.FieldError{
				Path: "spec.components." + name + ".container", Msg: fmt.Sprintf("there is no container %q", want),
				Hint: "its workload has: " + strings.Join(containers, ", "),
			})
		}
	}
	return facts, nil
}
