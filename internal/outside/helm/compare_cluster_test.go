//go:build cluster

package helm

// World: real cluster. A measurement, not a test: it runs with -run Compare -v alone.

import (
	"os"
	"testing"
	"time"

	"helm.sh/helm/v4/pkg/action"
	helmkube "helm.sh/helm/v4/pkg/kube"

	"slipway.dev/slipway/internal/outside/kube"
)

func TestCompareWithHelmUpgradeWait(t *testing.T) {
	if os.Getenv("SLIPWAY_COMPARE") == "" {
		return // it takes minutes, and fails for nothing
	}
	for round := range 5 {
		s := realCluster(t)
		r := s.request(nil)
		res := s.apply(r)
		if err := s.kube.Ready(t.Context(), s.app, res.Objects, kube.ReadyOptions{}); err != nil {
			t.Fatal(err)
		}
		ours := time.Now()
		r = s.request(map[string]any{"note": round})
		r.Patch.Components["web"] = ComponentPatch{Selector: map[string]string{"app.kubernetes.io/component": "web"}, Container: "web", Secrets: "x@" + time.Now().String()}
		res = s.apply(r)
		applied := time.Since(ours)
		if err := s.kube.Ready(t.Context(), s.app, res.Objects, kube.ReadyOptions{}); err != nil {
			t.Fatal(err)
		}
		t.Logf("round %d: ours %s (applied after %s)", round, time.Since(ours).Round(time.Millisecond), applied.Round(time.Millisecond))

		cfg := s.configuration(t.Context(), s.app.Namespace)
		up := action.NewUpgrade(cfg)
		up.Namespace, up.ServerSideApply, up.ForceConflicts, up.ResetValues = s.app.Namespace, "true", true, true
		up.WaitStrategy, up.Timeout = helmkube.StatusWatcherStrategy, time.Minute
		r.Patch.Components["web"] = ComponentPatch{Selector: map[string]string{"app.kubernetes.io/component": "web"}, Container: "web", Secrets: "x@" + time.Now().String()}
		up.PostRenderer = &postRenderer{patch: r.Patch}
		ch, err := s.chart.fresh()
		if err != nil {
			t.Fatal(err)
		}
		theirs := time.Now()
		if _, err := up.RunWithContext(t.Context(), "guestbook", ch, map[string]any{}); err != nil {
			t.Fatal(err)
		}
		t.Logf("round %d: theirs %s", round, time.Since(theirs).Round(time.Millisecond))
	}
}
