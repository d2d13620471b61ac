package application

import (
	"context"
	"maps"
	"slices"
	"time"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// NounSpaces is woken at intervals, with the ID 1, to keep the namespaces of runner
// applications as they were prepared.
const NounSpaces = "runner-spaces"

// SpacesEvery is how often they are looked at. Until then a runner is not launched into one
// that is open.
const SpacesEvery = 2 * time.Minute

// spaceWithin bounds the look at one namespace.
const spaceWithin = 30 * time.Second

// KeepSpaces puts back what somebody changed of the quotas and network policies of runner
// applications, and closes them to nodes that have joined since. It is a handler of package
// task. It makes no namespace, because a deletion may just have removed it; and one that
// cannot be kept does not keep the others from it.
func (r *Reconciler) KeepSpaces(ctx context.Context, _ int64) (again time.Duration, err error) {
	if r.NoCluster != nil {
		return 0, nil //nolint:nilerr // without a cluster there is nothing to keep; every change says that it is missing
	}
	pools := map[int64][]slipway.RunnerPool{}
	apps := map[int64]slipway.Application{}
	err = r.Store.Read(ctx, func(tx *store.Tx) error {
		all, err := tx.RunnerPools(ctx)
		if err != nil {
			return err
		}
		for _, p := range all {
			pools[p.ApplicationID] = append(pools[p.ApplicationID], p)
			if _, known := apps[p.ApplicationID]; known {
				continue
			}
			if apps[p.ApplicationID], err = tx.Application(ctx, p.ApplicationID); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, bookErr(err)
	}
	for _, id := range slices.Sorted(maps.Keys(apps)) {
		app := apps[id]
		if app.Applied == 0 || app.State == slipway.AppDeleted {
			continue // its first change prepares it
		}
		space := r.runnerSpace(app, pools[id])
		space.Existing = true
		limited, stop := context.WithTimeout(ctx, spaceWithin)
		err := r.Cluster.PrepareRunners(limited, space)
		stop()
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		if err != nil {
			r.Log.WarnContext(ctx, "the namespace of a runner application could not be kept", "application", app.Ref(), "namespace", app.Namespace, "error", err)
		}
	}
	return 0, nil
}
