package auth

import (
	"context"
	"fmt"
	"time"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// taskTokenGrace is how long a task's token outlives its deadline: it ends by itself even
// when whoever should revoke it is gone.
const taskTokenGrace = 10 * time.Minute

// EnsureActionsUser makes the built-in user in whose name actions call, if it is not there.
func (a *Authenticator) EnsureActionsUser(ctx context.Context) error {
	err := a.store.InTx(ctx, func(tx *store.Tx) error {
		_, err := tx.UserByName(ctx, slipway.ActionsUser)
		if !slipway.Is(err, slipway.NotFound) {
			return err
		}
		_, err = tx.CreateUser(ctx, slipway.User{Name: slipway.ActionsUser, Role: slipway.ReadWrite, Active: true, BuiltIn: true}, "")
		return err
	})
	if err != nil && !slipway.Is(err, slipway.Conflict) { // another replica was first
		return fmt.Errorf("make the user %s: %w", slipway.ActionsUser, err)
	}
	return nil
}

// MintTaskToken makes the token of a task's actions, in the caller's transaction. It is
// bound to the task, sees the task's environment only, and ends soon after the deadline.
// The value is returned this once.
func (a *Authenticator) MintTaskToken(ctx context.Context, tx *store.Tx, taskID int64, deadline time.Time) (string, error) {
	u, err := tx.UserByName(ctx, slipway.ActionsUser)
	if err != nil {
		return "", fmt.Errorf("mint the token of task %d: %w", taskID, err)
	}
	t, err := tx.Task(ctx, taskID)
	if err != nil {
		return "", fmt.Errorf("mint the token of task %d: %w", taskID, err)
	}
	app, err := tx.Application(ctx, t.ApplicationID)
	if err != nil {
		return "", fmt.Errorf("mint the token of task %d: %w", taskID, err)
	}
	value, hint, hash := newToken()
	_, err = tx.CreateToken(ctx, slipway.Token{
		UserID: u.ID, Name: fmt.Sprintf("actions of task %d", taskID), Hint: hint, Role: slipway.ReadWrite,
		Project: app.Project, Environment: app.Environment, TaskID: taskID, ExpiresAt: deadline.Add(taskTokenGrace),
	}, hash)
	if err != nil {
		return "", fmt.Errorf("mint the token of task %d: %w", taskID, err)
	}
	return value, nil
}

// RevokeTaskTokens ends the tokens of a task's actions.
func (a *Authenticator) RevokeTaskTokens(ctx context.Context, tx *store.Tx, taskID int64) error {
	return tx.RevokeTaskTokens(ctx, taskID)
}
