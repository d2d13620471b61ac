package kube

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"slipway.dev/slipway/internal/slipway"
)

// labelJobName is what the Job controller puts on the pods of a Job.
const labelJobName = "batch.kubernetes.io/job-name"

// DefaultJobTimeout bounds a command that names no time-out of its own.
const DefaultJobTimeout = time.Hour

// stopGrace is how long a command that was told to stop may take before it is killed.
const stopGrace = 15 * time.Second

// JobSpec is one command of an action, to be run as a Job.
type JobSpec struct {
	App       slipway.Application
	Release   string // names the Job
	TaskID    int64
	TaskKind  slipway.TaskKind
	StepID    int64
	FlowRunID string
	CallKey   string // the same call again finds its own Job

	Command []string
	Image   string
	From    *Workload // whose environment the command gets; nil: an empty one
	// Container is the declared container of From; empty: its first.
	Container string
	Env       []EnvVar // set by the team in the new configuration, on top of From's
	Timeout   time.Duration

	// FailIfOutputMatches turns an exit code 0 into a failure, for tools that print their
	// failure and end well.
	FailIfOutputMatches *regexp.Regexp
}

// JobName is the one name that the Job of an application's action may have: its creation
// is the mutual exclusion of two actions. A long release is cut and told apart by a hash,
// so that the names of pods, which add to it, stay within 63 characters.
func JobName(release string) string {
	const suffix, longest = "-action", 52
	if len(release)+len(suffix) <= longest {
		return release + suffix
	}
	sum := sha256.Sum256([]byte(release))
	hash := hex.EncodeToString(sum[:4])
	keep := strings.TrimRight(release[:longest-len(suffix)-len(hash)-1], "-.")
	return keep + "-" + hash + suffix
}

// BuildJob makes the Job of a command. It calls nobody: the same spec gives the same Job,
// and its hash tells a repeat of the call from another one.
func BuildJob(s JobSpec) (*batchv1.Job, error) {
	if len(s.Command) == 0 {
		return nil, fail(slipway.CodeInvalidArgument, slipway.Invalid, "the command is empty")
	}
	if s.Image == "" {
		return nil, fail(slipway.CodeInvalidArgument, slipway.Invalid, "the command %q has no image", s.Command[0])
	}
	timeout := s.Timeout
	if timeout <= 0 {
		timeout = DefaultJobTimeout
	}
	marks := ApplicationLabels(s.App)
	maps.Copy(marks, map[string]string{
		LabelManagedBy: managedBy, LabelRole: roleAction,
		LabelTask: decimal(s.TaskID), LabelStep: decimal(s.StepID), LabelFlowRun: s.FlowRunID,
	})
	pod := corev1.PodTemplateSpec{
		// Our labels only: with the component's, its Service would send requests here.
		ObjectMeta: metav1.ObjectMeta{Labels: marks, Annotations: map[string]string{
			// A mesh's sidecar never ends, and so neither would the Job.
			"sidecar.istio.io/inject": "false",
			"linkerd.io/inject":       "disabled",
		}},
		Spec: corev1.PodSpec{
			RestartPolicy:                corev1.RestartPolicyNever,
			AutomountServiceAccountToken: new(bool),
			Containers: []corev1.Container{{
				Name: actionContainer, Image: s.Image, Command: s.Command,
				TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
			}},
		},
	}
	var base []corev1.EnvVar
	if s.From != nil {
		c := s.From.environmentOf(s.Container)
		if c == nil {
			return nil, noContainer(*s.From, s.Container)
		}
		likeContainer(&pod.Spec.Containers[0], c)
		likePod(&pod.Spec, &s.From.template)
		base = c.Env
	}
	pod.Spec.Containers[0].Env = MergeEnv(base, s.Env)

	seconds := max(1, int64(timeout/time.Second))
	job := &batchv1.Job{
		TypeMeta: metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.App.Namespace, Name: JobName(s.Release), Labels: maps.Clone(marks),
			Annotations: map[string]string{annotationCall: s.CallKey, annotationTaskKind: string(s.TaskKind)},
		},
		Spec: batchv1.JobSpec{
			Parallelism: new(int32(1)), Completions: new(int32(1)), BackoffLimit: new(int32(0)),
			// No TTL: the Job and its log stay until the next action, for whoever looks.
			ActiveDeadlineSeconds: &seconds,
			Template:              pod,
		},
	}
	raw, err := json.Marshal(job.Spec)
	if err != nil {
		return nil, fmt.Errorf("hash the Job %s: %w", job.Name, err)
	}
	sum := sha256.Sum256(raw)
	job.Annotations[annotationSpecHash] = hex.EncodeToString(sum[:])
	// No part of what the call asked for, and so of no hash: a cancel is done within 30 s.
	job.Spec.Template.Spec.TerminationGracePeriodSeconds = new(int64(stopGrace / time.Second))
	return job, nil
}

// likeContainer copies what a command needs to behave as in the component's container.
// Ports, probes, lifecycle and volumes stay behind: they are about serving.
func likeContainer(to, from *corev1.Container) {
	to.EnvFrom = from.EnvFrom
	to.SecurityContext = from.SecurityContext
	to.ImagePullPolicy = from.ImagePullPolicy
	to.WorkingDir = from.WorkingDir
	if len(from.Resources.Limits) > 0 {
		// Limits alone: a request as large as a server's might find no node.
		to.Resources.Limits = from.Resources.Limits
	}
}

// likePod copies where and as whom the component's pods run.
func likePod(to *corev1.PodSpec, t *corev1.PodTemplateSpec) {
	from := &t.Spec
	to.ImagePullSecrets = from.ImagePullSecrets
	to.SecurityContext = from.SecurityContext
	to.NodeSelector = maps.Clone(from.NodeSelector)
	if key, value := StoppedNode(); to.NodeSelector[key] == value {
		delete(to.NodeSelector, key) // the component is stopped; the command is not
	}
	to.Tolerations = from.Tolerations
	to.RuntimeClassName = from.RuntimeClassName
	to.DNSPolicy = from.DNSPolicy
	to.DNSConfig = from.DNSConfig
	to.HostAliases = from.HostAliases
	to.Affinity = withoutItself(from.Affinity, t.Labels)
	if from.ServiceAccountName != "" {
		to.ServiceAccountName = from.ServiceAccountName
		to.AutomountServiceAccountToken = from.AutomountServiceAccountToken
	}
}

// withoutItself drops the anti-affinity that keeps the component's own pods apart: the
// command may run beside them, and on one node it must.
func withoutItself(a *corev1.Affinity, own map[string]string) *corev1.Affinity {
	if a == nil || a.PodAntiAffinity == nil {
		return a
	}
	picksOwn := func(t corev1.PodAffinityTerm) bool {
		s, err := metav1.LabelSelectorAsSelector(t.LabelSelector)
		return err == nil && s.Matches(labels.Set(own))
	}
	kept := &corev1.PodAntiAffinity{}
	for _, t := range a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
		if !picksOwn(t) {
			kept.RequiredDuringSchedulingIgnoredDuringExecution = append(kept.RequiredDuringSchedulingIgnoredDuringExecution, t)
		}
	}
	for _, t := range a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution {
		if !picksOwn(t.PodAffinityTerm) {
			kept.PreferredDuringSchedulingIgnoredDuringExecution = append(kept.PreferredDuringSchedulingIgnoredDuringExecution, t)
		}
	}
	out := a.DeepCopy()
	out.PodAntiAffinity = kept
	if len(kept.RequiredDuringSchedulingIgnoredDuringExecution)+len(kept.PreferredDuringSchedulingIgnoredDuringExecution) == 0 {
		out.PodAntiAffinity = nil
	}
	return out
}
