package change

import (
	"context"
	"testing"
	"time"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

func ptr[T any](v T) *T { return &v }

const goodPassword = "correct horse battery"

func TestUsers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	u, err := w.s.CreateUser(ctx, w.admin, CreateUserInput{Name: " Dora ", Role: slipway.ReadWrite, Password: goodPassword})
	w.ok(err)
	if u.Name != "Dora" || u.Role != slipway.ReadWrite || !u.Active || !u.HasPassword || u.BuiltIn {
		t.Errorf("user = %+v", u)
	}
	w.audited("user.create", "anna", "Dora", "", `{"active":true,"role":"read-write"}`)
	_, err = w.s.CreateUser(ctx, w.admin, CreateUserInput{Name: "DORA", Role: slipway.ReadOnly, Password: goodPassword})
	w.refused(err, slipway.Conflict, "there is a user DORA already")
	_, err = w.s.CreateUser(ctx, w.admin, CreateUserInput{Name: "Styrmin-Actions", Role: "boss", Password: "short"})
	w.refused(err, slipway.Invalid, "the user has 3 faults")

	got, err := w.s.UpdateUser(ctx, w.admin, UpdateUserInput{Name: "dora", Role: ptr(slipway.ReadOnly), Active: ptr(false)})
	if err != nil || got.Role != slipway.ReadOnly || got.Active {
		t.Errorf("user = %+v, %v", got, err)
	}
	w.audited("user.deactivate", "anna", "Dora", `{"active":true,"role":"read-write"}`, `{"active":false,"role":"read-only"}`)
	w.must(w.s.UpdateUser(ctx, w.admin, UpdateUserInput{Name: "dora", Password: ptr(goodPassword + "!")}))
	w.audited("user.password", "anna", "Dora", `{"active":false,"role":"read-only"}`, `{"active":false,"password":"changed","role":"read-only"}`)

	_, err = w.s.UpdateUser(ctx, w.admin, UpdateUserInput{Name: "dora"})
	w.refused(err, slipway.Invalid, "it changes nothing")
	_, err = w.s.UpdateUser(ctx, w.admin, UpdateUserInput{Name: "dora", Role: ptr(slipway.Role("boss"))})
	w.refused(err, slipway.Invalid, `"boss" is not a role`)
	_, err = w.s.UpdateUser(ctx, w.admin, UpdateUserInput{Name: "nobody", Active: ptr(true)})
	w.refused(err, slipway.NotFound, "there is no user nobody")
	_, err = w.s.UpdateUser(ctx, w.admin, UpdateUserInput{Name: "anna", Active: ptr(false)})
	w.refused(err, slipway.Conflict, "anna is the last active administrator")
}

func TestTheBuiltInUser(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	for _, name := range []string{slipway.ActionsUser, "SLIPWAY-actions"} {
		_, err := w.s.UpdateUser(ctx, w.admin, UpdateUserInput{Name: name, Password: ptr(goodPassword)})
		w.refused(err, slipway.Forbidden, "is built in and has no password")
		_, err = w.s.UpdateUser(ctx, w.admin, UpdateUserInput{Name: name, Role: ptr(slipway.Administrator)})
		w.refused(err, slipway.Forbidden, "cannot be an administrator")
		_, err = w.s.CreateUser(ctx, w.admin, CreateUserInput{Name: name, Role: slipway.ReadOnly, Password: goodPassword})
		w.refused(err, slipway.Invalid, "belongs to a built-in user")
		_, err = w.s.CreateToken(ctx, w.admin, CreateTokenInput{User: name, Name: "x"})
		w.refused(err, slipway.Forbidden, "has no tokens of its own")
	}
	w.must(w.s.UpdateUser(ctx, w.admin, UpdateUserInput{Name: slipway.ActionsUser, Role: ptr(slipway.ReadOnly)}))
	got, err := w.s.UpdateUser(ctx, w.admin, UpdateUserInput{Name: slipway.ActionsUser, Active: ptr(false)})
	if err != nil || got.Active || got.Role != slipway.ReadOnly {
		t.Errorf("user = %+v, %v", got, err)
	}
	// The user's own token cannot give it a password either.
	own := slipway.Caller{UserID: got.ID, UserName: got.Name, Role: slipway.ReadWrite, TaskID: 1}
	_, err = w.s.UpdateUser(ctx, own, UpdateUserInput{Name: got.Name, Password: ptr(goodPassword)})
	w.refused(err, slipway.Forbidden, "is built in and has no password")
	_, err = w.s.CreateToken(ctx, own, CreateTokenInput{Name: "x"})
	w.refused(err, slipway.Forbidden, "has no tokens of its own")
}

func TestPeopleChangeTheirOwnPassword(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	u, err := w.s.CreateUser(ctx, w.admin, CreateUserInput{Name: "dora", Role: slipway.ReadOnly, Password: goodPassword})
	w.ok(err)
	dora := slipway.Caller{UserID: u.ID, UserName: "dora", Role: slipway.ReadOnly}
	w.write(func(ctx context.Context, tx *store.Tx) error {
		return tx.SaveSession(ctx, []byte("hash"), u.ID, []byte("data"), tx.Now.Add(time.Hour))
	})
	next := goodPassword + " staple"
	_, err = w.s.UpdateUser(ctx, dora, UpdateUserInput{Name: "dora", Password: &next, CurrentPassword: "wrong"})
	w.refused(err, slipway.Invalid, "current_password: it is not the password that you have")
	_, err = w.s.UpdateUser(ctx, dora, UpdateUserInput{Name: "Dora", Password: &next, Role: ptr(slipway.Administrator), CurrentPassword: goodPassword})
	w.refused(err, slipway.Forbidden, "this needs the role administrator")
	_, err = w.s.UpdateUser(ctx, dora, UpdateUserInput{Name: "anna", Password: &next, CurrentPassword: goodPassword})
	w.refused(err, slipway.Forbidden, "this needs the role administrator")
	w.must(w.s.UpdateUser(ctx, dora, UpdateUserInput{Name: "Dora", Password: &next, CurrentPassword: goodPassword}))
	w.read(func(ctx context.Context, tx *store.Tx) error {
		hash, err := tx.UserPasswordHash(ctx, u.ID)
		if err != nil {
			return err
		}
		if ok, err := w.auth.CheckPassword(ctx, next, hash); err != nil || !ok {
			t.Errorf("the new password does not match: %v", err)
		}
		if _, err := tx.FindSession(ctx, []byte("hash")); !slipway.Is(err, slipway.NotFound) {
			t.Errorf("the session goes on: %v", err)
		}
		return nil
	})
}

func TestTokens(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	tok, err := w.s.CreateToken(ctx, w.writer, CreateTokenInput{Name: "ci", Project: "shop", Environment: "production", ExpiresIn: time.Hour})
	w.ok(err)
	if tok.UserName != "ben" || tok.Role != slipway.ReadWrite || tok.Project != "shop" || tok.ExpiresAt.Sub(tok.CreatedAt) != time.Hour || len(tok.Value) != 53 {
		t.Errorf("token = %+v", tok)
	}
	w.audited("token.create", "ben", "ben/ci", "", `{"environment":"production","expires_at":"`+tok.ExpiresAt.Format(time.RFC3339Nano)+`","hint":"`+tok.Hint+`","project":"shop","role":"read-write","user":"ben"}`)

	scoped := w.writer
	scoped.Project, scoped.Environment, scoped.TokenID = "shop", "production", tok.ID
	inside, err := w.s.CreateToken(ctx, scoped, CreateTokenInput{Name: "narrow"})
	if err != nil || inside.Project != "shop" || inside.Environment != "production" {
		t.Errorf("a token of a token = %+v, %v", inside, err)
	}
	w.must(w.s.CreateProject(ctx, w.admin, CreateProjectInput{Name: "other"}))
	for _, tc := range []struct {
		name  string
		c     slipway.Caller
		in    CreateTokenInput
		kind  slipway.Kind
		words string
	}{
		{"more than the caller's role", w.writer, CreateTokenInput{Name: "x", Role: slipway.Administrator}, slipway.Invalid, "role: it is more than read-write"},
		{"a wider scope", scoped, CreateTokenInput{Name: "x", Project: "other"}, slipway.Forbidden, "your token sees only shop/production"},
		{"the whole project from an environment", scoped, CreateTokenInput{Name: "x", Project: "shop"}, slipway.Forbidden, "your token sees only shop/production"},
		{"for another user", w.writer, CreateTokenInput{Name: "x", User: "anna"}, slipway.Forbidden, "this needs the role administrator"},
		{"for nobody", w.admin, CreateTokenInput{Name: "x", User: "zoe"}, slipway.NotFound, "there is no user zoe"},
		{"more than the other user's role", w.admin, CreateTokenInput{Name: "x", User: "cleo", Role: slipway.ReadWrite}, slipway.Invalid, "role: it is more than read-only"},
		{"no name", w.writer, CreateTokenInput{}, slipway.Invalid, "name: it is missing"},
		{"an unknown project", w.writer, CreateTokenInput{Name: "x", Project: "nope"}, slipway.Invalid, "project: there is no project nope"},
		{"an unknown environment", w.writer, CreateTokenInput{Name: "x", Project: "shop", Environment: "nope"}, slipway.Invalid, "environment: there is no environment shop/nope"},
		{"an environment alone", w.writer, CreateTokenInput{Name: "x", Environment: "production"}, slipway.Invalid, "project: it is missing"},
		{"a life in the past", w.writer, CreateTokenInput{Name: "x", ExpiresIn: -time.Hour}, slipway.Invalid, "expires_in"},
		{"a life without end in sight", w.writer, CreateTokenInput{Name: "x", ExpiresIn: 200_000 * time.Hour}, slipway.Invalid, "expires_in"},
		{"several faults", w.writer, CreateTokenInput{Name: "a\nb", Role: "boss", ExpiresIn: time.Second}, slipway.Invalid, "the token has 3 faults"},
		{"nobody asks", slipway.Caller{}, CreateTokenInput{Name: "x"}, slipway.Unauthenticated, "not signed in"},
	} {
		_, err := w.s.CreateToken(ctx, tc.c, tc.in)
		w.refused(err, tc.kind, tc.words)
		if t.Failed() {
			t.Fatal(tc.name)
		}
	}

	w.refused(w.s.RevokeToken(ctx, w.reader, tok.ID), slipway.NotFound, "there is no token")
	w.ok(w.s.RevokeToken(ctx, w.writer, tok.ID))
	w.ok(w.s.RevokeToken(ctx, w.admin, tok.ID)) // once more changes nothing
	w.ok(w.s.RevokeToken(ctx, w.admin, inside.ID))
	if n := len(w.audits("token.revoke")); n != 2 {
		t.Errorf("%d lines of audit, want 2", n)
	}
}

// A database. A token that is found by a stranger must not end more than it could use.
func TestATokenRevokesNoneThatIsWider(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	made := func(in CreateTokenInput) int64 {
		tok, err := w.s.CreateToken(ctx, w.writer, in)
		w.ok(err)
		return tok.ID
	}
	whole := made(CreateTokenInput{Name: "whole"})
	project := made(CreateTokenInput{Name: "project", Project: "shop"})
	place := made(CreateTokenInput{Name: "place", Project: "shop", Environment: "production"})
	reader := made(CreateTokenInput{Name: "reader", Role: slipway.ReadOnly})

	confined, weak, action := w.writer, w.writer, w.writer
	confined.Project, confined.Environment, confined.TokenID = "shop", "production", place
	weak.Role, weak.TokenID = slipway.ReadOnly, reader
	action.TaskID, action.TokenID = 41, 4711
	w.refused(w.s.RevokeToken(ctx, confined, whole), slipway.NotFound, "there is no token")
	w.refused(w.s.RevokeToken(ctx, confined, project), slipway.NotFound, "there is no token")
	w.refused(w.s.RevokeToken(ctx, weak, whole), slipway.Forbidden, "may do more than yours, which has the role read-only")
	w.refused(w.s.RevokeToken(ctx, action, whole), slipway.NotFound, "there is no token")

	w.ok(w.s.RevokeToken(ctx, confined, place)) // itself
	w.ok(w.s.RevokeToken(ctx, weak, reader))

	// Once an administrator has made ben read-only, he still ends what he made before.
	w.must(w.s.UpdateUser(ctx, w.admin, UpdateUserInput{Name: "ben", Role: ptr(slipway.ReadOnly)}))
	lowered := w.writer
	lowered.Role = slipway.ReadOnly
	w.ok(w.s.RevokeToken(ctx, lowered, whole))
}

func TestATokensValueIsShownOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in := CreateTokenInput{Name: "ci", IdempotencyKey: "k"}
	w.must(w.s.CreateToken(t.Context(), w.writer, in))
	again, err := w.s.CreateToken(t.Context(), w.writer, in)
	w.refused(err, slipway.Conflict, "the token ci was made already with this idempotency key")
	if again.Value != "" {
		t.Error("a second value")
	}
}
