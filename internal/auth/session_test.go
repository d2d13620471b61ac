package auth

import (
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// A real SQLite store in a bubble where time passes at once.
func TestSessionsEndByIdlenessAndByAge(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(c *Config) { c.SessionIdle, c.SessionLifetime = time.Hour, 3*time.Hour })
		w.user("anna", slipway.ReadOnly)

		idle := w.mustLogin("anna")
		time.Sleep(59 * time.Minute)
		if _, err := w.who(idle); err != nil {
			t.Fatalf("after 59 minutes: %v", err)
		}
		synctest.Wait() // the idle time is put back behind the request
		time.Sleep(59 * time.Minute)
		if _, err := w.who(idle); err != nil {
			t.Fatalf("59 minutes after its last use: %v", err)
		}
		synctest.Wait()
		time.Sleep(61 * time.Minute)
		if _, err := w.who(idle); err == nil {
			t.Error("61 minutes after its last use it still counts")
		}

		used, begun := w.mustLogin("anna"), time.Now()
		for time.Since(begun) < 3*time.Hour {
			if _, err := w.who(used); err != nil {
				t.Fatalf("after %s: %v", time.Since(begun), err)
			}
			synctest.Wait()
			time.Sleep(10 * time.Minute)
		}
		if _, err := w.who(used); err == nil {
			t.Error("three hours old it still counts")
		}
	})
}

// The idle time of a session that was ended meanwhile is put back by a request that was
// under way; the session must stay ended.
func TestAnEndedSessionDoesNotComeBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	u := w.user("anna", slipway.ReadOnly)
	for name, end := range map[string]func(cookie string){
		"by a logout": func(cookie string) {
			if err := w.a.Logout(t.Context(), httptest.NewRecorder(), request(cookie)); err != nil {
				t.Fatal(err)
			}
		},
		"by a new password": func(string) {
			w.write(func(tx *store.Tx) error { return tx.DeleteSessionsOf(t.Context(), u.ID) })
		},
	} {
		cookie := w.mustLogin("anna")
		_, token, err := w.a.load(t.Context(), request(cookie))
		if err != nil {
			t.Fatal(err)
		}
		// What the request under way has read is still the living session.
		ctx, err := w.a.sessions.Load(t.Context(), token)
		if err != nil {
			t.Fatal(err)
		}
		end(cookie)
		w.a.sessions.Put(ctx, sessionSeen, int64(1))
		if _, _, err := w.a.sessions.Commit(withExtending(ctx)); err != nil {
			t.Fatal(err)
		}
		if err := w.a.extend(t.Context(), token); err != nil {
			t.Fatal(err)
		}
		if _, err := w.who(cookie); err == nil {
			t.Errorf("%s: the session is back", name)
		}
	}
}
