package api

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"strings"
	"testing"

	"slipway.dev/slipway/internal/change"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
	"slipway.dev/slipway/internal/wire"
)

// nobody is a GitHub that is away.
type nobody struct{}

func (nobody) MakeApp(context.Context, string, string) (change.MadeApp, error) {
	return change.MadeApp{}, slipway.Errorf(slipway.Unavailable, "GitHub has a fault (502)")
}

// TestConnections stands on a real SQLite database: what a connection shows, to whom, and
// that no answer has a secret a second time.
func TestConnections(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.runners() // makes shop/dev
	var made wire.ConnectionSecret
	w.must(http.StatusCreated, "POST", "/connections", w.writer, wire.NewConnection{Name: "acme", Project: "shop", Environment: "dev"}, &made)
	if len(made.Secret) < 40 || !strings.HasPrefix(made.Connection.WebhookURL, "https://slipway.example.com/webhooks/github/") {
		t.Errorf("made: %+v", made)
	}
	for _, tc := range []struct {
		name, token string
		body        any
		status      int
	}{
		{"one of the installation, by a writer", w.writer, wire.NewConnection{Name: "whole"}, http.StatusForbidden},
		{"the same name", w.admin, wire.NewConnection{Name: "acme"}, http.StatusConflict},
		{"by a reader", w.reader, wire.NewConnection{Name: "other", Project: "shop", Environment: "dev"}, http.StatusForbidden},
		{"half a place", w.admin, wire.NewConnection{Name: "other", Project: "shop"}, http.StatusUnprocessableEntity},
		{"an address with a password", w.admin, wire.NewConnection{Name: "other", BaseURL: "https://u:p4ssw0rd@h"}, http.StatusUnprocessableEntity},
		{"an unknown field", w.admin, `{"name": "other", "x": 1}`, http.StatusUnprocessableEntity},
	} {
		if got := w.do("POST", "/connections", tc.token, tc.body); got.status != tc.status || strings.Contains(got.body, "p4ssw0rd") {
			t.Errorf("%s: %d %s", tc.name, got.status, got.body)
		}
	}
	w.must(http.StatusCreated, "POST", "/connections", w.admin, wire.NewConnection{Name: "whole"}, nil)
	list := w.do("GET", "/connections?project=shop", w.reader, nil)
	if got := as[wire.List[wire.Connection]](t, list); len(got.Items) != 1 || got.Items[0].Name != "acme" || got.Items[0].CreatedBy != "wilma" || strings.Contains(list.body, made.Secret) {
		t.Errorf("listed: %s", list.body)
	}
	var next wire.ConnectionSecret
	w.must(http.StatusCreated, "POST", "/connections/acme/secret", w.writer, wire.NewConnectionSecret{AtOnce: true}, &next)
	if next.Secret == "" || next.Secret == made.Secret {
		t.Error("the secret is the one before")
	}
	if got := w.do("POST", "/connections/acme/secret", w.writer, wire.NewConnectionSecret{Secret: "short"}); got.status != http.StatusUnprocessableEntity || strings.Contains(got.problem(t).Detail, "short") {
		t.Errorf("a short secret: %d %s", got.status, got.body)
	}
	check(t, w.store.InTx(t.Context(), func(tx *store.Tx) error {
		n, err := tx.ConnectionByName(t.Context(), "acme")
		if err != nil {
			return err
		}
		return tx.AddDeliveries(t.Context(), []slipway.Delivery{{ConnectionID: n.ID, GUID: "g-1", Event: "workflow_job", Action: "queued", Outcome: slipway.DeliveryTaken, JobID: 5, Size: 10}})
	}))
	if got := as[wire.List[wire.Delivery]](t, w.do("GET", "/connections/acme/deliveries", w.reader, nil)); len(got.Items) != 1 || got.Items[0].GUID != "g-1" || got.Items[0].JobID != 5 {
		t.Errorf("deliveries: %+v", got)
	}
	w.must(http.StatusNoContent, "DELETE", "/connections/acme", w.writer, nil, nil)
	w.must(http.StatusNotFound, "GET", "/connections/acme", w.reader, nil, nil)
}

// TestTheAppOfAConnection stands on a real SQLite database, with a GitHub that is away.
func TestTheAppOfAConnection(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.runners()
	w.must(http.StatusCreated, "POST", "/connections", w.writer, wire.NewConnection{Name: "acme", Project: "shop", Environment: "dev"}, nil)
	manifest := as[wire.AppManifest](t, w.do("GET", "/connections/acme/manifest", w.reader, nil))
	var in struct {
		URL  string
		Back string `json:"redirect_url"`
	}
	if err := json.Unmarshal(manifest.Manifest, &in); err != nil || in.URL != "https://slipway.example.com" || in.Back != in.URL+"/connections/acme/app/made" ||
		manifest.RegisterURL != "https://github.com/organizations/ORGANIZATION/settings/apps/new" {
		t.Errorf("manifest: %+v, %v", manifest, err)
	}
	const code = "0123456789abcdef"
	for _, tc := range []struct {
		name, token string
		body        wire.TakeApp
		status      int
	}{
		{"a reader", w.reader, wire.TakeApp{Code: code}, http.StatusForbidden},
		{"nothing", w.writer, wire.TakeApp{}, http.StatusUnprocessableEntity},
		{"a code and an ID", w.writer, wire.TakeApp{Code: code, AppID: 1}, http.StatusUnprocessableEntity},
		{"no key", w.writer, wire.TakeApp{AppID: 1, AppKey: "planted-key"}, http.StatusUnprocessableEntity},
		{"GitHub is away", w.writer, wire.TakeApp{Code: code}, http.StatusServiceUnavailable},
	} {
		got := w.do("POST", "/connections/acme/app", tc.token, tc.body)
		if got.status != tc.status || strings.Contains(got.body, code) || strings.Contains(got.body, "planted-key") {
			t.Errorf("%s: %d %s", tc.name, got.status, got.body)
		}
	}
	if got := as[wire.Connection](t, w.do("GET", "/connections/acme", w.reader, nil)); got.AppBegun == nil || got.AppBegun.Secret != "shop/dev/acme-app" || !strings.Contains(got.AppBegun.Error, "is not known") {
		t.Errorf("after GitHub was away: %+v", got.AppBegun)
	}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	check(t, err)
	text := string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}))
	answer := w.do("POST", "/connections/acme/app", w.writer, wire.TakeApp{AppID: 4711, AppKey: text, Secret: "gh"})
	if got := as[wire.AppTaken](t, answer); got.Secret != "gh" || got.In != "shop/dev" || got.Connection.AppID != 4711 || got.Connection.AppCredential != "shop/dev/gh" || got.InsteadOf != "" || !got.KeptSecret || strings.Contains(answer.body, "PRIVATE") {
		t.Errorf("taken: %s", answer.body)
	}
	if got := w.do("POST", "/connections/acme/app", w.writer, wire.TakeApp{AppID: 4712, AppKey: text}); got.status != http.StatusConflict {
		t.Errorf("a second App: %d %s", got.status, got.body)
	}
	if log := w.log.String(); strings.Contains(log, code) || strings.Contains(log, "PRIVATE KEY") || !strings.Contains(log, "/connections/{connection}/app") {
		t.Errorf("the log:\n%s", log)
	}
}
