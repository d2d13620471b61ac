package auth

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

func TestLoginAndLogout(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	u := w.user("Anna", slipway.ReadWrite)
	cookie, err := w.login(" anna ", password)
	if err != nil {
		t.Fatal(err)
	}
	got, err := w.who(cookie)
	if err != nil {
		t.Fatal(err)
	}
	if got.UserID != u.ID || got.UserName != "Anna" || got.Role != slipway.ReadWrite || got.SessionID == "" || got.Remote != "192.0.2.7" {
		t.Errorf("caller = %+v", got)
	}
	if strings.Contains(cookie, got.SessionID) {
		t.Error("the session's ID is its token")
	}
	rec := httptest.NewRecorder()
	if err := w.a.Logout(t.Context(), rec, request(cookie)); err != nil {
		t.Fatal(err)
	}
	if c := rec.Result().Cookies()[0]; c.MaxAge >= 0 || c.Value != "" {
		t.Errorf("the cookie is not dropped: %v", c)
	}
	_, err = w.who(cookie)
	w.wantKind(err, slipway.Unauthenticated, "not signed in")
}

func TestTheCookieIsOutOfReach(t *testing.T) {
	t.Parallel()
	for _, secure := range []bool{false, true} {
		w := newWorld(t, func(c *Config) { c.SecureCookies = secure })
		w.user("anna", slipway.ReadOnly)
		rec := httptest.NewRecorder()
		if _, err := w.a.Login(t.Context(), rec, request(""), "anna", password); err != nil {
			t.Fatal(err)
		}
		c := rec.Result().Cookies()[0]
		if !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Secure != secure || c.Path != "/" || c.Domain != "" {
			t.Errorf("cookie = %+v, secure wanted: %v", c, secure)
		}
		if got := strings.HasPrefix(c.Name, "__Host-"); got != secure {
			t.Errorf("cookie name = %q", c.Name)
		}
	}
}

// A token that someone planted in the browser before the sign-in must not become a
// signed-in one, and the session before must end.
func TestLoginRotatesTheSession(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.user("anna", slipway.ReadOnly)
	first := w.mustLogin("anna")
	rec := httptest.NewRecorder()
	if _, err := w.a.Login(t.Context(), rec, request(first), "anna", password); err != nil {
		t.Fatal(err)
	}
	if second := rec.Result().Cookies()[0]; first == second.Name+"="+second.Value {
		t.Error("the session kept its token")
	}
	if _, err := w.who(first); err == nil {
		t.Error("the session before goes on")
	}
}

func TestEveryFailedLoginHasOneAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.user("anna", slipway.Administrator)
	gone := w.user("gone", slipway.Administrator)
	if err := w.a.EnsureActionsUser(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.write(func(tx *store.Tx) error {
		if err := tx.SetUserActive(t.Context(), gone.ID, false); err != nil {
			return err
		}
		_, err := tx.CreateUser(t.Context(), slipway.User{Name: "sso-only", Role: slipway.ReadOnly, Active: true}, "")
		return err
	})
	for name, try := range map[string][2]string{
		"an unknown name":               {"nobody", password},
		"no name":                       {"", password},
		"a name of a kilobyte":          {strings.Repeat("a", 1024), password},
		"a wrong password":              {"anna", password + "!"},
		"no password":                   {"anna", ""},
		"a password of a megabyte":      {"anna", strings.Repeat("a", 1<<20)},
		"a deactivated user":            {"gone", password},
		"the built-in user":             {slipway.ActionsUser, password},
		"the built-in user, no word":    {slipway.ActionsUser, ""},
		"the built-in user in capitals": {"SLIPWAY-Actions", password},
		"a user without a password":     {"sso-only", ""},
	} {
		start := time.Now()
		_, err := w.login(try[0], try[1])
		if !errors.Is(err, errLogin) {
			t.Errorf("%s: %v, want the one answer", name, err)
		}
		// One hash takes tens of milliseconds; an answer in less has compared none. This is
		// about whether work was done, not about how fast this machine is.
		if took := time.Since(start); took < 5*time.Millisecond {
			t.Errorf("%s: answered after %s, without comparing a hash", name, took)
		}
	}
}

func TestDeactivationEndsSessionsAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	u := w.user("anna", slipway.Administrator)
	cookie := w.mustLogin("anna")
	w.write(func(tx *store.Tx) error { return tx.SetUserActive(t.Context(), u.ID, false) })
	_, err := w.who(cookie)
	w.wantKind(err, slipway.Unauthenticated, "not signed in")
}

func TestTheRoleIsReadAtEachRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	u := w.user("anna", slipway.Administrator)
	cookie := w.mustLogin("anna")
	w.write(func(tx *store.Tx) error { return tx.SetUserRole(t.Context(), u.ID, slipway.ReadOnly) })
	got, err := w.who(cookie)
	if err != nil || got.Role != slipway.ReadOnly {
		t.Errorf("role = %s, %v", got.Role, err)
	}
}

func TestLoginIsAudited(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	u := w.user("anna", slipway.ReadOnly)
	w.mustLogin("anna")
	err := w.store.Read(t.Context(), func(tx *store.Tx) error {
		lines, err := tx.Audits(t.Context(), store.AuditFilter{Action: "user.login"}, store.Page{})
		if err == nil && (len(lines.Items) != 1 || lines.Items[0].NounID != u.ID || lines.Items[0].Remote != "192.0.2.7") {
			t.Errorf("audit = %+v", lines.Items)
		}
		now, err := tx.User(t.Context(), u.ID)
		if now.LastLoginAt.IsZero() {
			t.Error("the last login is not written")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
