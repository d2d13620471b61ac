package server

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"slipway.dev/slipway/internal/joblog"
	"slipway.dev/slipway/internal/outside/forge"
	"slipway.dev/slipway/internal/outside/forge/fake"
	"slipway.dev/slipway/internal/secret"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
	"slipway.dev/slipway/internal/store/sqlite"
)

// TestJobsAreReadWithThePoolsCredential stands on a real SQLite database, a real box of
// secrets and a fake GitHub.
func TestJobsAreReadWithThePoolsCredential(t *testing.T) {
	t.Parallel()
	ctx, dir := t.Context(), t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	db, err := sqlite.Open(ctx, filepath.Join(dir, "slipway.db"), sqlite.Options{})
	must(err)
	t.Cleanup(func() { must(db.Close()) })
	box, err := secret.LoadOrCreate(filepath.Join(dir, "secret.key"), true)
	must(err)
	github := fake.New(nil)
	repo := forge.Repository{Owner: "acme", Name: "shop"}
	github.AddRepository(repo)
	id := github.Queue(repo, []string{"slipway"})[0]
	pool := slipway.RunnerPool{
		Project: "shop", Environment: "dev", Application: "team-ci", Service: "runner",
		Spec: slipway.PoolSpec{Scope: slipway.ForgeScope{BaseURL: "https://ghes.example.com", Owner: "acme"}, Credential: "runners", JobsCredential: "jobs"},
	}
	must(db.InTx(ctx, func(tx *store.Tx) error {
		project, err := tx.CreateProject(ctx, slipway.Project{Name: "shop"})
		if err != nil {
			return err
		}
		e, err := tx.CreateEnvironment(ctx, slipway.Environment{ProjectID: project.ID, Name: "dev", Namespace: "shop-dev"})
		if err != nil {
			return err
		}
		pool.EnvironmentID = e.ID
		sealed, err := box.Seal(secret.Place{Installation: "i", Environment: e.ID, Name: "jobs"}, []byte("github_pat_jobs"))
		if err != nil {
			return err
		}
		_, err = tx.PutSecret(ctx, e.ID, "jobs", sealed, "ada")
		return err
	}))
	var asked []string
	f := jobForge{store: db.Store, box: box, installation: "i", open: func(baseURL, credential string) (forge.Jobs, error) {
		asked = append(asked, baseURL+" "+credential)
		return github, nil
	}}
	job := slipway.Job{ID: id, Owner: "acme", Repository: "shop"}
	if _, err := joblog.Fetch(ctx, f, pool, job, joblog.Query{}); !slipway.Is(err, slipway.NotFound) {
		t.Errorf("the log of a job that has not ended: %v, want not found", err)
	}
	github.Finish(id, "success")
	github.SetLog(id, "2026-12-01T12:00:00Z \x1b[32mall well\x1b[0m\n")
	l, err := joblog.Fetch(ctx, f, pool, job, joblog.Query{Search: "WELL"})
	if err != nil || len(l.Lines) != 1 || l.Lines[0].Text != "all well" {
		t.Errorf("log %+v, %v", l, err)
	}
	if want := "https://ghes.example.com github_pat_jobs"; len(asked) != 2 || asked[1] != want {
		t.Errorf("opened with %q, want %q", asked, want)
	}
	if _, err := f.Steps(ctx, pool, job); err != nil {
		t.Errorf("steps: %v", err)
	}

	// A credential that is refused is a fault of the installation, and not the reader's.
	github.Revoke(true)
	for what, ask := range map[string]func(context.Context) error{
		"the log": func(ctx context.Context) error { _, err := f.Log(ctx, pool, job, 1<<20); return err },
		"steps":   func(ctx context.Context) error { _, err := f.Steps(ctx, pool, job); return err },
	} {
		err := ask(ctx)
		var e *slipway.Error
		if !errors.As(err, &e) || e.Kind != slipway.Unavailable || !strings.Contains(e.Msg, "cannot be read with the secret jobs") || strings.Contains(e.Error(), "github_pat") {
			t.Errorf("%s with a revoked token: %v", what, err)
		}
	}
	pool.Spec.JobsCredential = "gone"
	if _, err := f.Steps(ctx, pool, job); !slipway.Is(err, slipway.Conflict) || !strings.Contains(err.Error(), `the secret "gone"`) {
		t.Errorf("with a secret that is not there: %v", err)
	}
}
