//go:build e2e

package e2e

import (
	"testing"

	"slipway.dev/slipway/test/world"
)

// installation is a world with the questions that these tests ask.
type installation struct{ *world.World }

func newWorld(t testing.TB, flags ...string) *installation {
	t.Helper()
	return &installation{world.New(t, flags...)}
}

func prepared(t testing.TB) *installation {
	t.Helper()
	return &installation{world.Prepare(t)}
}
