package kube

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// fault is one thing that keeps a pod from being ready.
type fault struct {
	container   string // empty: the pod itself
	reason      string
	message     string
	image       string
	cannotStart bool // the container's image or configuration is wrong
	crashes     bool // it starts and ends again and again
	restarts    int
	last        string // how it ended the last time
}

// cannotStart are the reasons of a waiting container that are about what was asked for,
// and not about time.
var cannotStart = map[string]bool{
	"ImagePullBackOff": true, "ErrImagePull": true, "InvalidImageName": true, "ErrImageNeverPull": true,
	"RegistryUnavailable": true, "ImageInspectError": true, "SignatureValidationFailed": true,
	"CreateContainerConfigError": true, "CreateContainerError": true, "RunContainerError": true,
}

// text says the fault in words.
func (f fault) text(pod string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "pod %s", pod)
	if f.container != "" {
		fmt.Fprintf(&b, ": container %s", f.container)
	}
	switch {
	case f.reason == "ErrImagePull":
		// The kubelet says one while it tries and the other between; people know the other.
		b.WriteString(" cannot start: ImagePullBackOff (ErrImagePull)")
	case f.cannotStart:
		fmt.Fprintf(&b, " cannot start: %s", f.reason)
	case f.crashes:
		fmt.Fprintf(&b, " crashed %d times: %s", f.restarts, f.reason)
	default:
		fmt.Fprintf(&b, ": %s", f.reason)
	}
	if f.message != "" {
		fmt.Fprintf(&b, ": %s", f.message)
	}
	if f.image != "" && !strings.Contains(f.message, f.image) {
		fmt.Fprintf(&b, " (image %s)", f.image)
	}
	if f.last != "" && f.last != f.reason {
		fmt.Fprintf(&b, " (%s)", f.last)
	}
	return b.String()
}

// faultsOf finds what keeps a pod from being ready, the gravest first.
func faultsOf(p *corev1.Pod) []fault {
	var out []fault
	images := map[string]string{}
	for _, c := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
		images[c.Name] = c.Image
	}
	for _, s := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		f := fault{container: s.Name, restarts: int(s.RestartCount), last: endOf(s.LastTerminationState.Terminated)}
		switch {
		case s.State.Waiting != nil && cannotStart[s.State.Waiting.Reason]:
			f.cannotStart, f.reason, f.message, f.image = true, s.State.Waiting.Reason, s.State.Waiting.Message, images[s.Name]
		case s.State.Waiting != nil && s.State.Waiting.Reason == "CrashLoopBackOff":
			f.crashes, f.reason = true, s.State.Waiting.Reason
		case s.State.Terminated != nil && s.State.Terminated.ExitCode != 0:
			f.reason = endOf(s.State.Terminated)
		case s.State.Running != nil && !s.Ready && s.RestartCount > 0:
			f.reason = fmt.Sprintf("runs again after %d restarts and is not ready", s.RestartCount)
		case s.State.Running != nil && !s.Ready && slices.ContainsFunc(p.Spec.Containers, func(c corev1.Container) bool { return c.Name == s.Name }):
			f.reason = "runs and is not ready"
		default:
			continue
		}
		out = append(out, f)
	}
	for _, cond := range p.Status.Conditions {
		if cond.Type == corev1.PodScheduled && cond.Status == corev1.ConditionFalse {
			out = append(out, fault{reason: cond.Reason, message: cond.Message})
		}
	}
	if p.Status.Reason != "" { // Evicted, NodeLost, …
		out = append(out, fault{reason: p.Status.Reason, message: p.Status.Message})
	}
	slices.SortStableFunc(out, func(a, b fault) int { return cmp.Compare(gravity(b), gravity(a)) })
	return out
}

func gravity(f fault) int {
	switch {
	case f.cannotStart:
		return 2
	case f.crashes:
		return 1
	}
	return 0
}

// endOf says how a container ended.
func endOf(t *corev1.ContainerStateTerminated) string {
	if t == nil {
		return ""
	}
	text := fmt.Sprintf("ended with exit code %d", t.ExitCode)
	if t.Signal != 0 {
		text = fmt.Sprintf("ended by signal %d", t.Signal)
	}
	if t.Reason != "" && t.Reason != "Error" && t.Reason != "Completed" {
		text += ", " + t.Reason
	}
	return text
}

// newestPods lists the pods of the newest revision of a workload. Those of an older one
// may crash for reasons that the change has just cured.
func (w *readiness) newestPods(ctx context.Context, u *unstructured.Unstructured) ([]corev1.Pod, error) {
	return w.c.newestPods(ctx, u)
}

func (c *Client) newestPods(ctx context.Context, u *unstructured.Unstructured) ([]corev1.Pod, error) {
	if u.GetKind() == "Job" && u.GroupVersionKind().Group == "batch" {
		var pods corev1.PodList
		err := c.api.List(ctx, &pods, client.InNamespace(u.GetNamespace()), client.MatchingLabels{labelJobName: u.GetName()})
		return pods.Items, explain(err, "list the pods of Job %s in namespace %s", u.GetName(), u.GetNamespace())
	}
	w, ok, err := WorkloadOf(u)
	if !ok || err != nil || w.Kind == KindCronJob {
		return nil, err
	}
	pods, err := c.podsOf(ctx, w)
	if err != nil {
		return nil, err
	}
	hash := ""
	label := appsv1.ControllerRevisionHashLabelKey
	switch w.Kind {
	case KindDeployment:
		label = appsv1.DefaultDeploymentUniqueLabelKey
		hash, err = c.newestReplicaSet(ctx, u, w)
		if err != nil {
			return nil, err
		}
	}
	if hash == "" {
		// A StatefulSet waits for a broken pod of its old revision for ever, so all of its
		// pods matter; a DaemonSet does not say which revision is its newest.
		return pods, nil
	}
	return slices.DeleteFunc(pods, func(p corev1.Pod) bool { return p.Labels[label] != hash }), nil
}

// newestReplicaSet returns the pod-template hash of the Deployment's newest ReplicaSet.
func (c *Client) newestReplicaSet(ctx context.Context, u *unstructured.Unstructured, w Workload) (string, error) {
	const revision = "deployment.kubernetes.io/revision"
	want := u.GetAnnotations()[revision]
	if want == "" || w.selector == nil {
		return "", nil
	}
	var sets appsv1.ReplicaSetList
	if err := c.api.List(ctx, &sets, client.InNamespace(w.Namespace), client.MatchingLabelsSelector{Selector: w.selector}); err != nil {
		return "", explain(err, "list the ReplicaSets of %s in namespace %s", w, w.Namespace)
	}
	for i := range sets.Items {
		s := &sets.Items[i]
		if s.Annotations[revision] == want && metav1.IsControlledBy(s, u) {
			return s.Labels[appsv1.DefaultDeploymentUniqueLabelKey], nil
		}
	}
	return "", nil
}

// evidence says how the pods of an object stand, and its last warning. It is gathered for
// an error, so what cannot be read is left out rather than put in the error's place.
func (c *Client) evidence(ctx context.Context, u *unstructured.Unstructured, said string, redact func(string) string) []string {
	var lines []string
	add := func(line string) {
		if line != "" && !strings.Contains(said, line) {
			lines = append(lines, line)
		}
	}
	pods, err := c.newestPods(ctx, u)
	if err != nil {
		c.log.Debug("no evidence of pods", "kind", u.GetKind(), "name", u.GetName(), "error", err)
	}
	warning := ""
	for i := range pods {
		faults := faultsOf(&pods[i])
		if len(faults) == 0 {
			continue
		}
		add(faults[0].text(pods[i].Name))
		if f := faults[0]; f.crashes || f.last != "" {
			// Redacted whole, then cut: half a secret would not be known.
			if line := lastLine(redact(c.endOfLog(ctx, &pods[i], f, diagnoseLines))); line != "" {
				add("it wrote: " + line)
			}
		}
		if warning == "" {
			warning = briefly(c.lastWarning(ctx, &pods[i]), faults[0].message)
		}
		if len(lines) == 3 {
			break // the others are most likely alike
		}
	}
	if warning == "" {
		warning = c.lastWarning(ctx, u)
	}
	if warning != "" {
		add("last event: " + warning)
	}
	return lines
}

// briefly leaves of a warning its reason when it says what has been said, in more words.
func briefly(warning, said string) string {
	if said != "" && strings.Contains(warning, said) {
		warning, _, _ = strings.Cut(warning, ":")
	}
	return warning
}

// lastWarning returns the newest warning about an object, as reason: message.
func (c *Client) lastWarning(ctx context.Context, o client.Object) string {
	var events corev1.EventList
	err := c.api.List(ctx, &events, client.InNamespace(o.GetNamespace()),
		client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("involvedObject.uid", string(o.GetUID()))})
	if err != nil {
		c.log.Debug("no events", "name", o.GetName(), "error", err)
		return ""
	}
	var newest *corev1.Event
	for i := range events.Items {
		e := &events.Items[i]
		if e.Type != corev1.EventTypeWarning {
			continue
		}
		if newest == nil || eventTime(e).After(eventTime(newest).Time) {
			newest = e
		}
	}
	if newest == nil {
		return ""
	}
	return newest.Reason + ": " + strings.TrimSpace(newest.Message)
}

func eventTime(e *corev1.Event) metav1.Time {
	switch {
	case e.Series != nil:
		return metav1.NewTime(e.Series.LastObservedTime.Time)
	case !e.LastTimestamp.IsZero():
		return e.LastTimestamp
	case !e.EventTime.IsZero():
		return metav1.NewTime(e.EventTime.Time)
	}
	return e.CreationTimestamp
}
