//go:build cluster

package helm

// World: real cluster.

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"slipway.dev/slipway/internal/outside/kube"
)

// drift compares the release with the cluster and returns each difference as a line.
func (s *shipyard) drift(components map[string]kube.Standing) ([]string, kube.Comparison) {
	s.t.Helper()
	begun := time.Now()
	ms, err := s.Applied(s.t.Context(), s.app, s.app.Name)
	if err != nil {
		s.t.Fatal(err)
	}
	got, err := s.kube.Compare(s.t.Context(), s.app, kube.Standings(ms, components), kube.CompareOptions{
		Mask: func(_, value string) (string, bool) { return redact(value), value != redact(value) },
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Logf("%d objects compared in %s", len(ms), time.Since(begun).Round(time.Millisecond))
	if len(got.Unable) > 0 {
		s.t.Errorf("not compared: %v", got.Unable)
	}
	var lines []string
	for _, d := range got.Differences {
		line := d.Object + " " + d.Text()
		if d.By != "" {
			line += " by " + d.By
		}
		lines = append(lines, line)
	}
	return lines, got
}

func (s *shipyard) patch(kind, name, patch string, manager string, how ...types.PatchType) {
	s.t.Helper()
	t := types.StrategicMergePatchType
	if len(how) > 0 {
		t = how[0]
	}
	resource := map[string]string{"Deployment": "apis/apps/v1/namespaces/%s/deployments/%s", "DaemonSet": "apis/apps/v1/namespaces/%s/daemonsets/%s",
		"Service": "api/v1/namespaces/%s/services/%s", "ConfigMap": "api/v1/namespaces/%s/configmaps/%s", "Secret": "api/v1/namespaces/%s/secrets/%s"}[kind]
	err := s.set.CoreV1().RESTClient().Patch(t).AbsPath("/"+fmt.Sprintf(resource, s.app.Namespace, name)).
		Param("fieldManager", manager).Body([]byte(patch)).Do(s.t.Context()).Error()
	if err != nil {
		s.t.Fatal(err)
	}
}

func TestDriftIsSeenAndPutBack(t *testing.T) {
	t.Parallel()
	s := realCluster(t)
	ctx := t.Context()
	r := s.request(map[string]any{"password": "hunter2"})
	s.apply(r)
	if lines, _ := s.drift(nil); len(lines) > 0 {
		t.Fatalf("right after the apply: %v", lines)
	}

	// What others may write, and is no drift.
	s.patch("Deployment", "guestbook-web", `{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":"2026-03-01T12:00:00Z"}},
		"spec":{"containers":[{"name":"injected","image":"docker.io/local/pause:1"}]}}}}`, "kubectl-rollout")
	if lines, _ := s.drift(nil); len(lines) > 0 {
		t.Fatalf("after a restart and an injected container: %v", lines)
	}

	s.patch("Deployment", "guestbook-web", `{"spec":{"replicas":5}}`, "kubectl")
	s.patch("Deployment", "guestbook-web", `{"spec":{"template":{"spec":{"containers":[{"name":"web","image":"docker.io/local/busybox:1","env":[{"name":"HOST","value":"elsewhere"},{"name":"MORE","value":"x"}]}],"nodeSelector":{"kubernetes.io/os":"linux"}}}}}`, "kubectl-edit")
	s.patch("ConfigMap", "guestbook-config", `{"data":{"word":null},"metadata":{"labels":{"slipway.dev/application":"other"}}}`, "kubectl-edit", types.MergePatchType)
	s.patch("Secret", "guestbook-password", `{"stringData":{"password":"guessed"}}`, "kubectl-edit")
	if err := s.set.CoreV1().Services(s.app.Namespace).Delete(ctx, "guestbook-web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	extra := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "by-hand", Labels: kube.ApplicationLabels(s.app)}}
	if _, err := s.set.CoreV1().ConfigMaps(s.app.Namespace).Create(ctx, extra, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"Secret guestbook-password key password differs by kubectl-edit",
		"ConfigMap guestbook-config key word: on → not set by kubectl-edit",
		"ConfigMap guestbook-config label slipway.dev/application: guestbook → other by kubectl-edit",
		"Service guestbook-web is missing",
		"Deployment guestbook-web replicas: 2 → 5 by kubectl",
		"Deployment guestbook-web variable HOST of container web: db → elsewhere by kubectl-edit",
		"Deployment guestbook-web image of container web: docker.io/local/pause:1 → docker.io/local/busybox:1 by kubectl-edit",
		"Deployment guestbook-web variable MORE of container web: not set → x by kubectl-edit",
		"Deployment guestbook-web spec.template.spec.nodeSelector: not set → {\"kubernetes.io/os\":\"linux\"} by kubectl-edit",
		"ConfigMap by-hand was made by no change",
	}
	got, found := s.drift(nil)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("differences (-want +got):\n%s", diff)
	}

	revision := s.revision()
	for range 2 { // a repeat after a crash
		for _, m := range found.Back {
			if err := s.kube.PutBack(ctx, m); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got, _ := s.drift(nil); cmp.Diff([]string{"ConfigMap by-hand was made by no change"}, got) != "" {
		t.Errorf("after it was put back: %v", got)
	}
	if n := s.revision(); n != revision {
		t.Errorf("the release has revision %d, had %d", n, revision)
	}
	secret, err := s.set.CoreV1().Secrets(s.app.Namespace).Get(ctx, "guestbook-password", metav1.GetOptions{})
	if err != nil || string(secret.Data["password"]) != "hunter2" {
		t.Errorf("the password is %q, %v", secret.Data["password"], err)
	}
	// Helm still takes the objects for its own.
	r.Values["web"] = map[string]any{"replicas": 3}
	s.apply(r)
	if n := s.replicas(); n != 3 {
		t.Errorf("after an upgrade there are %d replicas, want 3", n)
	}
	if got, _ := s.drift(nil); len(got) != 1 {
		t.Errorf("after an upgrade: %v", got)
	}
}

func (s *shipyard) revision() int {
	s.t.Helper()
	st, err := s.Status(s.t.Context(), s.app, s.app.Name)
	if err != nil {
		s.t.Fatal(err)
	}
	return st.Revision
}

func TestDriftKnowsWhatIsStoppedAndScaledByOthers(t *testing.T) {
	t.Parallel()
	s := realCluster(t)
	ctx := t.Context()
	s.apply(s.request(nil))
	stopped := map[string]kube.Standing{"web": {Stopped: true}, "agent": {Stopped: true}}
	got, _ := s.drift(stopped)
	if want := []string{
		"DaemonSet guestbook-agent spec.template.spec.nodeSelector[slipway.dev/stopped]: true → not set", "Deployment guestbook-web replicas: 0 → 2",
	}; !cmp.Equal(want, got) {
		t.Errorf("stopped in the record, and running: %q", got)
	}
	ws, err := s.kube.Workloads(ctx, s.app, nil)
	if err != nil {
		t.Fatal(err)
	}
	var ours []kube.Workload
	for _, w := range ws {
		if w.Component != "" {
			ours = append(ours, w)
		}
	}
	if err := s.kube.Stop(ctx, ours, 0); err != nil {
		t.Fatal(err)
	}
	if got, _ := s.drift(stopped); len(got) > 0 {
		t.Errorf("stopped as recorded: %v", got)
	}
	// What stops a DaemonSet is ours to write: it takes nothing away from what was applied.
	if got, _ := s.drift(nil); len(got) != 1 {
		t.Errorf("stopped by nobody's wish: %v", got)
	}
	// Applied while it is stopped, and started since.
	r := s.request(nil)
	for name, c := range r.Patch.Components {
		c.Stopped = true
		r.Patch.Components[name] = c
	}
	s.apply(r)
	if got, _ := s.drift(stopped); len(got) > 0 {
		t.Errorf("applied stopped: %v", got)
	}
	if err := s.kube.Start(ctx, s.app, ours, nil, kube.ReadyOptions{}); err != nil {
		t.Fatal(err)
	}
	if got, _ := s.drift(nil); len(got) > 0 {
		t.Errorf("applied stopped, started since: %v", got)
	}

	hpa := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Name: "by-others"}, Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
		ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "guestbook-web"}, MaxReplicas: 5}}
	if _, err := s.set.AutoscalingV2().HorizontalPodAutoscalers(s.app.Namespace).Create(ctx, hpa, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.patch("Deployment", "guestbook-web", `{"spec":{"replicas":4}}`, "kube-controller-manager")
	if got, _ := s.drift(nil); len(got) > 0 {
		t.Errorf("scaled by an autoscaler: %v", got)
	}
}
