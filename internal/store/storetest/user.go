package storetest

import (
	"context"
	"time"

	"github.com/google/go-cmp/cmp"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

func users(w *world) {
	t := w.T
	ann := w.user("Ann", slipway.Administrator)
	bot := put(w, func(ctx context.Context, tx *store.Tx) (slipway.User, error) {
		return tx.CreateUser(ctx, slipway.User{Name: slipway.ActionsUser, Role: slipway.ReadWrite, Active: true, BuiltIn: true}, "")
	})
	if !ann.HasPassword || bot.HasPassword {
		t.Errorf("HasPassword: got %t and %t, want true and false", ann.HasPassword, bot.HasPassword)
	}
	err := w.try(func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.CreateUser(ctx, slipway.User{Name: "aNN", Role: slipway.ReadOnly}, "")
		return err
	})
	w.wantKind("the same name in another mix of cases", err, slipway.Conflict)

	got := get(w, func(ctx context.Context, tx *store.Tx) (slipway.User, error) { return tx.UserByName(ctx, "ANN") })
	if diff := cmp.Diff(ann, got); diff != "" {
		t.Errorf("UserByName (-want +got):\n%s", diff)
	}
	w.write(func(ctx context.Context, tx *store.Tx) error {
		for _, err := range []error{
			tx.SetUserRole(ctx, bot.ID, slipway.ReadOnly), tx.SetUserActive(ctx, bot.ID, false),
			tx.SetUserPassword(ctx, ann.ID, "$argon2id$other"), tx.TouchLogin(ctx, ann.ID),
		} {
			if err != nil {
				return err
			}
		}
		return nil
	})
	bot = get(w, func(ctx context.Context, tx *store.Tx) (slipway.User, error) { return tx.User(ctx, bot.ID) })
	if bot.Role != slipway.ReadOnly || bot.Active || !bot.BuiltIn {
		t.Errorf("got %+v, want a read-only, inactive, built-in user", bot)
	}
	hash := get(w, func(ctx context.Context, tx *store.Tx) (string, error) { return tx.UserPasswordHash(ctx, ann.ID) })
	if hash != "$argon2id$other" {
		t.Errorf("got hash %q", hash)
	}
	if got := get(w, func(ctx context.Context, tx *store.Tx) (slipway.User, error) { return tx.User(ctx, ann.ID) }); got.LastLoginAt.IsZero() {
		t.Error("TouchLogin wrote nothing")
	}
	n := put(w, func(ctx context.Context, tx *store.Tx) (int, error) { return tx.CountActiveAdministrators(ctx) })
	if n != 1 {
		t.Errorf("got %d active administrators, want 1", n)
	}
	for what, f := range map[string]func(ctx context.Context, tx *store.Tx) error{
		"role":     func(ctx context.Context, tx *store.Tx) error { return tx.SetUserRole(ctx, 999, slipway.ReadOnly) },
		"active":   func(ctx context.Context, tx *store.Tx) error { return tx.SetUserActive(ctx, 999, true) },
		"password": func(ctx context.Context, tx *store.Tx) error { return tx.SetUserPassword(ctx, 999, "x") },
		"by name":  func(ctx context.Context, tx *store.Tx) error { _, err := tx.UserByName(ctx, "nobody"); return err },
	} {
		w.wantKind(what+" of a user that is not there", w.try(f), slipway.NotFound)
	}
	err = w.try(func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.CreateUser(ctx, slipway.User{Name: "eve", Role: "god"}, "")
		return err
	})
	if err == nil {
		t.Error("the database took a role that there is not")
	}
}

func sessions(w *world) {
	t := w.T
	ann := w.user("ann", slipway.ReadOnly)
	save := func(hash string, user int64, data string, expiry time.Time) {
		t.Helper()
		w.write(func(ctx context.Context, tx *store.Tx) error {
			return tx.SaveSession(ctx, []byte(hash), user, []byte(data), expiry)
		})
	}
	find := func(hash string) (string, error) {
		var data []byte
		err := w.store.Read(t.Context(), func(tx *store.Tx) (err error) {
			data, err = tx.FindSession(t.Context(), []byte(hash))
			return err
		})
		return string(data), err
	}
	later, past := time.Now().Add(time.Hour), time.Now().Add(-time.Minute)
	save("anonymous", 0, "a", later)
	save("mine", ann.ID, "b", later)
	save("mine", ann.ID, "c", later)
	save("old", ann.ID, "d", past)
	if got, err := find("mine"); got != "c" || err != nil {
		t.Errorf("got %q, %v, want the second data", got, err)
	}
	_, err := find("old")
	w.wantKind("a session that ran out", err, slipway.NotFound)
	if n := put(w, func(ctx context.Context, tx *store.Tx) (int, error) { return tx.DeleteExpiredSessions(ctx) }); n != 1 {
		t.Errorf("deleted %d expired sessions, want 1", n)
	}
	extend := func(hash string) {
		w.write(func(ctx context.Context, tx *store.Tx) error {
			return tx.ExtendSession(ctx, []byte(hash), []byte("longer"), later)
		})
	}
	extend("mine")
	if got, err := find("mine"); got != "longer" || err != nil {
		t.Errorf("got %q, %v, want the extended session", got, err)
	}
	w.write(func(ctx context.Context, tx *store.Tx) error { return tx.DeleteSessionsOf(ctx, ann.ID) })
	extend("mine") // it must not come back
	_, err = find("mine")
	w.wantKind("a session of one signed out everywhere", err, slipway.NotFound)
	w.write(func(ctx context.Context, tx *store.Tx) error { return tx.DeleteSession(ctx, []byte("anonymous")) })
	_, err = find("anonymous")
	w.wantKind("a deleted session", err, slipway.NotFound)

	record := func() store.LoginFailure {
		return put(w, func(ctx context.Context, tx *store.Tx) (store.LoginFailure, error) {
			return tx.RecordLoginFailure(ctx, "ann|10.0.0.1")
		})
	}
	record()
	second := record()
	got := get(w, func(ctx context.Context, tx *store.Tx) (store.LoginFailure, error) {
		return tx.LoginFailures(ctx, "ann|10.0.0.1")
	})
	if second.Failures != 2 || got != second || got.LastAt.IsZero() {
		t.Errorf("got %+v after %+v, want 2 failures", got, second)
	}
	w.write(func(ctx context.Context, tx *store.Tx) error { return tx.ClearLoginFailures(ctx, "ann|10.0.0.1") })
	got = get(w, func(ctx context.Context, tx *store.Tx) (store.LoginFailure, error) {
		return tx.LoginFailures(ctx, "ann|10.0.0.1")
	})
	if got != (store.LoginFailure{}) {
		t.Errorf("after clearing: got %+v", got)
	}
}

func tokens(w *world) {
	t := w.T
	ann := w.user("ann", slipway.Administrator)
	task := w.running()
	create := func(tk slipway.Token, hash string) slipway.Token {
		t.Helper()
		return put(w, func(ctx context.Context, tx *store.Tx) (slipway.Token, error) {
			return tx.CreateToken(ctx, tk, []byte(hash))
		})
	}
	expiry := time.Now().Add(time.Hour).UTC().Truncate(time.Microsecond)
	ci := create(slipway.Token{UserID: ann.ID, Name: "ci", Hint: "slw_Ab3x", Role: slipway.ReadWrite, Project: "shop",
		Environment: "production", ExpiresAt: expiry}, "hash-1")
	action := create(slipway.Token{UserID: ann.ID, Name: "task", Role: slipway.ReadWrite, TaskID: task.ID}, "hash-2")

	byHash := func(hash string) slipway.Token {
		t.Helper()
		return get(w, func(ctx context.Context, tx *store.Tx) (slipway.Token, error) {
			return tx.TokenByHash(ctx, []byte(hash))
		})
	}
	want := slipway.Token{ID: ci.ID, UserID: ann.ID, UserName: "ann", Name: "ci", Hint: "slw_Ab3x", Role: slipway.ReadWrite,
		Project: "shop", Environment: "production", CreatedAt: ci.CreatedAt, ExpiresAt: expiry}
	if diff := cmp.Diff(want, byHash("hash-1")); diff != "" {
		t.Errorf("token (-want +got):\n%s", diff)
	}
	list := get(w, func(ctx context.Context, tx *store.Tx) (store.List[slipway.Token], error) {
		return tx.Tokens(ctx, 0, store.Page{})
	})
	if len(list.Items) != 1 || list.Items[0].ID != ci.ID {
		t.Errorf("the list shows %+v, want only the personal token", list.Items)
	}

	touch := func() time.Time {
		w.write(func(ctx context.Context, tx *store.Tx) error { return tx.TouchToken(ctx, ci.ID) })
		return byHash("hash-1").LastUsedAt
	}
	first := touch()
	time.Sleep(2 * time.Millisecond)
	if again := touch(); first.IsZero() || again != first {
		t.Errorf("last use: got %v and a moment later %v, want one write a minute", first, again)
	}

	w.write(func(ctx context.Context, tx *store.Tx) error { return tx.RevokeToken(ctx, ci.ID) })
	revoked := byHash("hash-1").RevokedAt
	w.write(func(ctx context.Context, tx *store.Tx) error { return tx.RevokeToken(ctx, ci.ID) })
	if again := byHash("hash-1").RevokedAt; revoked.IsZero() || again != revoked {
		t.Errorf("revoked at %v and once more at %v, want the first", revoked, again)
	}
	w.wantKind("revoking a token that is not there",
		w.try(func(ctx context.Context, tx *store.Tx) error { return tx.RevokeToken(ctx, 999) }), slipway.NotFound)

	n := put(w, func(ctx context.Context, tx *store.Tx) (int, error) { return tx.RevokeTokensOfEndedTasks(ctx) })
	if n != 0 {
		t.Errorf("revoked %d tokens of ended tasks while the task runs", n)
	}
	w.write(func(ctx context.Context, tx *store.Tx) error {
		return tx.FinishTask(ctx, task.ID, task.Epoch, store.TaskEnd{State: slipway.Failed})
	})
	n = put(w, func(ctx context.Context, tx *store.Tx) (int, error) { return tx.RevokeTokensOfEndedTasks(ctx) })
	if n != 1 || byHash("hash-2").RevokedAt.IsZero() {
		t.Errorf("revoked %d tokens of ended tasks, want token %d", n, action.ID)
	}
}
