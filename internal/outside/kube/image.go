package kube

import (
	"slices"
	"strings"

	"slipway.dev/slipway/internal/slipway"
)

// ImageRule is what the change says of a component's image.
type ImageRule struct {
	Component string
	Container string // the declared container; empty: the pod's only one, or its first
	Override  string // the image that the team set, with its version token replaced; empty: none
}

// ComponentImages returns the image of every regular container of a component: those of
// the declared container first, the others in pod order, workloads by kind and name. An
// override takes the place of the declared container's image, whether or not it has
// reached the workload.
func ComponentImages(ws []Workload, rule ImageRule) ([]string, error) {
	if len(ws) == 0 {
		if rule.Override != "" {
			return []string{rule.Override}, nil
		}
		return nil, fail(slipway.CodeNoWorkload, slipway.NotFound, "the component %q has no workload", rule.Component).
			hint("a setup pre action runs before the chart is applied; read images in a later mode")
	}
	ws = slices.Clone(ws)
	sortWorkloads(ws)
	if rule.Container != "" && !slices.ContainsFunc(ws, func(w Workload) bool { return w.container(rule.Container) != nil }) {
		return nil, noContainer(ws[0], rule.Container)
	}
	var declared, others []string
	for _, w := range ws {
		name := rule.Container
		if name == "" && len(w.Containers) > 0 {
			if rule.Override != "" && len(w.Containers) > 1 {
				return nil, fail(slipway.CodeInvalidArgument, slipway.Invalid,
					"the component %q has an image override, but %s has several containers and the driver declares none: %s",
					rule.Component, w, strings.Join(w.ContainerNames(), ", "))
			}
			name = w.Containers[0].Name
		}
		for _, c := range w.Containers {
			if c.Name == name {
				declared = append(declared, c.Image)
			} else {
				others = append(others, c.Image)
			}
		}
	}
	switch {
	case rule.Override != "":
		for i := range declared {
			declared[i] = rule.Override
		}
	case len(slices.Compact(slices.Sorted(slices.Values(declared)))) > 1:
		return nil, fail(slipway.CodeAmbiguousWorkload, slipway.Conflict,
			"the component %q has %d workloads with different images: %s", rule.Component, len(ws), strings.Join(declared, ", ")).
			hint("narrow the component's selector in the driver, or name the image in the action")
	}
	return append(declared, others...), nil
}

func noContainer(w Workload, name string) *Failure {
	return fail(slipway.CodeInvalidArgument, slipway.Invalid, "%s has no container %q; it has: %s", w, name, strings.Join(w.ContainerNames(), ", ")).
		hint("correct the component's container in the driver")
}

// PickWorkload chooses the workload whose environment a command gets: the one that has
// the declared container, with long-running kinds before CronJobs. Two that differ in
// that container's environment are ambiguous, because either could be meant.
func PickWorkload(ws []Workload, component, container, namespace string) (Workload, error) {
	if len(ws) == 0 {
		return Workload{}, fail(slipway.CodeNoWorkload, slipway.NotFound,
			"the component %q has no workload in namespace %s yet; a setup pre action cannot copy its environment", component, namespace)
	}
	fit := slices.Clone(ws)
	sortWorkloads(fit)
	if container != "" {
		fit = slices.DeleteFunc(fit, func(w Workload) bool { return w.container(container) == nil })
		if len(fit) == 0 {
			return Workload{}, noContainer(ws[0], container)
		}
	}
	if lasting := slices.DeleteFunc(slices.Clone(fit), func(w Workload) bool { return w.Kind == KindCronJob }); len(lasting) > 0 {
		fit = lasting
	}
	for _, w := range fit[1:] {
		if !sameEnvironment(fit[0], w, container) {
			return Workload{}, fail(slipway.CodeAmbiguousWorkload, slipway.Conflict,
				"the component %q has workloads with different environments: %s and %s", component, fit[0], w).
				hint("narrow the component's selector in the driver")
		}
	}
	return fit[0], nil
}
