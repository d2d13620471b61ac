//go:build cluster

package kube

import (
	"context"
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/contract"
	"slipway.dev/slipway/internal/slipway"
)

// The images that the test cluster has. Nothing can be pulled.
const (
	busybox = "docker.io/local/busybox:1"
	pause0  = "docker.io/local/pause:1"
)

// realCluster connects to the test cluster and lends a namespace of its own to the test.
// Without the cluster the test fails: these tests are nothing without it.
func realCluster(t *testing.T) (*Client, slipway.Application) {
	t.Helper()
	file := os.Getenv("SLIPWAY_TEST_KUBECONFIG")
	if file == "" {
		dir := os.Getenv("SLIPWAY_CLUSTER_DIR")
		if dir == "" {
			dir = "/var/lib/slipway-test-cluster"
		}
		file = filepath.Join(dir, "kubeconfig")
	}
	c, err := New(Config{Kubeconfig: file, Installation: "test-" + t.Name(), Version: "test"})
	if err != nil {
		t.Fatalf("%v (these tests need the test cluster: test/cluster)", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if _, err := c.Version(ctx); err != nil {
		t.Fatalf("%v (these tests need the test cluster: test/cluster)", err)
	}
	app := guestbook
	app.Namespace = "kube-test-" + strings.ToLower(rand.Text()[:8])
	env := slipway.Environment{Project: app.Project, Name: app.Environment, Namespace: app.Namespace}
	c.installation = "kube-test"
	if err := c.EnsureNamespace(ctx, env); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := c.DeleteNamespace(ctx, env); err != nil {
			t.Error(err)
		}
	})
	if err := c.EnsureCRD(ctx, contract.CRD); err != nil {
		t.Fatal(err)
	}
	// The default service account is made by a controller; a pod before it is refused.
	for ctx.Err() == nil {
		var sa corev1.ServiceAccount
		if c.api.Get(ctx, client.ObjectKey{Namespace: app.Namespace, Name: "default"}, &sa) == nil {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	return c, app
}

// shell is a container that runs a script.
func shell(name, script string) corev1.Container {
	return corev1.Container{Name: name, Image: busybox, ImagePullPolicy: corev1.PullIfNotPresent, Command: []string{"/bin/sh", "-c", script}}
}

// deploy makes a Deployment of one container.
func deploy(t *testing.T, c *Client, app slipway.Application, name string, replicas int32, container corev1.Container, grace int64) Workload {
	t.Helper()
	d := deployment(name, replicas)
	d.Namespace = app.Namespace
	d.Spec.Template.Labels[LabelApplication] = app.Name
	d.Spec.Template.Spec = corev1.PodSpec{Containers: []corev1.Container{container}, TerminationGracePeriodSeconds: &grace}
	create(t, c, d)
	return ofDeployment(d)
}

func create(t *testing.T, c *Client, o client.Object) {
	t.Helper()
	if err := c.api.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}

// podsIn lists the pods of a namespace, terminating ones too.
func podsIn(t *testing.T, c *Client, app slipway.Application, labels map[string]string) []corev1.Pod {
	t.Helper()
	var list corev1.PodList
	if err := c.api.List(t.Context(), &list, client.InNamespace(app.Namespace), client.MatchingLabels(labels)); err != nil {
		t.Fatal(err)
	}
	return list.Items
}

func selector(labels map[string]string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: labels}
}
