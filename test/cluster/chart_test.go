package cluster_test

import (
	"errors"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	chartutil "helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
)

var errNotLogged = errors.New("no pod has logged it")

// World: pure. The sample application's chart is rendered by Helm's own library; nothing
// here needs the cluster.
func TestChartRenders(t *testing.T) {
	t.Parallel()
	web := func(values map[string]any) appsv1.Deployment { return deployment(t, "guestbook-web", values) }

	plain := web(nil)
	container := plain.Spec.Template.Spec.Containers[0]
	if got, want := container.Image, "registry.example.com/guestbook:1.0.0"; got != want {
		t.Errorf("without values the image is %s, want %s", got, want)
	}
	for name, want := range map[string]string{
		"app.kubernetes.io/name": "guestbook", "app.kubernetes.io/instance": "guestbook",
		"app.kubernetes.io/component": "web", "app.kubernetes.io/version": "1.0.0", "app.kubernetes.io/managed-by": "Helm",
	} {
		if got := plain.Labels[name]; got != want {
			t.Errorf("the label %s is %q, want %q", name, got, want)
		}
	}
	for _, test := range []struct {
		name   string
		values map[string]any
		image  string
		env    map[string]string
	}{
		{"a version", map[string]any{"appVersion": "1.1.0"}, "registry.example.com/guestbook:1.1.0", nil},
		{"an image with a tag", map[string]any{"image": "localhost:5000/gb:2"}, "localhost:5000/gb:2", nil},
		{"a registry's port is no tag", map[string]any{"image": "localhost:5000/gb"}, "localhost:5000/gb:1.0.0", nil},
		{"an image of its own", map[string]any{"web": map[string]any{"image": "r.example/w:3"}}, "r.example/w:3", nil},
		{
			"variables", map[string]any{"adminEmail": "a@example.com", "web": map[string]any{"env": map[string]any{"LOG_LEVEL": "debug", "GREETING": "Hello"}}},
			"registry.example.com/guestbook:1.0.0",
			map[string]string{"ADMIN_EMAIL": "a@example.com", "LOG_LEVEL": "debug", "GREETING": "Hello", "STORE_URL": "http://guestbook-store:8081"},
		},
	} {
		container := web(test.values).Spec.Template.Spec.Containers[0]
		if container.Image != test.image {
			t.Errorf("%s: the image is %s, want %s", test.name, container.Image, test.image)
		}
		seen := map[string]string{}
		for _, variable := range container.Env {
			if _, twice := seen[variable.Name]; twice {
				t.Errorf("%s: the variable %s comes twice", test.name, variable.Name)
			}
			seen[variable.Name] = variable.Value
		}
		for name, want := range test.env {
			if seen[name] != want {
				t.Errorf("%s: %s is %q, want %q", test.name, name, seen[name], want)
			}
		}
	}

	secret := deployment(t, "guestbook-store", map[string]any{"existingSecret": "guestbook-db"})
	last := secret.Spec.Template.Spec.Containers[0].Env[2]
	if last.Name != "DATABASE_PASSWORD" || last.ValueFrom.SecretKeyRef.Name != "guestbook-db" {
		t.Errorf("with a secret, the store's last variable is %+v", last)
	}
	hostPath := deployment(t, "guestbook-store", map[string]any{"store": map[string]any{"hostPath": "/var/lib/book"}})
	if volume := hostPath.Spec.Template.Spec.Volumes[0]; volume.HostPath == nil || volume.HostPath.Path != "/var/lib/book" {
		t.Errorf("with a host path, the store's volume is %+v", volume)
	}
	older, newer := deployment(t, "guestbook-store", nil), deployment(t, "guestbook-store", map[string]any{"appVersion": "1.1.0"})
	if older.Spec.Template.String() != newer.Spec.Template.String() {
		t.Error("another version of the application replaces the store's pod")
	}
}

// World: pure.
func TestChartRefusesWrongValues(t *testing.T) {
	t.Parallel()
	chart, err := loader.LoadDir("../../examples/drivers/guestbook/chart")
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range map[string]map[string]any{
		"a misspelt value":       {"web": map[string]any{"replica": 2}},
		"a level that is none":   {"logLevel": "loud"},
		"a fraction of replicas": {"worker": map[string]any{"replicas": 1.5}},
	} {
		if _, err := chartutil.ToRenderValues(chart, values, common.ReleaseOptions{Name: release}, common.DefaultCapabilities); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

// deployment renders the chart and finds one of its Deployments.
func deployment(t *testing.T, name string, values map[string]any) appsv1.Deployment {
	t.Helper()
	for _, document := range strings.Split(renderGuestbook(t, "demo", values), "\n---\n") {
		var found appsv1.Deployment
		if err := yaml.Unmarshal([]byte(document), &found); err != nil {
			t.Fatalf("%v in:\n%s", err, document)
		}
		if found.Kind == "Deployment" && found.Name == name {
			return found
		}
	}
	t.Fatalf("the chart has no Deployment %s", name)
	return appsv1.Deployment{}
}
