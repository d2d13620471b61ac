package spec

import (
	"cmp"
	"slices"

	"slipway.dev/slipway/internal/slipway"
)

// RunnerSize is what one runner of a size reserves and may use.
type RunnerSize struct {
	Name string
	slipway.ServiceResources
}

// RunnerSizes lists the sizes of runners, the smallest first.
func RunnerSizes() []RunnerSize {
	var out []RunnerSize
	for name, r := range runnerSizes {
		out = append(out, RunnerSize{name, r})
	}
	slices.SortFunc(out, func(a, b RunnerSize) int {
		return cmp.Compare(Amounts(a.ServiceResources).MemoryRequest, Amounts(b.ServiceResources).MemoryRequest)
	})
	return out
}
