package kube

// World: fake API server (controller-runtime's); the test plays the controllers.

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"slipway.dev/slipway/internal/slipway"
)

func object(kind, name string) Object {
	o := Object{Version: "v1", Kind: kind, Namespace: guestbook.Namespace, Name: name, Component: name}
	switch kind {
	case "Deployment", "StatefulSet", "DaemonSet":
		o.Group = "apps"
	case "Job":
		o.Group = "batch"
	}
	return o
}

func rolledOut(d *appsv1.Deployment) *appsv1.Deployment {
	n := *d.Spec.Replicas
	d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: n, UpdatedReplicas: n, ReadyReplicas: n, AvailableReplicas: n,
		Conditions: []appsv1.DeploymentCondition{{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue},
			{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable"}}}
	return d
}

func TestReadyWaitsForTheNewestGeneration(t *testing.T) {
	t.Parallel()
	d := rolledOut(deployment("web", 2))
	d.Generation = 2 // its status is of generation 1
	d.Status.ObservedGeneration = 1
	w := newWorld(t, interceptor.Funcs{}, d)
	var mu sync.Mutex
	var said []string
	go func() {
		time.Sleep(150 * time.Millisecond)
		var now appsv1.Deployment
		if err := w.api.Get(t.Context(), client.ObjectKeyFromObject(d), &now); err != nil {
			t.Error(err)
			return
		}
		now.Status.ObservedGeneration = 2
		if err := w.api.Status().Update(t.Context(), &now); err != nil {
			t.Error(err)
		}
	}()
	begun := time.Now()
	err := w.Ready(soon(t), guestbook, []Object{object("ConfigMap", "not-read"), object("Deployment", "web")}, ReadyOptions{
		Timeout: 5 * time.Second, Progress: func(s string) { mu.Lock(); said = append(said, s); mu.Unlock() }})
	if err != nil || time.Since(begun) < 140*time.Millisecond {
		t.Errorf("Ready() = %v after %s", err, time.Since(begun))
	}
	if len(said) != 1 || !strings.HasPrefix(said[0], "Deployment web: deployment generation is 2, but latest observed generation is 1") {
		t.Errorf("it said %q", said)
	}
}

// stuckPod is a pod of the Deployment web whose container waits.
func stuckPod(name string, state corev1.ContainerState, restarts int32) *corev1.Pod {
	p := podOf(name, "web", corev1.PodPending)
	p.Spec.Containers = []corev1.Container{{Name: "web", Image: "does/not:exist"}}
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "web", State: state, RestartCount: restarts}}
	return p
}

func TestReadyFails(t *testing.T) {
	t.Parallel()
	unready := func() *appsv1.Deployment {
		d := deployment("web", 1)
		d.Status = appsv1.DeploymentStatus{Replicas: 1, UpdatedReplicas: 1, UnavailableReplicas: 1, Conditions: []appsv1.DeploymentCondition{{
			Type: appsv1.DeploymentAvailable, Status: corev1.ConditionFalse, Reason: "MinimumReplicasUnavailable", Message: "Deployment does not have minimum availability."}}}
		return d
	}
	crashed := stuckPod("web-1", waiting("CrashLoopBackOff", "back-off 40s"), 5)
	crashed.Status.ContainerStatuses[0].LastTerminationState = exited(2, "Error")
	unschedulable := podOf("web-1", "web", corev1.PodPending)
	unschedulable.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/1 nodes are available: 1 Insufficient cpu."}}
	quota := unready()
	quota.Status.Conditions = append(quota.Status.Conditions, appsv1.DeploymentCondition{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Reason: "FailedCreate", Message: "exceeded quota"})
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: guestbook.Namespace, Name: "init"}, Status: batchv1.JobStatus{Failed: 1,
		Conditions: []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionTrue, Reason: "BackoffLimitExceeded", Message: "Job has reached the specified backoff limit"}}}}
	for _, tc := range []struct {
		name    string
		objects []client.Object
		wait    Object
		opts    ReadyOptions
		early   bool // long before its time-out
		want    []string
	}{
		{"an image that cannot be had, once it has lasted", []client.Object{unready(), stuckPod("web-1", waiting("ImagePullBackOff", "Back-off pulling image"), 0)},
			object("Deployment", "web"), ReadyOptions{Timeout: time.Minute, ImageAfter: 50 * time.Millisecond}, true,
			[]string{"Deployment web is not ready after 0s: pod web-1: container web cannot start: ImagePullBackOff: Back-off pulling image (image does/not:exist)", "last event: Failed: no such image"}},
		{"a crash loop after its chances", []client.Object{unready(), crashed},
			object("Deployment", "web"), ReadyOptions{Timeout: time.Minute}, true,
			[]string{"container web crashed 5 times: CrashLoopBackOff (ended with exit code 2)"}},
		{"a quota that admits no pod", []client.Object{quota},
			object("Deployment", "web"), ReadyOptions{Timeout: time.Minute, ImageAfter: 50 * time.Millisecond}, true,
			[]string{"no pod can be made: FailedCreate: exceeded quota"}},
		{"no node, only when the time is up: one may come", []client.Object{unready(), unschedulable},
			object("Deployment", "web"), ReadyOptions{Timeout: 200 * time.Millisecond, ImageAfter: time.Millisecond}, false,
			[]string{"available: 0/1 (condition Available=False, MinimumReplicasUnavailable: Deployment does not have minimum availability)", "pod web-1: Unschedulable: 0/1 nodes are available: 1 Insufficient cpu."}},
		{"a crash loop with chances left, when the time is up", []client.Object{unready(), stuckPod("web-1", waiting("CrashLoopBackOff", ""), 2)},
			object("Deployment", "web"), ReadyOptions{Timeout: 200 * time.Millisecond}, false, []string{"crashed 2 times"}},
		{"a component's own time-out", []client.Object{unready()},
			object("Deployment", "web"), ReadyOptions{Timeout: time.Minute, Components: map[string]time.Duration{"web": 100 * time.Millisecond}}, false, []string{"Deployment web is not ready after"}},
		{"a Job of the chart that has failed", []client.Object{job},
			object("Job", "init"), ReadyOptions{Timeout: time.Minute}, true, []string{"Job init is not ready after 0s: job Failed. failed: 1/1", "BackoffLimitExceeded"}},
		{"what is not there", nil, object("Deployment", "gone"), ReadyOptions{Timeout: 100 * time.Millisecond}, false, []string{"Deployment gone is not ready after 0s: it does not exist"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var objects []client.Object
			for _, o := range tc.objects {
				o := o.DeepCopyObject().(client.Object)
				objects = append(objects, o)
			}
			w := newWorld(t, interceptor.Funcs{}, objects...)
			for _, o := range objects {
				if _, ok := o.(*corev1.Pod); ok {
					w.event(t.Context(), t, o, "Failed", "no such image")
				}
			}
			begun := time.Now()
			err := w.Ready(soon(t), guestbook, []Object{tc.wait}, tc.opts)
			if !slipway.Is(err, slipway.Unavailable) {
				t.Fatalf("Ready() = %v", err)
			}
			for _, part := range tc.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("the error is: %v\nand lacks: %s", err, part)
				}
			}
			if early := time.Since(begun) < 10*time.Second; !early || !tc.early && time.Since(begun) < 90*time.Millisecond {
				t.Errorf("it took %s", time.Since(begun))
			}
		})
	}
}

func TestReadyRedacts(t *testing.T) {
	t.Parallel()
	d := deployment("web", 1)
	w := newWorld(t, interceptor.Funcs{}, d, stuckPod("web-1", waiting("CreateContainerError", "env hunter2 is odd"), 0))
	err := w.Ready(soon(t), guestbook, []Object{object("Deployment", "web")}, ReadyOptions{Timeout: time.Minute, ImageAfter: time.Millisecond, Redact: redact})
	if err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "env <redacted> is odd") {
		t.Errorf("Ready() = %v", err)
	}
}

func TestReadyForgetsAFaultThatHeals(t *testing.T) {
	t.Parallel()
	d := deployment("web", 1)
	p := stuckPod("web-1", waiting("CreateContainerConfigError", `secret "db" not found`), 0)
	w := newWorld(t, interceptor.Funcs{}, d, p)
	p.ResourceVersion = ""
	go func() { // the secret appears, and the pod runs
		time.Sleep(100 * time.Millisecond)
		var now appsv1.Deployment
		if err := w.api.Get(context.Background(), client.ObjectKeyFromObject(d), &now); err != nil {
			t.Error(err)
			return
		}
		if err := w.api.Status().Update(context.Background(), rolledOut(&now)); err != nil {
			t.Error(err)
		}
		p.Status.ContainerStatuses[0].State = running()
		if err := w.api.Status().Update(context.Background(), p); err != nil {
			t.Error(err)
		}
	}()
	if err := w.Ready(soon(t), guestbook, []Object{object("Deployment", "web")}, ReadyOptions{Timeout: 5 * time.Second, ImageAfter: 3 * time.Second}); err != nil {
		t.Error(err)
	}
}

func TestReadyCountsTheTurnsOfOneFaultTogether(t *testing.T) {
	t.Parallel()
	p := stuckPod("web-1", waiting("ErrImagePull", "no"), 0)
	w := newWorld(t, interceptor.Funcs{}, deployment("web", 1), p)
	ctx, cancel := context.WithCancel(t.Context())
	var turns sync.WaitGroup
	defer turns.Wait()
	defer cancel()
	turns.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			reason := []string{"ImagePullBackOff", "ErrImagePull"}[i%2]
			var now corev1.Pod
			if w.api.Get(ctx, client.ObjectKeyFromObject(p), &now) == nil {
				now.Status.ContainerStatuses[0].State = waiting(reason, "no")
				_ = w.api.Status().Update(ctx, &now) // the next turn comes soon
			}
			time.Sleep(130 * time.Millisecond)
		}
	})
	err := w.Ready(soon(t), guestbook, []Object{object("Deployment", "web")}, ReadyOptions{Timeout: 30 * time.Second, ImageAfter: 500 * time.Millisecond})
	if err == nil || !strings.Contains(err.Error(), "cannot start: ImagePullBackOff") || strings.Contains(err.Error(), "after 30s") {
		t.Errorf("Ready() = %v", err)
	}
}

func TestReadyLooksAtTheNewestRevisionsPods(t *testing.T) {
	t.Parallel()
	d := deployment("web", 1)
	d.UID = "uid-web"
	d.Annotations = map[string]string{"deployment.kubernetes.io/revision": "2"}
	set := func(name, revision string) *appsv1.ReplicaSet {
		s := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: guestbook.Namespace, Name: name,
			Labels: map[string]string{"app": "web", "pod-template-hash": name}, Annotations: map[string]string{"deployment.kubernetes.io/revision": revision},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", UID: "uid-web", Controller: new(true)}}}}
		return s
	}
	old := stuckPod("old-1", waiting("ImagePullBackOff", ""), 0)
	old.Labels["pod-template-hash"] = "old"
	fresh := podOf("new-1", "web", corev1.PodRunning)
	fresh.Labels["pod-template-hash"] = "new"
	fresh.Spec.Containers = []corev1.Container{{Name: "web"}}
	fresh.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "web", State: running()}}
	w := newWorld(t, interceptor.Funcs{}, d, set("old", "1"), set("new", "2"), old, fresh)
	err := w.Ready(soon(t), guestbook, []Object{object("Deployment", "web")}, ReadyOptions{Timeout: 300 * time.Millisecond, ImageAfter: time.Millisecond})
	if err == nil || strings.Contains(err.Error(), "old-1") || !strings.Contains(err.Error(), "pod new-1: container web: runs and is not ready") {
		t.Errorf("Ready() = %v, want the new pod named and the old one not", err)
	}
}

func TestReadyHearsOfItsContext(t *testing.T) {
	t.Parallel()
	w := newWorld(t, interceptor.Funcs{}, deployment("web", 1))
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	begun := time.Now()
	if err := w.Ready(ctx, guestbook, []Object{object("Deployment", "web")}, ReadyOptions{}); err == nil || time.Since(begun) > 3*time.Second {
		t.Errorf("Ready() = %v after %s", err, time.Since(begun))
	}
}

func TestHasStatus(t *testing.T) {
	t.Parallel()
	var read []string
	for _, o := range []Object{
		{Kind: "ConfigMap"}, {Kind: "Deployment", Group: "apps"}, {Kind: "Role", Group: "rbac.authorization.k8s.io"}, {Kind: "Secret"},
		{Kind: "Role", Group: "example.com"}, {Kind: "Service"}, {Kind: "PersistentVolumeClaim"}, {Kind: "CustomResourceDefinition", Group: "apiextensions.k8s.io"},
	} {
		if hasStatus(o) {
			read = append(read, o.Group+"/"+o.Kind)
		}
	}
	if want := []string{"apps/Deployment", "example.com/Role", "/Service", "apiextensions.k8s.io/CustomResourceDefinition"}; !slices.Equal(read, want) {
		t.Errorf("kinds with a status: %v, want %v", read, want)
	}
}

func TestReadyOfWhatHasNoProbe(t *testing.T) {
	t.Parallel()
	d := rolledOut(deployment("web", 1))
	p := podOf("web-1", "web", corev1.PodRunning)
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "web", State: running(), Ready: true}}
	w := newWorld(t, interceptor.Funcs{}, d, p)
	w.steadyFor = 300 * time.Millisecond
	go func() { // it ends and is started again while it is watched
		time.Sleep(200 * time.Millisecond)
		var now corev1.Pod
		if err := w.api.Get(context.Background(), client.ObjectKeyFromObject(p), &now); err != nil {
			t.Error(err)
			return
		}
		now.Status.ContainerStatuses[0].RestartCount = 1
		if err := w.api.Status().Update(context.Background(), &now); err != nil {
			t.Error(err)
		}
	}()
	begun := time.Now()
	err := w.Ready(soon(t), guestbook, []Object{object("Deployment", "web")}, ReadyOptions{Timeout: 5 * time.Second})
	if spent := time.Since(begun); err != nil || spent < 490*time.Millisecond {
		t.Errorf("Ready() = %v after %s, want it to watch for 300ms after the restart", err, spent)
	}
}

func TestReadyOfWhatIsCurrentAndDoesNotRun(t *testing.T) {
	t.Parallel()
	ended := podOf("web-1", "web", corev1.PodRunning)
	ended.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "web", State: exited(2, "Error")}}
	long := podOf("web-2", "web", corev1.PodRunning)
	long.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "web", Ready: true, State: corev1.ContainerState{
		Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(time.Now().Add(-time.Hour))}}}}
	for _, tc := range []struct {
		name  string
		pods  []client.Object
		ready bool
	}{
		{"its container has just ended", []client.Object{ended, long}, false},
		{"it has run for an hour", []client.Object{long, podOf("web-3", "web", corev1.PodFailed)}, true},
		{"it is stopped", nil, true},
	} {
		objects := []client.Object{rolledOut(deployment("web", 1))}
		for _, p := range tc.pods {
			objects = append(objects, p.DeepCopyObject().(client.Object))
		}
		w := newWorld(t, interceptor.Funcs{}, objects...)
		w.steadyFor = time.Minute
		err := w.Ready(soon(t), guestbook, []Object{object("Deployment", "web")}, ReadyOptions{Timeout: 200 * time.Millisecond})
		if (err == nil) != tc.ready {
			t.Errorf("%s: Ready() = %v, want ready %v", tc.name, err, tc.ready)
		}
	}
}

func TestDiagnose(t *testing.T) {
	t.Parallel()
	crashed := stuckPod("web-1", waiting("CrashLoopBackOff", "back-off 40s"), 5)
	crashed.Labels[LabelApplication] = "guestbook"
	crashed.Status.ContainerStatuses[0].LastTerminationState = exited(2, "Error")
	fine := podOf("web-2", "web", corev1.PodRunning)
	fine.Labels[LabelApplication] = "guestbook"
	other := stuckPod("other-1", waiting("CrashLoopBackOff", ""), 5)
	w := newWorld(t, interceptor.Funcs{}, crashed, fine, other)
	w.event(t.Context(), t, crashed, "BackOff", "Back-off restarting failed container")
	w.prints("web-1", "connecting with hunter2\npanic: no database\n")
	got, cut, err := w.Diagnose(t.Context(), guestbook, redact)
	want := `pod web-1: container web crashed 5 times: CrashLoopBackOff (ended with exit code 2)
  last event: BackOff: Back-off restarting failed container
  the end of the log of container web:
    connecting with <redacted>
    panic: no database
`
	if got != want || cut || err != nil {
		t.Errorf("Diagnose() = %v, cut %v:\n%s\nwant:\n%s", err, cut, got, want)
	}
	if _, _, err := w.Diagnose(t.Context(), guestbook, nil); err == nil {
		t.Error("it read pods without a redactor")
	}
	w = newWorld(t, interceptor.Funcs{}, deployment("web", 1), func() *corev1.Pod { p := crashed.DeepCopy(); p.ResourceVersion = ""; return p }())
	w.prints("web-1", strings.Repeat("x", 198)+"hunter2\n")
	err = w.Ready(soon(t), guestbook, []Object{object("Deployment", "web")}, ReadyOptions{Redact: redact})
	if err == nil || !strings.Contains(err.Error(), "it wrote: "+strings.Repeat("x", 198)+"<…") || strings.Contains(err.Error(), "hunt") {
		t.Errorf("Ready() = %v, want the last line, redacted before it is cut", err)
	}
}
