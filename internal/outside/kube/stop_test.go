package kube

// World: fake API server (controller-runtime's); the test plays the controllers.

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"slipway.dev/slipway/internal/slipway"
)

func TestStopAndStartPatches(t *testing.T) {
	t.Parallel()
	three := 3
	none := 0
	for _, tc := range []struct {
		name        string
		w           Workload
		replicas    *int
		stop, start map[string]any
	}{
		{
			name: "a Deployment that runs is stopped, and its replicas are remembered",
			w:    Workload{Kind: KindDeployment, Replicas: 2},
			stop: map[string]any{"metadata": map[string]any{"annotations": map[string]any{AnnotationReplicas: "2"}}, "spec": map[string]any{"replicas": 0}},
		},
		{
			name:  "a stopped one has what it had before",
			w:     Workload{Kind: KindDeployment, Stopped: true, Remember: "2"},
			start: map[string]any{"metadata": map[string]any{"annotations": map[string]any{AnnotationReplicas: nil}}, "spec": map[string]any{"replicas": 2}},
		},
		{
			name: "the current configuration goes before what is remembered",
			w:    Workload{Kind: KindStatefulSet, Stopped: true, Remember: "2"}, replicas: &three,
			start: map[string]any{"metadata": map[string]any{"annotations": map[string]any{AnnotationReplicas: nil}}, "spec": map[string]any{"replicas": 3}},
		},
		{
			name: "and if it says none, none it is",
			w:    Workload{Kind: KindStatefulSet, Stopped: true, Remember: "2"}, replicas: &none,
			start: map[string]any{"metadata": map[string]any{"annotations": map[string]any{AnnotationReplicas: nil}}, "spec": map[string]any{"replicas": 0}},
		},
		{
			name:  "none if it had none",
			w:     Workload{Kind: KindDeployment, Stopped: true, Remember: "0"},
			start: map[string]any{"metadata": map[string]any{"annotations": map[string]any{AnnotationReplicas: nil}}, "spec": map[string]any{"replicas": 0}},
		},
		{
			name:  "one when nothing is known",
			w:     Workload{Kind: KindDeployment, Stopped: true, Remember: "many"},
			start: map[string]any{"metadata": map[string]any{"annotations": map[string]any{AnnotationReplicas: nil}}, "spec": map[string]any{"replicas": 1}},
		},
		{name: "a CronJob that runs", w: Workload{Kind: KindCronJob}, stop: map[string]any{"spec": map[string]any{"suspend": true}}},
		{name: "a suspended CronJob", w: Workload{Kind: KindCronJob, Stopped: true}, start: map[string]any{"spec": map[string]any{"suspend": false}}},
		{name: "a DaemonSet that runs", w: Workload{Kind: KindDaemonSet}, stop: nodeSelectorPatch("true")},
		{name: "a stopped DaemonSet", w: Workload{Kind: KindDaemonSet, Stopped: true}, start: nodeSelectorPatch(nil)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(stopPatch(tc.w), tc.stop); diff != "" {
				t.Errorf("stopPatch (-got +want):\n%s", diff)
			}
			if diff := cmp.Diff(startPatch(tc.w, tc.replicas), tc.start); diff != "" {
				t.Errorf("startPatch (-got +want):\n%s", diff)
			}
		})
	}
}

func metaOf(name string) metav1.ObjectMeta {
	labels := ApplicationLabels(guestbook)
	labels["app"] = name
	return metav1.ObjectMeta{Namespace: guestbook.Namespace, Name: name, Labels: labels}
}

func template(name string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": name}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: name, Image: "gb:1"}}}}
}

func deployment(name string, replicas int32) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metaOf(name), Spec: appsv1.DeploymentSpec{Replicas: &replicas,
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}, Template: template(name)}}
}

func podOf(name, app string, phase corev1.PodPhase) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: guestbook.Namespace, Name: name, Labels: map[string]string{"app": app}},
		Status: corev1.PodStatus{Phase: phase}}
}

func TestWorkloadsAreTheApplicationsOwn(t *testing.T) {
	t.Parallel()
	other := deployment("b-other", 1)
	other.Labels[LabelApplication] = "other"
	other.Labels["tier"] = "back"
	web := deployment("web", 2)
	web.Labels["tier"] = "back"
	set := &appsv1.StatefulSet{ObjectMeta: metaOf("store"), Spec: appsv1.StatefulSetSpec{Template: template("store")}}
	set.Spec.Template.Labels["tier"] = "back" // only its pods have the label
	cron := &batchv1.CronJob{ObjectMeta: metaOf("nightly"), Spec: batchv1.CronJobSpec{Suspend: new(true)}}
	daemon := &appsv1.DaemonSet{ObjectMeta: metaOf("agent"), Spec: appsv1.DaemonSetSpec{Template: template("agent")}}
	w := newWorld(t, interceptor.Funcs{}, other, web, set, cron, daemon)
	for _, tc := range []struct {
		name     string
		selector map[string]string
		want     string
	}{
		{"all, by kind and name", nil, "CronJob nightly, DaemonSet agent, Deployment web, StatefulSet store"},
		{"by their own labels or their pods'", map[string]string{"tier": "back"}, "Deployment web, StatefulSet store"},
		{"none", map[string]string{"tier": "front"}, ""},
	} {
		ws, err := w.Workloads(t.Context(), guestbook, tc.selector)
		if err != nil {
			t.Fatal(err)
		}
		names := make([]string, len(ws))
		for i, w := range ws {
			names[i] = w.String()
		}
		if got := strings.Join(names, ", "); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
}

func TestStopWaitsForTheLastPod(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	leaving := podOf("web-1", "web", corev1.PodRunning)
	leaving.DeletionTimestamp, leaving.Finalizers = new(metav1.Now()), []string{"test/stays"}
	w := newWorld(t, interceptor.Funcs{}, deployment("web", 2), leaving, podOf("web-evicted", "web", corev1.PodFailed), podOf("api-1", "api", corev1.PodRunning))
	ws, err := w.Workloads(ctx, guestbook, map[string]string{"app": "web"})
	if err != nil || len(ws) != 1 {
		t.Fatal(ws, err)
	}
	err = w.Stop(ctx, ws, 200*time.Millisecond)
	if want := "Deployment web did not stop within 200ms: pod web-1 is terminating"; err == nil || err.Error() != want {
		t.Errorf("Stop() = %v, want %s", err, want)
	}
	if got := replicas(t, w, "web"); got != "0, remembered 2" {
		t.Errorf("the Deployment has %s", got)
	}
	// The pod goes while the second stop waits.
	go func() {
		time.Sleep(100 * time.Millisecond)
		var p corev1.Pod
		if err := w.api.Get(ctx, client.ObjectKeyFromObject(leaving), &p); err != nil {
			t.Error(err)
			return
		}
		p.Finalizers = nil
		if err := w.api.Update(ctx, &p); err != nil {
			t.Error(err)
		}
	}()
	begun := time.Now()
	if err := w.Stop(ctx, ws, 5*time.Second); err != nil {
		t.Error(err)
	}
	if spent := time.Since(begun); spent < 90*time.Millisecond {
		t.Errorf("Stop ended after %s, with a pod there", spent)
	}
	if got := replicas(t, w, "web"); got != "0, remembered 2" {
		t.Errorf("after a second stop the Deployment has %s", got)
	}
}

func replicas(t *testing.T, w *world, name string) string {
	t.Helper()
	var d appsv1.Deployment
	if err := w.api.Get(t.Context(), client.ObjectKey{Namespace: guestbook.Namespace, Name: name}, &d); err != nil {
		t.Fatal(err)
	}
	got := ofDeployment(&d)
	return decimal(int64(got.Replicas)) + ", remembered " + got.Remember
}

func TestStopIsNotDoneWhileAControllerCouldMakeAPod(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*appsv1.Deployment, *appsv1.ReplicaSet){
		"the Deployment's controller has not seen it": func(d *appsv1.Deployment, _ *appsv1.ReplicaSet) { d.Generation = 2 },
		"the Deployment still counts a replica":       func(d *appsv1.Deployment, _ *appsv1.ReplicaSet) { d.Status.Replicas = 1 },
		"its ReplicaSet still wants a replica":        func(_ *appsv1.Deployment, s *appsv1.ReplicaSet) { s.Spec.Replicas = new(int32(1)) },
		"its ReplicaSet has not seen it":              func(_ *appsv1.Deployment, s *appsv1.ReplicaSet) { s.Generation = 2 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := deployment("web", 0)
			d.UID = "uid-web"
			s := &appsv1.ReplicaSet{ObjectMeta: metaOf("web-1"), Spec: appsv1.ReplicaSetSpec{Replicas: new(int32)}}
			s.Labels = map[string]string{"app": "web"}
			s.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", UID: "uid-web", Controller: new(true)}}
			w := newWorld(t, interceptor.Funcs{}, d, s)
			if err := w.Stop(soon(t), []Workload{ofDeployment(d)}, 100*time.Millisecond); err != nil {
				t.Fatalf("Stop() = %v while nothing is left", err)
			}
			change(d, s)
			w = newWorld(t, interceptor.Funcs{}, d, s)
			d.ResourceVersion, s.ResourceVersion = "", ""
			err := w.Stop(soon(t), []Workload{ofDeployment(d)}, 100*time.Millisecond)
			if err == nil || !strings.Contains(err.Error(), "the controller of Deployment web has not acted yet") {
				t.Errorf("Stop() = %v, want that the controller has not acted", err)
			}
		})
	}
}

func TestStopOfACronJobWaitsForItsJobs(t *testing.T) {
	t.Parallel()
	cron := &batchv1.CronJob{ObjectMeta: metaOf("nightly")}
	cron.UID = "uid-cron"
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: guestbook.Namespace, Name: "nightly-1",
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "CronJob", Name: "nightly", UID: "uid-cron", Controller: new(true)}}}}
	p := podOf("nightly-1-x", "nightly", corev1.PodRunning)
	p.Labels[labelJobName] = "nightly-1"
	w := newWorld(t, interceptor.Funcs{}, cron, job, p)
	err := w.Stop(soon(t), []Workload{ofCronJob(cron)}, 100*time.Millisecond)
	if err == nil || !strings.Contains(err.Error(), "pod nightly-1-x is running") {
		t.Errorf("Stop() = %v, want the running pod named", err)
	}
	var got batchv1.CronJob
	if err := w.api.Get(t.Context(), client.ObjectKeyFromObject(cron), &got); err != nil || !*got.Spec.Suspend {
		t.Errorf("suspended %v, %v", got.Spec.Suspend, err)
	}
}

func TestStopRepeatsAPatchThatLostARace(t *testing.T) {
	t.Parallel()
	tries := 0
	w := newWorld(t, interceptor.Funcs{Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
		raw, err := p.Data(o)
		if err != nil || !strings.Contains(string(raw), "resourceVersion") {
			t.Errorf("the patch %s does not say what it was decided on, %v", raw, err)
		}
		if tries++; tries == 1 {
			return apierrors.NewConflict(schema.GroupResource{}, o.GetName(), nil)
		}
		return c.Patch(ctx, o, p, opts...)
	}}, deployment("web", 4))
	ws, err := w.Workloads(t.Context(), guestbook, map[string]string{"app": "web"})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Stop(soon(t), ws, time.Second); err != nil || tries != 2 {
		t.Errorf("Stop() = %v after %d patches, want success after 2", err, tries)
	}
	gone := ws[0]
	gone.Name = "gone"
	if err := w.Stop(soon(t), []Workload{gone}, time.Second); !slipway.Is(err, slipway.NotFound) {
		t.Errorf("stopping what is not there: %v, want not found", err)
	}
}
