package kube

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// outdatedExit is how GitHub's runner program ends from 2.333 on, when it was asked to,
// and GitHub does not take its version any more (runner#3366, runner#3486).
const outdatedExit = 7

// whyUnplaced says why no node has the pod.
func whyUnplaced(p *corev1.Pod) (RunnerFault, string) {
	for _, cond := range p.Status.Conditions {
		if cond.Type == corev1.PodScheduled && cond.Status == corev1.ConditionFalse {
			return FaultUnschedulable, unplacedWords(cond.Message, pinnedNode(p))
		}
	}
	return FaultNone, "it waits for a node"
}

func pinnedNode(p *corev1.Pod) string {
	a := p.Spec.Affinity
	if a == nil || a.NodeAffinity == nil || a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return ""
	}
	for _, t := range a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		for _, f := range t.MatchFields {
			if f.Key == "metadata.name" && len(f.Values) == 1 {
				return f.Values[0]
			}
		}
	}
	return ""
}

var (
	unplacedHead = regexp.MustCompile(`^(\d+)/(\d+) nodes are available:?`)
	unplacedPart = regexp.MustCompile(`^(\d+) (.*)$`)
	untolerated  = regexp.MustCompile(`^node\(s\) had untolerated taint(?:s|\(s\))?(?: \{(\S*): ?(\S*)\})?$`)
)

// unplacedWords makes of the scheduler's count of nodes what a person can act on.
func unplacedWords(message, pinned string) string {
	head := unplacedHead.FindStringSubmatch(message)
	if head == nil {
		return "it waits for a node: " + cmp.Or(message, "the scheduler does not say why")
	}
	rest := strings.TrimPrefix(message, head[0])
	rest, _, _ = strings.Cut(rest, " preemption:")
	rest, _, _ = strings.Cut(rest, " no new claims to deallocate") // the same of devices
	var parts []string
	for part := range strings.SplitSeq(strings.Trim(rest, " ."), ", ") {
		m := unplacedPart.FindStringSubmatch(strings.TrimSpace(part))
		if m == nil {
			if part != "" {
				parts = append(parts, part)
			}
			continue
		}
		parts = append(parts, m[1]+" "+unplacedCause(m[2], pinned))
	}
	subject := fmt.Sprintf("it waits for a node: of %s", head[2])
	if head[2] == "0" {
		return "it waits for a node: the cluster has none"
	}
	if pinned != "" {
		subject = fmt.Sprintf("it waits for the node %s: of %s", pinned, head[2])
	}
	return subject + ", " + strings.Join(parts, ", ")
}

func unplacedCause(said, pinned string) string {
	switch {
	case strings.HasPrefix(said, "Insufficient "):
		return "without enough free " + resourceWords(strings.TrimPrefix(said, "Insufficient "))
	case said == "Too many pods":
		return "that take no more pods"
	case said == "node(s) were unschedulable":
		return "cordoned"
	case pinned != "" && (strings.HasPrefix(said, "node(s) didn't match Pod's node affinity") || strings.HasSuffix(said, "[NodeAffinity]")):
		return "not that node, not prepared for runners, or of another architecture"
	case strings.HasPrefix(said, "node(s) didn't match Pod's node affinity"):
		return "not prepared for runners, or of another architecture"
	}
	if m := untolerated.FindStringSubmatch(said); m != nil {
		return strings.TrimSpace("tainted " + strings.TrimSuffix(m[1]+"="+m[2], "="))
	}
	return said
}

func resourceWords(name string) string {
	switch name {
	case "cpu":
		return "CPU"
	case "ephemeral-storage":
		return "disk"
	}
	return name
}

// whatKeeps says why the runner of a pod that has a node does not begin.
func whatKeeps(p *corev1.Pod, warning string) (RunnerFault, string) {
	for _, st := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		w := st.State.Waiting
		switch {
		case w != nil && (strings.Contains(w.Reason, "Image") || w.Reason == "RegistryUnavailable"):
			return FaultImage, fmt.Sprintf("the image %s of %s cannot be had: %s", imageOf(p, st.Name), st.Name, cmp.Or(w.Message, w.Reason))
		case w != nil && strings.HasPrefix(w.Reason, "Create") || w != nil && w.Reason == "RunContainerError":
			return FaultConfig, fmt.Sprintf("the container %s cannot begin: %s", st.Name, cmp.Or(w.Message, w.Reason))
		case st.Name == dockerContainer && st.RestartCount > 0 && (st.Started == nil || !*st.Started):
			return FaultDocker, fmt.Sprintf("the Docker daemon does not start, tried %d times%s", st.RestartCount, wrote(st.LastTerminationState.Terminated))
		case st.Name == prepareContainer && st.State.Terminated != nil && st.State.Terminated.ExitCode != 0:
			return FaultFailed, "the runner's files could not be put into the workspace: " + endOf(st.State.Terminated) + wrote(st.State.Terminated)
		}
	}
	reason, message, _ := strings.Cut(warning, ": ")
	switch reason {
	case "FailedCreatePodSandBox":
		return FaultSandbox, "its node " + p.Spec.NodeName + " cannot start the sandbox: " + message
	case "FailedMount", "FailedAttachVolume":
		return FaultConfig, "its node " + p.Spec.NodeName + " cannot mount what it needs: " + message
	}
	switch {
	case began(p, dockerContainer):
		return FaultNone, "its Docker daemon starts on " + p.Spec.NodeName
	case began(p, prepareContainer):
		return FaultNone, "its workspace is filled on " + p.Spec.NodeName
	}
	return FaultNone, "its images and its sandbox are made ready on " + p.Spec.NodeName
}

func began(p *corev1.Pod, container string) bool {
	st := containerStatus(p, container)
	return st != nil && st.State.Waiting == nil && (st.State.Running != nil || st.State.Terminated != nil)
}

func imageOf(p *corev1.Pod, container string) string {
	for _, c := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
		if c.Name == container {
			return c.Image
		}
	}
	return ""
}

var (
	tooMuchVolume    = regexp.MustCompile(`(?i)usage of EmptyDir volume "` + workspaceVolume + `" exceeds`)
	tooMuchContainer = regexp.MustCompile(`(?i)container (\S+) exceeded its local ephemeral storage limit "([^"]+)"`)
	tooMuchPod       = regexp.MustCompile(`(?i)ephemeral local storage usage exceeds the total limit of containers (\S+?)\.?$`)
	nodeShort        = regexp.MustCompile(`(?i)node was low on resource: ([a-z-]+)`)
)

// howEnded says how a pod that is over ended: by itself, or by what.
func howEnded(p *corev1.Pod) (RunnerFault, string) {
	switch p.Status.Reason {
	case "Evicted":
		return FaultEvicted, evictedWords(p)
	case "DeadlineExceeded":
		limit := ""
		if d := p.Spec.ActiveDeadlineSeconds; d != nil {
			limit = " of " + (time.Duration(*d) * time.Second).String()
		}
		return FaultDeadline, "its time" + limit + " was up; timeout_minutes includes its start and its waiting for a job"
	case "NodeLost", "NodeShutdown", "Shutdown", "Terminated":
		return FaultNode, "its node " + p.Spec.NodeName + " was shut down or lost: " + p.Status.Message
	case "NodeAffinity", "UnexpectedAdmissionError", "OutOfcpu", "OutOfmemory", "OutOfephemeral-storage", "OutOfpods", "Preempting":
		return FaultUnschedulable, "the node " + p.Spec.NodeName + " did not take it: " + cmp.Or(p.Status.Message, p.Status.Reason)
	}
	for _, cond := range p.Status.Conditions {
		if cond.Type == corev1.DisruptionTarget && cond.Status == corev1.ConditionTrue {
			return FaultNode, "the cluster took it away: " + cmp.Or(cond.Message, cond.Reason)
		}
	}
	r := containerStatus(p, runnerContainer)
	if r != nil && r.State.Terminated != nil && r.State.Terminated.ExitCode == 0 {
		return FaultNone, "it has ended"
	}
	for _, st := range slices.Concat(p.Status.ContainerStatuses, p.Status.InitContainerStatuses) {
		for _, t := range []*corev1.ContainerStateTerminated{st.State.Terminated, st.LastTerminationState.Terminated} {
			if t != nil && t.Reason == "OOMKilled" {
				return FaultMemory, fmt.Sprintf("the container %s took more memory than its limit of %s; raise resources.limits.memory, of which the runner and Docker have a part each", st.Name, memoryLimit(p, st.Name))
			}
		}
	}
	for _, name := range []string{prepareContainer, runnerContainer} {
		st := containerStatus(p, name)
		if st == nil || st.State.Terminated == nil || st.State.Terminated.ExitCode == 0 {
			continue
		}
		t := st.State.Terminated
		if name == runnerContainer && (t.ExitCode == outdatedExit || strings.Contains(t.Message, "is deprecated and cannot receive messages")) {
			return FaultOutdated, "the forge does not take this version of the runner program any more (image " + imageOf(p, name) + ")"
		}
		return FaultFailed, "the container " + name + " " + endOf(t) + wrote(t)
	}
	if p.Status.Phase == corev1.PodFailed {
		return FaultFailed, "it failed: " + cmp.Or(p.Status.Message, p.Status.Reason, "the cluster does not say why")
	}
	return FaultNone, "it has ended"
}

func evictedWords(p *corev1.Pod) string {
	said := strings.TrimSpace(p.Status.Message)
	remedy := "; raise workspace_size_gib"
	switch {
	case tooMuchVolume.MatchString(said):
		return "the job wrote more than its workspace of " + workspaceSize(p) + remedy
	case tooMuchPod.MatchString(said):
		return "the job wrote more than its disk of " + tooMuchPod.FindStringSubmatch(said)[1] + ", workspace and all" + remedy
	case tooMuchContainer.MatchString(said):
		m := tooMuchContainer.FindStringSubmatch(said)
		return fmt.Sprintf("the container %s wrote more than its disk of %s, outside of the workspace", m[1], m[2])
	case nodeShort.MatchString(said):
		return "its node " + p.Spec.NodeName + " ran short of " + resourceWords(nodeShort.FindStringSubmatch(said)[1])
	}
	return "its node evicted it: " + said
}

func workspaceSize(p *corev1.Pod) string {
	for _, v := range p.Spec.Volumes {
		if v.Name == workspaceVolume && v.EmptyDir != nil && v.EmptyDir.SizeLimit != nil {
			return v.EmptyDir.SizeLimit.String()
		}
	}
	return "its size"
}

func memoryLimit(p *corev1.Pod, container string) string {
	for _, c := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
		if c.Name == container {
			return c.Resources.Limits.Memory().String()
		}
	}
	return ""
}

var longToken = regexp.MustCompile(`[A-Za-z0-9+/_=-]{32,}`)

// wrote is the last line that a container wrote before it ended with an error. The
// programs of a runner pod write no secret to their own log; whatever looks like one, as
// the configuration does, is covered all the same.
func wrote(t *corev1.ContainerStateTerminated) string {
	if t == nil {
		return ""
	}
	line := longToken.ReplaceAllString(lastLine(t.Message), "***")
	if line == "" {
		return ""
	}
	return ": " + line
}
