//go:build cluster

package kube

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/outside/forge"
	"slipway.dev/slipway/internal/outside/forge/fake"
	"slipway.dev/slipway/internal/slipway"
)

// What the test cluster has for runners: images that stand in for GitHub's and Docker's, a
// name server that is no pod, and an address for servers in a private network.
const (
	standInRunner = "registry.example.com/actions-runner:test"
	standInDocker = "registry.example.com/actions-docker:test"
	clusterNames  = "10.213.0.1"
	privateServer = "10.215.0.1"
)

// World: the test cluster with its network policies, a fake forge, and a stand-in of
// GitHub's runner. What Slipway runs in the pod is as it is; gVisor is not there.
//
// Each connection that a runner is denied is made by a pod without policies as well.
func TestARunnerDoesItsJobAndReachesOnlyWhatItMay(t *testing.T) {
	g := fake.New(nil)
	served, err := g.Serve(fake.Listen{REST: "127.0.0.1:0", Runners: privateServer + ":0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = served.Close() })
	repo := forge.Repository{Owner: "team", Name: "app"}
	g.AddRepository(repo)
	register := func(label string) string {
		c, err := g.Register(t.Context(), slipway.ForgeScope{Owner: "team"}, forge.Registration{Name: label, Labels: []string{label}})
		if err != nil {
			t.Fatal(err)
		}
		return c.Config
	}

	c, p := realRunners(t, 1, func(p *RunnerPod) {
		p.Images = RunnerImages{Runner: standInRunner, Docker: standInDocker}
		p.JIT = register("runner")
	})
	space := spaceOf(p, 1)
	space.AllowEgress, space.DNS = []string{privateServer + "/32"}, []string{clusterNames}
	if err := c.PrepareRunners(t.Context(), space); err != nil {
		t.Fatal(err)
	}

	open := p.Application.Namespace + "-open"
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: open}}
	if err := c.api.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := c.api.Delete(ctx, ns); err != nil {
			t.Error(err)
		}
	})
	web := startPod(t, c, open, "web", corev1.Container{Image: busybox, Command: []string{"httpd", "-f", "-p", "8080"}})

	denied := []string{
		"tcp " + strings.TrimPrefix(c.config.Host, "https://"), "tcp 10.214.0.1:443", // the API server, and its Service
		"tcp " + clusterNames + ":24250",    // the kubelet
		"tcp " + web.Status.PodIP + ":8080", // another application
	}
	allowed := []string{"dns kubernetes.default.svc.cluster.local", "http " + served.RunnerURL + "/"}
	script := func(refuse string) (all []string) {
		for _, d := range denied {
			all = append(all, refuse+" "+d)
		}
		for _, a := range allowed {
			all = append(all, "reach "+a)
		}
		return append(all, "write 8MiB", "env")
	}

	control := g.Start(repo, fake.JobSpec{Name: "control", Labels: []string{"control"}, Script: script("reach")})[0]
	startPod(t, c, open, "control", corev1.Container{
		Image: standInRunner, Command: []string{"/home/runner/run.sh", "--jitconfig", register("control")}, WorkingDir: "/tmp",
	})
	inPod := g.Start(repo, fake.JobSpec{Name: "runner", Labels: []string{"runner"}, Script: append(script("deny"), "deny tcp 169.254.169.254:80")})[0]
	if _, err := c.LaunchRunner(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	s := stands(t, c, p, 2*time.Minute, "the runner ends", ended)
	if s.Fault != FaultNone {
		t.Errorf("it ended with %q: %s", s.Fault, s.Seen)
	}
	for _, id := range []int64{control, inPod} {
		var j fake.JobState
		err := c.await(t.Context(), time.Minute, nil, func(ctx context.Context) (bool, error) {
			j, _ = g.State(id)
			return j.Status == string(slipway.JobCompleted), nil
		})
		if err != nil || j.Conclusion != "success" {
			t.Errorf("the job of the %s pod: %v, %+v\n%s", j.Name, err, j.Steps, j.Log)
		}
		if id == inPod && strings.Contains(j.Log, "JITCONFIG") {
			t.Errorf("a job sees the configuration of its runner:\n%s", j.Log)
		}
	}
	if left := g.Registrations(); len(left) != 0 {
		t.Errorf("registrations are left over: %+v", left)
	}
}

// startPod runs a pod that nobody looks after, and waits until it runs.
func startPod(t *testing.T, c *Client, namespace, name string, container corev1.Container) *corev1.Pod {
	t.Helper()
	container.Name, container.ImagePullPolicy = "main", corev1.PullNever
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{container},
	}}
	err := c.await(t.Context(), time.Minute, nil, func(ctx context.Context) (bool, error) {
		// A pod is refused until its namespace has the account that it would run under.
		return client.IgnoreAlreadyExists(c.api.Create(ctx, pod)) == nil, nil
	})
	if err == nil {
		err = c.await(t.Context(), time.Minute, []watched{{&corev1.PodList{}, []client.ListOption{client.InNamespace(namespace)}}}, func(ctx context.Context) (bool, error) {
			if err := c.api.Get(ctx, client.ObjectKeyFromObject(pod), pod); err != nil {
				return false, err
			}
			return pod.Status.PodIP != "" && pod.Status.Phase != corev1.PodPending, nil
		})
	}
	if err != nil {
		t.Fatal(fmt.Errorf("pod %s: %w; it is %+v", name, err, pod.Status))
	}
	return pod
}
