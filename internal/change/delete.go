package change

import (
	"context"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// Delete accepts the end of an application. Its name is free again when the task has
// succeeded. A deletion that failed can be asked for again. Who may write in the
// environment may.
func (s *Service) Delete(ctx context.Context, c slipway.Caller, in DeleteInput) (Accepted, error) {
	if err := need(c, slipway.ReadWrite); err != nil {
		return Accepted{}, err
	}
	r := request{c, in.IdempotencyKey, "application.delete", []any{in.ApplicationID, in.Overtake}}
	return s.start(ctx, r, func(tx *store.Tx) (started, error) {
		app, err := application(ctx, tx, c, in.ApplicationID)
		if err != nil {
			return started{}, err
		}
		open, err := openTasks(ctx, tx, app.ID)
		if err != nil {
			return started{}, err
		}
		for _, t := range open {
			if t.Kind == slipway.DeleteTask {
				return started{}, slipway.Errorf(slipway.Conflict, "%s is being deleted already, by task %d", app.Ref(), t.ID).
					WithHint("wait for the task to end: slipway tasks watch %d", t.ID)
			}
		}
		if c.TaskID != 0 && holds(open, c.TaskID) {
			return started{}, slipway.Errorf(slipway.Conflict, "an action of task %d cannot delete its own application", c.TaskID).
				WithHint("delete it when the task has ended")
		}
		change, err := tx.CreateChange(ctx, slipway.Change{ApplicationID: app.ID, Kind: slipway.DeleteChange, Revision: app.Revision,
			FromRevision: app.Revision, Overtake: in.Overtake, RequestedBy: c.UserName})
		if err != nil {
			return started{}, err
		}
		if !app.Deleting {
			if err := tx.MarkApplicationDeleting(ctx, app.ID); isStale(err) {
				return started{}, slipway.Errorf(slipway.Conflict, "%s is being deleted already", app.Ref()).WithHint("read it again")
			} else if err != nil {
				return started{}, err
			}
		}
		if err := s.pools(ctx, tx, app, func(p slipway.RunnerPool) error { return tx.SetRunnerPoolDeleting(ctx, p.ID, true) }); err != nil {
			return started{}, err
		}
		t, err := s.begin(ctx, tx, app, slipway.Task{Kind: slipway.DeleteTask, Title: "delete " + app.Name, ChangeID: change.ID, RequestedBy: c.UserName})
		if err != nil {
			return started{}, err
		}
		err = record(ctx, tx, c, deed{"application.delete", "application", app.ID, app.Ref(),
			deleted(app),
			facts{"change": change.Number, "task": t.ID, "overtake": in.Overtake}})
		return started{app.ID, change.ID, t.ID, waiting(open, in.Overtake)}, err
	})
}

// deleted is what the audit keeps of an application that goes.
func deleted(app slipway.Application) facts {
	if app.Kind == slipway.RunnerApplication {
		return facts{"revision": app.Revision}
	}
	return facts{"revision": app.Revision, "version": app.AppVersion, "driver": app.DriverName + " " + app.DriverVersion}
}
