package auth

import (
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

func TestTheFirstAdministrator(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path, err := w.a.EnsureSetupSecret(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(path)
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", st.Mode(), err)
	}
	secret, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := w.a.EnsureSetupSecret(t.Context()); err != nil || again != path {
		t.Errorf("a second start: %q, %v", again, err)
	}
	if now, _ := os.ReadFile(path); string(now) != string(secret) {
		t.Error("a second start made another secret")
	}
	setup := func(secret, name, password string) (string, error) {
		rec := httptest.NewRecorder()
		_, err := w.a.Setup(t.Context(), rec, request(""), SetupInput{secret, name, password})
		if c := rec.Result().Cookies(); len(c) > 0 {
			return c[0].Name + "=" + c[0].Value, err
		}
		return "", err
	}
	_, err = setup("", "anna", password)
	w.wantKind(err, slipway.Forbidden, "the setup secret is wrong")
	_, err = setup(strings.Repeat("x", 43), "anna", password)
	w.wantKind(err, slipway.Forbidden, "the setup secret is wrong")
	_, err = setup(string(secret), "Slipway-Actions", password)
	w.wantKind(err, slipway.Conflict, "built-in user")
	_, err = setup(string(secret), "anna", "short")
	w.wantKind(err, slipway.Invalid, "shorter than 12")
	if needed, err := w.a.SetupNeeded(t.Context()); err != nil || !needed {
		t.Errorf("SetupNeeded after refusals = %v, %v", needed, err)
	}

	cookie, err := setup(string(secret), "anna", password)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := w.who(cookie); err != nil || got.UserName != "anna" || got.Role != slipway.Administrator {
		t.Errorf("caller = %+v, %v", got, err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the secret is still there: %v", err)
	}
	_, err = setup(string(secret), "mallory", password)
	w.wantKind(err, slipway.Conflict, "its administrator already")
	if path, err := w.a.EnsureSetupSecret(t.Context()); err != nil || path != "" {
		t.Errorf("EnsureSetupSecret afterwards = %q, %v", path, err)
	}
	if w.mustLogin("anna") == "" {
		t.Error("no sign-in")
	}
}

// World: both databases.
func TestTheSecretWorksOnce(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		ctx := w.Context()
		path, err := w.a.EnsureSetupSecret(ctx)
		if err != nil {
			w.Fatal(err)
		}
		secret, err := os.ReadFile(path)
		if err != nil {
			w.Fatal(err)
		}
		var made atomic.Int32
		var wg sync.WaitGroup
		for _, name := range []string{"anna", "ben", "cleo", "dan"} {
			wg.Go(func() {
				_, err := w.a.Setup(ctx, httptest.NewRecorder(), request(""), SetupInput{string(secret), name, password})
				switch {
				case err == nil:
					made.Add(1)
				case slipway.Is(err, slipway.Conflict) || slipway.Is(err, slipway.Unavailable): // after it was removed
				default:
					w.Error(err)
				}
			})
		}
		wg.Wait()
		if made.Load() != 1 {
			w.Errorf("%d administrators were made", made.Load())
		}
		w.write(func(tx *store.Tx) error {
			users, err := tx.Users(ctx, store.Page{})
			if len(users.Items) != 1 {
				w.Errorf("users = %+v", users.Items)
			}
			return err
		})
	})
}

// An empty file would be a secret that everybody knows.
func TestADamagedSetupSecretLetsNobodyIn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if err := os.WriteFile(w.a.setup, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := w.a.EnsureSetupSecret(t.Context()); err == nil || !strings.Contains(err.Error(), "delete it and start the server again") {
		t.Errorf("EnsureSetupSecret = %v", err)
	}
	_, err := w.a.Setup(t.Context(), httptest.NewRecorder(), request(""), SetupInput{"", "mallory", password})
	w.wantKind(err, slipway.Unavailable, "no setup secret to compare with")
}
