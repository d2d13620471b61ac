package helm

// World: pure.

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"slipway.dev/slipway/internal/outside/kube"
)

// The same rule is written for typed containers, in a Job, and for untyped ones, in a
// manifest. They must agree, or a command would see another environment than its server.
func TestAJobAndAManifestMergeAlike(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"A", "B", "C", "D"})
		var typed []corev1.EnvVar
		var untyped []any
		for range rapid.IntRange(0, 5).Draw(t, "base") {
			n, v := name.Draw(t, "name"), rapid.StringN(1, 3, -1).Draw(t, "value")
			typed = append(typed, corev1.EnvVar{Name: n, Value: v})
			untyped = append(untyped, map[string]any{"name": n, "value": v})
		}
		var set []kube.EnvVar
		for range rapid.IntRange(0, 5).Draw(t, "set") {
			v := kube.EnvVar{Name: name.Draw(t, "name"), Value: rapid.StringN(1, 3, -1).Draw(t, "value")}
			if rapid.Bool().Draw(t, "secret") {
				v.Value, v.SecretName, v.SecretKey = "", "guestbook-slipway", "db"
			}
			set = append(set, v)
		}
		want := kube.MergeEnv(typed, set)
		raw, err := json.Marshal(mergeEnv(untyped, set))
		if err != nil {
			t.Fatal(err)
		}
		got := []corev1.EnvVar{}
		if err := json.Unmarshal(raw, &got); err != nil && string(raw) != "null" {
			t.Fatal(err)
		}
		if len(got) == 0 && len(want) == 0 {
			return
		}
		if diff := cmp.Diff(got, want); diff != "" {
			t.Errorf("a manifest's (-got) and a Job's (+want) environment differ:\n%s", diff)
		}
	})
}
