package helm

// World: pure.

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"slipway.dev/slipway/internal/outside/kube"
	"slipway.dev/slipway/internal/slipway"
)

var guestbook = slipway.Application{Project: "shop", Environment: "production", Namespace: "shop-production", Name: "guestbook"}

const web = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  labels: {app.kubernetes.io/managed-by: Helm, tier: front}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: proxy, image: "proxy:1"}
      - name: web
        image: gb:1.0.0
        env:
        - {name: HOST, value: db}
        - {name: URL, value: "postgres://$(HOST)"}
        - {name: OLD, value: stays}
`

const cron = `apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly, labels: {tier: batch}}
spec:
  schedule: "0 3 * * *"
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: nightly, image: gb:1}]}}}}
`

const daemon = `apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent, labels: {tier: node}}
spec:
  selector: {matchLabels: {app: agent}}
  template: {metadata: {labels: {app: agent}}, spec: {containers: [{name: a, image: gb:1}]}}
`

const autoscaler = `apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec: {maxReplicas: 5, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}
`

const hook = `apiVersion: batch/v1
kind: Job
metadata: {name: migrate, annotations: {helm.sh/hook: "pre-upgrade", helm.sh/hook-weight: "-5"}}
spec: {template: {metadata: {labels: {tier: front}}, spec: {containers: [{name: m, image: gb:1}]}}}
`

func stream(docs ...string) []byte { return []byte("---\n" + strings.Join(docs, "---\n")) }

// render runs PostRender and returns the object of that kind and name.
func render(t *testing.T, manifests []byte, p Patch, kind, name string) (*unstructured.Unstructured, Patched) {
	t.Helper()
	p.App = guestbook
	got, err := PostRender(manifests, p)
	if err != nil {
		t.Fatal(err)
	}
	docs, err := decode(got.Manifests)
	if err != nil {
		t.Fatalf("what was written cannot be read: %v\n%s", err, got.Manifests)
	}
	for _, doc := range flatten(docs) {
		if u := (&unstructured.Unstructured{Object: doc}); u.GetKind() == kind && u.GetName() == name {
			return u, got
		}
	}
	t.Fatalf("there is no %s %s in\n%s", kind, name, got.Manifests)
	return nil, got
}

func at(u *unstructured.Unstructured, path ...string) any {
	v, _, err := unstructured.NestedFieldNoCopy(u.Object, path...)
	if err != nil {
		return err.Error()
	}
	return v
}

func one(c ComponentPatch) Patch { return Patch{Components: map[string]ComponentPatch{"server": c}} }

var front = map[string]string{"tier": "front"}

func TestPostRenderOfAComponent(t *testing.T) {
	t.Parallel()
	three := 3
	u, got := render(t, stream(web, cron, hook), one(ComponentPatch{
		Selector: front, Container: "web", Image: "mine:1.1.0", Replicas: &three, Secrets: "guestbook-db@3",
		Env: []kube.EnvVar{{Name: "HOST", Value: "db-2"}, {Name: "NEW", Value: "on"}, {Name: "PASSWORD", SecretName: "guestbook-slipway", SecretKey: "guestbook-db"}},
	}), "Deployment", "web")
	containers := at(u, "spec", "template", "spec", "containers").([]any)
	want := []any{
		map[string]any{"name": "proxy", "image": "proxy:1"},
		map[string]any{"name": "web", "image": "mine:1.1.0", "env": []any{
			map[string]any{"name": "HOST", "value": "db-2"},
			map[string]any{"name": "URL", "value": "postgres://$(HOST)"},
			map[string]any{"name": "OLD", "value": "stays"},
			map[string]any{"name": "NEW", "value": "on"},
			map[string]any{"name": "PASSWORD", "valueFrom": map[string]any{"secretKeyRef": map[string]any{"name": "guestbook-slipway", "key": "guestbook-db"}}},
		}},
	}
	if diff := cmp.Diff(containers, want); diff != "" {
		t.Errorf("the containers (-got +want):\n%s", diff)
	}
	for _, tc := range []struct {
		path []string
		want any
	}{
		{[]string{"spec", "replicas"}, int64(3)},
		{[]string{"spec", "selector"}, map[string]any{"matchLabels": map[string]any{"app": "web"}}}, // untouched: it can never be changed
		{[]string{"metadata", "labels"}, map[string]any{"app.kubernetes.io/managed-by": "Helm", "tier": "front", "slipway.dev/application": "guestbook",
			"slipway.dev/project": "shop", "slipway.dev/environment": "production", "slipway.dev/component": "server"}},
		{[]string{"spec", "template", "metadata", "labels"}, map[string]any{"app": "web", "slipway.dev/application": "guestbook",
			"slipway.dev/project": "shop", "slipway.dev/environment": "production", "slipway.dev/component": "server"}},
		{[]string{"spec", "template", "metadata", "annotations"}, map[string]any{"slipway.dev/secrets": "guestbook-db@3"}},
	} {
		if diff := cmp.Diff(at(u, tc.path...), tc.want); diff != "" {
			t.Errorf("%s (-got +want):\n%s", strings.Join(tc.path, "."), diff)
		}
	}
	wantObjects := []kube.Object{
		{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "shop-production", Name: "web", Component: "server"},
		{Group: "batch", Version: "v1", Kind: "CronJob", Namespace: "shop-production", Name: "nightly"},
	}
	if diff := cmp.Diff(got.Objects, wantObjects); diff != "" {
		t.Errorf("the objects, without the hook (-got +want):\n%s", diff)
	}
	if len(got.Workloads) != 2 || got.Workloads[0].Component != "server" || got.Workloads[0].Containers[1].Image != "mine:1.1.0" || len(got.Notes) > 0 {
		t.Errorf("workloads %+v, notes %q", got.Workloads, got.Notes)
	}
}

func TestPostRenderOfAHook(t *testing.T) {
	t.Parallel()
	u, _ := render(t, stream(web, hook), one(ComponentPatch{Selector: front, Container: "web", Image: "mine:1"}), "Job", "migrate")
	if diff := cmp.Diff(at(u, "metadata"), map[string]any{
		"name":        "migrate",
		"annotations": map[string]any{"helm.sh/hook": "pre-upgrade", "helm.sh/hook-weight": "-5", "helm.sh/hook-output-log-policy": "hook-failed"},
		"labels":      map[string]any{"slipway.dev/application": "guestbook", "slipway.dev/project": "shop", "slipway.dev/environment": "production"},
	}); diff != "" {
		t.Errorf("the hook's metadata (-got +want):\n%s", diff)
	}
	if diff := cmp.Diff(at(u, "spec"), map[string]any{"template": map[string]any{
		"metadata": map[string]any{"labels": map[string]any{"tier": "front"}},
		"spec":     map[string]any{"containers": []any{map[string]any{"name": "m", "image": "gb:1"}}},
	}}); diff != "" {
		t.Errorf("the hook's spec (-got +want):\n%s", diff)
	}
}

func TestPostRenderKeepsAComponentStopped(t *testing.T) {
	t.Parallel()
	five := 5
	stopped := func(tier string, n *int) Patch {
		return one(ComponentPatch{Selector: map[string]string{"tier": tier}, Stopped: true, Replicas: n})
	}
	noReplicas := strings.Replace(web, "  replicas: 2\n", "", 1)
	for _, tc := range []struct {
		name, doc, kind, object string
		patch                   Patch
		want                    map[string]any
	}{
		{"a Deployment, and the chart's replicas are remembered", web, "Deployment", "web", stopped("front", nil),
			map[string]any{"spec.replicas": int64(0), "metadata.annotations": map[string]any{"slipway.dev/replicas": "2"}}},
		{"a Deployment, and the team's replicas are remembered", web, "Deployment", "web", stopped("front", &five),
			map[string]any{"spec.replicas": int64(0), "metadata.annotations": map[string]any{"slipway.dev/replicas": "5"}}},
		{"a Deployment whose replicas are an autoscaler's", noReplicas, "Deployment", "web", stopped("front", nil),
			map[string]any{"spec.replicas": int64(0), "metadata.annotations": nil}},
		{"a CronJob", cron, "CronJob", "nightly", stopped("batch", nil), map[string]any{"spec.suspend": true}},
		{"a DaemonSet", daemon, "DaemonSet", "agent", stopped("node", nil),
			map[string]any{"spec.template.spec.nodeSelector": map[string]any{"slipway.dev/stopped": "true"}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			u, got := render(t, stream(tc.doc), tc.patch, tc.kind, tc.object)
			for path, want := range tc.want {
				if diff := cmp.Diff(at(u, strings.Split(path, ".")...), want); diff != "" {
					t.Errorf("%s (-got +want):\n%s", path, diff)
				}
			}
			if !got.Workloads[0].Stopped {
				t.Error("the workload does not say that it is stopped")
			}
		})
	}
}

func TestPostRenderLeavesReplicasToAnAutoscaler(t *testing.T) {
	t.Parallel()
	three := 3
	patch := one(ComponentPatch{Selector: front, Replicas: &three})
	for _, manifests := range [][]byte{stream(web, autoscaler), stream(autoscaler, web)} {
		u, got := render(t, manifests, patch, "Deployment", "web")
		if n := at(u, "spec", "replicas"); n != nil {
			t.Errorf("replicas is %v", n)
		}
		want := []string{"replicas = 3 of the component server was left out: the HorizontalPodAutoscaler web scales Deployment web"}
		if diff := cmp.Diff(got.Notes, want); diff != "" {
			t.Errorf("the notes (-got +want):\n%s", diff)
		}
	}
	patch = one(ComponentPatch{Selector: front, Replicas: &three, Stopped: true})
	u, _ := render(t, stream(web, autoscaler), patch, "Deployment", "web")
	if n := at(u, "spec", "replicas"); n != int64(0) {
		t.Errorf("the stopped component has %v replicas; an autoscaler does not scale from 0", n)
	}
}

func TestPostRenderRefuses(t *testing.T) {
	t.Parallel()
	two := 2
	env := []kube.EnvVar{{Name: "A", Value: "1"}}
	for _, tc := range []struct {
		name  string
		docs  []byte
		patch Patch
		want  string
	}{
		{"a container that is not there", stream(web), one(ComponentPatch{Selector: front, Container: "app", Env: env}),
			`the component "server" declares the container "app", but Deployment web has: proxy, web`},
		{"an image that no container can be told for", stream(web), one(ComponentPatch{Selector: front, Image: "x"}),
			`the component "server" has an image, but Deployment web has several containers and the driver declares none: proxy, web`},
		{"replicas of what has none", stream(daemon), one(ComponentPatch{Selector: map[string]string{"tier": "node"}, Replicas: &two}),
			`the component "server" has replicas, but a DaemonSet has none`},
		{"settings of a component without a workload", stream(daemon), one(ComponentPatch{Selector: front, Env: env}),
			`the component "server" is configured, but no workload of the chart is selected by it`},
		{"a workload of two components", stream(web), Patch{Components: map[string]ComponentPatch{
			"a": {Selector: front}, "b": {Selector: map[string]string{"app": "web"}}}},
			`the components "a" and "b" both select Deployment web`},
		{"what is not YAML", []byte("a: [\n"), Patch{}, "document 1 of the chart's manifests is not YAML"},
		{"what is no object", []byte("---\n- a\n- b\n"), Patch{}, "document 1 of the chart's manifests is no Kubernetes object"},
		{"a workload that is none", stream("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: many}\n"), Patch{},
			"Deployment web of the chart is not valid"},
	} {
		_, err := PostRender(tc.docs, tc.patch)
		if !slipway.Is(err, slipway.Invalid) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want: %s", tc.name, err, tc.want)
		}
	}
}

func TestPostRenderOfWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	manifests := []byte(`# a comment alone
---
---
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: listed, labels: null}
- ` + strings.ReplaceAll(strings.TrimSuffix(web, "\n"), "\n", "\n  ") + `
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec: {names: {kind: Thing}}
--- # and a custom resource with a template of its own
apiVersion: example.com/v1
kind: Deployment
metadata: {name: not-ours}
spec: {replicas: many, big: 9007199254740993, ratio: 0.10, mode: "0644", word: "yes", "null": null}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: text}
data:
  doc: |
    ---
    not a document
`)
	u, got := render(t, manifests, one(ComponentPatch{Selector: front, Container: "web", Image: "mine:1"}), "Deployment", "not-ours")
	if diff := cmp.Diff(at(u, "spec"), map[string]any{"replicas": "many", "big": int64(9007199254740993), "ratio": 0.1, "mode": "0644", "word": "yes", "null": nil}); diff != "" {
		t.Errorf("the custom resource (-got +want):\n%s", diff)
	}
	wantObjects := []kube.Object{
		{Version: "v1", Kind: "ConfigMap", Namespace: "shop-production", Name: "listed"},
		{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "shop-production", Name: "web", Component: "server"},
		{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition", Name: "things.example.com"},
		{Group: "example.com", Version: "v1", Kind: "Deployment", Namespace: "shop-production", Name: "not-ours"},
		{Version: "v1", Kind: "ConfigMap", Namespace: "shop-production", Name: "text"},
	}
	if diff := cmp.Diff(got.Objects, wantObjects); diff != "" {
		t.Errorf("the objects (-got +want):\n%s", diff)
	}
	listed, _ := render(t, manifests, Patch{}, "ConfigMap", "listed")
	if listed.GetLabels()[kube.LabelApplication] != "guestbook" {
		t.Errorf("the listed object has the labels %v", listed.GetLabels())
	}
	inList, _ := render(t, manifests, one(ComponentPatch{Selector: front, Container: "web", Image: "mine:1"}), "Deployment", "web")
	if !strings.Contains(string(must(inList.MarshalJSON())), `"mine:1"`) {
		t.Error("the workload in the list was not patched")
	}
	text, _ := render(t, manifests, Patch{}, "ConfigMap", "text")
	if at(text, "data", "doc") != "---\nnot a document\n" {
		t.Errorf("the text is %q", at(text, "data", "doc"))
	}
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

func TestPostRenderIsDeterministic(t *testing.T) {
	t.Parallel()
	p := Patch{App: guestbook, Components: map[string]ComponentPatch{
		"server": {Selector: front, Container: "web", Image: "mine:1", Env: []kube.EnvVar{{Name: "B", Value: "1"}, {Name: "A", Value: "2"}}},
		"agent":  {Selector: map[string]string{"tier": "node"}, Stopped: true},
		"cron":   {Selector: map[string]string{"tier": "batch"}, Secrets: "a@1"},
	}}
	first, err := PostRender(stream(web, cron, daemon, hook, autoscaler), p)
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		again, err := PostRender(stream(web, cron, daemon, hook, autoscaler), p)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(again.Manifests), string(first.Manifests)); diff != "" {
			t.Fatalf("two runs differ:\n%s", diff)
		}
	}
	// Patched twice it is the same, too: a component's settings do not pile up.
	twice, err := PostRender(first.Manifests, p)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(twice.Manifests), string(first.Manifests)); diff != "" {
		t.Errorf("patching again changes it:\n%s", diff)
	}
}
