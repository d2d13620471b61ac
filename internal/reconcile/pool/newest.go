package pool

import (
	"context"
	"time"

	"slipway.dev/slipway/internal/outside/forge"
	"slipway.dev/slipway/internal/slipway"
)

// offers is what a forge can tell that offers runner programs of its own.
type offers interface {
	// NewestRunner is the version of the runner program that the forge offers for an
	// architecture.
	NewestRunner(ctx context.Context, scope slipway.ForgeScope, a slipway.Architecture) (string, error)
}

// newestFresh is how long the forge's offer is taken to be the same.
const newestFresh = 6 * time.Hour

type offer struct {
	version string
	asked   time.Time
}

// newest asks for the version that the forge offers, now and then. It returns "" when that
// is not known: it is a warning's cause, and must hold nothing up.
func (f *forges) newest(ctx context.Context, client forge.Runners, spec slipway.PoolSpec) string {
	o, ok := client.(offers)
	if !ok {
		return ""
	}
	key, now := listKey{client, spec.Scope.Host() + "/" + spec.Scope.String() + "/" + string(spec.Architecture)}, f.c.Store.Now()
	f.mu.Lock()
	have := f.offers[key]
	if now.Sub(have.asked) < newestFresh {
		f.mu.Unlock()
		return have.version
	}
	f.offers[key] = offer{have.version, now}
	f.mu.Unlock()
	leave, free := f.seat(client)
	if !free {
		return have.version
	}
	defer leave()
	version, err := o.NewestRunner(ctx, spec.Scope, spec.Architecture)
	if err != nil {
		return have.version
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.offers[key] = offer{version, now}
	return version
}
