package view_test

import (
	"testing"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
	"slipway.dev/slipway/internal/view"
)

// TestWhereAnAppsCredentialIsStaysInSight stands in the world of both databases.
func TestWhereAnAppsCredentialIsStaysInSight(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		const place = "shop/production/acme-app"
		w.write(func(tx *store.Tx) error {
			c, err := tx.CreateConnection(ctx, slipway.Connection{Name: "acme", EnvironmentID: w.dev.EnvironmentID, Forge: "github", Hook: "h"}, store.ConnectionSecrets{Hook: []byte("x")})
			if err != nil {
				return err
			}
			c.AppID, c.AppCredential = 4711, place
			return tx.SetConnectionApp(ctx, c, store.ConnectionSecrets{Hook: []byte("x"), App: []byte("key")})
		})
		for _, c := range []struct {
			name   string
			caller slipway.Caller
			want   string
		}{
			{"who sees everything", w.admin(), place},
			{"a token of the project", w.confined("shop", ""), place},
			{"a token of the connection's environment alone", w.confined("shop", "dev"), ""},
		} {
			n, err := w.reader.Connection(ctx, c.caller, "acme")
			if err != nil || n.AppID != 4711 || n.AppCredential != c.want {
				t.Errorf("%s: %+v, %v; want the credential %q", c.name, n, err, c.want)
			}
			all, err := w.reader.Connections(ctx, c.caller, view.ConnectionFilter{})
			if err != nil || len(all) != 1 || all[0].AppCredential != c.want {
				t.Errorf("%s: the list: %+v, %v; want the credential %q", c.name, all, err, c.want)
			}
		}
	})
}
