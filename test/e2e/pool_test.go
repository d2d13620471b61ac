//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"slipway.dev/slipway/internal/client"
	"slipway.dev/slipway/internal/outside/forge"
	"slipway.dev/slipway/internal/outside/forge/fake"
	"slipway.dev/slipway/internal/wire"
	"slipway.dev/slipway/test/world"
)

// app is the repository whose jobs are queued.
var app = forge.Repository{Owner: "team", Name: "app"}

// runners is an installation with a forge that sends to it, and one pool that sleeps.
type runners struct {
	*installation
	forge *world.Forge
	flags []string
	app   wire.Application

	webhookSecret string
}

// newRunners deploys a pool for the organization team. World: real cluster with policies
// that hold, SQLite; the forge is the fake, and its runner a stand-in, not GitHub's.
func newRunners(t *testing.T, pool string) *runners {
	t.Helper()
	f := world.NewForge(t)
	f.AddRepository(app)
	w := prepared(t)
	flags := []string{"--config", w.Write("slipway.toml", f.Configuration())}
	w.Start("data", flags...)
	w.SetUp("data")
	w.Write("forge-token", "github_pat_11AAAAAAA0aaaaaaaaaaaa_stands4nothing0stands4nothing0stands4nothing0stands4noth\n")
	w.MustIn("forge-token", "secrets", "set", "github-runner-token", "-e", w.Env)
	var made wire.ConnectionSecret
	if err := json.Unmarshal([]byte(w.Must("connections", "create", "team", "-e", w.Env, "--base-url", f.URL, "-o", "json")), &made); err != nil {
		t.Fatal(err)
	}
	f.Deliver("team", "", made.Connection.WebhookURL, made.Secret)
	r := &runners{installation: w, forge: f, flags: flags, webhookSecret: made.Secret}
	w.wantState(w.Deploy(r.spec(pool)), "succeeded")
	project, environment, _ := strings.Cut(w.Env, "/")
	apps, _, err := w.API.Applications(t.Context(), client.ApplicationFilter{Project: project, Environment: environment}, client.Page{})
	if err != nil || len(apps) != 1 {
		t.Fatalf("applications: %+v, %v", apps, err)
	}
	r.app = apps[0]
	return r
}

// spec is the pool's application.toml.
func (r *runners) spec(pool string) string {
	return fmt.Sprintf(`schema_version = 1
name = "team-ci"

[services.runner]
size = "small"
replicas = 2

[services.runner.actions]
organization = "team"
base_url = %q
credential = "github-runner-token"
labels = ["slipway"]
%s
`, r.forge.URL, pool)
}

func (r *runners) actions() wire.Actions {
	r.T.Helper()
	var out wire.Actions
	world.Eventually(r.T, time.Minute, "the server tells of its pools", func() (bool, string) {
		got, err := r.API.Actions(r.T.Context(), r.app.ID, 0)
		out = got
		return err == nil && len(got.Pools) == 1, fmt.Sprint(err)
	})
	return out
}

// queue has somebody push: a job with these steps.
func (r *runners) queue(script ...string) int64 {
	return r.forge.Start(app, fake.JobSpec{Name: "test", Labels: []string{"self-hosted", "Slipway"}, Script: script})[0]
}

func (r *runners) until(within time.Duration, what string, holds func(wire.Actions) bool) wire.Actions {
	r.T.Helper()
	var a wire.Actions
	world.Eventually(r.T, within, what, func() (bool, string) {
		a = r.actions()
		return holds(a), fmt.Sprintf("%s\n%s", states(a), r.Kubectl("get", "pods", "-n", r.app.Namespace, "-l", "slipway.dev/slot", "-o", "wide"))
	})
	return a
}

func states(a wire.Actions) string {
	var b strings.Builder
	for _, p := range a.Pools {
		fmt.Fprintf(&b, "pool %s: %s %s (demand %d)\n", p.Service, p.State, p.Why, p.Demand)
	}
	for _, s := range append(a.Slots, a.Closed...) {
		fmt.Fprintf(&b, "slot %d: %s %s %s %s\n", s.ID, s.State, s.Seen, s.Reason, s.Failure)
	}
	return b.String()
}

// nothingLeft is the end of every story here: no pod, no Secret with a configuration, no
// registration and no open slot.
func (r *runners) nothingLeft(within time.Duration) {
	r.T.Helper()
	r.until(within, "nothing is left of the runners", func(a wire.Actions) bool { return a.SlotsAll == 0 })
	if left := r.forge.Registrations(); len(left) != 0 {
		r.T.Errorf("registrations are left: %+v", left)
	}
	if left := strings.TrimSpace(r.Kubectl("get", "pods,secrets", "-n", r.app.Namespace, "-l", "slipway.dev/slot", "-o", "name")); left != "" {
		r.T.Errorf("left on the cluster: %s", left)
	}
}

// ended waits for a job to end, and tells on the way how everybody sees it.
func (r *runners) ended(job int64, within time.Duration) (j fake.JobState) {
	r.T.Helper()
	world.Eventually(r.T, within, fmt.Sprintf("job %d has ended", job), func() (bool, string) {
		j, _ = r.forge.State(job)
		if j.Status == "completed" {
			return true, ""
		}
		return false, fmt.Sprintf("%+v\nsent: %+v\n%s", j, r.forge.Sent(), states(r.actions()))
	})
	return j
}

func (r *runners) succeeded(job int64, within time.Duration) fake.JobState {
	r.T.Helper()
	j := r.ended(job, within)
	if j.Conclusion != "success" {
		r.T.Errorf("job %d: %s\n%s\n%s", job, j.Conclusion, j.Log, states(r.actions()))
	}
	return j
}

// TestPool wakes a pool from zero by a signed delivery, sees the job run in a pod that
// reaches nothing that it may not, and the pool go back to sleep; a second job outlives a
// kill of the server, a third the kill of its runner's pod.
func TestPool(t *testing.T) {
	r := newRunners(t, "idle_seconds = 60")
	if a := r.until(time.Minute, "the new pool sleeps", func(a wire.Actions) bool { return a.Pools[0].State == "sleeping" }); a.SlotsAll != 0 {
		t.Errorf("a pool that nobody asked for anything has %d slots", a.SlotsAll)
	}

	began := time.Now()
	first := r.queue("echo hello", "deny tcp 10.213.0.1:6443", "deny http http://169.254.169.254/latest/meta-data/", "deny tcp "+r.other(), "probe dns kubernetes.default.svc.cluster.local", "env")
	j := r.succeeded(first, 3*time.Minute)
	t.Logf("from the push to the end of the first job: %s", time.Since(began).Round(100*time.Millisecond))
	if !strings.Contains(j.Log, "hello") {
		t.Errorf("log: %s", j.Log)
	}
	for _, secret := range []string{"SLIPWAY", "JITCONFIG"} {
		if strings.Contains(j.Log, secret) {
			t.Errorf("the job's environment has a %s variable:\n%s", secret, j.Log)
		}
	}
	if out := r.Must("runners", "logs", fmt.Sprint(first), "--host", host(r.forge.URL), "--search", "hello"); !strings.Contains(out, "hello") {
		t.Errorf("runners logs: %q", out)
	}

	// The server dies while a job runs, and nobody notices.
	second := r.queue("sleep 15s", "echo survived")
	r.until(2*time.Minute, "the second job runs", func(a wire.Actions) bool { return a.Pools[0].Slots["busy"] == 1 })
	r.Kill(r.Servers[len(r.Servers)-1])
	p := r.Launch("data", r.flags...)
	r.Up(p)
	r.succeeded(second, 2*time.Minute)
	r.nothingLeft(2 * time.Minute)

	// A pod is killed under its job: the job is lost, and nothing else.
	third := r.queue("sleep 120s")
	a := r.until(2*time.Minute, "the third job runs", func(a wire.Actions) bool { return a.Pools[0].Slots["busy"] == 1 })
	r.Kubectl("delete", "pod", "-n", r.app.Namespace, a.Slots[0].Runner, "--grace-period=0", "--force")
	fourth := r.queue("echo after the loss")
	r.succeeded(fourth, 3*time.Minute)
	if j := r.ended(third, 3*time.Minute); j.Conclusion == "success" {
		t.Errorf("the job whose pod was killed ended with %s", j.Conclusion)
	}
	r.nothingLeft(2 * time.Minute)
	r.until(3*time.Minute, "the pool sleeps again", func(a wire.Actions) bool { return a.Pools[0].State == "sleeping" })
	if out := r.Must("runners", "ledger"); strings.Contains(out, "slipway-") {
		t.Errorf("the ledger:\n%s", out)
	}
	r.deleted()
}

// TestPoolOnACordonedNode has a job wait for a node that takes no pods, told why, and run
// when it does again.
func TestPoolOnACordonedNode(t *testing.T) {
	r := newRunners(t, "idle_seconds = 60")
	node := strings.TrimSpace(r.Kubectl("get", "nodes", "-o", "jsonpath={.items[0].metadata.name}"))
	r.Kubectl("cordon", node)
	t.Cleanup(func() { r.Kubectl("uncordon", node) })
	job := r.queue("echo at last")
	r.until(2*time.Minute, "the pool says what the job waits for", func(a wire.Actions) bool {
		return strings.Contains(states(a), "schedul") || strings.Contains(states(a), "cordon")
	})
	why := r.Must("runners", "why", fmt.Sprint(job), "--host", host(r.forge.URL))
	t.Logf("why: %s", why)
	r.Kubectl("uncordon", node)
	r.succeeded(job, 3*time.Minute)
	r.nothingLeft(2 * time.Minute)
	r.deleted()
}

// TestLostDelivery loses a delivery, and GitHub does not send it again by itself: the next
// start of the server asks for it.
func TestLostDelivery(t *testing.T) {
	r := newRunners(t, "idle_seconds = 60")
	r.succeeded(r.queue("echo so that the repository is known"), 3*time.Minute)
	sent := func(event, action string, arrived bool) bool {
		return slices.ContainsFunc(r.forge.Sent(), func(d forge.Delivery) bool {
			return d.Event == event && d.Action == action && d.Arrived() == arrived
		})
	}
	world.Eventually(t, time.Minute, "all of the first job is delivered", func() (bool, string) {
		return sent("workflow_run", "completed", true), fmt.Sprintf("%+v", r.forge.Sent())
	})
	r.forge.LoseDeliveries(1)
	lost := r.queue("echo found")
	world.Eventually(t, time.Minute, "the delivery is lost", func() (bool, string) {
		return sent("workflow_job", "queued", false), fmt.Sprintf("%+v", r.forge.Sent())
	})
	r.Kill(r.Servers[len(r.Servers)-1])
	r.Up(r.Launch("data", r.flags...))
	r.succeeded(lost, 5*time.Minute)
	r.nothingLeft(2 * time.Minute)
	r.deleted()
}

// deleted deletes the application, and sees nothing of it left.
func (r *runners) deleted() {
	r.T.Helper()
	r.Must("applications", "delete", "team-ci", "-e", r.Env, "--yes", "--wait")
	if left := r.forge.Registrations(); len(left) != 0 {
		r.T.Errorf("registrations are left after the deletion: %+v", left)
	}
	if out := r.Kubectl("get", "namespace", r.app.Namespace, "--ignore-not-found", "-o", "name"); strings.TrimSpace(out) != "" {
		r.T.Errorf("the namespace is left: %s", out)
	}
}

// other is a pod's address with a port that answers: the cluster's own name server, over
// the port of its metrics, which no policy allows.
func (r *runners) other() string { return "10.213.0.1:10250" }

func host(url string) string {
	_, h, _ := strings.Cut(url, "://")
	return h
}
