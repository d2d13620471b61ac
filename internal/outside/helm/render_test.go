package helm

// World: pure; the chart is rendered by Helm's SDK without a cluster.

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"slipway.dev/slipway/internal/slipway"
)

func shop(t *testing.T, c *Client) *Chart {
	t.Helper()
	ch, err := c.LoadDir(filepath.Join("testdata", "shop"), "sha256:shop")
	if err != nil {
		t.Fatal(err)
	}
	return ch
}

func TestRender(t *testing.T) {
	t.Parallel()
	c := New(nil, Options{})
	r := RenderRequest{Chart: shop(t, c), Release: "gb", Namespace: guestbook.Namespace, Patch: Patch{App: guestbook, Components: map[string]ComponentPatch{
		"web": {Selector: map[string]string{"app.kubernetes.io/component": "web"}, Container: "web", Image: "mine:1.1.0"}}},
		Values: map[string]any{"hook": map[string]any{"enabled": true}, "web": map[string]any{"replicas": 4}}}
	got, err := c.Render(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, o := range got.Objects {
		names = append(names, o.String())
	}
	want := []string{"CronJob gb-nightly", "DaemonSet gb-agent", "ConfigMap gb-config", "ConfigMap gb-listed", "ServiceAccount gb-listed", "Deployment gb-web", "Service gb-web"}
	if diff := cmp.Diff(names, want); diff != "" {
		t.Errorf("the objects (-got +want):\n%s", diff)
	}
	if diff := cmp.Diff(got.Hooks, []string{"Job/gb-hook"}); diff != "" {
		t.Errorf("the hooks (-got +want):\n%s", diff)
	}
	for _, part := range []string{"image: mine:1.1.0", "replicas: 4", "slipway.dev/component: web", `word: "on"`, `mode: "0644"`, "app.kubernetes.io/managed-by: Helm"} {
		if !strings.Contains(string(got.Manifests), part) {
			t.Errorf("the manifests lack %s", part)
		}
	}
	if strings.Contains(string(got.Manifests), "postrender-filename") || strings.Contains(string(got.Manifests), "gb-hook") {
		t.Errorf("the manifests hold what they should not:\n%s", got.Manifests)
	}
	// The chart is not changed by its use, and the values are the caller's.
	again, err := c.Render(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(again.Manifests), string(got.Manifests)); diff != "" {
		t.Errorf("rendered again it differs:\n%s", diff)
	}
	if n := len(r.Values); n != 2 {
		t.Errorf("the caller's values have %d keys now", n)
	}
}

func TestRenderFails(t *testing.T) {
	t.Parallel()
	c := New(nil, Options{})
	base := RenderRequest{Chart: shop(t, c), Release: "gb", Namespace: "ns", Redact: func(s string) string { return strings.ReplaceAll(s, "hunter2", "<redacted>") }}
	for _, tc := range []struct {
		name   string
		change func(*RenderRequest)
		want   string
	}{
		{"in the chart's own words, redacted", func(r *RenderRequest) { r.Values = map[string]any{"fail": "the password hunter2 is weak"} }, "no: the password <redacted> is weak"},
		{"in ours", func(r *RenderRequest) {
			r.Patch.Components = map[string]ComponentPatch{"x": {Selector: map[string]string{"a": "b"}, Image: "i"}}
		}, `the component "x" is configured, but no workload of the chart is selected by it`},
		{"for a version that is none", func(r *RenderRequest) { r.Kube = "new" }, `"new" is no Kubernetes version`},
	} {
		r := base
		tc.change(&r)
		_, err := c.Render(t.Context(), r)
		if !slipway.Is(err, slipway.Invalid) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want: %s", tc.name, err, tc.want)
		}
		for e := err; e != nil; e = errors.Unwrap(e) {
			if strings.Contains(e.Error(), "hunter2") {
				t.Errorf("%s: the secret is in the error's chain: %v", tc.name, e)
			}
		}
	}
}

func TestRenderHearsOfItsContext(t *testing.T) {
	t.Parallel()
	c := New(nil, Options{})
	dir := t.TempDir()
	write(t, dir, "Chart.yaml", "apiVersion: v2\nname: slow\nversion: 0.1.0\n")
	write(t, dir, "templates/slow.yaml", "{{ range until 5000 }}{{ range until 5000 }}{{ end }}{{ end }}")
	ch, err := c.LoadDir(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	begun := time.Now()
	_, err = c.Render(ctx, RenderRequest{Chart: ch, Release: "slow", Namespace: "ns"})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Render() = %v after %s, want the end of its context", err, time.Since(begun))
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestLoadDir(t *testing.T) {
	t.Parallel()
	c := New(nil, Options{})
	for _, tc := range []struct {
		name  string
		files map[string]string
		kind  slipway.Kind
		want  string
	}{
		{"nothing there", nil, slipway.NotFound, "there is no chart at gone"},
		{"no Chart.yaml", map[string]string{"values.yaml": ""}, slipway.Invalid, "Chart.yaml file is missing"},
		{"a library", map[string]string{"Chart.yaml": "apiVersion: v2\nname: lib\nversion: 1.0.0\ntype: library\n"}, slipway.Invalid, "is a library and cannot be installed"},
		{"no version", map[string]string{"Chart.yaml": "apiVersion: v2\nname: x\n"}, slipway.Invalid, "version"},
		{"a dependency that is not in it", map[string]string{"Chart.yaml": "apiVersion: v2\nname: x\nversion: 1.0.0\ndependencies: [{name: redis, version: 1.0.0, repository: https://example.com}]\n"},
			slipway.Invalid, "lacks charts that it depends on"},
	} {
		dir := filepath.Join(t.TempDir(), "gone")
		for name, text := range tc.files {
			write(t, dir, name, text)
		}
		_, err := c.LoadDir(dir, "")
		if !slipway.Is(err, tc.kind) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %s: %s", tc.name, err, tc.kind, tc.want)
		}
	}
	first, again := shop(t, c), shop(t, c)
	if first != again {
		t.Error("a chart whose digest is known was read twice")
	}
	if first.Name != "shop" || first.Version != "0.3.1" || first.AppVersion != "1.0.0" {
		t.Errorf("the chart is %s %s of %s", first.Name, first.Version, first.AppVersion)
	}
}

func TestLoadedChartsStayWithinTheirBytes(t *testing.T) {
	t.Parallel()
	l := newLoadedCharts(100)
	for _, key := range []string{"a", "b", "c"} {
		l.put(key, &Chart{Name: key, size: 40})
		l.get("a")
	}
	l.put("huge", &Chart{size: 101})
	var there []string
	for _, key := range []string{"a", "b", "c", "huge"} {
		if l.get(key) != nil {
			there = append(there, key)
		}
	}
	if diff := cmp.Diff(there, []string{"a", "c"}); diff != "" || l.size != 80 {
		t.Errorf("%d bytes are kept, charts (-got +want):\n%s", l.size, diff)
	}
}

func TestNothingIsAppliedWithoutARedactor(t *testing.T) {
	t.Parallel()
	c := New(nil, Options{})
	if _, err := c.Apply(t.Context(), ApplyRequest{Chart: shop(t, c)}); !slipway.Is(err, slipway.Internal) {
		t.Errorf("Apply() = %v", err)
	}
	if _, err := c.Uninstall(t.Context(), UninstallRequest{}); !slipway.Is(err, slipway.Internal) {
		t.Errorf("Uninstall() = %v", err)
	}
}
