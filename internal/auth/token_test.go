package auth

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// Pure.
func TestTokensAreRecognisable(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	counts := map[byte]int{}
	for range 2000 {
		v, hint, hash := newToken()
		if seen[v] || !wellFormed(v) || len(v) != 53 || !strings.HasPrefix(v, "slw_") || len(hash) != 32 {
			t.Fatalf("token %q, hint %q", v, hint)
		}
		seen[v] = true
		if !strings.HasPrefix(v, strings.TrimSuffix(hint, "…")) || len(hint) > 11 {
			t.Fatalf("the hint %q shows too much or something else", hint)
		}
		for _, c := range []byte(v[4:47]) {
			counts[c]++
		}
	}
	// 86,000 characters of 62: each about 1387 times. A bias by modulo would give the first
	// ones a quarter more.
	for c, n := range counts {
		if n < 1150 || n > 1650 {
			t.Errorf("character %c came %d times of %d", c, n, 2000*43)
		}
	}
}

// Pure.
func TestMistypedTokensAreFoundOut(t *testing.T) {
	t.Parallel()
	v, _, _ := newToken()
	for name, bad := range map[string]string{
		"one character changed":  v[:20] + string(base62[(strings.IndexByte(base62, v[20])+1)%62]) + v[21:],
		"two characters swapped": swapUnequal(v),
		"cut short":              v[:len(v)-1],
		"another prefix":         "ghp_" + v[4:],
		"empty":                  "",
	} {
		if wellFormed(bad) {
			t.Errorf("%s: %q is taken for a token", name, bad)
		}
	}
}

func swapUnequal(v string) string {
	b := []byte(v)
	for i := 5; i < 40; i++ {
		if b[i] != b[i+1] {
			b[i], b[i+1] = b[i+1], b[i]
			return string(b)
		}
	}
	return "x"
}

func TestATokenCountsForTheLeastOfTwoRoles(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, tc := range []struct{ user, token, want slipway.Role }{
		{slipway.Administrator, slipway.ReadOnly, slipway.ReadOnly},
		{slipway.ReadOnly, slipway.Administrator, slipway.ReadOnly},
		{slipway.ReadWrite, slipway.ReadWrite, slipway.ReadWrite},
	} {
		u := w.user("u-"+string(tc.user)+"-"+string(tc.token), tc.user)
		value, tok := w.token(u, func(t *slipway.Token) { t.Role, t.Project, t.Environment = tc.token, "shop", "production" })
		got, err := w.who(value)
		if err != nil {
			t.Fatal(err)
		}
		if got.Role != tc.want || got.TokenID != tok.ID || got.Project != "shop" || got.Environment != "production" || got.SessionID != "" {
			t.Errorf("user %s, token %s: caller %+v", tc.user, tc.token, got)
		}
	}
}

func TestTokensThatDoNotCount(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	u := w.user("anna", slipway.Administrator)
	cookie := w.mustLogin("anna")

	expired, _ := w.token(u, func(t *slipway.Token) { t.ExpiresAt = w.store.Now().Add(time.Hour) })
	revoked, tok := w.token(u)
	w.write(func(tx *store.Tx) error { return tx.RevokeToken(t.Context(), tok.ID) })
	off := w.user("off", slipway.Administrator)
	ofOff, _ := w.token(off)
	w.write(func(tx *store.Tx) error { return tx.SetUserActive(t.Context(), off.ID, false) })
	unknown, _, _ := newToken()

	if _, err := w.who(expired); err != nil {
		t.Errorf("before its time: %v", err)
	}
	w.clock.move(time.Hour)
	for name, tc := range map[string]struct{ value, want string }{
		"expired":         {expired, "the token expired on "},
		"revoked":         {revoked, "the token was revoked"},
		"of a user off":   {ofOff, "user off is deactivated"},
		"unknown":         {unknown, "not known here"},
		"not one of ours": {"slw_short", "not one of ours"},
	} {
		r := request(tc.value)
		// A cookie beside a token that does not count must not help.
		r.Header.Set("Cookie", cookie)
		_, err := w.a.Authenticate(t.Context(), r)
		w.wantKind(err, slipway.Unauthenticated, tc.want)
		if strings.Contains(err.Error(), tc.value) {
			t.Errorf("%s: the error shows the token", name)
		}
	}
	r := request("")
	r.Header.Set("Authorization", "Basic YTpi")
	r.Header.Set("Cookie", cookie)
	_, err := w.a.Authenticate(t.Context(), r)
	w.wantKind(err, slipway.Unauthenticated, "no bearer token")
}

func TestTheActionsUserDeactivatedInMidRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	value, taskID, u := w.taskToken()
	got, err := w.who(value)
	if err != nil {
		t.Fatal(err)
	}
	if got.UserName != slipway.ActionsUser || got.Role != slipway.ReadWrite || got.TaskID != taskID || got.Project != "shop" || got.Environment != "production" {
		t.Errorf("caller = %+v", got)
	}
	w.write(func(tx *store.Tx) error { return tx.SetUserRole(t.Context(), u.ID, slipway.ReadOnly) })
	if got, _ := w.who(value); got.Role != slipway.ReadOnly {
		t.Errorf("after the role was changed: %+v", got)
	}
	w.write(func(tx *store.Tx) error { return tx.SetUserActive(t.Context(), u.ID, false) })
	_, err = w.who(value)
	var e *slipway.Error
	if !errors.As(err, &e) || e.Msg != "user slipway-actions is deactivated" || e.Hint != "an administrator can activate it under Users" {
		t.Errorf("error = %#v", err)
	}
}

func TestTaskTokensEndWithTheTaskOrAfterItsDeadline(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.clock.stop()
	value, taskID, _ := w.taskToken()
	w.write(func(tx *store.Tx) error { return w.a.RevokeTaskTokens(t.Context(), tx, taskID) })
	_, err := w.who(value)
	w.wantKind(err, slipway.Unauthenticated, "revoked")

	lost, _, _ := w.taskToken()
	w.clock.move(time.Hour + taskTokenGrace - time.Second)
	if _, err := w.who(lost); err != nil {
		t.Errorf("in its last second: %v", err)
	}
	w.clock.move(time.Second)
	_, err = w.who(lost)
	w.wantKind(err, slipway.Unauthenticated, "expired")
}

// taskToken makes a running task and the token of its actions, with an hour to live.
func (w *world) taskToken() (value string, taskID int64, u slipway.User) {
	w.Helper()
	ctx := w.Context()
	if err := w.a.EnsureActionsUser(ctx); err != nil {
		w.Fatal(err)
	}
	if err := w.a.EnsureActionsUser(ctx); err != nil { // twice is the same
		w.Fatal(err)
	}
	w.write(func(tx *store.Tx) (err error) {
		if u, err = tx.UserByName(ctx, slipway.ActionsUser); err != nil {
			return err
		}
		e, err := tx.EnvironmentByName(ctx, "shop", "production")
		if slipway.Is(err, slipway.NotFound) {
			p, err := tx.CreateProject(ctx, slipway.Project{Name: "shop"})
			if err != nil {
				return err
			}
			if e, err = tx.CreateEnvironment(ctx, slipway.Environment{ProjectID: p.ID, Name: "production", Namespace: "shop-production"}); err != nil {
				return err
			}
		} else if err != nil {
			return err
		}
		app, err := tx.CreateApplication(ctx, slipway.Application{EnvironmentID: e.ID, Name: "app-" + strings.ToLower(random62(8)), Kind: slipway.DriverApplication})
		if err != nil {
			return err
		}
		task, err := tx.CreateTask(ctx, slipway.Task{Kind: slipway.UpgradeTask, Title: "upgrade", ApplicationID: app.ID})
		if err != nil {
			return err
		}
		taskID = task.ID
		value, err = w.a.MintTaskToken(ctx, tx, task.ID, tx.Now.Add(time.Hour))
		return err
	})
	return value, taskID, u
}

func TestLastUseIsWrittenBehindTheRequestAndSeldom(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	value, tok := w.token(w.user("anna", slipway.ReadOnly))
	for range 50 {
		if _, err := w.who(value); err != nil {
			t.Fatal(err)
		}
	}
	w.a.Close()
	err := w.store.Read(t.Context(), func(tx *store.Tx) error {
		now, err := tx.Token(t.Context(), tok.ID)
		if now.LastUsedAt.IsZero() {
			t.Error("the last use was not written")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(w.a.touches.last); n != 1 {
		t.Errorf("%d writes were queued, want 1", n)
	}
	// After the end of the writer requests are still answered.
	if _, err := w.who(value); err != nil {
		t.Error(err)
	}
}

func TestNoCredentials(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, cookie := range []string{"", "slipway_session=", "slipway_session=" + strings.Repeat("x", 43), "slipway_session=" + strings.Repeat("x", 5000)} {
		_, err := w.who(cookie)
		w.wantKind(err, slipway.Unauthenticated, "not signed in")
	}
	r, err := http.NewRequest(http.MethodGet, "/", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.a.Authenticate(t.Context(), r); !slipway.Is(err, slipway.Unauthenticated) {
		t.Errorf("without an address: %v", err)
	}
}
