package auth

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
	"slipway.dev/slipway/internal/store/postgres"
	"slipway.dev/slipway/internal/store/postgres/postgrestest"
	"slipway.dev/slipway/internal/store/sqlite"
)

// These tests stand in the world of a database: a real store, on SQLite unless a test says
// onBoth, real hashes, and requests made by hand. No server listens.

func TestMain(m *testing.M) { postgrestest.Main(m) }

// clock is the store's clock, which a test may move, or stop so that the speed of the
// machine plays no part.
type clock struct {
	mu      sync.Mutex
	d       time.Duration
	stopped time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.stopped.IsZero() {
		return c.stopped.Add(c.d)
	}
	return time.Now().Add(c.d)
}

func (c *clock) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = time.Now()
}

func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.d += d
}

type world struct {
	*testing.T
	a     *Authenticator
	store *store.Store
	clock *clock
}

const password = "correct horse battery"

func newWorld(t *testing.T, change ...func(*Config)) *world {
	t.Helper()
	c := &clock{}
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "slipway.db"), sqlite.Options{Clock: c.now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return furnish(t, db.Store, c, change...)
}

// onBoth runs a test on SQLite and on PostgreSQL.
func onBoth(t *testing.T, f func(w *world)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		f(newWorld(t))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		c := &clock{}
		db, err := postgres.Open(t.Context(), postgrestest.DSN(t), postgres.Options{Clock: c.now})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
		f(furnish(t, db.Store, c))
	})
}

func furnish(t *testing.T, s *store.Store, c *clock, change ...func(*Config)) *world {
	t.Helper()
	cfg := Config{Store: s, SetupSecretFile: filepath.Join(t.TempDir(), "setup-secret")}
	for _, f := range change {
		f(&cfg)
	}
	a, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	w := &world{t, a, s, c}
	w.write(func(tx *store.Tx) error {
		_, err := tx.CreateInstallation(t.Context(), slipway.Installation{ID: "i-1", ExternalID: "x"})
		return err
	})
	return w
}

func (w *world) write(f func(tx *store.Tx) error) {
	w.Helper()
	if err := w.store.InTx(w.Context(), f); err != nil {
		w.Fatal(err)
	}
}

// user makes a user with the usual password.
func (w *world) user(name string, role slipway.Role) (u slipway.User) {
	w.Helper()
	hash, err := w.a.HashPassword(w.Context(), password)
	if err != nil {
		w.Fatal(err)
	}
	w.write(func(tx *store.Tx) error {
		u, err = tx.CreateUser(w.Context(), slipway.User{Name: name, Role: role, Active: true}, hash)
		return err
	})
	return u
}

// token makes a token of a user.
func (w *world) token(u slipway.User, change ...func(*slipway.Token)) (value string, t slipway.Token) {
	w.Helper()
	value, hint, hash := newToken()
	t = slipway.Token{UserID: u.ID, Name: "test", Hint: hint, Role: slipway.Administrator}
	for _, f := range change {
		f(&t)
	}
	w.write(func(tx *store.Tx) (err error) {
		t, err = tx.CreateToken(w.Context(), t, hash)
		return err
	})
	return value, t
}

// request is one from a browser with a cookie, or from a program with a token.
func request(credential string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "http://slipway.test/", nil)
	r.RemoteAddr = "192.0.2.7:4711"
	switch {
	case strings.HasPrefix(credential, tokenPrefix):
		r.Header.Set("Authorization", "Bearer "+credential)
	case credential != "":
		r.Header.Set("Cookie", credential)
	}
	return r
}

// login signs in and returns the Cookie header of a browser that did.
func (w *world) login(name, password string) (cookie string, err error) {
	rec := httptest.NewRecorder()
	if _, err := w.a.Login(w.Context(), rec, request(""), name, password); err != nil {
		if len(rec.Result().Cookies()) > 0 {
			w.Errorf("a failed sign-in set a cookie")
		}
		return "", err
	}
	c := rec.Result().Cookies()[0]
	return c.Name + "=" + c.Value, nil
}

func (w *world) mustLogin(name string) string {
	w.Helper()
	cookie, err := w.login(name, password)
	if err != nil {
		w.Fatal(err)
	}
	return cookie
}

func (w *world) who(credential string) (slipway.Caller, error) {
	return w.a.Authenticate(w.Context(), request(credential))
}

// wantKind checks an error's kind and a part of its text.
func (w *world) wantKind(err error, kind slipway.Kind, text string) {
	w.Helper()
	if !slipway.Is(err, kind) || !strings.Contains(err.Error(), text) {
		w.Errorf("error = %v (%s), want %s with %q", err, slipway.KindOf(err), kind, text)
	}
}
