//go:build cluster

package kube

// World: real cluster.

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"slipway.dev/slipway/internal/slipway"
)

func TestRealStopAndStart(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c, app := realCluster(t)
	stubborn := shell("web", "trap '' TERM; while true; do sleep 1; done") // hears no SIGTERM: only the grace period ends it
	deploy(t, c, app, "web", 2, stubborn, 6)
	set := &appsv1.StatefulSet{ObjectMeta: metaOf("store"), Spec: appsv1.StatefulSetSpec{Replicas: new(int32(1)), Selector: selector(map[string]string{"app": "store"}), Template: template("store")}}
	set.Namespace = app.Namespace
	set.Spec.Template.Spec.Containers = []corev1.Container{{Name: "store", Image: pause0}}
	create(t, c, set)
	daemon := &appsv1.DaemonSet{ObjectMeta: metaOf("agent"), Spec: appsv1.DaemonSetSpec{Selector: selector(map[string]string{"app": "agent"}), Template: template("agent")}}
	daemon.Namespace = app.Namespace
	daemon.Spec.Template.Spec.Containers = []corev1.Container{{Name: "agent", Image: pause0}}
	create(t, c, daemon)
	cron := &batchv1.CronJob{ObjectMeta: metaOf("nightly"), Spec: batchv1.CronJobSpec{Schedule: "0 3 * * *", JobTemplate: batchv1.JobTemplateSpec{
		Spec: batchv1.JobSpec{Template: template("nightly")}}}}
	cron.Namespace = app.Namespace
	cron.Spec.JobTemplate.Spec.Template.Spec = corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{shell("nightly", "sleep 12")}}
	create(t, c, cron)
	// As the controller would make it at three o'clock.
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: "nightly-1", OwnerReferences: []metav1.OwnerReference{
		*metav1.NewControllerRef(cron, batchv1.SchemeGroupVersion.WithKind("CronJob"))}}, Spec: cron.Spec.JobTemplate.Spec}
	create(t, c, job)

	all, err := c.Workloads(ctx, app, nil)
	if err != nil || len(all) != 4 {
		t.Fatal(all, err)
	}
	objects := make([]Object, len(all))
	for i, w := range all {
		objects[i] = w.Object()
	}
	begun := time.Now()
	if err := c.Ready(ctx, app, objects, ReadyOptions{Timeout: 2 * time.Minute}); err != nil {
		t.Fatal(err)
	}
	t.Logf("ready after %s", time.Since(begun).Round(time.Millisecond))
	if n := len(podsIn(t, c, app, map[string]string{"app": "web"})); n != 2 {
		t.Errorf("%d pods of web, want 2", n)
	}

	if err := c.Stop(ctx, all, time.Second); err == nil || !strings.Contains(err.Error(), "is terminating") {
		t.Errorf("a stop that is given too little time: %v", err)
	}
	begun = time.Now()
	if err := c.Stop(ctx, all, 2*time.Minute); err != nil {
		t.Fatal(err)
	}
	t.Logf("stopped after %s more", time.Since(begun).Round(time.Millisecond))
	for _, p := range podsIn(t, c, app, nil) {
		if p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed {
			t.Errorf("pod %s is left, %s", p.Name, p.Status.Phase)
		}
	}
	all, err = c.Workloads(ctx, app, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range all {
		if !w.Stopped {
			t.Errorf("%s does not say that it is stopped", w)
		}
		if w.Name == "web" && w.Remember != "2" {
			t.Errorf("web remembers %q replicas", w.Remember)
		}
	}

	begun = time.Now()
	if err := c.Start(ctx, app, all, nil, ReadyOptions{Timeout: 2 * time.Minute}); err != nil {
		t.Fatal(err)
	}
	t.Logf("started after %s", time.Since(begun).Round(time.Millisecond))
	all, err = c.Workloads(ctx, app, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range all {
		if w.Stopped || w.Remember != "" {
			t.Errorf("after the start %s is stopped %v and remembers %q", w, w.Stopped, w.Remember)
		}
		if want := map[string]int{"web": 2, "store": 1, "agent": 1}[w.Name]; w.Kind != KindCronJob && w.Ready != want {
			t.Errorf("%s has %d ready, want %d", w, w.Ready, want)
		}
	}
}

func TestRealReadyFailsFast(t *testing.T) {
	t.Parallel()
	c, app := realCluster(t)
	image := deploy(t, c, app, "image", 1, corev1.Container{Name: "web", Image: "registry.example.com/none:1"}, 1)
	crash := deploy(t, c, app, "crash", 1, shell("web", "echo boom; exit 2"), 1)
	config := shell("web", "sleep 3600")
	config.Env = []corev1.EnvVar{EnvVar{Name: "A", SecretName: "none", SecretKey: "x"}.core()}
	secret := deploy(t, c, app, "secret", 1, config, 1)
	big := shell("web", "sleep 3600")
	big.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: *quantity("4000")}
	node := deploy(t, c, app, "node", 1, big, 1)
	probe := shell("web", "sleep 3600")
	probe.ReadinessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"/bin/false"}}}, PeriodSeconds: 1}
	never := deploy(t, c, app, "probe", 1, probe, 1)
	for _, tc := range []struct {
		w    Workload
		opts ReadyOptions
		want []string
	}{
		{image, ReadyOptions{Timeout: 5 * time.Minute, ImageAfter: 2 * time.Second}, []string{"Deployment image is not ready", "container web cannot start:", "registry.example.com/none:1", "last event: "}},
		{crash, ReadyOptions{Timeout: 5 * time.Minute, Restarts: 2}, []string{"container web crashed", "CrashLoopBackOff", "ended with exit code 2", "last event: BackOff"}},
		{secret, ReadyOptions{Timeout: 5 * time.Minute, ImageAfter: 2 * time.Second}, []string{"CreateContainerConfigError", `secret "none" not found`}},
		{node, ReadyOptions{Timeout: 3 * time.Second}, []string{"Unschedulable", "Insufficient cpu", "condition Available=False, MinimumReplicasUnavailable"}},
		{never, ReadyOptions{Timeout: 15 * time.Second}, []string{"container web: runs ", " and is not ready", "last event: Unhealthy: Readiness probe failed"}},
	} {
		begun := time.Now()
		err := c.Ready(t.Context(), app, []Object{tc.w.Object()}, tc.opts)
		t.Logf("%s: %v", time.Since(begun).Round(time.Millisecond), err)
		if !slipway.Is(err, slipway.Unavailable) {
			t.Errorf("%s: %v", tc.w, err)
			continue
		}
		for _, part := range tc.want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: the error lacks %q", tc.w, part)
			}
		}
		if time.Since(begun) > 90*time.Second {
			t.Errorf("%s: it took %s", tc.w, time.Since(begun))
		}
	}
	told, _, err := c.Diagnose(t.Context(), app, redact)
	t.Log(told)
	for _, part := range []string{"registry.example.com/none:1", "the end of the log of container web:\n    boom\n", `secret "none" not found`, "Unschedulable", "runs "} {
		if !strings.Contains(told, part) {
			t.Errorf("the diagnosis lacks %q", part)
		}
	}
	if err != nil {
		t.Error(err)
	}
}
