package kube

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// RunnerPhase is how far a runner pod has come.
//
//	pending ─▶ starting ─▶ running ─▶ ended ─▶ (not listed)
//	   └──────────┴────────────────────▲
type RunnerPhase string

const (
	RunnerPending  RunnerPhase = "pending"  // no node has it
	RunnerStarting RunnerPhase = "starting" // a node has it; the runner's container has not begun
	RunnerRunning  RunnerPhase = "running"  // the runner's container runs
	RunnerEnded    RunnerPhase = "ended"    // it will never run again
	// RunnerConfigOnly is a Secret without its pod: a launch broke off between the two.
	RunnerConfigOnly RunnerPhase = "config"
)

// RunnerFault sorts what keeps a runner from running, or ended it, by what follows from it.
type RunnerFault string

const (
	FaultNone          RunnerFault = ""
	FaultUnschedulable RunnerFault = "unschedulable" // no node has room, or may have it
	FaultImage         RunnerFault = "image"         // an image cannot be had
	FaultSandbox       RunnerFault = "sandbox"       // the node cannot start the sandbox
	FaultConfig        RunnerFault = "config"        // its Secret is missing, or a container cannot be made
	FaultDocker        RunnerFault = "docker"        // the Docker daemon does not start
	FaultNode          RunnerFault = "node"          // its node is gone, silent or shut down
	FaultEvicted       RunnerFault = "evicted"       // it took more disk than it may, or the node ran short
	FaultMemory        RunnerFault = "memory"        // it took more memory than it may
	FaultDeadline      RunnerFault = "deadline"      // its time was up
	FaultOutdated      RunnerFault = "outdated"      // the forge does not take the runner program any more
	FaultFailed        RunnerFault = "failed"        // it ended with an error
)

// RunnerPodState is how one runner pod stands.
type RunnerPodState struct {
	Name        string
	UID         string
	Application int64
	Pool        int64
	Slot        int64
	Phase       RunnerPhase
	Fault       RunnerFault
	Seen        string // how it stands or how it ended, in words, with the reason
	Leaving     bool   // its deletion was asked for
	Config      bool   // its Secret is still there
	Node        string // empty: none yet
	Image       string // of the runner that really runs, with its digest; empty: none yet
	ExitCode    *int32 // of the runner; nil: it has not ended
	Restarts    int32  // of the Docker daemon
	Containers  []RunnerContainer

	CreatedAt   time.Time
	ScheduledAt time.Time // a node was found
	PreparedAt  time.Time // the runner's files are in the workspace
	DockerAt    time.Time // the Docker daemon's container began
	StartedAt   time.Time // the runner's container began
	EndedAt     time.Time
}

// RunnerContainer is one container of a runner pod.
type RunnerContainer struct {
	Name     string
	Image    string
	State    string // waiting, running or ended
	Reason   string // as the cluster has it
	Restarts int32
}

// RunnerPods lists every runner of ours in a namespace, pods and Secrets that have none,
// by name. It returns all of them or an error. What somebody else put there is not listed.
func (c *Client) RunnerPods(ctx context.Context, namespace string) ([]RunnerPodState, error) {
	ours := []client.ListOption{
		client.InNamespace(namespace), client.MatchingLabels{LabelInstallation: c.installation, LabelRole: roleRunner},
	}
	// Secrets first: one whose pod was made between the two lists is no stray.
	var secrets metav1.PartialObjectMetadataList // the values stay where they are
	secrets.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	if err := c.listAll(ctx, &secrets, ours...); err != nil {
		return nil, explain(err, "list the Secrets of runners in namespace %s", namespace)
	}
	var pods corev1.PodList
	if err := c.listAll(ctx, &pods, ours...); err != nil {
		return nil, explain(err, "list the runner pods in namespace %s", namespace)
	}
	around, err := c.circumstances(ctx, namespace, pods.Items)
	if err != nil {
		return nil, err
	}
	all := map[string]RunnerPodState{}
	for i := range pods.Items {
		s := runnerState(&pods.Items[i], around)
		all[s.Name] = s
	}
	for i := range secrets.Items {
		m := &secrets.Items[i]
		s, paired := all[m.Name]
		if !paired {
			s = RunnerPodState{Name: m.Name, Phase: RunnerConfigOnly, Seen: "its Secret is there without a pod", CreatedAt: m.CreationTimestamp.Time, Leaving: m.DeletionTimestamp != nil}
			s.Application, s.Pool, s.Slot, _ = runnerIDs(m.Labels) // 0 when somebody changed them: no slot's
		}
		s.Config = true
		all[m.Name] = s
	}
	return slices.SortedFunc(maps.Values(all), func(a, b RunnerPodState) int { return strings.Compare(a.Name, b.Name) }), nil
}

// surroundings is what pods do not say of themselves.
type surroundings struct {
	now      time.Time
	nodes    map[string]string // of a node that is not well, in words
	warnings map[string]string // the newest warning, by the pod's UID
}

// unusual is how long a pod may be on its way before the cluster is asked what keeps it.
const unusual = 15 * time.Second

// circumstances asks the cluster about those pods that look as if something kept them: one
// list of warnings, and each node once. Healthy pods cost nothing.
func (c *Client) circumstances(ctx context.Context, namespace string, pods []corev1.Pod) (surroundings, error) {
	s := surroundings{now: c.now(), nodes: map[string]string{}, warnings: map[string]string{}}
	slow := false
	for i := range pods {
		p := &pods[i]
		if p.Spec.NodeName == "" || over(p) {
			continue
		}
		begins := p.Status.Phase == corev1.PodPending && s.now.Sub(p.CreationTimestamp.Time) > unusual
		slow = slow || begins
		if !begins && !silent(p, s.now) {
			continue
		}
		if _, asked := s.nodes[p.Spec.NodeName]; asked {
			continue
		}
		why, err := c.nodeTrouble(ctx, p.Spec.NodeName)
		if err != nil {
			return s, err
		}
		s.nodes[p.Spec.NodeName] = why
	}
	if !slow {
		return s, nil
	}
	var events corev1.EventList
	if err := c.listAll(ctx, &events, client.InNamespace(namespace), client.MatchingFields{"type": corev1.EventTypeWarning}); err != nil {
		return s, explain(err, "list the events in namespace %s", namespace)
	}
	newest := map[string]time.Time{}
	for i := range events.Items {
		e := &events.Items[i]
		uid := string(e.InvolvedObject.UID)
		if at := eventTime(e).Time; !at.Before(newest[uid]) {
			newest[uid], s.warnings[uid] = at, e.Reason+": "+strings.TrimSpace(e.Message)
		}
	}
	return s, nil
}

// silent reports whether a pod looks as if its node did not speak any more: it should be
// gone, or the cluster calls it not ready although its runner runs and has no probe.
func silent(p *corev1.Pod, now time.Time) bool {
	if p.DeletionTimestamp != nil && now.After(p.DeletionTimestamp.Add(unusual)) || p.Status.Reason == "NodeLost" {
		return true
	}
	for _, cond := range p.Status.Conditions {
		switch {
		case cond.Type == corev1.DisruptionTarget && cond.Status == corev1.ConditionTrue:
			return true
		case cond.Type == corev1.PodReady && cond.Status != corev1.ConditionTrue && p.Status.Phase == corev1.PodRunning:
			r := containerStatus(p, runnerContainer)
			return r != nil && r.State.Running != nil
		}
	}
	return false
}

// nodeTrouble says what is wrong with a node; "" when nothing is.
func (c *Client) nodeTrouble(ctx context.Context, name string) (string, error) {
	var n corev1.Node
	err := c.api.Get(ctx, client.ObjectKey{Name: name}, &n)
	if apierrors.IsNotFound(err) {
		return "its node " + name + " is not in the cluster any more", nil
	}
	if err != nil {
		return "", explain(err, "read node %s", name)
	}
	for _, cond := range n.Status.Conditions {
		if cond.Type == corev1.NodeReady && cond.Status != corev1.ConditionTrue {
			return "its node " + name + " does not answer since " + cond.LastTransitionTime.UTC().Format(time.RFC3339), nil
		}
	}
	return "", nil
}

func over(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

// runnerState reads one pod. It calls nobody.
func runnerState(p *corev1.Pod, around surroundings) RunnerPodState {
	s := RunnerPodState{
		Name: p.Name, UID: string(p.UID), Leaving: p.DeletionTimestamp != nil, Node: p.Spec.NodeName, CreatedAt: p.CreationTimestamp.Time,
	}
	s.Application, s.Pool, s.Slot, _ = runnerIDs(p.Labels)
	for _, cond := range p.Status.Conditions {
		if cond.Type == corev1.PodScheduled && cond.Status == corev1.ConditionTrue {
			s.ScheduledAt = cond.LastTransitionTime.Time
		}
	}
	for _, st := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		s.Containers = append(s.Containers, containerOf(st))
		begun, ended := timesOf(st)
		switch st.Name {
		case prepareContainer:
			s.PreparedAt = ended
		case dockerContainer:
			s.DockerAt, s.Restarts = begun, st.RestartCount
		case runnerContainer:
			s.StartedAt, s.EndedAt = begun, ended
			s.Image = runningImage(p, st)
			if t := st.State.Terminated; t != nil {
				s.ExitCode = &t.ExitCode
			}
		}
	}
	switch r := containerStatus(p, runnerContainer); {
	case over(p), r != nil && r.State.Terminated != nil:
		s.Phase = RunnerEnded
		s.Fault, s.Seen = howEnded(p)
		if s.EndedAt.IsZero() {
			s.EndedAt = lastTransition(p)
		}
	case r != nil && r.State.Running != nil:
		s.Phase, s.Seen = RunnerRunning, "it runs on "+p.Spec.NodeName
	case p.Spec.NodeName != "":
		s.Phase = RunnerStarting
		s.Fault, s.Seen = whatKeeps(p, around.warnings[string(p.UID)])
	default:
		s.Phase = RunnerPending
		s.Fault, s.Seen = whyUnplaced(p)
	}
	if why := around.nodes[p.Spec.NodeName]; why != "" && s.Phase != RunnerEnded {
		s.Fault, s.Seen = FaultNode, why
	}
	return s
}

func containerStatus(p *corev1.Pod, name string) *corev1.ContainerStatus {
	for _, list := range [][]corev1.ContainerStatus{p.Status.ContainerStatuses, p.Status.InitContainerStatuses} {
		for i := range list {
			if list[i].Name == name {
				return &list[i]
			}
		}
	}
	return nil
}

func containerOf(st corev1.ContainerStatus) RunnerContainer {
	c := RunnerContainer{Name: st.Name, Image: st.Image, State: "waiting", Restarts: st.RestartCount}
	switch {
	case st.State.Running != nil:
		c.State = "running"
	case st.State.Terminated != nil:
		c.State, c.Reason = "ended", st.State.Terminated.Reason
	case st.State.Waiting != nil:
		c.Reason = st.State.Waiting.Reason
	}
	return c
}

func timesOf(st corev1.ContainerStatus) (begun, ended time.Time) {
	switch {
	case st.State.Running != nil:
		return st.State.Running.StartedAt.Time, time.Time{}
	case st.State.Terminated != nil:
		return st.State.Terminated.StartedAt.Time, st.State.Terminated.FinishedAt.Time
	}
	return time.Time{}, time.Time{}
}

// runningImage is the image that was asked for, with the digest of what the node runs.
func runningImage(p *corev1.Pod, st corev1.ContainerStatus) string {
	if st.ImageID == "" || st.State.Waiting != nil {
		return ""
	}
	asked := st.Image
	for _, c := range p.Spec.Containers {
		if c.Name == st.Name {
			asked, _, _ = strings.Cut(c.Image, "@")
		}
	}
	if _, digest, ok := strings.Cut(st.ImageID, "@"); ok {
		return asked + "@" + digest
	}
	return asked + " (" + st.ImageID + ")" // loaded into the node, from no registry
}

func lastTransition(p *corev1.Pod) (at time.Time) {
	for _, cond := range p.Status.Conditions {
		if cond.LastTransitionTime.After(at) {
			at = cond.LastTransitionTime.Time
		}
	}
	return at
}
