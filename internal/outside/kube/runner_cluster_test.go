//go:build cluster

package kube

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/slipway"
)

// The tests of this file stand on the real test cluster. Its runtime handler
// slipway-actions is plain runc: they show that the pod is placed, refused, started,
// bounded and ended, and nothing of gVisor. The runner and the Docker daemon are scripts on
// busybox; what Slipway itself runs in the pod, its scripts, mounts and probes, is real.

// realRunners lends a namespace for runners on a node that is prepared for them.
func realRunners(t *testing.T, slots int, change func(*RunnerPod)) (*Client, RunnerPod) {
	t.Helper()
	c, _ := realCluster(t)
	c.resync = 200 * time.Millisecond
	ctx := t.Context()
	var rc nodev1.RuntimeClass
	if err := c.api.Get(ctx, client.ObjectKey{Name: slipway.RunnerRuntimeClass}, &rc); apierrors.IsNotFound(err) {
		if err := client.IgnoreAlreadyExists(c.api.Create(ctx, runtimeClass())); err != nil {
			t.Fatal(err)
		}
	} else if err != nil {
		t.Fatal(err)
	}
	var nodes corev1.NodeList
	if err := c.api.List(ctx, &nodes); err != nil || len(nodes.Items) == 0 {
		t.Fatal(len(nodes.Items), err)
	}
	n := &nodes.Items[0]
	if n.Labels[RunnerNodeLabel] != runnerNodeReady {
		before := n.DeepCopy()
		n.Labels[RunnerNodeLabel] = runnerNodeReady
		if err := c.api.Patch(ctx, n, client.MergeFrom(before)); err != nil {
			t.Fatal(err)
		}
	}
	tag := strings.ToLower(rand.Text()[:8])
	p := runnerPod(func(p *RunnerPod) {
		p.Application.Namespace = "kube-test-runners-" + tag
		p.Name = "slw-3-" + tag
		p.Images = RunnerImages{Runner: busybox, Docker: busybox}
		p.Spec.Architecture = slipway.Architecture(n.Labels[corev1.LabelArchStable])
		p.Spec.WorkspaceGiB = 2
		p.Spec.Resources = slipway.RunnerResources{CPURequest: 200, CPULimit: 1000, MemoryRequest: 768 << 20, MemoryLimit: 4 * slipway.GiB}
		p.Spec.Timeout = 10 * time.Minute
	})
	if change != nil {
		change(&p)
	}
	if err := c.PrepareRunners(ctx, spaceOf(p, slots)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := c.RemoveRunners(ctx, p.Application); err != nil {
			t.Error(err)
		}
	})
	return c, p
}

func spaceOf(p RunnerPod, slots int) RunnerSpace {
	return RunnerSpace{Application: p.Application, Pools: []RunnerShare{{Spec: p.Spec, Slots: slots}}}
}

// played makes the stand-ins of GitHub's runner and of Docker before our own scripts run.
func played(pod *corev1.Pod, runner string) *corev1.Pod {
	file := func(path, text string) string {
		return fmt.Sprintf("mkdir -p %s && cat > %s <<'END'\n#!/bin/sh\n%s\nEND\nchmod 755 %s\n", path[:strings.LastIndexByte(path, '/')], path, text, path)
	}
	pod = pod.DeepCopy()
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		switch c.Name {
		case prepareContainer:
			c.Command[2] = file("/home/runner/run.sh", runner) + "chown -R 1001:1001 /home/runner\n" + c.Command[2]
		case dockerContainer:
			c.Command[2] = file("/usr/local/bin/iptables-legacy", `echo "$@" >> /var/lib/docker/iptables`) +
				file("/usr/local/bin/docker", `[ "$*" = "--host tcp://127.0.0.1:2375 version" ] && [ -e /var/lib/docker/up ]`) +
				file("/usr/local/bin/dockerd", `echo "$@" > /var/lib/docker/up; trap 'exit 0' TERM; while :; do sleep 0.2; done`) +
				"export PATH=$PATH:/usr/local/bin\n" + c.Command[2]
			c.StartupProbe.Exec.Command = append([]string{"/usr/local/bin/docker"}, c.StartupProbe.Exec.Command[1:]...)
		}
	}
	return pod
}

func launched(t *testing.T, c *Client, p RunnerPod, runner string, change func(*corev1.Pod)) string {
	t.Helper()
	overhead, err := c.sandbox(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	pod, err := buildRunnerPod(p, overhead)
	if err != nil {
		t.Fatal(err)
	}
	pod = played(pod, runner)
	if change != nil {
		change(pod)
	}
	uid, err := c.launch(t.Context(), p, pod)
	if err != nil {
		t.Fatal(err)
	}
	return uid
}

// stands waits for the runner to stand as wanted.
func stands(t *testing.T, c *Client, p RunnerPod, within time.Duration, what string, is func(RunnerPodState) bool) RunnerPodState {
	t.Helper()
	var last RunnerPodState
	err := c.await(t.Context(), within, []watched{{&corev1.PodList{}, []client.ListOption{client.InNamespace(p.Application.Namespace)}}}, func(ctx context.Context) (bool, error) {
		all, err := c.RunnerPods(ctx, p.Application.Namespace)
		if err != nil {
			return false, err
		}
		last = RunnerPodState{}
		for _, s := range all {
			if s.Name == p.Name {
				last = s
			}
		}
		return is(last), nil
	})
	if err != nil {
		t.Fatalf("%s: %v; it stands as %+v", what, err, last)
	}
	return last
}

func ended(s RunnerPodState) bool  { return s.Phase == RunnerEnded }
func absent(s RunnerPodState) bool { return s.Name == "" }

func TestRunnerLifeOnTheCluster(t *testing.T) {
	c, p := realRunners(t, 1, nil)
	ctx := t.Context()
	before := nodeNow(t, c)
	const script = `
[ "$(id -u)" = 1001 ] || exit 11
[ "$ACTIONS_RUNNER_INPUT_JITCONFIG" = "` + testJIT + `" ] || exit 12
touch /home/runner/_written /tmp/_written || exit 13
[ ! -e /var/run/secrets/kubernetes.io ] || exit 14
[ "$DOCKER_HOST" = tcp://127.0.0.1:2375 ] || exit 15
[ -z "$KUBE_DNS_SERVICE_HOST" ] || exit 16
[ ! -e /var/lib/docker ] || exit 17
tr '\0' ' ' < /proc/self/cmdline | grep -q eyJ && exit 18
trap 'exit 0' TERM
echo "listening for jobs"
while [ ! -e /home/runner/go ]; do sleep 0.1; done
`
	uid := launched(t, c, p, script, nil)
	if again, err := c.launch(ctx, p, played(mustBuild(t, p), script)); err != nil || again != uid {
		t.Fatalf("launched again: %s, %v; first %s", again, err, uid)
	}
	s := stands(t, c, p, time.Minute, "the runner runs", func(s RunnerPodState) bool { return s.Phase == RunnerRunning })
	t.Logf("scheduled %s, prepared %s, Docker %s, runner %s after it was made", s.ScheduledAt.Sub(s.CreatedAt), s.PreparedAt.Sub(s.CreatedAt), s.DockerAt.Sub(s.CreatedAt), s.StartedAt.Sub(s.CreatedAt))
	if s.UID != uid || s.Slot != p.Slot || s.Pool != p.Pool || !s.Config || s.Node == "" || !strings.HasPrefix(s.Image, busybox) || s.PreparedAt.IsZero() || s.DockerAt.IsZero() || s.StartedAt.IsZero() {
		t.Errorf("it stands as %+v", s)
	}
	var pod corev1.Pod
	if err := c.api.Get(ctx, client.ObjectKey{Namespace: p.Application.Namespace, Name: p.Name}, &pod); err != nil {
		t.Fatal(err)
	}
	if got, want := reservedBy(&pod), p.Spec.Reserved(); got != want {
		t.Errorf("admitted, it reserves %+v, its budget is %+v", got, want)
	}
	if taints := pod.Spec.Tolerations; len(taints) == 0 || taints[0].Key != runnerTaint {
		t.Errorf("tolerations %v", taints)
	}
	now := nodeNow(t, c)
	if now.CPU.Requested < before.CPU.Requested+200 || now.Memory.Requested < before.Memory.Requested+768<<20 {
		t.Logf("other pods came and went meanwhile: %+v, before %+v", now, before)
	}
	if now.CPU.Allocatable == 0 || now.Memory.Allocatable == 0 || now.Disk.Allocatable == 0 || !now.Ready || !now.Runners {
		t.Errorf("the node is %+v", now)
	}
	// The container has the configuration; nobody else needs it any more.
	if err := c.DropRunnerConfig(ctx, p.Application.Namespace, p.Name); err != nil {
		t.Fatal(err)
	}
	if s := stands(t, c, p, 20*time.Second, "the Secret is gone", func(s RunnerPodState) bool { return !s.Config }); s.Phase != RunnerRunning {
		t.Errorf("without its Secret it stands as %+v", s)
	}
	for range 2 {
		if err := c.EndRunner(ctx, p.Application.Namespace, p.Name); err != nil {
			t.Fatal(err)
		}
	}
	stands(t, c, p, 90*time.Second, "it is listed no more", absent)
	if err := c.EndRunner(ctx, p.Application.Namespace, p.Name); err != nil {
		t.Errorf("end what is gone: %v", err)
	}
	if err := c.RemoveRunners(ctx, p.Application); err != nil {
		t.Fatal(err)
	}
	var ns corev1.Namespace
	if err := c.api.Get(ctx, client.ObjectKey{Name: p.Application.Namespace}, &ns); !apierrors.IsNotFound(err) {
		t.Errorf("the namespace: %v", err)
	}
}

func mustBuild(t *testing.T, p RunnerPod) *corev1.Pod {
	t.Helper()
	pod, err := buildRunnerPod(p, sandboxOverhead)
	if err != nil {
		t.Fatal(err)
	}
	return pod
}

func nodeNow(t *testing.T, c *Client) slipway.Node {
	t.Helper()
	nodes, class, err := c.Nodes(t.Context())
	if err != nil || len(nodes) == 0 || !class {
		t.Fatal(len(nodes), class, err)
	}
	return nodes[0]
}

func TestRunnerThatEndsByItselfOnTheCluster(t *testing.T) {
	for _, tc := range []struct {
		name   string
		script string
		change func(*corev1.Pod)
		spec   func(*RunnerPod)
		fault  RunnerFault
		seen   string
		within time.Duration
	}{
		{"well", "exit 0", nil, nil, FaultNone, "it has ended", time.Minute},
		{"with an error", "echo An error occurred: Not configured.; exit 1", nil, nil, FaultFailed, "the container runner ended with exit code 1: An error occurred: Not configured.", time.Minute},
		{"runner#3366: outdated", "exit 7", nil, nil, FaultOutdated, "does not take this version", time.Minute},
		{"its time is up", "sleep 600", func(p *corev1.Pod) { p.Spec.TerminationGracePeriodSeconds = new(int64(1)) }, func(p *RunnerPod) { p.Spec.Timeout = 15 * time.Second }, FaultDeadline, "its time of 15s was up", time.Minute},
		{"out of memory", "exec tail /dev/zero", func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources.Limits[corev1.ResourceMemory] = resource.MustParse("1Gi")
			p.Spec.Containers[0].Resources.Requests[corev1.ResourceMemory] = resource.MustParse("64Mi")
		}, nil, FaultMemory, "the container runner took more memory than its limit of 1Gi", 2 * time.Minute},
		{"its workspace is full", "dd if=/dev/zero of=/home/runner/big bs=1M count=64; sleep 600", func(p *corev1.Pod) {
			p.Spec.Volumes[0].EmptyDir.SizeLimit = resource.NewQuantity(32<<20, resource.BinarySI)
		}, nil, FaultEvicted, "the job wrote more than its workspace of 32Mi; raise workspace_size_gib", 4 * time.Minute},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c, p := realRunners(t, 1, tc.spec)
			launched(t, c, p, tc.script, tc.change)
			s := stands(t, c, p, tc.within, "it ends", ended)
			if s.Fault != tc.fault || !strings.Contains(s.Seen, tc.seen) {
				t.Errorf("%q: %s\nwant %q: %s", s.Fault, s.Seen, tc.fault, tc.seen)
			}
			if err := c.EndRunner(t.Context(), p.Application.Namespace, p.Name); err != nil {
				t.Fatal(err)
			}
			stands(t, c, p, 90*time.Second, "it is listed no more", absent)
		})
	}
}

func TestRunnerThatCannotStartOnTheCluster(t *testing.T) {
	for _, tc := range []struct {
		name   string
		spec   func(*RunnerPod)
		change func(*corev1.Pod)
		phase  RunnerPhase
		fault  RunnerFault
		seen   string
	}{
		{"pinned to a node that is not there", func(p *RunnerPod) { p.Spec.NodeName = "no-such-node" }, nil, RunnerPending, FaultUnschedulable, "it waits for the node no-such-node: of 1, 1 not that node"},
		{"of an architecture that no node has", func(p *RunnerPod) { p.Spec.Architecture = slipway.ARM64 }, nil, RunnerPending, FaultUnschedulable, "of 1, 1 not prepared for runners, or of another architecture"},
		{"more than a node has", func(p *RunnerPod) { p.Spec.Resources.CPURequest, p.Spec.Resources.CPULimit = 64000, 64000 }, nil, RunnerPending, FaultUnschedulable, "of 1, 1 without enough free CPU"},
		{"an image that is not to be had", func(p *RunnerPod) { p.Images.Runner = "registry.example.com/no-such-runner:1" }, nil, RunnerStarting, FaultImage, "the image registry.example.com/no-such-runner:1 of prepare cannot be had"},
		{"Docker does not start", nil, func(p *corev1.Pod) {
			p.Spec.InitContainers[1].Command = []string{"/bin/sh", "-c", "echo failed to start daemon; exit 1"}
		}, RunnerStarting, FaultDocker, "failed to start daemon"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c, p := realRunners(t, 1, tc.spec)
			launched(t, c, p, "exit 0", tc.change)
			s := stands(t, c, p, 2*time.Minute, "it says why it does not start", func(s RunnerPodState) bool { return s.Fault != FaultNone })
			if s.Phase != tc.phase || s.Fault != tc.fault || !strings.Contains(s.Seen, tc.seen) {
				t.Errorf("%s, %q: %s\nwant %s, %q: %s", s.Phase, s.Fault, s.Seen, tc.phase, tc.fault, tc.seen)
			}
		})
	}
}

func TestQuotaOnTheCluster(t *testing.T) {
	c, p := realRunners(t, 1, nil)
	ctx := t.Context()
	second := p
	second.Name, second.Slot = p.Name+"-b", p.Slot+1
	launched(t, c, p, "trap 'exit 0' TERM; sleep 600 & wait", nil)
	// The quota's own count follows the pods a moment later; its admission does not.
	_, err := c.launch(ctx, second, played(mustBuild(t, second), "exit 0"))
	if !slipway.Is(err, slipway.Throttled) || !strings.Contains(err.Error(), "pods 1 of 1 used, 1 asked") {
		t.Fatalf("a second runner of one slot: %v", err)
	}
	if err := c.EndRunner(ctx, p.Application.Namespace, second.Name); err != nil {
		t.Fatal(err)
	}
	if err := c.EndRunner(ctx, p.Application.Namespace, p.Name); err != nil {
		t.Fatal(err)
	}
	stands(t, c, p, 90*time.Second, "the first is gone", absent)
	err = c.await(ctx, 30*time.Second, nil, func(ctx context.Context) (bool, error) {
		_, err := c.launch(ctx, second, played(mustBuild(t, second), "exit 0"))
		if slipway.Is(err, slipway.Throttled) {
			return false, nil
		}
		return err == nil, err
	})
	if err != nil {
		t.Fatalf("a runner after the first is gone: %v", err)
	}
	stands(t, c, second, time.Minute, "it ends", ended)
}

func TestRefusalsOnTheCluster(t *testing.T) {
	c, p := realRunners(t, 2, nil)
	ctx := t.Context()
	// The API server's own refusal of a RuntimeClass that is not there.
	pod := played(mustBuild(t, p), "exit 0")
	pod.Spec.RuntimeClassName = new("slipway-actions-missing")
	if _, err := c.launch(ctx, p, pod); !slipway.Is(err, slipway.Unavailable) || !strings.Contains(err.Error(), "no RuntimeClass") {
		t.Errorf("without a RuntimeClass: %v", err)
	}
	if err := c.EndRunner(ctx, p.Application.Namespace, p.Name); err != nil {
		t.Fatal(err)
	}

	foreign := mustBuild(t, p)
	foreign.Labels, foreign.Spec.Volumes = map[string]string{"app": "mine"}, nil
	foreign.Spec = corev1.PodSpec{Containers: []corev1.Container{shell("main", "sleep 600")}, TerminationGracePeriodSeconds: new(int64(1)), AutomountServiceAccountToken: new(bool)}
	foreign.Spec.Containers[0].Resources = corev1.ResourceRequirements{Limits: amounts(100, 64<<20)}
	foreign.Spec.Containers[0].Resources.Limits[corev1.ResourceEphemeralStorage] = resource.MustParse("64Mi")
	create(t, c, foreign)
	if _, err := c.launch(ctx, p, played(mustBuild(t, p), "exit 0")); !slipway.Is(err, slipway.Conflict) {
		t.Errorf("over a foreign pod: %v", err)
	}
	if err := c.EndRunner(ctx, p.Application.Namespace, p.Name); err != nil {
		t.Error(err)
	}
	var still corev1.Pod
	if err := c.api.Get(ctx, client.ObjectKeyFromObject(foreign), &still); err != nil || still.DeletionTimestamp != nil {
		t.Errorf("the foreign pod: %v, deleted %v", err, still.DeletionTimestamp)
	}
	if all, err := c.RunnerPods(ctx, p.Application.Namespace); err != nil || len(all) != 0 {
		t.Errorf("listed %+v, %v", all, err)
	}
}

// What the API server gives back is what was written: a second preparation writes nothing,
// and what somebody changed is put back.
func TestPrepareRunnersOnTheCluster(t *testing.T) {
	c, p := realRunners(t, 1, nil)
	ctx := t.Context()
	s := spaceOf(p, 1)
	s.Mirror, s.DNS, s.AllowEgress = true, []string{"10.213.0.1", "fd00::53"}, []string{"10.20.0.0/16", "2001:db8:1::/48"}
	versions := func() map[string]string {
		t.Helper()
		if err := c.PrepareRunners(ctx, s); err != nil {
			t.Fatal(err)
		}
		out := map[string]string{}
		var policies networkingv1.NetworkPolicyList
		if err := c.api.List(ctx, &policies, client.InNamespace(p.Application.Namespace)); err != nil {
			t.Fatal(err)
		}
		for _, n := range policies.Items {
			out[n.Name] = string(n.UID) + "/" + n.ResourceVersion
		}
		var ns corev1.Namespace
		if err := c.api.Get(ctx, client.ObjectKey{Name: p.Application.Namespace}, &ns); err != nil {
			t.Fatal(err)
		}
		out["namespace"] = ns.ResourceVersion
		return out
	}
	first := versions()
	if len(first) != 6 {
		t.Errorf("%d objects: %v", len(first), first)
	}
	second := versions()
	for name, v := range first {
		if second[name] != v {
			t.Errorf("%s was written again", name)
		}
	}
	open := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: p.Application.Namespace, Name: "let-me-out"}, Spec: networkingv1.NetworkPolicySpec{PolicyTypes: []networkingv1.PolicyType{"Egress"}, Egress: []networkingv1.NetworkPolicyEgressRule{{}}}}
	create(t, c, open)
	var deny networkingv1.NetworkPolicy
	if err := c.api.Get(ctx, client.ObjectKey{Namespace: p.Application.Namespace, Name: policyDenyName}, &deny); err != nil {
		t.Fatal(err)
	}
	if err := c.api.Delete(ctx, &deny); err != nil {
		t.Fatal(err)
	}
	if _, err := c.LaunchRunner(ctx, p); !slipway.Is(err, slipway.Conflict) {
		t.Errorf("a launch without the denial: %v", err)
	}
	third := versions()
	if _, there := third["let-me-out"]; there || third[policyDenyName] == "" {
		t.Errorf("put back: %v", third)
	}
}
