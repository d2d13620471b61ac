package change

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// World: both databases. Every value that is secret goes through every function that takes
// one, and none of them may stand in any row of any table, in any common form.
func TestNoSecretValueStandsInAnyRow(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		ctx := w.Context()
		planted := map[string]string{
			"a secret":         "planted-secret-c1a9",
			"a newer secret":   "planted-secret-77e0",
			"a deleted secret": "planted-secret-b00f",
			"a password":       "planted-password-4d2e",
			"a newer password": "planted-password-93aa",
			"a wrong password": "planted-password-0000",
		}
		set := func(name, value string) {
			w.must(w.s.SetSecret(ctx, w.writer, SetSecretInput{Project: "shop", Environment: "production", Name: name, Value: []byte(value)}))
		}
		set("one", planted["a secret"])
		set("one", planted["a newer secret"])
		set("two", planted["a deleted secret"])
		w.ok(w.s.DeleteSecret(ctx, w.writer, "shop", "production", "two"))

		u, err := w.s.CreateUser(ctx, w.admin, CreateUserInput{Name: "dora", Role: slipway.ReadWrite, Password: planted["a password"], IdempotencyKey: "k1"})
		w.ok(err)
		dora := slipway.Caller{UserID: u.ID, UserName: "dora", Role: slipway.ReadWrite}
		next := planted["a newer password"]
		w.must(w.s.UpdateUser(ctx, dora, UpdateUserInput{Name: "dora", Password: &next, CurrentPassword: planted["a password"]}))

		for _, password := range []string{planted["a wrong password"], next} {
			rec := httptest.NewRecorder()
			r := httptest.NewRequest(http.MethodPost, "/login", nil)
			_, err := w.auth.Login(ctx, rec, r, "dora", password)
			if (err == nil) != (password == next) {
				w.Fatalf("sign in: %v", err)
			}
			for _, c := range rec.Result().Cookies() {
				planted["a session"] = c.Value
			}
		}
		tok, err := w.s.CreateToken(ctx, dora, CreateTokenInput{Name: "ci", IdempotencyKey: "k2"})
		w.ok(err)
		planted["a token"] = tok.Value

		a := w.mustDeploy(0, toml("1.0.0", "1.0.0", "[components.web]", `secrets = { A = "one" }`), func(in *DeployInput) { in.IdempotencyKey = "k3" })
		w.write(func(ctx context.Context, tx *store.Tx) (err error) {
			planted["a task's token"], err = w.auth.MintTaskToken(ctx, tx, a.Task.ID, tx.Now)
			return err
		})
		if len(planted) != 9 {
			w.Fatalf("planted %v", planted)
		}

		rows := 0
		for table, lines := range w.dump() {
			for _, line := range lines {
				rows++
				lower := strings.ToLower(line)
				for what, value := range planted {
					for _, form := range []string{value, base64.StdEncoding.EncodeToString([]byte(value))[:16], base64.RawURLEncoding.EncodeToString([]byte(value))[:16], hex.EncodeToString([]byte(value))} {
						if strings.Contains(line, form) || strings.Contains(lower, strings.ToLower(form)) {
							w.Errorf("table %s holds %s: %s", table, what, line)
						}
					}
				}
			}
		}
		if rows < 30 {
			w.Errorf("only %d rows were searched", rows)
		}
		// The search itself must be able to find: a name that does stand in the rows.
		if !strings.Contains(strings.Join(w.dump()["secrets"], "\n"), "guestbook-db") {
			w.Error("the search does not find what is there")
		}
	})
}
