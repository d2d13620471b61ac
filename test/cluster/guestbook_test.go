package cluster_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"helm.sh/helm/v4/pkg/chart/common"
	chartutil "helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"

	"slipway.dev/slipway/test/cluster/guestbook"
)

const release = "guestbook"

// World: cluster. The sample application's chart and images go through what a driver's
// upgrade does, by hand: from 1.0.0 to 1.1.0, and then to 1.2.0, whose migration fails.
func TestGuestbookUpgrades(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.kubectl("", "create", "secret", "generic", "guestbook-db", "--from-literal=DATABASE_PASSWORD=correct horse")
	values := map[string]any{
		"appVersion": "1.0.0", "adminEmail": "ops@example.com", "existingSecret": "guestbook-db",
		"worker": map[string]any{"replicas": 1},
	}
	w.applyGuestbook(values)
	for _, component := range []string{"store", "web", "worker"} {
		w.kubectl("", "rollout", "status", "deployment/guestbook-"+component, "--timeout=120s")
	}
	w.guestbookJob("check-1-0-0", "1.0.0", "Complete", "the release works", "check")
	w.guestbookJob("backup", "1.0.0", "Complete", "schema 1", "backup")

	if got := strings.TrimSpace(w.kubectl("", "exec", "deployment/guestbook-web", "--", "guestbook", "version")); got != "1.0.0" {
		t.Errorf("exec says version %q, want 1.0.0", got)
	}
	if log := w.kubectl("", "logs", "deployment/guestbook-worker"); !strings.Contains(log, "entered") {
		t.Errorf("the worker's log does not tell of the entry:\n%s", log)
	}

	// The new web server is not ready before the migration, and the old one serves on.
	values["appVersion"], values["worker"] = "1.1.0", map[string]any{"replicas": 0}
	w.applyGuestbook(values)
	w.wait("the new web server's answer that it is not ready", func() error {
		_, err := w.podLogging("the store has schema 1, and 1.1.0 serves schema 2")
		return err
	})
	w.guestbookJob("still-1-0-0", "1.0.0", "Complete", "the release works", "check", "--read-only")
	w.kubectl("", "wait", "pod", "--selector=app.kubernetes.io/component=worker", "--for=delete", "--timeout=60s")
	w.guestbookJob("migrate-1-1-0", "1.1.0", "Complete", "committed: the store has schema 2", "migrate")
	w.kubectl("", "rollout", "status", "deployment/guestbook-web", "--timeout=120s")
	values["worker"] = map[string]any{"replicas": 1}
	w.applyGuestbook(values)
	w.guestbookJob("check-1-1-0", "1.1.0", "Complete", "the release works", "check")

	log := w.guestbookJob("migrate-1-2-0", "1.2.0", "BackoffLimitExceeded", `column "author" already exists`, "migrate")
	if !strings.Contains(log, "rolled back: the store is as it was") {
		t.Errorf("the failed migration does not say that it was rolled back:\n%s", log)
	}
	w.guestbookJob("still-1-1-0", "1.1.0", "Complete", "the release works", "check")
	store := w.kubectl("", "exec", "deployment/guestbook-store", "--", "guestbook", "version")
	if strings.TrimSpace(store) != "1.0.0" {
		t.Errorf("the store was replaced by the upgrade: it is version %s", store)
	}
}

// guestbookJob runs one of the program's commands in the environment of the web server.
func (w *world) guestbookJob(name, version, wantEnd, wantLog string, arguments ...string) string {
	w.t.Helper()
	deployment, err := w.client.AppsV1().Deployments(w.namespace).Get(w.t.Context(), "guestbook-web", metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	log, end := w.runJob(name, corev1.Container{
		Image: guestbook.Repository + ":" + version, Command: append([]string{"guestbook"}, arguments...),
		Env: deployment.Spec.Template.Spec.Containers[0].Env,
	})
	if end != wantEnd || !strings.Contains(log, wantLog) {
		w.t.Fatalf("guestbook %s of %s: %s, want %s and %q in its log:\n%s", arguments[0], version, end, wantEnd, wantLog, log)
	}
	return log
}

// podLogging finds a web server whose log holds the text.
func (w *world) podLogging(text string) (string, error) {
	log, err := w.kubectlCommand("", "logs", "--selector=app.kubernetes.io/component=web", "--tail=-1", "--prefix")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(log) {
		if strings.Contains(line, text) {
			return line, nil
		}
	}
	return "", errNotLogged
}

func (w *world) applyGuestbook(values map[string]any) {
	w.t.Helper()
	rendered := renderGuestbook(w.t, w.namespace, values)
	w.kubectl(rendered, "apply", "--server-side", "--field-manager=helm", "-f", "-")
}

// renderGuestbook is what `helm template` would print.
func renderGuestbook(t *testing.T, namespace string, values map[string]any) string {
	t.Helper()
	chart, err := loader.LoadDir(filepath.Join("..", "..", "examples", "drivers", "guestbook", "chart"))
	if err != nil {
		t.Fatal(err)
	}
	if err := chart.Validate(); err != nil {
		t.Fatal(err)
	}
	all, err := chartutil.ToRenderValues(chart, values, common.ReleaseOptions{
		Name: release, Namespace: namespace, Revision: 1, IsInstall: true,
	}, common.DefaultCapabilities)
	if err != nil {
		t.Fatal(err)
	}
	files, err := engine.Engine{Strict: true}.Render(chart, all)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for name := range files {
		if strings.HasSuffix(name, ".yaml") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var whole strings.Builder
	for _, name := range names {
		whole.WriteString("---\n# " + name + "\n" + files[name] + "\n")
	}
	return whole.String()
}
