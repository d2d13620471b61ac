package author

import (
	"context"

	"slipway.dev/slipway/internal/outside/helm"
	"slipway.dev/slipway/internal/outside/prefect"
)

// Python is an environment in which actions run.
type Python = prefect.Python

// Tools are what looking into a driver takes. They may be used by many goroutines.
type Tools struct {
	// Interpreter is any Python from 3.11 on, to read actions with; it needs no packages.
	Interpreter string
	// Dir is where bundles are unpacked, each under its digest.
	Dir string
	// Charts renders charts. One without a cluster and without a cache stays offline.
	Charts *helm.Client
	// Python finds the environment of actions, which only Test needs; nil: there is none.
	Python func(context.Context) (Python, error)
}

// Offline returns tools that reach nothing outside of this machine.
func Offline(interpreter, dir string) *Tools {
	return &Tools{Interpreter: interpreter, Dir: dir, Charts: helm.New(nil, helm.Options{})}
}
