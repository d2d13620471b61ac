package fake_test

import (
	"testing"

	"slipway.dev/slipway/internal/outside/forge"
	"slipway.dev/slipway/internal/outside/forge/fake"
	"slipway.dev/slipway/internal/outside/forge/forgetest"
	"slipway.dev/slipway/internal/slipway"
)

// World: the fake alone.
func TestTheFakeKeepsTheContract(t *testing.T) {
	t.Parallel()
	forgetest.Run(t, func(*testing.T) (forge.Forge, *fake.GitHub) {
		g := fake.New(nil)
		return g, g
	})
}

// A delivery whose receiver answers later is listed from its answer on.
func TestAnAnswerMayComeLater(t *testing.T) {
	t.Parallel()
	g, scope := fake.New(nil), slipway.ForgeScope{Owner: "acme"}
	g.AddRepository(forge.Repository{Owner: "acme", Name: "shop"})
	var guids []string
	g.AddHook(scope, "https://slipway.example.com", func(_, guid string, _ []byte) int {
		guids = append(guids, guid)
		return fake.Later
	})
	g.Queue(forge.Repository{Owner: "acme", Name: "shop"}, []string{"a"}, []string{"b"})
	if sent := g.Sent(); len(guids) != 2 || len(sent) != 0 {
		t.Fatalf("%d deliveries on their way, and listed %v", len(guids), sent)
	}
	g.Answer(guids[1], 503)
	if sent := g.Sent(); len(sent) != 1 || sent[0].GUID != guids[1] || sent[0].Code != 503 {
		t.Errorf("listed %+v", sent)
	}
}
