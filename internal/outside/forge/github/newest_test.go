package github

import (
	"net/http"
	"testing"

	"slipway.dev/slipway/internal/outside/forge"
	"slipway.dev/slipway/internal/outside/forge/fake"
	"slipway.dev/slipway/internal/outside/forge/forgetest"
	"slipway.dev/slipway/internal/slipway"
)

// World: the fake behind GitHub's REST API over loopback HTTP, checked against GitHub's
// published description.
func TestTheNewestRunnerProgram(t *testing.T) {
	t.Parallel()
	d := describe(t, githubCom)
	world := fake.New(nil)
	world.AddRepository(forge.Repository{Owner: "team", Name: "app"})
	world.OfferRunner("2.341.0")
	c := open(t, world.Handler(), func(next http.RoundTripper) http.RoundTripper { return &forgetest.Checking{T: t, D: d, Next: next} })
	for _, scope := range []slipway.ForgeScope{team, teamApp} {
		for _, a := range []slipway.Architecture{slipway.AMD64, slipway.ARM64} {
			if got, err := c.NewestRunner(t.Context(), scope, a); err != nil || got != "2.341.0" {
				t.Errorf("%s, %s: %q, %v", scope, a, got, err)
			}
		}
	}
	if _, err := c.NewestRunner(t.Context(), team, "riscv"); !forge.Is(err, forge.Invalid) {
		t.Errorf("of a processor that nobody offers: %v", err)
	}
	world.Revoke(true)
	if _, err := c.NewestRunner(t.Context(), team, slipway.AMD64); !forge.Is(err, forge.Refused) {
		t.Errorf("with a credential that has ended: %v", err)
	}
}
