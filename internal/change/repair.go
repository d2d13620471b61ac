package change

import (
	"context"
	"time"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// RepairInput asks for what drifted to be put back as it was last applied.
type RepairInput struct {
	ApplicationID    int64
	ExpectedRevision *int64 // the wanted revision that the asker last saw; nil is refused
	IdempotencyKey   string
}

// Repair accepts that an application is put back as it was last applied. It is a change
// with a number of its own that runs no hook and makes no revision. Who may write in the
// environment may.
func (s *Service) Repair(ctx context.Context, c slipway.Caller, in RepairInput) (Accepted, error) {
	if err := need(c, slipway.ReadWrite); err != nil {
		return Accepted{}, err
	}
	if in.ExpectedRevision == nil {
		return Accepted{}, invalid("expected_revision", "it is missing", "give the revision that the application has")
	}
	r := request{c, in.IdempotencyKey, "application.repair", []any{in.ApplicationID, *in.ExpectedRevision}}
	return s.start(ctx, r, func(tx *store.Tx) (started, error) {
		app, err := application(ctx, tx, c, in.ApplicationID)
		if err != nil {
			return started{}, err
		}
		if err := app.DriverOnly("nothing to repair: what its pools need they put back themselves", ""); err != nil {
			return started{}, err
		}
		switch {
		case app.Deleting:
			return started{}, slipway.Errorf(slipway.Conflict, "%s is being deleted", app.Ref()).WithHint("there is nothing to repair any more")
		case app.Applied == 0:
			return started{}, slipway.Errorf(slipway.Conflict, "nothing of %s is on the cluster yet, so nothing can be put back", app.Ref()).
				WithHint("deploy it")
		case app.Revision != *in.ExpectedRevision:
			return started{}, unexpected(ctx, tx, app, app.Name, *in.ExpectedRevision)
		}
		open, err := openTasks(ctx, tx, app.ID)
		if err != nil {
			return started{}, err
		}
		if c.TaskID != 0 && holds(open, c.TaskID) {
			return started{}, slipway.Errorf(slipway.Conflict, "an action of task %d cannot repair its own application", c.TaskID).
				WithHint("repair it when the task has ended")
		}
		// It names no revision: it puts back what is applied when its turn comes.
		change, err := tx.CreateChange(ctx, slipway.Change{ApplicationID: app.ID, Kind: slipway.RepairChange, RequestedBy: c.UserName})
		if err != nil {
			return started{}, err
		}
		t, err := s.begin(ctx, tx, app, slipway.Task{Kind: slipway.RepairTask, Title: "repair " + app.Name, ChangeID: change.ID, RequestedBy: c.UserName})
		if err != nil {
			return started{}, err
		}
		known, err := tx.Drift(ctx, app.ID)
		if err != nil {
			return started{}, err
		}
		err = record(ctx, tx, c, deed{"application.repair", "application", app.ID, app.Ref(),
			facts{"revision": app.Applied, "differences": len(known.Found)}, facts{"change": change.Number, "task": t.ID}})
		return started{app.ID, change.ID, t.ID, waiting(open, false)}, err
	})
}

// CheckDrift has the cluster looked at now, and returns the time of asking: a look that
// begins at it or later is the one that was asked for. It changes nothing that anybody
// owns, so it has no line in the audit. Who may read may.
func (s *Service) CheckDrift(ctx context.Context, c slipway.Caller, applicationID int64) (asked time.Time, err error) {
	if err := need(c, slipway.ReadOnly); err != nil {
		return asked, err
	}
	err = s.Store.InTx(ctx, func(tx *store.Tx) error {
		app, err := application(ctx, tx, c, applicationID)
		if err != nil {
			return err
		}
		if err := app.DriverOnly("no drift to look for: what its pools need they put back themselves", ""); err != nil {
			return err
		}
		if app.Applied == 0 || app.Deleting {
			return slipway.Errorf(slipway.Conflict, "nothing of %s is on the cluster to look at", app.Ref()).WithHint("wait for its change to end")
		}
		asked = tx.Now
		return s.wake(ctx, tx, slipway.WakeDrift, app.ID)
	})
	return asked, err
}
