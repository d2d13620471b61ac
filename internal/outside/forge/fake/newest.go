package fake

import (
	"context"
	"net/http"

	"slipway.dev/slipway/internal/slipway"
)

// OfferRunner sets the version of the runner program that is offered.
func (g *GitHub) OfferRunner(version string) { g.set(func() { g.offered = version }) }

// NewestRunner is the version of the runner program that is offered.
func (g *GitHub) NewestRunner(ctx context.Context, s slipway.ForgeScope, _ slipway.Architecture) (version string, err error) {
	err = g.call(ctx, "NewestRunner", s.Owner, s.Repository, func() error {
		version = g.offered
		return nil
	})
	return version, err
}

func (g *GitHub) serveDownloads(w http.ResponseWriter, r *http.Request, s slipway.ForgeScope) {
	version, err := g.NewestRunner(r.Context(), s, slipway.AMD64)
	offers := []any{}
	for _, arch := range []string{"x64", "arm64"} {
		name := "actions-runner-linux-" + arch + "-" + version + ".tar.gz"
		offers = append(offers, map[string]any{
			"os": "linux", "architecture": arch, "filename": name,
			"download_url": "https://github.com/actions/runner/releases/download/v" + version + "/" + name,
		})
	}
	answer(w, r, err, http.StatusOK, offers)
}
