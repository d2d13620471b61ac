//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"slipway.dev/slipway/internal/wire"
	"slipway.dev/slipway/test/world"
)

const exitDiffers = 7

// TestDrift changes what runs on the cluster by hand, sees that it is told everywhere, and
// has it put back. World: real cluster, real Prefect, SQLite.
func TestDrift(t *testing.T) {
	w := newWorld(t, "--kubernetes-drift-every", "10s")
	w.loadDriver("guestbook")
	w.wantState(w.Deploy(guestbook(t, "1.0.0")), "succeeded")
	w.Must("stop", "guestbook", "worker", "-e", w.Env, "--wait")
	if out, _, code := w.Run("", "drift", "guestbook", "-e", w.Env, "--check-now"); code != 0 {
		t.Fatalf("drift of what was just applied, with a component stopped, ends with %d:\n%s", code, out)
	}
	w.wantDriftColumn("False")
	ns := w.namespace()

	// Without being asked for, within the interval. A restart by kubectl is no drift.
	w.Kubectl("-n", ns, "rollout", "restart", "deployment/guestbook-web")
	w.Kubectl("-n", ns, "scale", "deployment/guestbook-web", "--replicas=3")
	begun := time.Now()
	world.Eventually(t, 40*time.Second, "the list shows the drift", func() (bool, string) {
		out := w.Must("applications", "list", "-e", w.Env)
		return strings.Contains(out, "1 difference"), out
	})
	t.Logf("seen by itself after %s", time.Since(begun).Round(time.Second))
	w.wantDriftColumn("True")

	w.Kubectl("-n", ns, "set", "env", "deployment/guestbook-web", "GREETING=Hello", "ADDED=x")
	w.Kubectl("-n", ns, "delete", "service", "guestbook-web")
	w.Kubectl("-n", ns, "scale", "deployment/guestbook-worker", "--replicas=1")
	w.Kubectl("-n", ns, "patch", "secret", "guestbook-slipway", "-p", `{"stringData":{"guestbook-db":"stolen-and-replaced"}}`)
	begun = time.Now()
	out, _, code := w.Run("", "drift", "guestbook", "-e", w.Env, "--check-now", "-o", "json")
	t.Logf("checked at once after %s", time.Since(begun).Round(100*time.Millisecond))
	var d wire.Drift
	if err := json.Unmarshal([]byte(out), &d); err != nil || code != exitDiffers {
		t.Fatalf("it ends with %d (%v):\n%s", code, err, out)
	}
	var got []string
	for _, f := range d.Differences {
		got = append(got, f.Object+" "+f.Text)
	}
	slices.Sort(got)
	want := []string{
		"Deployment guestbook-web replicas: 1 → 3",
		"Deployment guestbook-web variable ADDED of container web: not set → x",
		"Deployment guestbook-web variable GREETING of container web: Welcome aboard → Hello",
		"Deployment guestbook-worker replicas: 0 → 1",
		"Secret guestbook-slipway key guestbook-db differs",
		"Service guestbook-web is missing",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the differences are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if strings.Contains(out, "stolen") {
		t.Errorf("a secret's value is shown:\n%s", out)
	}
	if message := w.Kubectl("-n", ns, "get", "applications.slipway.dev", "guestbook", "-o", "wide"); !strings.Contains(message, "Service guestbook-web is missing") {
		t.Errorf("kubectl get -o wide says\n%s", message)
	}
	if metrics := w.metrics(); !strings.Contains(metrics, "slipway_applications_drifted 1\n") {
		t.Errorf("the metrics do not tell of it")
	}
	if out, stderr, code := w.Run("", "repair", "guestbook", "-e", w.Env); code != 2 || !strings.Contains(stderr, "put back 6 differences") {
		t.Errorf("a repair that nobody confirms ends with %d:\n%s%s", code, out, stderr)
	}

	revision := w.Kubectl("-n", ns, "get", "secret", "-l", "owner=helm,name=guestbook", "-o", "name")
	out, stderr, code := w.Run("", "repair", "guestbook", "-e", w.Env, "--yes", "--wait")
	if code != 0 {
		t.Fatalf("the repair ends with %d:\n%s\n%s", code, stderr, out)
	}
	repair := w.lastTask()
	if repair.Kind != "repair" || repair.Change != 2 {
		t.Errorf("the task is %s of change %d", repair.Kind, repair.Change)
	}
	steps := []string{"Check the change", "Put back what drifted", "Wait until it is ready"}
	if got := stepNames(repair, "succeeded"); !slices.Equal(got, steps) {
		t.Errorf("the steps of a repair are %q, want %q", got, steps)
	}
	for _, s := range repair.Steps {
		if len(s.Runs) > 0 {
			t.Errorf("a repair ran an action in %q", s.Name)
		}
	}
	if now := w.Kubectl("-n", ns, "get", "secret", "-l", "owner=helm,name=guestbook", "-o", "name"); now != revision {
		t.Errorf("a repair made a revision of the release: %s", now)
	}
	if out, _, code := w.Run("", "drift", "guestbook", "-e", w.Env, "--check-now"); code != 0 {
		t.Errorf("after the repair:\n%s", out)
	}
	w.wantDriftColumn("False")
	if state := w.Kubectl("-n", ns, "get", "deployment", "guestbook-web", "guestbook-worker", "-o", "jsonpath={range .items[*]}{.spec.replicas} {end}"); state != "1 0" {
		t.Errorf("the replicas are %q, want 1 of the web server and none of the worker, which is stopped", state)
	}
	if env := w.Kubectl("-n", ns, "get", "deployment", "guestbook-web", "-o", "jsonpath={.spec.template.spec.containers[0].env}"); strings.Contains(env, "ADDED") || !strings.Contains(env, "Welcome aboard") {
		t.Errorf("the environment is %s", env)
	}

	// What an autoscaler scales is its own.
	w.Kubectl("-n", ns, "autoscale", "deployment", "guestbook-web", "--min=2", "--max=3")
	world.Eventually(t, 90*time.Second, "the autoscaler acts", func() (bool, string) {
		n := w.Kubectl("-n", ns, "get", "deployment", "guestbook-web", "-o", "jsonpath={.spec.replicas}")
		return n == "2", n
	})
	if out, _, code := w.Run("", "drift", "guestbook", "-e", w.Env, "--check-now"); code != 0 {
		t.Errorf("scaled by an autoscaler:\n%s", out)
	}
	w.Must("applications", "delete", "guestbook", "-e", w.Env, "--yes", "--wait")
}

func (w *installation) wantDriftColumn(want string) {
	w.T.Helper()
	world.Eventually(w.T, 20*time.Second, "kubectl get says Drift="+want, func() (bool, string) {
		table := w.Kubectl("-n", w.namespace(), "get", "applications.slipway.dev", "guestbook")
		head, row, _ := strings.Cut(table, "\n")
		at := slices.Index(strings.Fields(head), "DRIFT")
		fields := strings.Fields(row)
		return at > 0 && at < len(fields) && fields[at] == want, table
	})
}

func (w *installation) metrics() string {
	w.T.Helper()
	res, err := http.Get(w.URL + "/metrics")
	if err != nil {
		w.T.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		w.T.Fatal(err)
	}
	return string(raw)
}

func (w *installation) lastTask() wire.Task {
	w.T.Helper()
	app := w.application("guestbook")
	var tasks []wire.Task
	if err := json.Unmarshal([]byte(w.Must("tasks", "list", "--application", fmt.Sprint(app.ID), "-o", "json")), &tasks); err != nil || len(tasks) == 0 {
		w.T.Fatalf("no task: %v", err)
	}
	var t wire.Task
	if err := json.Unmarshal([]byte(w.Must("tasks", "get", fmt.Sprint(tasks[0].ID), "-o", "json")), &t); err != nil {
		w.T.Fatal(err)
	}
	return t
}
