package change

import (
	"context"
	"errors"
	"fmt"

	"slipway.dev/slipway/internal/secret"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/spec"
	"slipway.dev/slipway/internal/store"
)

// Service accepts or refuses requests. Its fields are set once, before it is used.
type Service struct {
	Store       *store.Store
	Box         *secret.Box
	Credentials Credentials

	// Wake has a noun's reconciler look at it once the transaction is committed.
	Wake func(ctx context.Context, tx *store.Tx, noun string, id int64) error

	// Redactor makes what covers secrets in the text that an action sends: the given values,
	// and what looks like one. Without it an action can send no text.
	Redactor func(values ...string) func(string) string

	// The parts that look at a driver's files with tools that this package may not see.
	// Each may be nil: then what it would find is not known, and said to be so.
	Drivers  DriverChecker
	Renderer Renderer

	// Apps makes GitHub Apps of codes. Without it none can be made.
	Apps AppMaker

	BundleLimits spec.Limits // the zero value: spec.DefaultLimits
}

// Credentials makes and checks what people and programs prove themselves with.
type Credentials interface {
	// HashPassword refuses a password that is too weak, with an Invalid error.
	HashPassword(ctx context.Context, password string) (string, error)
	CheckPassword(ctx context.Context, password, hash string) (bool, error)
	NewToken() (value, hint string, hash []byte)
}

// DriverChecker finds everything that is wrong with a driver, in its specification, its
// Python and its chart.
type DriverChecker interface {
	// CheckDriver looks at a driver without running it. The error is for a check that did not
	// come to its end; what is wrong with the driver is in the facts.
	CheckDriver(ctx context.Context, b spec.Bundle) (DriverFacts, error)
}

// DriverFacts is what is known of a driver. Spec is whole when there is no fault.
type DriverFacts struct {
	Spec     slipway.DriverSpec
	Faults   []slipway.FieldError
	Warnings []string
}

// Renderer renders a driver's chart as it would be applied.
type Renderer interface {
	// Rendered returns for each component a hash over its pod templates. Two hashes differ
	// exactly when the pods are replaced.
	Rendered(ctx context.Context, b spec.Bundle, d slipway.Driver, s slipway.ApplicationSpec, c spec.GlobalContext) (map[string]string, error)
}

// need refuses a caller whose role is too weak.
func need(c slipway.Caller, role slipway.Role) error {
	switch {
	case c.UserName == "":
		return slipway.Errorf(slipway.Unauthenticated, "you are not signed in").WithHint("sign in, or send a token")
	case c.Role.Allows(role):
		return nil
	case c.UserName == slipway.ActionsUser:
		return slipway.Errorf(slipway.Forbidden, "user %s has the role %s, and this needs %s", c.UserName, c.Role, role).
			WithHint("an administrator can change its role under Users")
	case c.TokenID != 0:
		return slipway.Errorf(slipway.Forbidden, "this needs the role %s, and your token has %s", role, c.Role).
			WithHint("make a token with that role, or ask an administrator for the role")
	}
	return slipway.Errorf(slipway.Forbidden, "this needs the role %s, and you have %s", role, c.Role).
		WithHint("ask an administrator")
}

// needWhole refuses, beyond need, a caller who is confined to a project: what is asked
// concerns the installation.
func needWhole(c slipway.Caller, role slipway.Role) error {
	if err := need(c, role); err != nil {
		return err
	}
	if c.Project != "" {
		return slipway.Errorf(slipway.Forbidden, "your token sees only %s, and this concerns the whole installation", scope(c)).
			WithHint("use a token that is not confined to a project")
	}
	return nil
}

func scope(c slipway.Caller) string {
	if c.Environment == "" {
		return c.Project
	}
	return slipway.EnvironmentRef(c.Project, c.Environment)
}

// environment finds an environment that the caller may see. One that is hidden from the
// caller and one that does not exist have the same answer.
func environment(ctx context.Context, tx *store.Tx, c slipway.Caller, project, name string) (slipway.Environment, error) {
	missing := slipway.Errorf(slipway.NotFound, "there is no environment %s", slipway.EnvironmentRef(project, name)).
		WithHint("slipway environments create %s", slipway.EnvironmentRef(project, name))
	if !c.Sees(project, name) {
		missing.Hint = "your token sees only " + scope(c)
		return slipway.Environment{}, missing
	}
	e, err := tx.EnvironmentByName(ctx, project, name)
	if slipway.Is(err, slipway.NotFound) {
		return e, missing
	}
	return e, err
}

// application finds an application that the caller may see.
func application(ctx context.Context, tx *store.Tx, c slipway.Caller, id int64) (slipway.Application, error) {
	app, err := tx.Application(ctx, id)
	if err != nil {
		return app, err
	}
	if !c.Sees(app.Project, app.Environment) || app.State == slipway.AppDeleted {
		return slipway.Application{}, slipway.Errorf(slipway.NotFound, "there is no application %d", id)
	}
	return app, nil
}

// wake has a reconciler look, when there is one: a test may have none.
func (s *Service) wake(ctx context.Context, tx *store.Tx, noun string, id int64) error {
	if s.Wake == nil {
		return nil
	}
	if err := s.Wake(ctx, tx, noun, id); err != nil {
		return fmt.Errorf("wake %s %d: %w", noun, id, err)
	}
	return nil
}

func isStale(err error) bool { return errors.Is(err, store.ErrStale) }
