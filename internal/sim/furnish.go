package sim

import (
	"context"
	"fmt"
	"time"

	"slipway.dev/slipway/internal/secret"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// environments are what there is, with the one application that each has.
var environments = []struct{ name, application string }{{"production", "ci"}, {"staging", "runners"}}

// menu is what teams may ask for: pools of an organization and of a repository that serve
// the same jobs, one with a rare label, one with a minimum, one of fixed size.
var menu = []struct {
	environment int
	service     string
	spec        slipway.PoolSpec
}{
	{0, "linux", spec("acme", "", 2, "slipway")},
	{0, "big", spec("acme", "", 1, "slipway", "big")},
	{1, "repo", with(spec("acme", "shop", 2, "slipway"), func(s *slipway.PoolSpec) { s.Minimum = 1 })},
	{1, "fixed", with(spec("other", "", 1, "fixed"), func(s *slipway.PoolSpec) { s.Idle = 0 })},
	{1, "spare", with(spec("acme", "", 3, "slipway"), func(s *slipway.PoolSpec) { s.Spare, s.Priority = 1, 5 })},
}

func with(s slipway.PoolSpec, change func(*slipway.PoolSpec)) slipway.PoolSpec {
	change(&s)
	return s
}

func spec(owner, repository string, replicas int, labels ...string) slipway.PoolSpec {
	return slipway.PoolSpec{
		Scope: slipway.ForgeScope{Owner: owner, Repository: repository}, Credential: credential, Labels: labels, Architecture: slipway.AMD64,
		Replicas: replicas, Idle: time.Minute, Timeout: 2 * time.Hour, WorkspaceGiB: 2,
		Resources: slipway.RunnerResources{CPURequest: 500, CPULimit: 1000, MemoryRequest: 1 << 30, MemoryLimit: 4 << 30},
	}
}

// furnish fills the empty database.
func (w *World) furnish(ctx context.Context) error {
	var p slipway.Project
	err := w.write(ctx, func(tx *store.Tx) (err error) {
		if _, err := tx.CreateInstallation(ctx, slipway.Installation{ID: installation, ExternalID: installation}); err != nil {
			return err
		}
		p, err = tx.CreateProject(ctx, slipway.Project{Name: project})
		return err
	})
	if err != nil {
		return err
	}
	for _, e := range environments {
		if err := w.write(ctx, func(tx *store.Tx) error { return w.addEnvironment(ctx, tx, p, e.name, e.application) }); err != nil {
			return fmt.Errorf("environment %s: %w", e.name, err)
		}
	}
	if err := w.renew(ctx); err != nil {
		return err
	}
	return w.connect(ctx)
}

func (w *World) addEnvironment(ctx context.Context, tx *store.Tx, of slipway.Project, name, application string) error {
	env, err := tx.CreateEnvironment(ctx, slipway.Environment{ProjectID: of.ID, Name: name, Namespace: project + "-" + name})
	if err != nil {
		return err
	}
	app, err := tx.CreateApplication(ctx, slipway.Application{EnvironmentID: env.ID, Name: application, Kind: slipway.RunnerApplication})
	if err != nil {
		return err
	}
	w.applications = append(w.applications, app)
	return nil
}

// renew saves a new credential, which is the only one that the forge accepts from now on.
func (w *World) renew(ctx context.Context) error {
	w.saved++
	w.token = fmt.Sprintf("ghp_planted%029d", w.saved)
	w.secrets = append(w.secrets, w.token)
	return w.write(ctx, func(tx *store.Tx) error {
		for _, app := range w.applications {
			sealed, err := w.box.Seal(secret.Place{Installation: installation, Environment: app.EnvironmentID, Name: credential}, []byte(w.token))
			if err != nil {
				return err
			}
			if _, err := tx.PutSecret(ctx, app.EnvironmentID, credential, sealed, "anna"); err != nil {
				return err
			}
		}
		return nil
	})
}

// hookSecret signs deliveries; it may be nowhere in clear either.
const hookSecret = "whsec-planted-0123456789"

// connect makes a connection for each organization: one whose jobs may wake every pool,
// and one for an environment.
func (w *World) connect(ctx context.Context) error {
	w.secrets = append(w.secrets, hookSecret)
	for i, owner := range []string{"acme", "other"} {
		c := slipway.Connection{Name: owner, Forge: "github", Hook: "hook-" + owner, CreatedBy: "anna"}
		if i == 1 {
			c.EnvironmentID = w.applications[1].EnvironmentID
		}
		sealed, err := w.box.Seal(secret.Place{Installation: installation, Name: "connection/" + owner}, []byte(hookSecret))
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
		w.forge.AddHook(slipway.ForgeScope{Owner: owner}, "https://slipway.example.com/hooks/"+c.Hook, func(event, guid string, payload []byte) int {
			return w.receive(c, event, guid, payload)
		})
	}
	return nil
}
