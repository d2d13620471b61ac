package fake_test

import (
	"testing"

	"slipway.dev/slipway/internal/outside/forge"
	"slipway.dev/slipway/internal/outside/forge/fake"
	"slipway.dev/slipway/internal/outside/forge/forgetest"
)

// World: the fake alone.
func TestTheFakeKeepsTheContract(t *testing.T) {
	t.Parallel()
	forgetest.Run(t, func(*testing.T) (forge.Forge, *fake.GitHub) {
		g := fake.New(nil)
		return g, g
	})
}
