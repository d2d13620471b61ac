package kube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/slipway"
)

// JobOptions are what RunJob needs beside the command. Zero durations mean the defaults.
type JobOptions struct {
	Redact     func(string) string // every word of the container passes it, before any is cut; required
	Note       func(string)        // hears a line for the step as soon as it is true; may be nil
	ImageAfter time.Duration       // how long the container may be unable to start
}

// JobResult is how a command went. It is filled as far as known beside an error too.
type JobResult struct {
	Job      string
	ExitCode int
	Output   string // the end of the output when the command failed, redacted
	Cut      bool   // the start of the output was dropped
	Notes    []string
	Adopted  bool // the Job of the same call was already there
}

// RunJob runs a command as the application's one Job and waits for its end. A Job that an
// earlier action left is deleted after it has ended, with a note; one that still runs
// makes this call fail. When ctx ends the Job is left as it is: the caller knows whether
// it is cancelled, or will be watched again after a restart.
func (c *Client) RunJob(ctx context.Context, spec JobSpec, opts JobOptions) (JobResult, error) {
	if opts.Redact == nil {
		return JobResult{}, slipway.Errorf(slipway.Internal, "the command of %s was to run without a redactor", spec.App.Ref())
	}
	opts.ImageAfter = cmp.Or(opts.ImageAfter, DefaultImageAfter)
	want, err := BuildJob(spec)
	if err != nil {
		return JobResult{}, err
	}
	r := &jobRun{c: c, spec: spec, opts: opts, res: JobResult{Job: want.Name}}
	job, err := r.own(ctx, want)
	if err != nil {
		return r.res, err
	}
	err = r.watch(ctx, job)
	return r.res, err
}

// jobRun is one call of RunJob.
type jobRun struct {
	c    *Client
	spec JobSpec
	opts JobOptions
	res  JobResult
}

func (r *jobRun) note(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	r.res.Notes = append(r.res.Notes, line)
	if r.opts.Note != nil {
		r.opts.Note(line)
	}
}

// own gets the application's one Job for this call: it creates it, or finds that this
// very call has created it before. Creation is the mutual exclusion: of many calls at
// once the API server lets one through, and the others read what they met.
func (r *jobRun) own(ctx context.Context, want *batchv1.Job) (*batchv1.Job, error) {
	for try := 0; ; try++ {
		job := want.DeepCopy()
		err := r.c.api.Create(ctx, job, client.FieldOwner(fieldManager))
		if err == nil {
			return job, nil
		}
		if !apierrors.IsAlreadyExists(err) {
			if passing(err) && try < maxTries {
				if err := pause(ctx, try); err != nil {
					return nil, fmt.Errorf("create the Job %s: %w", want.Name, err)
				}
				continue
			}
			return nil, r.refused(err, want)
		}
		var met batchv1.Job
		err = r.c.api.Get(ctx, client.ObjectKeyFromObject(want), &met)
		if apierrors.IsNotFound(err) {
			continue // it went in between
		}
		if err != nil {
			return nil, explain(err, "read the Job %s in namespace %s", want.Name, want.Namespace)
		}
		adopt, err := r.meet(ctx, &met, want)
		if err != nil {
			return nil, err
		}
		if adopt {
			r.res.Adopted = true
			return &met, nil
		}
		if try >= 2*maxTries {
			return nil, r.stillRunning(&met)
		}
	}
}

// meet decides about a Job that has our name already: adopt it, refuse, or see it gone.
func (r *jobRun) meet(ctx context.Context, met, want *batchv1.Job) (adopt bool, err error) {
	ours := met.Labels[LabelRole] == roleAction && within(ApplicationLabels(r.spec.App), met.Labels)
	switch {
	case !ours:
		return false, fail(slipway.CodeJobRunning, slipway.Conflict,
			"a Job %s exists in namespace %s that is not Slipway's; it is left untouched", met.Name, met.Namespace).
			hint("rename or delete it, then request the change again")
	case met.DeletionTimestamp != nil:
		return false, r.c.jobGone(ctx, met)
	case met.Labels[LabelFlowRun] == want.Labels[LabelFlowRun] && met.Annotations[annotationCall] == want.Annotations[annotationCall]:
		if met.Annotations[annotationSpecHash] != want.Annotations[annotationSpecHash] {
			return false, fail(slipway.CodeJobRunning, slipway.Conflict,
				"the Job %s of this call exists with another command or environment", met.Name).
				hint("request the change again")
		}
		return true, nil
	}
	end := endedAs(met)
	if end == "" {
		return false, r.stillRunning(met)
	}
	// Deleted under its UID: what another call has put in its place meanwhile stays.
	err = r.c.api.Delete(ctx, met, client.Preconditions{UID: &met.UID}, client.PropagationPolicy(metav1.DeletePropagationForeground))
	switch {
	case apierrors.IsNotFound(err) || apierrors.IsConflict(err):
		return false, nil
	case err != nil:
		return false, explain(err, "delete the earlier Job %s in namespace %s", met.Name, met.Namespace)
	}
	if met.Labels[LabelFlowRun] != want.Labels[LabelFlowRun] {
		r.note("Deleted the Job %s, left by the %s (%s)", met.Name, taskOf(met), end)
	}
	return false, r.c.jobGone(ctx, met)
}

// stillRunning is the refusal while an earlier Job has not ended.
func (r *jobRun) stillRunning(met *batchv1.Job) error {
	return fail(slipway.CodeJobRunning, slipway.Conflict,
		"the Job %s of %s is still running; wait for it to end and request the change again", met.Name, taskRef(met))
}

// jobGone waits until the Job met and its pods are no more, so that no old command runs
// beside a new one.
func (c *Client) jobGone(ctx context.Context, met *batchv1.Job) error {
	in := client.InNamespace(met.Namespace)
	on := []watched{{&batchv1.JobList{}, []client.ListOption{in}}, {&corev1.PodList{}, []client.ListOption{in, client.HasLabels{labelJobName}}}}
	left := ""
	err := c.await(ctx, c.goneWithin, on, func(ctx context.Context) (bool, error) {
		var now batchv1.Job
		err := c.api.Get(ctx, client.ObjectKeyFromObject(met), &now)
		if client.IgnoreNotFound(err) != nil {
			return false, explain(err, "read the Job %s in namespace %s", met.Name, met.Namespace)
		}
		if err == nil && now.UID == met.UID {
			left = "the Job is still there"
			return false, nil
		}
		pods, err := c.podsOfJob(ctx, met)
		if err != nil || len(pods) == 0 {
			return err == nil, err
		}
		left = "pod " + pods[0].Name + " is still there"
		return false, nil
	})
	if errors.Is(err, errTimeout) {
		return fail(slipway.CodeJobRunning, slipway.Unavailable, "the earlier Job %s was deleted and is not gone after %s: %s", met.Name, c.goneWithin, left).
			hint("see what keeps it with  kubectl describe job %s -n %s", met.Name, met.Namespace)
	}
	if err != nil {
		return fmt.Errorf("wait for the end of the earlier Job %s: %w", met.Name, err)
	}
	return nil
}

// podsOfJob lists the pods that the Job owns, the newest first.
func (c *Client) podsOfJob(ctx context.Context, job *batchv1.Job) ([]corev1.Pod, error) {
	var list corev1.PodList
	if err := c.api.List(ctx, &list, client.InNamespace(job.Namespace), client.MatchingLabels{labelJobName: job.Name}); err != nil {
		return nil, explain(err, "list the pods of Job %s in namespace %s", job.Name, job.Namespace)
	}
	var own []corev1.Pod
	for _, p := range list.Items {
		if metav1.IsControlledBy(&p, job) {
			own = append(own, p)
		}
	}
	return own, nil
}

// refused says why the API server took no Job: most often an image that is no reference,
// a quota, or an admission rule.
func (r *jobRun) refused(err error, want *batchv1.Job) error {
	told := explain(err, "create the Job %s in namespace %s", want.Name, want.Namespace)
	var e *slipway.Error
	if !errors.As(told, &e) {
		return told
	}
	e.Msg = r.opts.Redact(e.Msg)
	e.Err = nil // it quotes what it refused, and a cause is logged
	code := slipway.CodeJobFailed
	if e.Kind == slipway.Invalid {
		code = slipway.CodeInvalidArgument
	}
	return &Failure{Code: code, Err: e}
}

// endedAs says how and when a Job ended; "" while it has not. Only the conditions
// Complete and Failed mean the end: a Job without active pods may be about to start one.
func endedAs(job *batchv1.Job) string {
	for _, cond := range job.Status.Conditions {
		if cond.Status != corev1.ConditionTrue {
			continue
		}
		at := cond.LastTransitionTime.UTC().Format("2006-01-02 15:04")
		switch cond.Type {
		case batchv1.JobComplete:
			return "succeeded " + at
		case batchv1.JobFailed:
			return "failed " + at
		}
	}
	return ""
}

// taskOf names the task that made a Job, by its kind when that is known: upgrade task 41.
func taskOf(job *batchv1.Job) string {
	if kind := job.Annotations[annotationTaskKind]; kind != "" {
		return kind + " " + taskRef(job)
	}
	return taskRef(job)
}

func taskRef(job *batchv1.Job) string {
	if n := job.Labels[LabelTask]; n != "" {
		return "task " + n
	}
	return "an earlier task"
}

// command writes the argv as people type it, redacted and cut.
func (r *jobRun) command() string {
	text := r.opts.Redact(strings.Join(r.spec.Command, " "))
	if runes := []rune(text); len(runes) > 200 {
		text = string(runes[:199]) + "…"
	}
	return text
}
