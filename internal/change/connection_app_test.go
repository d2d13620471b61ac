package change

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"slipway.dev/slipway/internal/secret"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// gitHub makes an App of one code, once. fail is what the next exchange is answered with;
// with done it has been made all the same.
type gitHub struct {
	made   MadeApp
	codes  map[string]bool
	fail   error
	done   bool
	during func() // while it is asked
	asked  int
}

func (g *gitHub) MakeApp(_ context.Context, _, code string) (MadeApp, error) {
	g.asked++
	if g.during != nil {
		g.during()
	}
	fail := g.fail
	if g.fail = nil; fail != nil && !g.done {
		return MadeApp{}, fail
	}
	if !g.codes[code] {
		return MadeApp{}, slipway.Errorf(slipway.NotFound, "GitHub has nothing there")
	}
	g.codes[code] = false
	if fail != nil {
		return MadeApp{}, fail
	}
	return g.made, nil
}

const code = "0123456789abcdef"

func appWorld(t *testing.T) (*world, *gitHub) {
	t.Helper()
	w := newWorld(t)
	return w, w.gitHub()
}

// gitHub gives the world a GitHub, and the connection acme.
func (w *world) gitHub() *gitHub {
	w.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	w.ok(err)
	g := &gitHub{codes: map[string]bool{code: true}, made: MadeApp{
		ID: 4711, URL: "https://github.com/apps/slipway-acme", WebhookSecret: []byte("hook-secret-of-the-app"),
		PrivateKey: pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}),
	}}
	w.s.Apps = g
	w.writer.SessionID, w.admin.SessionID = "session-of-writer", "session-of-admin"
	w.connection("acme", "shop", "production")
	return g
}

func (w *world) beginApp() BegunApp {
	w.Helper()
	b, err := w.s.BeginApp(w.Context(), w.writer, BeginAppInput{Connection: "acme", Organization: "acme"})
	w.ok(err)
	return b
}

func (w *world) bring(c slipway.Caller, state, code string) error {
	_, err := w.s.FinishApp(w.Context(), c, FinishAppInput{Connection: "acme", State: state, Code: code})
	return err
}

// World: SQLite, with a GitHub of this test.
func TestAnAppIsMadeForAConnection(t *testing.T) {
	t.Parallel()
	w, g := appWorld(t)
	ctx := w.Context()
	before, err := w.s.Hook(ctx, w.named("acme").Hook)
	w.ok(err)
	b := w.beginApp()
	if len(b.State) < 40 || b.Creation.Secret != "acme-app" || strings.Contains(fmt.Sprintf("%+v", b.Creation), b.State) {
		t.Errorf("begun: %+v", b)
	}
	out, err := w.s.FinishApp(ctx, w.writer, FinishAppInput{Connection: "acme", State: b.State, Code: code})
	w.ok(err)
	if out.AppID != 4711 || out.InstallURL() != "https://github.com/apps/slipway-acme/installations/new" || out.Secret.Name != "acme-app" || out.In != "shop/production" || out.KeptHook || out.InsteadOf != "" || w.named("acme").AppCredential != "shop/production/acme-app" {
		t.Errorf("taken: %+v", out)
	}
	hook, err := w.s.Hook(ctx, w.named("acme").Hook)
	w.ok(err)
	if len(hook.Secrets) != 2 || string(hook.Secrets[0]) != "hook-secret-of-the-app" || string(hook.Secrets[1]) != string(before.Secrets[0]) {
		t.Errorf("the App's secret counts, and the one before for an hour: %d", len(hook.Secrets))
	}
	// The secret is what a runner pool's credential is read from, and the connection has the key.
	credential, key := w.opened("acme-app")
	var in struct {
		App        string
		PrivateKey string `json:"private_key"`
	}
	w.ok(json.Unmarshal(credential, &in))
	if in.App != "4711" || in.PrivateKey != string(g.made.PrivateKey) || string(key) != string(g.made.PrivateKey) {
		t.Error("the App's key is not where pools and the search for lost deliveries look for it")
	}
	w.refused(w.bring(w.writer, b.State, code), slipway.Conflict, "has its App already: 4711")
	_, err = w.s.BeginApp(ctx, w.writer, BeginAppInput{Connection: "acme", Organization: "acme"})
	w.refused(err, slipway.Conflict, "has its App already")
	if g.asked != 1 {
		t.Errorf("GitHub was asked %d times", g.asked)
	}
	w.nowhere(string(g.made.PrivateKey), "hook-secret-of-the-app", b.State, code)
}

// World: SQLite, with a GitHub of this test.
func TestWhoComesBackWithoutHavingBegun(t *testing.T) {
	t.Parallel()
	w, g := appWorld(t)
	ctx := w.Context()
	w.refused(w.bring(w.writer, "x", code), slipway.Forbidden, "does not belong to an App that was begun here")
	old := w.beginApp()
	b := w.beginApp()
	other := w.writer
	other.SessionID = "another-session"
	someone := w.admin
	someone.SessionID = w.writer.SessionID
	token := w.writer
	token.SessionID = ""
	for name, try := range map[string]error{
		"no state": w.bring(w.writer, "", code), "a wrong state": w.bring(w.writer, old.State[:10]+b.State[10:], code), "the state before": w.bring(w.writer, old.State, code),
		"another session": w.bring(other, b.State, code), "another user": w.bring(someone, b.State, code), "no session": w.bring(token, b.State, code),
	} {
		t.Log(name)
		w.refused(try, slipway.Forbidden, "does not belong to an App that was begun here in this session")
		w.hints(try, "slipway connections app acme --code CODE")
	}
	for _, odd := range []string{"", "short", "../../user", strings.Repeat("x", 201), "code with blanks"} {
		w.refused(w.bring(w.writer, b.State, odd), slipway.Invalid, "code:")
	}
	_, err := w.s.BeginApp(ctx, token, BeginAppInput{Connection: "acme", Organization: "acme"})
	w.refused(err, slipway.Invalid, "in a browser")
	_, err = w.s.BeginApp(ctx, w.writer, BeginAppInput{Connection: "acme", Organization: "acme/shop"})
	w.refused(err, slipway.Invalid, "organization:")
	w.pass(61 * time.Minute)
	late := w.bring(w.writer, b.State, code)
	w.refused(late, slipway.Conflict, "was kept for an hour")
	w.hints(late, "slipway connections app acme --code CODE")
	if g.asked != 0 {
		t.Errorf("GitHub was asked %d times", g.asked)
	}
	if n := w.named("acme"); n.AppID != 0 {
		t.Errorf("it has an App: %+v", n)
	}
}

// World: SQLite, with a GitHub of this test.
func TestAnExchangeThatCameToNothing(t *testing.T) {
	t.Parallel()
	t.Run("GitHub is away, and back", func(t *testing.T) {
		t.Parallel()
		w, g := appWorld(t)
		b := w.beginApp()
		g.fail = slipway.Errorf(slipway.Unavailable, "GitHub has a fault (502)")
		w.refused(w.bring(w.writer, b.State, code), slipway.Unavailable, "whether it has taken the code is not known")
		w.ok(w.bring(w.writer, b.State, code))
	})
	t.Run("the reply is lost", func(t *testing.T) {
		t.Parallel()
		w, g := appWorld(t)
		b := w.beginApp()
		g.fail, g.done = slipway.Errorf(slipway.Unavailable, "GitHub did not answer in time"), true
		w.refused(w.bring(w.writer, b.State, code), slipway.Unavailable, "is not known")
		err := w.bring(w.writer, b.State, code)
		w.refused(err, slipway.Conflict, "the App is there, and its key cannot be fetched again")
		w.hints(err, "slipway connections app acme --app-id ID --app-key-file FILE")
		// What the hint says works.
		_, err = w.s.TakeApp(w.Context(), w.writer, TakeAppInput{Connection: "acme", AppID: 4711, AppKey: g.made.PrivateKey})
		w.ok(err)
		if credential, _ := w.opened("acme-app"); !strings.Contains(string(credential), `"app":"4711"`) {
			t.Error("the key of the App's page is not saved as a credential")
		}
	})
	t.Run("the code has ended", func(t *testing.T) {
		t.Parallel()
		w, g := appWorld(t)
		b := w.beginApp()
		g.codes[code] = false
		w.refused(w.bring(w.writer, b.State, code), slipway.Conflict, "it was used, or its hour is over")
	})
	t.Run("the process dies while it asks", func(t *testing.T) {
		t.Parallel()
		w, g := appWorld(t)
		b := w.beginApp()
		g.during = func() { g.during = nil; panic("killed") }
		func() {
			defer func() { _ = recover() }()
			_ = w.bring(w.writer, b.State, code)
		}()
		w.refused(w.bring(w.writer, b.State, code), slipway.Conflict, "GitHub is being asked")
		w.pass(2 * time.Minute) // the forge and the database may take as long
		w.refused(w.bring(w.writer, b.State, code), slipway.Conflict, "GitHub is being asked")
		w.pass(2 * time.Minute)
		g.codes[code] = false // it had taken the code
		w.refused(w.bring(w.writer, b.State, code), slipway.Conflict, "the App is there, and its key cannot be fetched again")
	})
	t.Run("the browser goes away", func(t *testing.T) {
		t.Parallel()
		w, g := appWorld(t)
		b := w.beginApp()
		ctx, leave := context.WithCancel(w.Context())
		g.during = leave
		_, err := w.s.FinishApp(ctx, w.writer, FinishAppInput{Connection: "acme", State: b.State, Code: code})
		w.ok(err)
	})
	t.Run("two at once", func(t *testing.T) {
		t.Parallel()
		w, g := appWorld(t)
		b := w.beginApp()
		var second, begun error
		g.during = func() {
			g.during = nil
			second = w.bring(w.writer, b.State, code)
			_, begun = w.s.BeginApp(w.Context(), w.writer, BeginAppInput{Connection: "acme", Organization: "acme"})
		}
		w.ok(w.bring(w.writer, b.State, code))
		w.refused(second, slipway.Conflict, "GitHub is being asked")
		w.refused(begun, slipway.Conflict, "GitHub is being asked")
	})
	t.Run("the connection goes while GitHub is asked", func(t *testing.T) {
		t.Parallel()
		w, g := appWorld(t)
		b := w.beginApp()
		g.during = func() { w.ok(w.s.DeleteConnection(w.Context(), w.writer, "acme")) }
		err := w.bring(w.writer, b.State, code)
		w.refused(err, slipway.NotFound, "GitHub made the App 4711, and its key was lost")
		w.hints(err, "https://github.com/apps/slipway-acme")
		if e, _ := errorOf(err); strings.Contains(e.Hint, "delete") {
			t.Errorf("a good App is to be deleted: %s", e.Hint)
		}
	})
	t.Run("somebody gives a wrong code meanwhile", func(t *testing.T) {
		t.Parallel()
		w, _ := appWorld(t)
		b := w.beginApp()
		_, err := w.s.TakeApp(w.Context(), w.writer, TakeAppInput{Connection: "acme", Code: "9999999999999999"})
		w.refused(err, slipway.Conflict, "GitHub does not know the code")
		w.hints(err, "copy it whole")
		_, err = w.s.TakeApp(w.Context(), w.writer, TakeAppInput{Connection: "acme", Code: "9999999999999999", AppPlace: AppPlace{Secret: "odd"}})
		w.refused(err, slipway.Conflict, "GitHub does not know the code")
		out, err := w.s.FinishApp(w.Context(), w.writer, FinishAppInput{Connection: "acme", State: b.State, Code: code})
		w.ok(err)
		if out.Secret.Name != "acme-app" {
			t.Errorf("who was at GitHub gets the credential under the name %s", out.Secret.Name)
		}
	})
	t.Run("somebody gives the right code, and another place", func(t *testing.T) {
		t.Parallel()
		w, _ := appWorld(t)
		b := w.beginApp()
		out, err := w.s.TakeApp(w.Context(), w.writer, TakeAppInput{Connection: "acme", Code: code, AppPlace: AppPlace{Secret: "mine"}})
		w.ok(err)
		if out.Secret.Name != "mine" || out.InsteadOf != "" {
			t.Errorf("taken: %+v", out)
		}
		w.refused(w.bring(w.writer, b.State, code), slipway.Conflict, "has its App already")
	})
	t.Run("it was stored, and the database did not say so", func(t *testing.T) {
		t.Parallel()
		w, g := appWorld(t)
		w.beginApp()
		var a slipway.AppCreation
		w.read(func(ctx context.Context, tx *store.Tx) (err error) {
			a, err = tx.AppCreation(ctx, w.named("acme").ID)
			return err
		})
		n := w.named("acme")
		for range 2 {
			out, err := w.s.keepInTime(w.Context(), w.writer, n, a, g.made)
			w.ok(err)
			if out.AppID != 4711 || out.In != "shop/production" || out.Secret.Name != "acme-app" {
				t.Errorf("kept: %+v", out)
			}
		}
	})
	t.Run("the database is away for too long", func(t *testing.T) {
		t.Parallel()
		w, g := appWorld(t)
		w.beginApp()
		n := w.named("acme")
		var a slipway.AppCreation
		held, free, over := make(chan struct{}), make(chan struct{}), make(chan error)
		go func() {
			over <- w.store.InTx(w.Context(), func(tx *store.Tx) (err error) {
				a, err = tx.AppCreation(w.Context(), n.ID)
				close(held)
				<-free
				return err
			})
		}()
		<-held
		ctx, stop := context.WithTimeout(w.Context(), 300*time.Millisecond)
		defer stop()
		began := time.Now()
		if _, err := w.s.keepInTime(ctx, w.writer, n, a, g.made); err == nil || definite(err) || time.Since(began) > 10*time.Second {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
		close(free)
		w.ok(<-over)
		if n := w.named("acme"); n.AppID != 0 {
			t.Error("the key was stored after the end of its time")
		}
	})
	t.Run("the name of the secret is taken meanwhile", func(t *testing.T) {
		t.Parallel()
		w, g := appWorld(t)
		b := w.beginApp()
		g.during = func() {
			_, err := w.s.SetSecret(w.Context(), w.writer, SetSecretInput{Project: "shop", Environment: "production", Name: "acme-app", Value: []byte("mine")})
			w.ok(err)
		}
		out, err := w.s.FinishApp(w.Context(), w.writer, FinishAppInput{Connection: "acme", State: b.State, Code: code})
		w.ok(err)
		if n := w.named("acme"); out.InsteadOf != "acme-app" || out.Secret.Name != "acme-app-4711" || n.AppCredential != "shop/production/acme-app-4711" || out.AppCredential != n.AppCredential {
			t.Errorf("nobody is told under which name: %+v, %+v", out, n)
		}
		if credential, _ := w.opened("acme-app"); string(credential) != "mine" {
			t.Error("somebody's secret was written over")
		}
		if credential, _ := w.opened("acme-app-4711"); !strings.Contains(string(credential), "PRIVATE KEY") {
			t.Error("the App's key is nowhere")
		}
	})
}

// Whichever is written first, the App keeps its key, and both secrets count: one as the
// secret before.
//
// World: both databases, with a GitHub of this test.
func TestASecretIsRotatedWhileAnAppComes(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		g, ctx := w.gitHub(), w.Context()
		const rotated = "rotated-while-the-app-came"
		for i := range 60 {
			name := fmt.Sprint("c", i)
			hook := w.connection(name, "shop", "production").Hook
			b, err := w.s.BeginApp(ctx, w.writer, BeginAppInput{Connection: name, Organization: "acme"})
			w.ok(err)
			g.codes[code] = true
			done := make(chan error, 1)
			g.during = func() {
				go func() {
					time.Sleep(time.Duration(i%12) * 500 * time.Microsecond)
					_, err := w.s.RotateConnectionSecret(ctx, w.writer, RotateSecretInput{Name: name, Secret: []byte(rotated)})
					done <- err
				}()
			}
			_, err = w.s.FinishApp(ctx, w.writer, FinishAppInput{Connection: name, State: b.State, Code: code})
			w.ok(errors.Join(err, <-done))
			n := w.named(name)
			w.read(func(ctx context.Context, tx *store.Tx) error {
				sealed, err := tx.ConnectionSecrets(ctx, n.ID)
				if err == nil && (n.AppID == 0 || len(sealed.App) == 0) {
					w.Errorf("%s: the App %d has a key of %d bytes", name, n.AppID, len(sealed.App))
				}
				return err
			})
			h, err := w.s.Hook(ctx, hook)
			w.ok(err)
			got := string(bytes.Join(h.Secrets, []byte(" ")))
			if app := string(g.made.WebhookSecret); got != app+" "+rotated && got != rotated+" "+app {
				w.Errorf("%s: the secrets that count are %s", name, got)
			}
		}
	})
}

// World: SQLite, with a GitHub of this test.
func TestAnAppIsTakenByItsCode(t *testing.T) {
	t.Parallel()
	w, g := appWorld(t)
	ctx := w.Context()
	w.writer.SessionID = "" // a token
	for name, in := range map[string]TakeAppInput{
		"code:": {}, "app_key:": {AppID: 1, AppKey: []byte("no key")}, "app_id:": {AppID: -1}, "secret:": {Code: code, AppPlace: AppPlace{Secret: "No Name"}},
	} {
		in.Connection = "acme"
		_, err := w.s.TakeApp(ctx, w.writer, in)
		w.refused(err, slipway.Invalid, name)
	}
	whole := w.connection("whole", "", "")
	_, err := w.s.TakeApp(ctx, w.writer, TakeAppInput{Connection: "whole", Code: code})
	w.refused(err, slipway.Forbidden, "administrator")
	_, err = w.s.TakeApp(ctx, w.admin, TakeAppInput{Connection: "whole", Code: code})
	w.refused(err, slipway.Invalid, "environment: it is missing")
	_, err = w.s.SetSecret(ctx, w.writer, SetSecretInput{Project: "shop", Environment: "production", Name: "taken", Value: []byte("mine")})
	w.ok(err)
	_, err = w.s.TakeApp(ctx, w.writer, TakeAppInput{Connection: "acme", Code: code, AppPlace: AppPlace{Secret: "taken"}})
	w.refused(err, slipway.Conflict, "there is a secret taken in shop/production already")
	if g.asked != 0 {
		t.Errorf("GitHub was asked %d times", g.asked)
	}
	out, err := w.s.TakeApp(ctx, w.admin, TakeAppInput{Connection: "whole", Code: code, AppPlace: AppPlace{Project: "shop", Environment: "production", Secret: "the-app"}})
	w.ok(err)
	if out.ID != whole.ID || out.AppID != 4711 || out.Secret.Name != "the-app" {
		t.Errorf("taken: %+v", out)
	}
	w.s.Apps = nil
	_, err = w.s.TakeApp(ctx, w.writer, TakeAppInput{Connection: "acme", Code: code})
	w.refused(err, slipway.Unavailable, "is not known")
	w.nowhere(string(g.made.PrivateKey), "hook-secret-of-the-app", code)
}

// World: pure.
func TestTheManifestFitsGitHub(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ base, register, convert string }{
		{"", "https://github.com/organizations/acme/settings/apps/new", "https://api.github.com/app-manifests/CODE/conversions"},
		{"https://acme.ghe.com", "https://acme.ghe.com/organizations/acme/settings/apps/new", "https://api.acme.ghe.com/app-manifests/CODE/conversions"},
		{"https://github.example.com", "https://github.example.com/organizations/acme/settings/apps/new", "https://github.example.com/api/v3/app-manifests/CODE/conversions"},
	} {
		m, err := ManifestOf(slipway.Connection{Name: strings.Repeat("long-", 7) + "name", Forge: "github", BaseURL: tc.base, Hook: "h"}, "https://slipway.example.com/", "acme")
		if err != nil || m.RegisterURL != tc.register || m.ConvertURL != tc.convert {
			t.Errorf("%q: %+v, %v", tc.base, m, err)
		}
		var in struct {
			Name     string
			URL      string
			Redirect string `json:"redirect_url"`
			Public   *bool
			Hook     struct{ URL string } `json:"hook_attributes"`
		}
		if err := json.Unmarshal(m.Manifest, &in); err != nil {
			t.Fatal(err)
		}
		if len(in.Name) > 34 || in.URL != "https://slipway.example.com" || in.Hook.URL != "https://slipway.example.com/webhooks/github/h" || in.Public == nil || *in.Public ||
			!strings.HasSuffix(in.Redirect, "name/app/made") {
			t.Errorf("%+v", in)
		}
	}
}

func (w *world) named(name string) (n slipway.Connection) {
	w.Helper()
	w.ok(w.store.Read(w.Context(), func(tx *store.Tx) (err error) {
		n, err = tx.ConnectionByName(w.Context(), name)
		return err
	}))
	return n
}

// pass lets an App in the making be as old as if so much time had passed.
func (w *world) pass(d time.Duration) {
	w.Helper()
	ctx := w.Context()
	w.ok(w.store.InTx(ctx, func(tx *store.Tx) error {
		a, err := tx.AppCreation(ctx, w.named("acme").ID)
		if err != nil {
			return err
		}
		a.ExpiresAt = a.ExpiresAt.Add(-d)
		if !a.AskedAt.IsZero() {
			a.AskedAt = a.AskedAt.Add(-d)
		}
		_, err = tx.PutAppCreation(ctx, a)
		return err
	}))
}

// opened returns a secret of shop/production, and the key of the App of acme.
func (w *world) opened(name string) (value, key []byte) {
	w.Helper()
	ctx := w.Context()
	w.ok(w.store.Read(ctx, func(tx *store.Tx) error {
		place, err := SecretPlace(ctx, tx, w.env.ID, name)
		if err != nil {
			return err
		}
		sealed, err := tx.SecretSealed(ctx, w.env.ID, name)
		if err != nil {
			return err
		}
		if value, err = w.s.Box.Open(place, sealed); err != nil {
			return err
		}
		n, err := tx.ConnectionByName(ctx, "acme")
		if err != nil {
			return err
		}
		secrets, err := tx.ConnectionSecrets(ctx, n.ID)
		if err != nil || len(secrets.App) == 0 {
			return err
		}
		key, err = w.s.Box.Open(secret.AppPlace(place.Installation, n.Hook), secrets.App)
		return err
	}))
	return value, key
}

// nowhere fails when a secret stands in any row, in a common form.
func (w *world) nowhere(secrets ...string) {
	w.Helper()
	for table, lines := range w.dump() {
		for _, line := range lines {
			for _, value := range secrets {
				for _, form := range []string{value, base64.StdEncoding.EncodeToString([]byte(value))[:16], hex.EncodeToString([]byte(value))} {
					if strings.Contains(line, form) {
						w.Errorf("table %s holds a secret: %.200s", table, line)
					}
				}
			}
		}
	}
}

// hints fails when an error does not say what there is to do.
func (w *world) hints(err error, words string) {
	w.Helper()
	if e, ok := errorOf(err); !ok || !strings.Contains(e.Hint, words) {
		w.Errorf("error %v says nothing of %q", err, words)
	}
}
