package view

import (
	"context"
	"strings"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// Reader answers questions. It is safe for concurrent use.
type Reader struct{ store *store.Store }

// New returns a Reader of a store.
func New(s *store.Store) *Reader { return &Reader{store: s} }

// read answers one question of a caller who may ask at all, in one transaction.
func read[T any](ctx context.Context, r *Reader, c slipway.Caller, f func(tx *store.Tx) (T, error)) (out T, err error) {
	if !c.Role.Allows(slipway.ReadOnly) {
		return out, &slipway.Error{Kind: slipway.Unauthenticated, Msg: "you are not signed in", Hint: "sign in, or send a token"}
	}
	err = r.store.Read(ctx, func(tx *store.Tx) (err error) {
		out, err = f(tx)
		return err
	})
	if err != nil {
		var none T
		return none, err // half an answer is none
	}
	return out, nil
}

// confine narrows a list's filter to what the caller sees. ok is false when nothing of
// what the filter asks for is.
func confine(c slipway.Caller, project, environment string) (p, e string, ok bool) {
	p, e = project, environment
	if c.Project != "" {
		if p != "" && p != c.Project {
			return "", "", false
		}
		p = c.Project
	}
	if c.Environment != "" {
		if e != "" && e != c.Environment {
			return "", "", false
		}
		e = c.Environment
	}
	return p, e, true
}

// unconfined refuses a caller whose token sees a part of the installation only: what
// concerns all of it is not its business.
func unconfined(c slipway.Caller, what string) error {
	if c.Project == "" && c.Environment == "" {
		return nil
	}
	return slipway.Errorf(slipway.Forbidden, "this token is confined to %s and cannot read %s", scope(c), what).
		WithHint("use a token without a project")
}

func scope(c slipway.Caller) string {
	if c.Environment == "" {
		return c.Project
	}
	return slipway.EnvironmentRef(c.Project, c.Environment)
}

// missing is what is said of a noun that the caller may not see: the same as of one that
// does not exist.
func missing(format string, args ...any) error {
	return slipway.Errorf(slipway.NotFound, "there is no "+format, args...)
}

// place reads the project and the environment of an application's reference.
func place(ref string) (project, environment string) {
	project, rest, _ := strings.Cut(ref, "/")
	environment, _, _ = strings.Cut(rest, "/")
	return project, environment
}

// seesTask reports whether the caller's scope covers a task. One of no application
// concerns the installation.
func seesTask(c slipway.Caller, t slipway.Task) bool {
	project, environment := place(t.Application)
	return c.Sees(project, environment)
}
