//go:build cluster

package helm

// World: real cluster.

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"helm.sh/helm/v4/pkg/release/common"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"slipway.dev/slipway/internal/outside/kube"
	"slipway.dev/slipway/internal/slipway"
)

// shipyard is a real cluster, a namespace of the test's own, and the chart.
type shipyard struct {
	*Client
	t     *testing.T
	app   slipway.Application
	set   kubernetes.Interface
	chart *Chart
}

func realCluster(t *testing.T) *shipyard {
	t.Helper()
	file := os.Getenv("SLIPWAY_TEST_KUBECONFIG")
	if file == "" {
		dir := os.Getenv("SLIPWAY_CLUSTER_DIR")
		if dir == "" {
			dir = "/var/lib/slipway-test-cluster"
		}
		file = filepath.Join(dir, "kubeconfig")
	}
	kc, err := kube.New(kube.Config{Kubeconfig: file, Installation: "helm-test", Version: "test"})
	if err != nil {
		t.Fatalf("%v (these tests need the test cluster: test/cluster)", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if _, err := kc.Version(ctx); err != nil {
		t.Fatalf("%v (these tests need the test cluster: test/cluster)", err)
	}
	app := guestbook
	app.Namespace = "helm-test-" + strings.ToLower(rand.Text()[:8])
	env := slipway.Environment{Project: app.Project, Name: app.Environment, Namespace: app.Namespace}
	if err := kc.EnsureNamespace(ctx, env); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := kc.DeleteNamespace(ctx, env); err != nil {
			t.Error(err)
		}
	})
	config, err := kc.Getter(context.Background(), app.Namespace).ToRESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	c := New(kc, Options{CacheDir: t.TempDir()})
	return &shipyard{Client: c, t: t, app: app, set: kubernetes.NewForConfigOrDie(config), chart: shop(t, c)}
}

func redact(s string) string { return strings.ReplaceAll(s, "hunter2", "<redacted>") }

// request asks for the shop chart with values.
func (s *shipyard) request(values map[string]any) ApplyRequest {
	return ApplyRequest{Chart: s.chart, Values: values, Release: s.app.Name, Patch: Patch{App: s.app, Components: map[string]ComponentPatch{
		"web":   {Selector: map[string]string{"app.kubernetes.io/component": "web"}, Container: "web"},
		"agent": {Selector: map[string]string{"app.kubernetes.io/component": "agent"}},
	}}, Redact: redact, HookTimeout: time.Minute}
}

func (s *shipyard) apply(r ApplyRequest) Result {
	s.t.Helper()
	begun := time.Now()
	res, err := s.Apply(s.t.Context(), r)
	if err != nil {
		s.t.Fatalf("Apply() = %v\noutput: %s", err, res.Output)
	}
	s.t.Logf("revision %d after %s", res.Revision, time.Since(begun).Round(time.Millisecond))
	return res
}

func (s *shipyard) replicas() int32 {
	s.t.Helper()
	d, err := s.set.AppsV1().Deployments(s.app.Namespace).Get(s.t.Context(), "guestbook-web", metav1.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	return *d.Spec.Replicas
}

func small() map[string]any {
	return map[string]any{"nightly": false, "agent": false, "web": map[string]any{"replicas": 1}}
}

func TestRealLife(t *testing.T) {
	t.Parallel()
	s := realCluster(t)
	ctx := t.Context()
	if st, err := s.Status(ctx, s.app, "guestbook"); err != nil || st.Revision != 0 {
		t.Errorf("the status of no release is %+v, %v", st, err)
	}
	r := s.request(small())
	r.Description = "change 1"
	res := s.apply(r)
	if !res.Installed || res.Revision != 1 || len(res.Notes) > 0 {
		t.Errorf("the install: %+v", res)
	}
	begun := time.Now()
	if err := s.kube.Ready(ctx, s.app, res.Objects, kube.ReadyOptions{Timeout: 2 * time.Minute}); err != nil {
		t.Fatal(err)
	}
	t.Logf("ready after %s more", time.Since(begun).Round(time.Millisecond))
	ws, err := s.kube.Workloads(ctx, s.app, map[string]string{"app.kubernetes.io/component": "web"})
	if err != nil || len(ws) != 1 || ws[0].Component != "web" || ws[0].Ready != 1 {
		t.Fatalf("the workloads of web: %+v, %v", ws, err)
	}

	// An upgrade with what a team set. Somebody else has changed the image meanwhile.
	_, err = s.set.AppsV1().Deployments(s.app.Namespace).Patch(ctx, "guestbook-web", types.StrategicMergePatchType,
		[]byte(`{"spec":{"template":{"spec":{"containers":[{"name":"web","image":"theirs:1"}]}}}}`), metav1.PatchOptions{FieldManager: "somebody"})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.kube.ApplySecret(ctx, s.app.Namespace, "guestbook-slipway", map[string][]byte{"db": []byte("hunter2")}, kube.ApplicationLabels(s.app)); err != nil {
		t.Fatal(err)
	}
	r = s.request(small())
	r.Patch.Components["web"] = ComponentPatch{Selector: map[string]string{"app.kubernetes.io/component": "web"}, Container: "web", Image: "docker.io/local/pause:1", Secrets: "db@1",
		Env: []kube.EnvVar{{Name: "HOST", Value: "db-2"}, {Name: "PASSWORD", SecretName: "guestbook-slipway", SecretKey: "db"}}}
	res = s.apply(r)
	if res.Installed || res.Revision != 2 {
		t.Errorf("the upgrade: %+v", res)
	}
	if err := s.kube.Ready(ctx, s.app, res.Objects, kube.ReadyOptions{Timeout: 2 * time.Minute}); err != nil {
		t.Fatal(err)
	}
	d, err := s.set.AppsV1().Deployments(s.app.Namespace).Get(ctx, "guestbook-web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c := d.Spec.Template.Spec.Containers[1]
	if c.Image != "docker.io/local/pause:1" || c.Env[0].Value != "db-2" || c.Env[1].Name != "URL" || c.Env[2].ValueFrom.SecretKeyRef.Key != "db" {
		t.Errorf("the container is %+v", c)
	}
	if d.Labels["app.kubernetes.io/managed-by"] != "Helm" || d.Labels[kube.LabelComponent] != "web" || d.Spec.Template.Annotations[kube.AnnotationSecrets] != "db@1" {
		t.Errorf("labels %v, annotations %v", d.Labels, d.Spec.Template.Annotations)
	}
	if stored := s.stored(); strings.Contains(stored, "hunter2") {
		t.Error("the secret's value is in Helm's storage")
	}

	// What the chart drops is deleted, and no values are taken over from before.
	res = s.apply(s.request(nil))
	if s.replicas() != 2 {
		t.Errorf("the replicas are %d, want the chart's own 2", s.replicas())
	}
	r = s.request(map[string]any{"odd": false, "nightly": false, "web": map[string]any{"grace": 6}})
	res4 := s.apply(r)
	if _, err := s.set.CoreV1().ConfigMaps(s.app.Namespace).Get(ctx, "guestbook-listed", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("what the chart dropped: %v", err)
	}
	st, err := s.Status(ctx, s.app, "guestbook")
	if diff := cmp.Diff(st.Objects, res4.Objects, cmpopts.SortSlices(func(a, b kube.Object) bool { return a.String() < b.String() })); diff != "" {
		t.Errorf("the objects by Helm's storage (-) and by the apply (+):\n%s", diff)
	}
	if err != nil || st.Revision != 4 || st.State != "deployed" || st.Chart != "shop" || st.Version != "0.3.1" {
		t.Errorf("the status is %+v, %v", st, err)
	}

	for range 2 { // the second time there is nothing; the pods of web take their grace
		if _, err := s.Uninstall(ctx, UninstallRequest{App: s.app, Release: "guestbook", Timeout: time.Minute, Redact: redact}); err != nil {
			t.Error(err)
		}
	}
	pods, err := s.set.CoreV1().Pods(s.app.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil || len(pods.Items) > 0 {
		t.Errorf("%d pods are left, %v", len(pods.Items), err)
	}
	if stored := s.stored(); stored != "" {
		t.Error("Helm's storage still has the release")
	}
}

// stored is everything in Helm's storage, unpacked.
func (s *shipyard) stored() string {
	s.t.Helper()
	list, err := s.set.CoreV1().Secrets(s.app.Namespace).List(s.t.Context(), metav1.ListOptions{LabelSelector: "owner=helm"})
	if err != nil {
		s.t.Fatal(err)
	}
	var all strings.Builder
	for _, one := range list.Items {
		raw, err := base64.StdEncoding.DecodeString(string(one.Data["release"]))
		if err != nil {
			s.t.Fatal(err)
		}
		z, err := gzip.NewReader(bytes.NewReader(raw))
		if err != nil {
			s.t.Fatal(err)
		}
		if _, err := io.Copy(&all, z); err != nil {
			s.t.Fatal(err)
		}
	}
	return all.String()
}

func TestRealStoppedComponentStaysStoppedThroughAnUpgrade(t *testing.T) {
	t.Parallel()
	s := realCluster(t)
	ctx := t.Context()
	res := s.apply(s.request(small()))
	if err := s.kube.Ready(ctx, s.app, res.Objects, kube.ReadyOptions{}); err != nil {
		t.Fatal(err)
	}
	web := map[string]string{"app.kubernetes.io/component": "web"}
	ws, err := s.kube.Workloads(ctx, s.app, web)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.kube.Stop(ctx, ws, time.Minute); err != nil {
		t.Fatal(err)
	}
	// Every state that the Deployment passes through from here on.
	seen, err := s.set.AppsV1().Deployments(s.app.Namespace).Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r := s.request(map[string]any{"nightly": false, "agent": false, "web": map[string]any{"replicas": 3}})
	r.Patch.Components["web"] = ComponentPatch{Selector: web, Container: "web", Stopped: true}
	res = s.apply(r)
	if err := s.kube.Ready(ctx, s.app, res.Objects, kube.ReadyOptions{}); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second)
	seen.Stop()
	for event := range seen.ResultChan() {
		if m, ok := event.Object.(interface{ GetResourceVersion() string }); ok {
			if raw := fmt.Sprintf("%+v", event.Object); strings.Contains(raw, "Replicas:3") {
				t.Errorf("at %s the Deployment had replicas", m.GetResourceVersion())
			}
		}
	}
	ws, err = s.kube.Workloads(ctx, s.app, web)
	if err != nil || !ws[0].Stopped || ws[0].Remember != "3" {
		t.Fatalf("the workload is %+v, %v; want it stopped, with the 3 replicas of the new configuration remembered", ws, err)
	}
	if err := s.kube.Start(ctx, s.app, ws, nil, kube.ReadyOptions{Timeout: time.Minute}); err != nil {
		t.Fatal(err)
	}
	if got := s.replicas(); got != 3 {
		t.Errorf("after the start the replicas are %d, want 3", got)
	}
	// And the next change finds nothing of it left.
	res = s.apply(s.request(small()))
	d, err := s.set.AppsV1().Deployments(s.app.Namespace).Get(ctx, "guestbook-web", metav1.GetOptions{})
	if err != nil || *d.Spec.Replicas != 1 || d.Annotations[kube.AnnotationReplicas] != "" {
		t.Errorf("replicas %d, annotations %v, %v", *d.Spec.Replicas, d.Annotations, err)
	}
}

func TestRealReleaseLeftLockedIsUnlocked(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		state common.Status
		after int // revisions before the process died
	}{{common.StatusPendingUpgrade, 2}, {common.StatusPendingInstall, 1}, {common.StatusPendingRollback, 2}, {common.StatusUninstalling, 1}, {common.StatusUninstalled, 1}} {
		t.Run(string(tc.state), func(t *testing.T) {
			t.Parallel()
			s := realCluster(t)
			for range tc.after {
				s.apply(s.request(small()))
			}
			cfg := s.configuration(t.Context(), s.app.Namespace)
			past, err := history(cfg, "guestbook")
			if err != nil {
				t.Fatal(err)
			}
			last := newest(past)
			last.Info.Status = tc.state
			if err := cfg.Releases.Update(last); err != nil {
				t.Fatal(err)
			}
			res := s.apply(s.request(small()))
			want := []string{fmt.Sprintf("The Helm release guestbook was left %s at revision %d by a process that ended; it was unlocked", tc.state, tc.after)}
			if tc.state == common.StatusUninstalled {
				want = []string{"The Helm release guestbook had been uninstalled and its history kept; it is installed again"}
			}
			if diff := cmp.Diff(res.Notes, want); diff != "" || res.Revision != tc.after+1 || res.Installed != (tc.after == 1) {
				t.Errorf("%+v, notes (-got +want):\n%s", res, diff)
			}
			if err := s.kube.Ready(t.Context(), s.app, res.Objects, kube.ReadyOptions{Timeout: time.Minute}); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestRealInstallThatFailsIsDoneAgain(t *testing.T) {
	t.Parallel()
	s := realCluster(t)
	ctx := t.Context()
	values := small()
	values["hook"] = map[string]any{"enabled": true, "events": "pre-install", "script": "echo the database says hunter2; echo boom; exit 1"}
	res, err := s.Apply(ctx, s.request(values))
	t.Logf("the failed install: %v\n%s", err, res.Output)
	if err == nil || !strings.Contains(err.Error(), "pre-install") || res.Output != "the database says <redacted>\nboom\n" {
		t.Errorf("Apply() = %v, output %q; want the failed hook and what it wrote", err, res.Output)
	}
	if strings.Contains(fmt.Sprint(err, res), "hunter2") {
		t.Error("the secret is in what people read")
	}
	jobs, err := s.set.BatchV1().Jobs(s.app.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil || len(jobs.Items) != 1 {
		t.Errorf("%d Jobs are left as evidence, want 1; %v", len(jobs.Items), err)
	}
	if st, err := s.Status(ctx, s.app, "guestbook"); err != nil || st.State != "failed" {
		t.Errorf("the release is %s, %v; want failed", st.State, err)
	}
	// The second attempt fails further on, when the chart's objects are there. The hook is
	// one of installs alone, and must run again.
	values["hook"] = map[string]any{"enabled": true, "events": "post-install", "script": "exit 1"}
	if res, err = s.Apply(ctx, s.request(values)); err == nil || res.Revision != 2 || s.replicas() != 1 {
		t.Errorf("the second attempt: %+v, %v", res, err)
	}
	values["hook"] = map[string]any{"enabled": true, "events": "post-install", "script": "true"}
	values["odd"] = false // and what the failed attempt made beyond it goes
	res = s.apply(s.request(values))
	if !res.Installed || res.Revision != 3 || len(res.Notes) != 2 {
		t.Errorf("the third attempt: %+v", res)
	}
	jobs, err = s.set.BatchV1().Jobs(s.app.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil || len(jobs.Items) != 1 || jobs.Items[0].Status.Succeeded != 1 {
		t.Errorf("the hook of the third attempt: %+v, %v", jobs.Items, err)
	}
	res = s.apply(s.request(values))
	if res.Installed || res.Revision != 4 || len(res.Notes) != 0 {
		t.Errorf("the change after it: %+v", res)
	}
}

func TestRealCancelledUpgradeStops(t *testing.T) {
	t.Parallel()
	s := realCluster(t)
	s.apply(s.request(small()))
	values := small()
	values["web"] = map[string]any{"replicas": 4}
	values["hook"] = map[string]any{"enabled": true, "script": "echo waiting; sleep 120"}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("the task was cancelled")
	go func() {
		for t.Context().Err() == nil {
			jobs, err := s.set.BatchV1().Jobs(s.app.Namespace).List(t.Context(), metav1.ListOptions{})
			if err == nil && len(jobs.Items) > 0 && jobs.Items[0].Status.Active > 0 {
				break
			}
			time.Sleep(100 * time.Millisecond)
		}
		cancel(why)
	}()
	begun := time.Now()
	r := s.request(values)
	r.HookTimeout = 5 * time.Minute
	_, err := s.Apply(ctx, r)
	cancelled := context.Cause(ctx)
	if !errors.Is(err, why) || cancelled == nil {
		t.Errorf("Apply() = %v, want the cause", err)
	}
	t.Logf("ended %s after its start: %v", time.Since(begun).Round(time.Millisecond), err)
	if time.Since(begun) > 60*time.Second {
		t.Errorf("it took %s", time.Since(begun))
	}
	time.Sleep(3 * time.Second) // in which nothing may go on behind our back
	if got := s.replicas(); got != 1 {
		t.Errorf("the replicas are %d: the upgrade went on after its end", got)
	}
	if st, err := s.Status(t.Context(), s.app, "guestbook"); err != nil || st.State != "failed" {
		t.Errorf("the release is %s, %v; want failed, so that nothing is locked", st.State, err)
	}
	values["hook"] = map[string]any{"enabled": false}
	res := s.apply(s.request(values))
	if len(res.Notes) > 0 || s.replicas() != 4 {
		t.Errorf("the next upgrade: %+v, %d replicas", res, s.replicas())
	}
}

func TestRealStraysOfAFailedRevisionAreRemoved(t *testing.T) {
	t.Parallel()
	s := realCluster(t)
	ctx := t.Context()
	chart := func(files ...string) *Chart {
		dir := t.TempDir()
		write(t, dir, "Chart.yaml", "apiVersion: v2\nname: strays\nversion: 0.1.0\n")
		for i, text := range files {
			write(t, dir, fmt.Sprintf("templates/%d.yaml", i), text)
		}
		ch, err := s.LoadDir(dir, "")
		if err != nil {
			t.Fatal(err)
		}
		return ch
	}
	object := func(name string) string { return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\n" }
	const wrong = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: wrong\nspec:\n  replicas: 1\n  selector: {matchLabels: {app: a}}\n  template: {metadata: {labels: {app: hunter2}}, spec: {containers: [{name: c, image: x}]}}\n"
	kept := object("keeps") + "  annotations: {helm.sh/resource-policy: keep}\n"
	do := func(ch *Chart) (Result, error) {
		return s.Apply(ctx, ApplyRequest{Chart: ch, Release: "guestbook", Patch: Patch{App: s.app}, Redact: redact})
	}
	if _, err := do(chart(object("a"))); err != nil {
		t.Fatal(err)
	}
	_, err := do(chart(object("a"), object("stray"), kept, wrong))
	t.Logf("the failed revision: %v", err)
	if !slipway.Is(err, slipway.Invalid) || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "wrong") {
		t.Errorf("Apply() = %v, want what is wrong, redacted", err)
	}
	there := func(name string) bool {
		_, err := s.set.CoreV1().ConfigMaps(s.app.Namespace).Get(ctx, name, metav1.GetOptions{})
		return err == nil
	}
	if !there("stray") || !there("keeps") {
		t.Fatal("the failed revision made nothing; the test shows nothing")
	}
	res, err := do(chart(object("a"), object("b")))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(res.Notes, []string{"Deleted ConfigMap stray, left by a failed revision of the release guestbook"}); diff != "" {
		t.Errorf("the notes (-got +want):\n%s", diff)
	}
	if there("stray") || !there("a") || !there("b") || !there("keeps") {
		t.Errorf("stray %v, a %v, b %v, keeps %v", there("stray"), there("a"), there("b"), there("keeps"))
	}
	// The same at the end of a release's life.
	if _, err := do(chart(object("c"), wrong)); err == nil {
		t.Fatal("it did not fail")
	}
	if _, err := s.Uninstall(ctx, UninstallRequest{App: s.app, Release: "guestbook", Redact: redact}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b", "c"} {
		if there(name) {
			t.Errorf("%s is left", name)
		}
	}
}

func TestRealApplyRefusesWhatIsAnothers(t *testing.T) {
	t.Parallel()
	s := realCluster(t)
	ctx := t.Context()
	cm := kubeConfigMap("guestbook-config")
	if _, err := s.set.CoreV1().ConfigMaps(s.app.Namespace).Create(ctx, cm, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	_, err := s.Apply(ctx, s.request(small()))
	t.Log(err)
	if !slipway.Is(err, slipway.Conflict) || !strings.Contains(err.Error(), "guestbook-config") {
		t.Errorf("Apply() = %v, want the foreign object named", err)
	}
	got, err := s.set.CoreV1().ConfigMaps(s.app.Namespace).Get(ctx, "guestbook-config", metav1.GetOptions{})
	if err != nil || got.Data["theirs"] != "yes" {
		t.Errorf("the foreign object is %v, %v", got.Data, err)
	}
}

func TestRealChartWithItsOwnKinds(t *testing.T) {
	t.Parallel()
	s := realCluster(t)
	kind := "Thing" + strings.ToUpper(rand.Text()[:1]) + strings.ToLower(rand.Text()[:6])
	plural := strings.ToLower(kind) + "s"
	dir := t.TempDir()
	write(t, dir, "Chart.yaml", "apiVersion: v2\nname: kinds\nversion: 0.1.0\n")
	write(t, dir, "crds/thing.yaml", fmt.Sprintf(`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[2]s.test.slipway.dev}
spec:
  group: test.slipway.dev
  scope: Namespaced
  names: {kind: %[1]s, plural: %[2]s, singular: %[3]s, listKind: %[1]sList}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`, kind, plural, strings.ToLower(kind)))
	write(t, dir, "templates/thing.yaml", "apiVersion: test.slipway.dev/v1\nkind: "+kind+"\nmetadata: {name: one}\nspec: {size: 3}\n")
	ch, err := s.LoadDir(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.set.CoreV1().RESTClient().Delete().AbsPath("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/" + plural + ".test.slipway.dev").Do(context.Background()).Error()
	})
	for range 2 {
		res, err := s.Apply(t.Context(), ApplyRequest{Chart: ch, Release: "guestbook", Patch: Patch{App: s.app}, Redact: redact})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.kube.Ready(t.Context(), s.app, res.Objects, kube.ReadyOptions{Timeout: 20 * time.Second}); err != nil {
			t.Error(err)
		}
	}
}

func TestRealHistoryIsBounded(t *testing.T) {
	t.Parallel()
	s := realCluster(t)
	for range maxHistory + 3 {
		s.apply(s.request(small()))
	}
	past, err := history(s.configuration(t.Context(), s.app.Namespace), "guestbook")
	if err != nil || len(past) != maxHistory {
		t.Errorf("%d revisions are kept, want %d; %v", len(past), maxHistory, err)
	}
}

func kubeConfigMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"theirs": "yes"}}
}
