package cli

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"os"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"slipway.dev/slipway/internal/change"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// scriptKey is the private key of every App in the scripts.
var scriptKey = sync.OnceValue(func() []byte {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
})

// scriptApps is a GitHub that knows one code.
type scriptApps struct{}

func (scriptApps) MakeApp(_ context.Context, _, code string) (change.MadeApp, error) {
	if code != "0123456789abcdef" {
		return change.MadeApp{}, slipway.Errorf(slipway.NotFound, "GitHub has nothing there")
	}
	return change.MadeApp{ID: 4711, URL: "https://github.com/apps/slipway-acme", PrivateKey: scriptKey(), WebhookSecret: []byte("hook-secret-of-the-app")}, nil
}

// app plays the browser: "app key FILE" writes an App's private key; "app made NAME" brings a
// connection its App from GitHub, whose credential finds its name taken.
func app(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 || args[0] != "key" && args[0] != "made" {
		ts.Fatalf("usage: app key FILE | app made NAME")
	}
	if args[0] == "key" {
		ts.Check(os.WriteFile(ts.MkAbs(args[1]), scriptKey(), 0o600))
		return
	}
	s, ctx := ts.Value(storeKey{}).(*store.Store), context.Background()
	ts.Check(s.InTx(ctx, func(tx *store.Tx) error {
		n, err := tx.ConnectionByName(ctx, args[1])
		if err != nil {
			return err
		}
		_, err = tx.PutAppCreation(ctx, slipway.AppCreation{ConnectionID: n.ID, EnvironmentID: n.EnvironmentID, Secret: args[1], Organization: "team", StateHash: []byte("x"), ExpiresAt: tx.Now.Add(time.Hour)})
		return err
	}))
	time.Sleep(lookForApp + time.Second) // the command that waits has looked once
	ts.Check(s.InTx(ctx, func(tx *store.Tx) error {
		n, err := tx.ConnectionByName(ctx, args[1])
		if err != nil {
			return err
		}
		sealed, err := tx.ConnectionSecrets(ctx, n.ID)
		if err != nil {
			return err
		}
		n.AppID, n.AppURL, n.AppCredential = 4712, "https://github.com/apps/slipway-two", "shop/dev/two-4712"
		if err := tx.DeleteAppCreation(ctx, n.ID); err != nil {
			return err
		}
		return tx.SetConnectionApp(ctx, n, sealed)
	}))
}
