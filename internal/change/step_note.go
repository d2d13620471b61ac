package change

import (
	"context"
	"fmt"

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
	return s.Store.InTx(ctx, func(tx *store.Tx) error {
		t, step, err := running(ctx, tx, c, stepID)
		if err != nil {
			return err
		}
		app, err := tx.Application(ctx, t.ApplicationID)
		if err != nil {
			return err
		}
		redact, err := s.redactor(ctx, tx, app)
		if err != nil {
			return err
		}
		if err := tx.AddStepNote(ctx, step.ID, redact(text)); err != nil {
			return err
		}
		return tx.AddEvent(ctx, slipway.Event{Kind: "step.changed", Noun: "task", NounID: t.ID, Project: app.Project, Environment: app.Environment})
	})
}

// redactor covers the secrets of the application's environment. An action may have come
// by any of them: a Job of its gets those that a component names.
func (s *Service) redactor(ctx context.Context, tx *store.Tx, app slipway.Application) (func(string) string, error) {
	if s.Redactor == nil {
		return nil, slipway.Errorf(slipway.Internal, "a note of %s was to be kept without a redactor", app.Ref())
	}
	secrets, err := tx.Secrets(ctx, app.EnvironmentID)
	if err != nil {
		return nil, err
	}
	var values []string
	for _, have := range secrets {
		sealed, err := tx.SecretSealed(ctx, app.EnvironmentID, have.Name)
		if err != nil {
			return nil, err
		}
		place, err := SecretPlace(ctx, tx, app.EnvironmentID, have.Name)
		if err != nil {
			return nil, err
		}
		value, err := s.Box.Open(place, sealed)
		if err != nil {
			return nil, fmt.Errorf("open the secret %s of %s to cover it: %w", have.Name, app.Ref(), err)
		}
		values = append(values, string(value))
	}
	return s.Redactor(values...), nil
}
