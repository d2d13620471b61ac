package pool

import (
	"context"
	"errors"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// retired drops the record of a pool whose service was taken out of its application's file,
// when nothing of it is left. While the application itself is being deleted its pools stay:
// the deletion may be taken back, and ends their records itself.
func (w *run) retired(ctx context.Context, in rows, seen world) (gone bool, err error) {
	if !in.pool.Deleting || len(in.slots) > 0 || !seen.podsListed || len(seen.strays)+len(in.status.Ledger.Registrations) > 0 {
		return false, nil
	}
	for _, p := range seen.pods {
		if p.Pool == w.id {
			return false, nil
		}
	}
	err = w.r.Store.InTx(ctx, func(tx *store.Tx) error {
		gone = false
		app, err := tx.Application(ctx, in.pool.ApplicationID)
		if err != nil || app.Revision == 0 {
			return err
		}
		wanted, err := tx.Revision(ctx, app.ID, app.Revision)
		if err != nil {
			return err
		}
		if _, kept := wanted.Spec.Services[in.pool.Service]; kept {
			return nil
		}
		if err := tx.RetireRunnerPool(ctx, w.id); err != nil {
			return err
		}
		gone = true
		return tx.AddEvent(ctx, slipway.Event{Kind: "application.changed", Noun: "application", NounID: app.ID, Project: app.Project, Environment: app.Environment})
	})
	if errors.Is(err, store.ErrStale) {
		return false, nil // it was written again meanwhile
	}
	return gone && err == nil, err
}
