package pool

import (
	"context"
	"errors"
	"time"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// lateAfter is how long after a pool's last slot was closed its scope is listed once more: a
// registration whose reply was lost may have been late.
const lateAfter = time.Minute

// retired drops the record of a pool whose service was taken out of its application's file,
// when nothing of it is left; with a credential that does not open its scope any more, when
// nothing is known to be left. While the application itself is being deleted its pools stay:
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
		last, err := tx.Slots(ctx, store.SlotFilter{PoolID: w.id, Closed: true}, store.Page{Limit: 1})
		if err != nil {
			return err
		}
		for _, s := range last.Items {
			if seen.own.Failed == nil && seen.own.At.Before(s.ClosedAt.Add(lateAfter)) {
				return nil
			}
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
	if gone && err == nil && seen.own.Failed != nil {
		w.r.Log.WarnContext(ctx, "the registrations of a pool that is gone could not be listed a last time; look for runners of this name at the forge", "pool", in.pool.Ref(),
			"scope", in.pool.Spec.Scope.String(), "names", NamePrefix(w.r.Installation)+"…", "error", seen.own.Failed)
	}
	return gone && err == nil, err
}
