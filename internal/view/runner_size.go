package view

import "slipway.dev/slipway/internal/spec"

// RunnerSize is what one runner of a size reserves and may use.
type RunnerSize = spec.RunnerSize

// RunnerSizes lists the sizes of runners, the smallest first.
func RunnerSizes() []RunnerSize { return spec.RunnerSizes() }
