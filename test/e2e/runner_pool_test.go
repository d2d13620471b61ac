//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"slipway.dev/slipway/internal/outside/forge"
	"slipway.dev/slipway/test/world"
)

// TestRunnerPool has a pool of two runners run three jobs, through a kill of the server, and
// be deleted with nothing left. World: real cluster, SQLite; GitHub is a fake, and its
// runner a stand-in.
func TestRunnerPool(t *testing.T) {
	f := world.NewForge(t)
	repo := forge.Repository{Owner: "acme", Name: "shop"}
	f.AddRepository(repo)
	w := world.Prepare(t)
	w.Write("slipway.toml", f.Configuration())
	server := w.Launch("data", "--config", w.Dir+"/slipway.toml")
	w.Up(server)
	w.SetUp("data")
	w.Write("github", "github_pat_0123456789abcdefghijKLMNOP")
	w.MustIn("github", "secrets", "set", "github-token", "-e", w.Env)
	spec := fmt.Sprintf(`schema_version = 1
name = "ci"
[services.runner]
replicas = 2
resources = { requests = { cpu = "200m", memory = "768Mi" }, limits = { cpu = "500m", memory = "4Gi" } }
[services.runner.actions]
base_url = %q
organization = "acme"
credential = "github-token"
labels = ["slipway"]
`, f.URL)
	if task := w.Deploy(spec); task.State != "succeeded" {
		t.Fatalf("the deploy: %s", world.Summary(task))
	}
	world.Eventually(t, 2*time.Minute, "two runners wait for jobs", func() (bool, string) {
		online := 0
		for _, r := range f.Registrations() {
			if r.Online {
				online++
			}
		}
		return online == 2, fmt.Sprintf("%+v", f.Registrations())
	})
	begun := time.Now()
	jobs := f.Queue(repo, []string{"slipway"}, []string{"self-hosted", "SLIPWAY"}, []string{"slipway", "linux"})
	w.Kill(server)
	server = w.Launch("data", "--config", w.Dir+"/slipway.toml")
	w.Up(server)
	for _, id := range jobs {
		if j := f.Ended(t, id, 3*time.Minute); j.Conclusion != "success" {
			t.Errorf("job %d: %+v", id, j)
		}
	}
	t.Logf("three jobs on two runners, with the server killed in between, took %s", time.Since(begun).Round(time.Second))
	if out, _, _ := w.Run("", "runners", "-e", w.Env); out != "" {
		t.Log(out)
	}
	out, errs, code := w.Run("", "applications", "delete", "ci", "-e", w.Env, "--yes", "--wait")
	if code != 0 {
		t.Fatalf("the deletion ends with %d:\n%s%s", code, out, errs)
	}
	if left := f.Registrations(); len(left) != 0 {
		t.Errorf("registrations are left: %+v", left)
	}
	if left := w.Kubectl("get", "namespaces", "-o", "name"); strings.Contains(left, strings.ReplaceAll(w.Env, "/", "-")+"-runners") {
		t.Errorf("namespaces are left:\n%s", left)
	}
}
