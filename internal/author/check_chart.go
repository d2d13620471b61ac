package author

import (
	"context"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"slipway.dev/slipway/internal/outside/kube"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/spec"
)

// chart renders the values and the chart for the lowest and the highest version that the
// driver supports, and looks for each component among the workloads.
func (c *check) chart(ctx context.Context) {
	if c.Spec.Chart.Location == "" || c.faultBelow("spec.helm") || c.faultBelow("spec.parameters") || c.faultBelow("spec.supported_versions") {
		return // what stands there is not what would be rendered
	}
	if !spec.LocalChart(c.Spec.Chart.Location) && len(c.bundle.Charts()) == 0 {
		c.warn(c.At.Fault("the chart is not in the bundle, so it is checked when it is first installed", "", "spec", "helm", "main", "location"))
		return
	}
	var all []kube.Workload
	for _, version := range spec.SupportedBounds(c.Spec) {
		parameters, err := spec.ExampleParameters(c.Spec)
		if err != nil {
			c.warn(c.At.Fault("the chart was not rendered: "+message(err), "", "spec", "parameters"))
			return
		}
		workloads, ok := c.render(ctx, version, parameters)
		if !ok {
			return
		}
		all = append(all, workloads...)
	}
	if !c.faultBelow("spec.components") {
		c.components(ctx, all)
	}
}

// faultBelow reports whether something below a path of the specification is wrong already.
func (c *check) faultBelow(at string) bool {
	return slices.ContainsFunc(c.report.Faults, func(f slipway.FieldError) bool {
		return f.File == c.File && (f.Path == at || strings.HasPrefix(f.Path, at+".") || strings.HasPrefix(f.Path, at+"["))
	})
}

// render renders the driver once, and reports why it does not.
func (c *check) render(ctx context.Context, version string, parameters map[string]any) ([]kube.Workload, bool) {
	out, err := c.tools.render(ctx, c.bundle, c.Spec, spec.ExampleApplication(c.Spec, version, parameters))
	if err == nil {
		return out.Workloads, true
	}
	if e, ok := errorOf(err); !ok || e.Kind == slipway.Internal || e.Kind == slipway.Unavailable {
		// Tools that do not work are no fault of the driver's author.
		c.warn(c.At.Fault("the chart was not rendered for version "+version+": "+message(err), "", "spec", "helm", "main", "location"))
		return nil, false
	}
	c.fault(c.placed(err))
	return nil, false
}

// placed finds where what keeps a driver from rendering is written.
func (c *check) placed(err error) slipway.FieldError {
	e, _ := errorOf(err)
	if len(e.Fields) > 0 && e.Fields[0].File != "" {
		f := e.Fields[0]
		f.Msg = e.Msg
		return f
	}
	if m := templatePlace.FindStringSubmatch(e.Msg); m != nil {
		f := slipway.FieldError{File: path.Join(c.Spec.Chart.Location, m[1]), Msg: e.Msg, Hint: e.Hint}
		f.Line, _ = strconv.Atoi(m[2])
		f.Column, _ = strconv.Atoi(m[3])
		if _, there := c.bundle.File(f.File); there {
			return f
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Spec.Components)) {
		if strings.Contains(e.Msg, fmt.Sprintf("the components %q", name)) || strings.Contains(e.Msg, fmt.Sprintf("component %q", name)) {
			return c.At.Fault(e.Msg, e.Hint, "spec", "components", name)
		}
	}
	return c.At.Fault(e.Msg, e.Hint, "spec", "helm", "main", "location")
}

// templatePlace finds "guestbook/templates/web.yaml:12:20" in what Helm says; the chart's
// name, which comes first, is not that of its folder.
var templatePlace = regexp.MustCompile(`[A-Za-z0-9._-]+/((?:charts/[A-Za-z0-9._-]+/)*templates/[A-Za-z0-9._/-]+):(\d+)(?::(\d+))?`)

// components looks for each component among the workloads of the chart.
func (c *check) components(ctx context.Context, all []kube.Workload) {
	missing := map[string]bool{}
	for name := range c.Spec.Components {
		missing[name] = true
	}
	c.found(all, missing)
	if len(missing) == 0 {
		return
	}
	// A parameter may bring a component: find one that does before its absence is a fault.
	variants, err := spec.ParameterVariants(c.Spec)
	if err != nil {
		c.warn(c.At.Fault("not all components were looked for: "+message(err), "", "spec", "parameters"))
		return
	}
	versions := spec.SupportedBounds(c.Spec)
	for _, parameters := range variants {
		if len(missing) == 0 || ctx.Err() != nil {
			return
		}
		out, err := c.tools.render(ctx, c.bundle, c.Spec, spec.ExampleApplication(c.Spec, versions[len(versions)-1], parameters))
		if err != nil {
			continue // a setting that nobody asked for may make no sense
		}
		c.found(out.Workloads, missing)
	}
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		c.fault(c.At.Fault("no workload of the chart has these labels, whatever the parameters are",
			labelsOf(all, c.Spec.Components[name].Selector), "spec", "components", name, "selector"))
	}
}

// found takes the components that workloads belong to out of missing, and looks at their
// containers and at the volumes that are backed up.
func (c *check) found(ws []kube.Workload, missing map[string]bool) {
	containers, volumes := map[string][]string{}, map[string][]string{}
	for _, w := range ws {
		if missing[w.Component] {
			containers[w.Component] = append(containers[w.Component], w.ContainerNames()...)
			volumes[w.Component] = append(volumes[w.Component], w.DataVolumes()...)
		}
	}
	for name, has := range containers {
		delete(missing, name)
		c.backedUp(name, volumes[name])
		want := c.Spec.Components[name].Container
		if want != "" && !slices.Contains(has, want) {
			slices.Sort(has)
			c.fault(c.At.Fault(fmt.Sprintf("there is no container %q", want), "its workload has: "+strings.Join(slices.Compact(has), ", "),
				"spec", "components", name, "container"))
		}
	}
}

// backedUp looks whether the volumes that a component's backup names hold data: one that
// is no claim, or is not there, would be thought safe and is not.
func (c *check) backedUp(name string, has []string) {
	b := c.Spec.Components[name].Backup
	if b == nil {
		return
	}
	hint := "its pods have no volume claim"
	if len(has) > 0 {
		slices.Sort(has)
		hint = "its pods have: " + strings.Join(slices.Compact(has), ", ")
	}
	for _, v := range b.Volumes {
		if !slices.Contains(has, v) {
			c.fault(c.At.Fault(fmt.Sprintf("there is no volume claim %q to back up", v), hint, "spec", "components", name, "backup", "volumes"))
		}
	}
}

// labelsOf names the workloads of a chart with what they have in the place of a selector.
func labelsOf(ws []kube.Workload, selector map[string]string) string {
	var out []string
	for _, w := range ws {
		var labels []string
		for _, key := range slices.Sorted(maps.Keys(selector)) {
			if v, ok := w.PodLabels[key]; ok && v != selector[key] {
				labels = append(labels, key+": "+v)
			}
		}
		line := fmt.Sprintf("%s has { %s }", w, strings.Join(labels, ", "))
		if len(labels) == 0 {
			line = fmt.Sprintf("%s has no %s", w, strings.Join(slices.Sorted(maps.Keys(selector)), ", "))
		}
		if !slices.Contains(out, line) {
			out = append(out, line)
		}
	}
	if len(out) == 0 {
		return "the chart has no workload at all"
	}
	return strings.Join(out, "; ")
}
