package kube

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"slipway.dev/slipway/internal/slipway"
)

// The tests here stand in the pure world.

func doc(t *testing.T, text string) map[string]any {
	t.Helper()
	var out map[string]any
	if err := yaml.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestFieldsOf(t *testing.T) {
	t.Parallel()
	const pods = "spec: {template: {spec: {containers: "
	for _, tc := range []struct {
		name, applied, live string
		partial             bool
		want                []string
	}{
		{"the same", "spec: {replicas: 2}", "spec: {replicas: 2}", false, nil},
		{"a plain field", "spec: {replicas: 2}", "spec: {replicas: 5}", false, []string{"replicas: 2 → 5"}},
		{"defaults beside what was applied", "spec: {replicas: 2}", "spec: {replicas: 2, revisionHistoryLimit: 10}", true, nil},
		{"a field that is gone", "data: {a: x, b: w}", "data: {a: x}", true, []string{"key b: w → not set"}},
		{"a field too many", "data: {a: x}", "data: {a: x, b: w}", false, []string{"key b: not set → w"}},
		{"an empty text that became another", `data: {a: ""}`, "data: {a: x}", false, []string{`key a: "" → x`}},
		{"a number as the chart writes it", "spec: {replicas: 2}", "spec: {replicas: 2.0}", false, nil},
		{"one quantity in two ways", "spec: {cpu: 1000m, memory: 1024Mi}", `spec: {cpu: "1", memory: 1Gi}`, true, nil},
		{"null in a chart", "metadata: {labels: null}", "metadata: {labels: {a: b}}", true, nil},
		{"an empty list that the server leaves out", "spec: {list: [], flag: false, text: ''}", "spec: {}", true, nil},
		{
			"containers in another order", pods + "[{name: a, image: x}, {name: b, image: y}]}}}",
			pods + "[{name: b, image: y}, {name: a, image: z}]}}}", false, []string{"image of container a: x → z"},
		},
		{"an injected container", pods + "[{name: a, image: x}]}}}", pods + "[{name: i, image: y}, {name: a, image: x}]}}}", true, nil},
		{
			"a variable", pods + "[{name: a, env: [{name: K, value: one}]}]}}}", pods + "[{name: a, env: [{name: K, value: two}]}]}}}", true,
			[]string{"variable K of container a: one → two"},
		},
		{"ports without their protocol", "spec: {ports: [{port: 80}]}", "spec: {ports: [{port: 80, protocol: TCP, targetPort: 80}]}", true, nil},
		{"a list by its places", "spec: {args: [a, b]}", "spec: {args: [a, c]}", true, []string{"spec.args[1]: b → c"}},
		{"a list of another length", "spec: {args: [a]}", "spec: {args: [a, c]}", true, []string{`spec.args: ["a"] → ["a","c"]`}},
		{"a list that is gone", "spec: {args: [a]}", "spec: {}", true, []string{`spec.args: ["a"] → not set`}},
		{"an object that is gone", "spec: {limits: {cpu: 1}}", "spec: {}", true, []string{"spec.limits.cpu: 1 → not set"}},
		{"a label with dots", "metadata: {labels: {a.b/c: x}}", "metadata: {labels: {a.b/c: w}}", true, []string{"label a.b/c: x → w"}},
		{"a line feed is quoted", `data: {a: "x\ny"}`, "data: {a: z}", true, []string{`key a: "x\ny" → z`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, f := range fieldsOf(doc(t, tc.applied), doc(t, tc.live), tc.partial) {
				words, _ := pathWords(f.path)
				got = append(got, slipway.Difference{Kind: slipway.DiffChanged, Path: words, Applied: shown(f.applied), Live: shown(f.live)}.Text())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestStandings(t *testing.T) {
	t.Parallel()
	three := 3
	const deployment = "kind: Deployment\napiVersion: apps/v1\nmetadata: {name: web, labels: {slipway.dev/component: web}"
	for _, tc := range []struct {
		name, applied string
		now           Standing
		want          string
	}{
		{"runs as applied", deployment + "}\nspec: {replicas: 2}", Standing{}, deployment + "}\nspec: {replicas: 2}"},
		{"stopped since", deployment + "}\nspec: {replicas: 2}", Standing{Stopped: true}, deployment + "}\nspec: {replicas: 0}"},
		{"stopped, and the chart says no number", deployment + "}\nspec: {}", Standing{Stopped: true}, deployment + "}\nspec: {replicas: 0}"},
		{
			"applied stopped, and started since", deployment + ", annotations: {slipway.dev/replicas: '2'}}\nspec: {replicas: 0}", Standing{},
			deployment + ", annotations: {}}\nspec: {replicas: 2}",
		},
		{
			"with the team's number", deployment + ", annotations: {slipway.dev/replicas: '2'}}\nspec: {replicas: 0}", Standing{Replicas: &three},
			deployment + ", annotations: {}}\nspec: {replicas: 3}",
		},
		{"of nobody knows how many", deployment + "}\nspec: {replicas: 0}", Standing{}, deployment + "}\nspec: {}"},
		{
			"another's workload stays", "kind: Deployment\napiVersion: apps/v1\nmetadata: {name: x}\nspec: {replicas: 2}", Standing{Stopped: true},
			"kind: Deployment\napiVersion: apps/v1\nmetadata: {name: x}\nspec: {replicas: 2}",
		},
		{
			"a stopped CronJob", "kind: CronJob\napiVersion: batch/v1\nmetadata: {name: n, labels: {slipway.dev/component: web}}\nspec: {}", Standing{Stopped: true},
			"kind: CronJob\napiVersion: batch/v1\nmetadata: {name: n, labels: {slipway.dev/component: web}}\nspec: {suspend: true}",
		},
		{
			"a DaemonSet that was applied stopped",
			"kind: DaemonSet\napiVersion: apps/v1\nmetadata: {name: n, labels: {slipway.dev/component: web}}\nspec: {template: {spec: {nodeSelector: {slipway.dev/stopped: 'true'}}}}", Standing{},
			"kind: DaemonSet\napiVersion: apps/v1\nmetadata: {name: n, labels: {slipway.dev/component: web}}\nspec: {template: {spec: {nodeSelector: {}}}}",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			before := doc(t, tc.applied)
			toInt(before)
			m := NewManifest(before, "ns")
			got := Standings([]Manifest{m}, map[string]Standing{"web": tc.now})
			want := doc(t, tc.want)
			toInt(want)
			if diff := cmp.Diff(want, got[0].doc.Object); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			unchanged := doc(t, tc.applied)
			toInt(unchanged)
			if diff := cmp.Diff(unchanged, m.doc.Object); diff != "" {
				t.Errorf("what was given is changed (-want +got):\n%s", diff)
			}
		})
	}
}

// toInt makes whole numbers of the test's YAML what Helm's decoder gives.
func toInt(doc map[string]any) {
	if n, ok, _ := unstructured.NestedFieldNoCopy(doc, "spec", "replicas"); ok {
		if f, ok := n.(float64); ok {
			setIn(doc, int64(f), "spec", "replicas")
		}
	}
}

func TestWritersAndWhatTheyAdded(t *testing.T) {
	t.Parallel()
	entry := func(manager, subresource string, minute int, tree string) metav1.ManagedFieldsEntry {
		at := metav1.NewTime(time.Date(2026, 3, 1, 12, minute, 0, 0, time.UTC))
		return metav1.ManagedFieldsEntry{Manager: manager, Subresource: subresource, Time: &at, FieldsV1: metav1.NewFieldsV1(tree)}
	}
	const item = `{"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{"f:env":{"k:{\"name\":\"MORE\"}":{".":{},"f:name":{},"f:value":{}}}}}}}`
	u := &unstructured.Unstructured{Object: doc(t, "spec: {replicas: 5, containers: [{name: web, env: [{name: K, value: v}, {name: MORE, value: x}]}], injected: y}\nmetadata: {labels: {a: b}}")}
	u.SetManagedFields([]metav1.ManagedFieldsEntry{
		entry(fieldManager, "", 0, `{"f:spec":{"f:a":{}}}`),
		entry("kubectl", "scale", 1, `{"f:spec":{"f:replicas":{}}}`),
		entry("kubectl-edit", "", 2, item),
		entry("kubectl-label", "", 3, `{"f:metadata":{"f:labels":{"f:a":{}}}}`),
		entry("sidecar-injector", "", 4, `{"f:spec":{"f:injected":{}}}`),
		entry("kube-controller-manager", "status", 5, `{"f:status":{"f:replicas":{}}}`),
	})
	who := writers(u)
	for _, tc := range []struct {
		path []part
		want string
	}{
		{[]part{{name: "spec"}, {name: "replicas"}}, "kubectl"},
		{[]part{{name: "spec"}, {name: "containers"}, {"web", true}, {name: "env"}, {"MORE", true}}, "kubectl-edit"},
		{[]part{{name: "spec"}, {name: "gone"}}, "sidecar-injector"}, // the newest
	} {
		if got := writerOf(who, tc.path); got != tc.want {
			t.Errorf("writerOf(%v) = %q, want %q", tc.path, got, tc.want)
		}
	}
	var got []string
	paths := added(u)
	for _, d := range paths {
		words, _ := pathWords(d.path)
		got = append(got, words)
	}
	if diff := cmp.Diff([]string{"spec.containers[web].env[MORE]", "replicas"}, got); diff != "" {
		t.Errorf("added by hand (-want +got):\n%s", diff)
	}
	for _, d := range paths {
		if !removeAt(u.Object, d.path) || removeAt(u.Object, d.path) {
			t.Errorf("%v is not removed once", d.path)
		}
	}
	if diff := cmp.Diff(doc(t, "{containers: [{name: web, env: [{name: K, value: v}]}], injected: y}"), u.Object["spec"]); diff != "" {
		t.Errorf("after that (-want +got):\n%s", diff)
	}
}
