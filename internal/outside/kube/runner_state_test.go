package kube

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// TestRunnerState stands in the pure world. The messages are the cluster's own.
func TestRunnerState(t *testing.T) {
	t.Parallel()
	unplaced := func(message string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.NodeName = ""
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: message}}
		}
	}
	init := func(name string, state corev1.ContainerState, restarts int32, last corev1.ContainerState) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.InitContainerStatuses = append(p.Status.InitContainerStatuses, corev1.ContainerStatus{Name: name, State: state, RestartCount: restarts, LastTerminationState: last})
		}
	}
	runner := func(state corev1.ContainerState) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: runnerContainer, State: state, ImageID: "registry.example.com/runner@sha256:cc"}}
		}
	}
	failed := func(reason, message string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.Phase, p.Status.Reason, p.Status.Message = corev1.PodFailed, reason, message
		}
	}
	said := func(code int32, reason, message string) corev1.ContainerState {
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, Message: message}}
	}
	type change = func(*corev1.Pod)
	for _, tc := range []struct {
		name  string
		pod   []change
		phase RunnerPhase
		fault RunnerFault
		seen  string
	}{
		{"just made", []change{func(p *corev1.Pod) { p.Spec.NodeName = "" }}, RunnerPending, FaultNone, "it waits for a node"},
		{
			"no room", []change{unplaced("0/3 nodes are available: 1 Insufficient cpu, 1 Insufficient memory, 2 Insufficient ephemeral-storage, 1 Too many pods. preemption: 0/3 nodes are available: 3 No preemption victims found for incoming pod.")},
			RunnerPending, FaultUnschedulable, "it waits for a node: of 3, 1 without enough free CPU, 1 without enough free memory, 2 without enough free disk, 1 that take no more pods",
		},
		{
			"nodes that it may not be on", []change{unplaced("0/4 nodes are available: 1 node(s) had untolerated taint {gpu: true}, 1 node(s) were unschedulable, 2 node(s) didn't match Pod's node affinity/selector. no new claims to deallocate, preemption: 0/4 nodes are available: 4 Preemption is not helpful for scheduling.")},
			RunnerPending, FaultUnschedulable, "it waits for a node: of 4, 1 tainted gpu=true, 1 cordoned, 2 not prepared for runners, or of another architecture",
		},
		{
			"a cluster without a node", []change{unplaced("0/0 nodes are available: . preemption: not eligible")},
			RunnerPending, FaultUnschedulable, "it waits for a node: the cluster has none",
		},
		{"a message of a later cluster", []change{unplaced("the moon is full")}, RunnerPending, FaultUnschedulable, "it waits for a node: the moon is full"},
		{"its node has just been found", nil, RunnerStarting, FaultNone, "its images and its sandbox are made ready on worker-1"},
		{"the files are copied", []change{init(prepareContainer, running(), 0, corev1.ContainerState{})}, RunnerStarting, FaultNone, "its workspace is filled on worker-1"},
		{"Docker starts", []change{init(prepareContainer, exited(0, "Completed"), 0, corev1.ContainerState{}), init(dockerContainer, running(), 0, corev1.ContainerState{})}, RunnerStarting, FaultNone, "its Docker daemon starts on worker-1"},
		{
			"an image that cannot be pulled", []change{init(prepareContainer, waiting("ImagePullBackOff", "Back-off pulling image"), 0, corev1.ContainerState{})},
			RunnerStarting, FaultImage, "the image registry.example.com/runner:1@sha256:aa of prepare cannot be had: Back-off pulling image",
		},
		{
			"Docker falls", []change{init(dockerContainer, waiting("CrashLoopBackOff", "back-off"), 3, said(1, "Error", "starting\nfailed to start daemon: overlay not supported"))},
			RunnerStarting, FaultDocker, "the Docker daemon does not start, tried 3 times: failed to start daemon: overlay not supported",
		},
		{
			"the files do not fit", []change{init(prepareContainer, said(1, "Error", "cp: No space left on device"), 0, corev1.ContainerState{})},
			RunnerStarting, FaultFailed, "the runner's files could not be put into the workspace: ended with exit code 1: cp: No space left on device",
		},
		{"its Secret is gone", []change{runner(waiting("CreateContainerConfigError", `secret "slw-3-k7qd2m9x4b" not found`))}, RunnerStarting, FaultConfig, `the container runner cannot begin: secret "slw-3-k7qd2m9x4b" not found`},
		{"it runs", []change{runner(running())}, RunnerRunning, FaultNone, "it runs on worker-1"},
		{"it ended well, and Docker is still there", []change{runner(exited(0, "Completed"))}, RunnerEnded, FaultNone, "it has ended"},
		{"it ended with an error", []change{runner(said(1, "Error", "An error occurred: Not configured."))}, RunnerEnded, FaultFailed, "the container runner ended with exit code 1: An error occurred: Not configured."},
		{
			"a configuration in its last words is covered", []change{runner(said(1, "Error", "cannot read "+testJIT))},
			RunnerEnded, FaultFailed, "the container runner ended with exit code 1: cannot read ***",
		},
		{"runner#3366: its version is too old, by exit code", []change{runner(exited(7, "Error"))}, RunnerEnded, FaultOutdated, "the forge does not take this version of the runner program any more (image registry.example.com/runner:1@sha256:aa)"},
		{
			"runner#3486: its version is too old, by its words", []change{runner(said(1, "Error", "Runner version v2.300.0 is deprecated and cannot receive messages."))},
			RunnerEnded, FaultOutdated, "the forge does not take this version of the runner program any more (image registry.example.com/runner:1@sha256:aa)",
		},
		{
			"out of memory", []change{runner(said(137, "OOMKilled", "")), failed("", "")},
			RunnerEnded, FaultMemory, "the container runner took more memory than its limit of 1792Mi; raise resources.limits.memory, of which the runner and Docker have a part each",
		},
		{
			"Docker out of memory, and the job with it", []change{runner(exited(1, "Error")), init(dockerContainer, running(), 1, said(137, "OOMKilled", ""))},
			RunnerEnded, FaultMemory, "the container docker took more memory than its limit of 1792Mi; raise resources.limits.memory, of which the runner and Docker have a part each",
		},
		{"Docker was out of memory once, and the job went well", []change{runner(exited(0, "Completed")), init(dockerContainer, running(), 1, said(137, "OOMKilled", ""))}, RunnerEnded, FaultNone, "it has ended"},
		{
			"the workspace is full", []change{failed("Evicted", `Usage of EmptyDir volume "workspace" exceeds the limit "8Gi". `)},
			RunnerEnded, FaultEvicted, "the job wrote more than its workspace of 8Gi; raise workspace_size_gib",
		},
		{
			"all of the disk is full", []change{failed("Evicted", "Pod ephemeral local storage usage exceeds the total limit of containers 9728Mi. ")},
			RunnerEnded, FaultEvicted, "the job wrote more than its disk of 9728Mi, workspace and all; raise workspace_size_gib",
		},
		{
			"a container's own disk is full", []change{failed("Evicted", `Container docker exceeded its local ephemeral storage limit "512Mi". `)},
			RunnerEnded, FaultEvicted, "the container docker wrote more than its disk of 512Mi, outside of the workspace",
		},
		{
			"the node ran short", []change{failed("Evicted", "The node was low on resource: ephemeral-storage. Threshold quantity: 1, available: 0.")},
			RunnerEnded, FaultEvicted, "its node worker-1 ran short of disk",
		},
		{"its time was up", []change{failed("DeadlineExceeded", "Pod was active on the node longer than the specified deadline")}, RunnerEnded, FaultDeadline, "its time of 1h0m0s was up; timeout_minutes includes its start and its waiting for a job"},
		{"the node was shut down", []change{failed("Terminated", "Pod was terminated in response to imminent node shutdown.")}, RunnerEnded, FaultNode, "its node worker-1 was shut down or lost: Pod was terminated in response to imminent node shutdown."},
		{"the node refused it", []change{failed("OutOfcpu", "Node didn't have enough resource: cpu")}, RunnerEnded, FaultUnschedulable, "the node worker-1 did not take it: Node didn't have enough resource: cpu"},
		{
			"somebody drained its node", []change{failed("", ""), func(p *corev1.Pod) {
				p.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "EvictionByEvictionAPI", Message: "Eviction API: evicting"}}
			}},
			RunnerEnded, FaultNode, "the cluster took it away: Eviction API: evicting",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			p := built(t, nil)
			p.Spec.NodeName, p.Status.Phase = "worker-1", corev1.PodPending
			for _, c := range tc.pod {
				c(p)
			}
			got := runnerState(p, surroundings{})
			if got.Phase != tc.phase || got.Fault != tc.fault || got.Seen != tc.seen {
				t.Errorf("got %s, %q: %s\nwant %s, %q: %s", got.Phase, got.Fault, got.Seen, tc.phase, tc.fault, tc.seen)
			}
		})
	}
	t.Run("the pinned node is named", func(t *testing.T) {
		t.Parallel()
		p := built(t, func(p *RunnerPod) { p.Spec.NodeName = "worker-2" })
		unplaced("0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't satisfy plugin(s) [NodeAffinity]. preemption: none")(p)
		want := "it waits for the node worker-2: of 2, 1 without enough free CPU, 1 not that node, not prepared for runners, or of another architecture"
		if got := runnerState(p, surroundings{}); got.Seen != want {
			t.Errorf("got  %s\nwant %s", got.Seen, want)
		}
	})
}

func TestRunnerTimesAndImage(t *testing.T) {
	t.Parallel()
	at := func(s int) metav1.Time { return metav1.NewTime(time.Date(2026, 3, 1, 12, 0, s, 0, time.UTC)) }
	p := built(t, nil)
	p.CreationTimestamp, p.Spec.NodeName, p.Status.Phase = at(0), "worker-1", corev1.PodSucceeded
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: at(1)}}
	p.Status.InitContainerStatuses = []corev1.ContainerStatus{
		{Name: prepareContainer, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{StartedAt: at(2), FinishedAt: at(7)}}},
		{Name: dockerContainer, RestartCount: 1, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{StartedAt: at(8), FinishedAt: at(61)}}},
	}
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: runnerContainer, ImageID: "registry.example.com/runner@sha256:cc", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{StartedAt: at(10), FinishedAt: at(60)}}}}
	got := runnerState(p, surroundings{})
	for what, pair := range map[string][2]time.Time{
		"created": {got.CreatedAt, at(0).Time}, "scheduled": {got.ScheduledAt, at(1).Time}, "prepared": {got.PreparedAt, at(7).Time},
		"docker": {got.DockerAt, at(8).Time}, "started": {got.StartedAt, at(10).Time}, "ended": {got.EndedAt, at(60).Time},
	} {
		if !pair[0].Equal(pair[1]) {
			t.Errorf("%s at %s, want %s", what, pair[0], pair[1])
		}
	}
	// What really runs, and not what was asked for.
	if got.Image != "registry.example.com/runner:1@sha256:cc" || got.ExitCode == nil || *got.ExitCode != 0 || got.Restarts != 1 {
		t.Errorf("image %s, exit code %v, %d restarts of Docker", got.Image, got.ExitCode, got.Restarts)
	}
}

// TestRunnersOfALostNode stands on a fake API server.
func TestRunnersOfALostNode(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	onNode := func(name, node string, phase corev1.PodPhase, change func(*corev1.Pod)) *corev1.Pod {
		p := built(t, func(p *RunnerPod) { p.Name = name })
		p.Labels = runnerPod(nil).labels("installation-1")
		p.UID, p.CreationTimestamp = types.UID(name), metav1.NewTime(now.Add(-time.Minute))
		p.Spec.NodeName, p.Status.Phase = node, phase
		if change != nil {
			change(p)
		}
		return p
	}
	runs := func(ready corev1.ConditionStatus) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: runnerContainer, State: running()}}
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}
		}
	}
	silentNode := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "silent"}, Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown, LastTransitionTime: metav1.NewTime(now.Add(-40 * time.Second))}}}}
	wellNode := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "well"}, Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}}
	reads := 0
	w := newWorld(t, anyField(interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
		if _, node := o.(*corev1.Node); node {
			reads++
		}
		return c.Get(ctx, key, o, opts...)
	}}), silentNode, wellNode,
		onNode("a-well", "well", corev1.PodRunning, runs(corev1.ConditionTrue)),
		onNode("b-silent", "silent", corev1.PodRunning, runs(corev1.ConditionFalse)),
		onNode("c-silent", "silent", corev1.PodRunning, runs(corev1.ConditionFalse)),
		onNode("d-gone", "gone", corev1.PodRunning, runs(corev1.ConditionFalse)),
		onNode("e-nosandbox", "well", corev1.PodPending, nil),
		&corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "slipway-runners-7", Name: "e1"}, Type: corev1.EventTypeWarning, InvolvedObject: corev1.ObjectReference{UID: "e-nosandbox"}, Reason: "FailedCreatePodSandBox", Message: `no runtime for "slipway-actions" is configured`, LastTimestamp: metav1.NewTime(now)},
	)
	w.now = func() time.Time { return now }
	got, err := w.RunnerPods(soon(t), "slipway-runners-7")
	if err != nil || len(got) != 5 {
		t.Fatalf("%d, %v", len(got), err)
	}
	for i, want := range []struct {
		fault RunnerFault
		seen  string
	}{
		{FaultNone, "it runs on well"},
		{FaultNode, "its node silent does not answer since 2026-03-01T11:59:20Z"},
		{FaultNode, "its node silent does not answer since 2026-03-01T11:59:20Z"},
		{FaultNode, "its node gone is not in the cluster any more"},
		{FaultSandbox, `its node well cannot start the sandbox: no runtime for "slipway-actions" is configured`},
	} {
		if got[i].Fault != want.fault || got[i].Seen != want.seen {
			t.Errorf("%s: %q: %s, want %q: %s", got[i].Name, got[i].Fault, got[i].Seen, want.fault, want.seen)
		}
	}
	if reads != 3 {
		t.Errorf("%d nodes were read, want each suspect one once", reads)
	}
}

// TestSecretWithoutPod stands on a fake API server: a launch broke off between the two.
func TestSecretWithoutPod(t *testing.T) {
	t.Parallel()
	w := prepared(t, interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
		if _, pod := o.(*corev1.Pod); pod {
			return errors.New("connection refused")
		}
		return c.Create(ctx, o, opts...)
	}})
	if _, err := w.LaunchRunner(soon(t), runnerPod(nil)); err == nil {
		t.Fatal("launched")
	}
	got, err := w.RunnerPods(soon(t), "slipway-runners-7")
	if err != nil || len(got) != 1 || got[0].Phase != RunnerConfigOnly || got[0].Slot != 41 || !got[0].Config || !strings.Contains(got[0].Seen, "without a pod") {
		t.Errorf("got %+v, %v", got, err)
	}
}
