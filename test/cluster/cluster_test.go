package cluster_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"slipway.dev/slipway/test/cluster/node"
)

// World: cluster.
func TestFailingJobTellsWhy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	log, end := w.runJob("fails", corev1.Container{
		Image: node.BusyboxImage, Command: []string{"sh", "-c", "echo one; echo two >&2; exit 3"},
	})
	if end != "BackoffLimitExceeded" {
		t.Errorf("the Job ended with %q, want BackoffLimitExceeded", end)
	}
	for _, line := range []string{"one\n", "two\n"} {
		if !strings.Contains(log, line) {
			t.Errorf("the Job's log lacks %q:\n%s", line, log)
		}
	}
	pods, err := w.client.CoreV1().Pods(w.namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "job-name=fails"})
	if err != nil {
		t.Fatal(err)
	}
	if code := pods.Items[0].Status.ContainerStatuses[0].State.Terminated.ExitCode; code != 3 {
		t.Errorf("the exit code is %d, want 3", code)
	}
}

// World: cluster.
func TestNamesAreAnswered(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	log, end := w.runJob("names", corev1.Container{
		Image: node.BusyboxImage, Command: []string{"nslookup", "kubernetes.default.svc.cluster.local"},
	})
	if end != "Complete" || !strings.Contains(log, "10.214.0.1") {
		t.Errorf("asking for the API server's name: %s\n%s", end, log)
	}
	log, end = w.runJob("no-names", corev1.Container{
		Image: node.BusyboxImage, Command: []string{"nslookup", "nobody.default.svc.cluster.local"},
	})
	if end == "Complete" || !strings.Contains(log, "NXDOMAIN") {
		t.Errorf("asking for a name that nobody has: %s\n%s", end, log)
	}
}

// World: cluster.
func TestImageThatWasNotLoadedIsAnErrorAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.kubectl("", "run", "missing", "--image=registry.example.com/missing:1", "--image-pull-policy=IfNotPresent", "--restart=Never")
	w.wait("the image's error", func() error {
		pod, err := w.client.CoreV1().Pods(w.namespace).Get(t.Context(), "missing", metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, status := range pod.Status.ContainerStatuses {
			if waiting := status.State.Waiting; waiting != nil && (waiting.Reason == "ErrImagePull" || waiting.Reason == "ImagePullBackOff") {
				return nil
			}
		}
		return fmt.Errorf("the pod is %+v", pod.Status.ContainerStatuses)
	})
}

// World: cluster. It shows the scheduling and the refusal of runtime classes, and
// nothing of a sandbox: the handler slipway-actions maps to plain runc here.
func TestRuntimeClasses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, handler := range []string{"slipway-actions", "nobody-has-this"} {
		name := w.namespace + "-" + handler
		_, err := w.client.NodeV1().RuntimeClasses().Create(t.Context(), &nodev1.RuntimeClass{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Handler: handler,
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			// The test's context has ended by now.
			if _, err := w.kubectlCommand("", "delete", "runtimeclass", name); err != nil {
				t.Errorf("removing the runtime class: %v", err)
			}
		})
		_, err = w.client.CoreV1().Pods(w.namespace).Create(t.Context(), &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: handler},
			Spec: corev1.PodSpec{
				RuntimeClassName: &name, RestartPolicy: corev1.RestartPolicyNever,
				Containers: []corev1.Container{{Name: "main", Image: node.BusyboxImage, ImagePullPolicy: corev1.PullNever, Command: []string{"true"}}},
			},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	w.wait("the end of the pod whose handler is there", func() error {
		pod, err := w.client.CoreV1().Pods(w.namespace).Get(t.Context(), "slipway-actions", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if pod.Status.Phase != corev1.PodSucceeded {
			return fmt.Errorf("it is %s", pod.Status.Phase)
		}
		return nil
	})
	w.wait("the refusal of the other", func() error {
		events, err := w.client.CoreV1().Events(w.namespace).List(t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=nobody-has-this"})
		if err != nil {
			return err
		}
		for _, event := range events.Items {
			if event.Reason == "FailedCreatePodSandBox" && strings.Contains(event.Message, "nobody-has-this") {
				return nil
			}
		}
		return errors.New("no event tells of it")
	})
}

// World: cluster.
func TestHostPathOutlivesItsPod(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	folder := t.TempDir()
	for i, command := range []string{"echo kept > /host/file", "cat /host/file"} {
		log := w.runHostPathPod(fmt.Sprintf("pod-%d", i), folder, command)
		if i == 1 && strings.TrimSpace(log) != "kept" {
			t.Errorf("the second pod read %q, want what the first wrote", log)
		}
	}
}

func (w *world) runHostPathPod(name, folder, command string) string {
	w.t.Helper()
	root := int64(0)
	pods := w.client.CoreV1().Pods(w.namespace)
	_, err := pods.Create(w.t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever,
			Containers: []corev1.Container{{
				Name: "main", Image: node.BusyboxImage, ImagePullPolicy: corev1.PullNever, Command: []string{"sh", "-c", command},
				SecurityContext: &corev1.SecurityContext{RunAsUser: &root},
				VolumeMounts:    []corev1.VolumeMount{{Name: "host", MountPath: "/host"}},
			}},
			Volumes: []corev1.Volume{{Name: "host", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: folder}}}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	w.wait("the end of pod "+name, func() error {
		pod, err := pods.Get(w.t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if pod.Status.Phase != corev1.PodSucceeded {
			return fmt.Errorf("it is %s: %s", pod.Status.Phase, pod.Status.Message)
		}
		return nil
	})
	log := w.kubectl("", "logs", name)
	w.kubectl("", "delete", "pod", name, "--wait=true")
	if _, err := pods.Get(w.t.Context(), name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		w.t.Errorf("pod %s after its removal: %v", name, err)
	}
	return log
}
