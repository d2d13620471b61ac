//go:build cluster

package kube

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// World: the test cluster with its network policies. A runner listens, as a job may, and a
// pod of another namespace knocks. The control is the same knock while the policies are
// gone; when they are put back, the door is shut again.
func TestNothingComesInToARunnerOnTheCluster(t *testing.T) {
	c, p := realRunners(t, 1, nil)
	_, app := realCluster(t)
	ctx := t.Context()
	launched(t, c, p, "mkdir -p /tmp/www; trap 'exit 0' TERM; httpd -f -p 8080 -h /tmp/www & wait", nil)
	stands(t, c, p, time.Minute, "the runner runs", func(s RunnerPodState) bool { return s.Phase == RunnerRunning })
	var pod corev1.Pod
	if err := c.api.Get(ctx, client.ObjectKey{Namespace: p.Application.Namespace, Name: p.Name}, &pod); err != nil {
		t.Fatal(err)
	}
	create(t, c, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: "knocker"},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: new(int64(1)), AutomountServiceAccountToken: new(bool),
			Containers: []corev1.Container{shell("main", fmt.Sprintf(
				"while :; do if nc -w 1 %s 8080 -e /bin/true 2>/dev/null; then echo open; else echo shut; fi; sleep 0.2; done", pod.Status.PodIP))},
		},
	})
	// knocks waits for three equal answers in a row; one may have been under way.
	knocks := func(want string) {
		t.Helper()
		from := c.now()
		last := ""
		err := c.await(ctx, time.Minute, nil, func(ctx context.Context) (bool, error) {
			since := metav1.NewTime(from)
			r, err := c.logs(ctx, app.Namespace, "knocker", &corev1.PodLogOptions{SinceTime: &since})
			if err != nil {
				last = err.Error()
				return false, nil // it has not begun
			}
			defer r.Close()
			text, err := io.ReadAll(r)
			last = string(text)
			return strings.HasSuffix(last, strings.Repeat(want+"\n", 3)), err
		})
		if err != nil {
			t.Fatalf("the door is not %s: %v\n%s", want, err, last)
		}
	}
	knocks("shut")
	if err := c.api.DeleteAllOf(ctx, &networkingv1.NetworkPolicy{}, client.InNamespace(p.Application.Namespace)); err != nil {
		t.Fatal(err)
	}
	knocks("open")
	if err := c.PrepareRunners(ctx, spaceOf(p, 1)); err != nil {
		t.Fatal(err)
	}
	knocks("shut")
}
