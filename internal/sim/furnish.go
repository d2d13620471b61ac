package sim

import (
	"context"
	"fmt"

	"slipway.dev/slipway/internal/secret"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// environments are what there is, with the one application that each may have.
var environments = []struct{ name, application string }{{"production", "ci"}, {"staging", "runners"}}

// furnish fills the empty database.
func (w *World) furnish(ctx context.Context) error {
	var p slipway.Project
	err := w.write(ctx, func(tx *store.Tx) (err error) {
		if _, err := tx.CreateInstallation(ctx, slipway.Installation{ID: installation, ExternalID: installation}); err != nil {
			return err
		}
		// Requests are known by who made them.
		anna, err := tx.CreateUser(ctx, slipway.User{Name: "anna", Role: slipway.Administrator, Active: true}, "")
		if err != nil {
			return err
		}
		w.people = slipway.Caller{UserID: anna.ID, UserName: anna.Name, Role: anna.Role}
		p, err = tx.CreateProject(ctx, slipway.Project{Name: project})
		return err
	})
	if err != nil {
		return err
	}
	w.environments = nil
	for _, e := range environments {
		err := w.write(ctx, func(tx *store.Tx) error {
			env, err := tx.CreateEnvironment(ctx, slipway.Environment{ProjectID: p.ID, Name: e.name, Namespace: project + "-" + e.name})
			w.environments = append(w.environments, env.ID)
			return err
		})
		if err != nil {
			return fmt.Errorf("environment %s: %w", e.name, err)
		}
		w.files = append(w.files, &file{environment: e.name, name: e.application})
	}
	for _, h := range w.hosts {
		if err := w.renew(ctx, h); err != nil {
			return err
		}
	}
	return w.connect(ctx)
}

// renew saves a new token of a forge, which is the only one that it accepts from now on.
func (w *World) renew(ctx context.Context, h *host) error {
	h.saved++
	h.token = fmt.Sprintf("%s-planted-%029d", h.credential, h.saved)
	w.secrets = append(w.secrets, h.token)
	return w.write(ctx, func(tx *store.Tx) error {
		for _, env := range w.environments {
			sealed, err := w.box.Seal(secret.Place{Installation: installation, Environment: env, Name: h.credential}, []byte(h.token))
			if err != nil {
				return err
			}
			if _, err := tx.PutSecret(ctx, env, h.credential, sealed, "anna"); err != nil {
				return err
			}
		}
		return nil
	})
}

// hookSecret signs deliveries; it may be nowhere in clear either.
const hookSecret = "whsec-planted-0123456789"

// connect makes a connection for each organization: for one whose jobs may wake every
// pool, for one of an environment, and for the one of the other forge.
func (w *World) connect(ctx context.Context) error {
	w.secrets = append(w.secrets, hookSecret)
	for i, c := range []slipway.Connection{{Name: "acme"}, {Name: "other"}, {Name: "enterprise"}} {
		h, owner := w.hosts[0], c.Name
		switch i {
		case 1:
			c.EnvironmentID = w.environments[1]
		case 2:
			h, owner = w.hosts[1], "acme"
		}
		c.Forge, c.BaseURL, c.Hook, c.CreatedBy = "github", h.base, "hook-"+c.Name, "anna"
		sealed, err := w.box.Seal(secret.Place{Installation: installation, Name: "connection/" + c.Name}, []byte(hookSecret))
		if err != nil {
			return err
		}
		err = w.write(ctx, func(tx *store.Tx) (err error) {
			c, err = tx.CreateConnection(ctx, c, store.ConnectionSecrets{Hook: sealed})
			return err
		})
		if err != nil {
			return err
		}
		w.connections = append(w.connections, c)
		h.AddHook(slipway.ForgeScope{BaseURL: h.base, Owner: owner}, "https://slipway.example.com"+c.WebhookPath(), func(event, guid string, payload []byte) int {
			return w.receive(arrival{host: h, connection: c, event: event, guid: guid, payload: payload})
		})
	}
	return nil
}
