package change

import (
	"context"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// maxNote is the longest note of a step, in characters.
const maxNote = 500

// AddStepNote adds a line to a running step. Only the actions of the step's task may:
// nobody else can make a task say something, not even an administrator.
func (s *Service) AddStepNote(ctx context.Context, c slipway.Caller, taskID, stepID int64, text string) error {
	if err := needAction(c); err != nil {
		return err
	}
	if c.TaskID != taskID {
		return slipway.Errorf(slipway.Forbidden, "this token belongs to task %d", c.TaskID).
			WithHint("an action adds notes to the steps of its own task")
	}
	if text == "" {
		return invalid("text", "it is empty", "write one line")
	}
	if msg, hint := checkLine(text, maxNote); msg != "" {
		return invalid("text", msg, hint)
	}
	if s.Redact != nil {
		text = s.Redact(text)
	}
	return s.Store.InTx(ctx, func(tx *store.Tx) error {
		t, step, err := running(ctx, tx, c, stepID)
		if err != nil {
			return err
		}
		if err := tx.AddStepNote(ctx, step.ID, text); err != nil {
			return err
		}
		app, err := tx.Application(ctx, t.ApplicationID)
		if err != nil {
			return err
		}
		return tx.AddEvent(ctx, slipway.Event{Kind: "step.changed", Noun: "task", NounID: t.ID, Project: app.Project, Environment: app.Environment})
	})
}
