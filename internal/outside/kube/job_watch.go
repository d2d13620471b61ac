package kube

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/slipway"
)

// overdue is how long after its deadline a Job may still be unfinished. The Job
// controller ends it at the deadline; when it does not, nobody will.
const overdue = 2 * time.Minute

// watch follows our Job to its end and says how it went.
func (r *jobRun) watch(ctx context.Context, job *batchv1.Job) error {
	out := newOutput(r.c, job.Namespace, r.spec.FailIfOutputMatches)
	defer out.stop()
	in := client.InNamespace(job.Namespace)
	on := []watched{
		{&batchv1.JobList{}, []client.ListOption{in, client.MatchingLabels{LabelApplication: r.spec.App.Name, LabelRole: roleAction}}},
		{&corev1.PodList{}, []client.ListOption{in, client.MatchingLabels{labelJobName: job.Name}}},
	}
	w := &jobWatch{r: r, job: job, out: out, stuck: map[string]time.Time{}}
	limit := time.Duration(*job.Spec.ActiveDeadlineSeconds)*time.Second + overdue
	err := r.c.await(ctx, limit, on, w.check)
	switch {
	case err == nil:
		return w.verdict(ctx)
	case errors.Is(err, errTimeout):
		return fail(slipway.CodeJobTimeout, slipway.Unavailable,
			"the command %q has not ended, %s after its Job %s was to end by itself", r.command(), overdue, job.Name).
			hint("check the cluster's controller manager")
	case ctx.Err() != nil:
		return fmt.Errorf("wait for the Job %s: %w", job.Name, err)
	}
	return err
}

// jobWatch is what has been seen of one Job.
type jobWatch struct {
	r     *jobRun
	job   *batchv1.Job
	out   *output
	stuck map[string]time.Time

	last *corev1.Pod // as it was last seen, for the time after its deletion
	gone bool

	final        string // a fault that will not heal, in words
	finalMessage string // the cluster's part of them
}

// check reads the Job and its pod. It is done when the Job has ended, is gone, or cannot
// ever start.
func (w *jobWatch) check(ctx context.Context) (bool, error) {
	c := w.r.c
	var now batchv1.Job
	err := c.api.Get(ctx, client.ObjectKeyFromObject(w.job), &now)
	switch {
	case apierrors.IsNotFound(err), err == nil && now.UID != w.job.UID:
		w.gone = true
		return true, nil
	case err != nil:
		return false, explain(err, "read the Job %s in namespace %s", w.job.Name, w.job.Namespace)
	}
	w.job = &now
	pods, err := c.podsOfJob(ctx, &now)
	if err != nil {
		return false, err
	}
	if len(pods) > 0 {
		w.last = &pods[0]
		w.out.see(w.last)
	}
	if endedAs(&now) != "" {
		return true, nil
	}
	if w.last != nil {
		w.final = w.finalFault(w.last)
	} else {
		w.final = w.noPod(ctx)
	}
	return w.final != "", nil
}

// noPod names what has kept the cluster from making a pod for too long: a quota, an
// admission rule. Without such a word the Job controller may just be slow.
func (w *jobWatch) noPod(ctx context.Context) string {
	const key = "" // no container has that name
	if _, ok := w.stuck[key]; !ok {
		w.stuck[key] = w.r.c.now()
	}
	if w.r.c.now().Sub(w.stuck[key]) < w.r.opts.ImageAfter {
		return ""
	}
	event := w.r.c.lastWarning(ctx, w.job)
	if event == "" {
		return ""
	}
	return "no pod can be made: " + event
}

// finalFault names what has kept the container from starting for too long.
func (w *jobWatch) finalFault(p *corev1.Pod) string {
	present := map[string]bool{}
	for _, f := range faultsOf(p) {
		if !f.cannotStart {
			continue
		}
		key := f.container // the reasons of one fault take turns: ErrImagePull, ImagePullBackOff
		present[key] = true
		if _, ok := w.stuck[key]; !ok {
			w.stuck[key] = w.r.c.now()
		}
		if w.r.c.now().Sub(w.stuck[key]) >= w.r.opts.ImageAfter {
			w.finalMessage = f.message
			return f.text(p.Name)
		}
	}
	for key := range w.stuck {
		if !present[key] {
			delete(w.stuck, key)
		}
	}
	return ""
}

// verdict says how the command went, and keeps its output when it failed. Everything is
// read before anything is ended or deleted.
func (w *jobWatch) verdict(ctx context.Context) error {
	r, name := w.r, w.job.Name
	failed := func(code string, format string, args ...any) error {
		f := fail(code, slipway.Unavailable, "the command %q "+format, append([]any{r.command()}, args...)...)
		f.Err.Msg = r.opts.Redact(f.Err.Msg)
		return f
	}
	succeeded := strings.HasPrefix(endedAs(w.job), "succeeded") && !w.gone
	if succeeded && r.spec.FailIfOutputMatches == nil {
		return nil
	}
	matched := w.out.finish(ctx, w.last)
	if succeeded && !matched {
		return nil
	}
	w.keepOutput(ctx)
	r.res.ExitCode = exitCode(w.last)
	switch {
	case w.gone:
		return failed(slipway.CodeJobFailed, "was cut short: its Job %s was deleted while it ran", name)
	case w.final != "":
		event := ""
		if w.last != nil {
			event = r.c.lastWarning(ctx, w.last)
		}
		w.end(ctx)
		text := w.final
		if event != "" && !strings.Contains(text, event) {
			text += "; last event: " + briefly(event, w.finalMessage)
		}
		return failed(slipway.CodeJobFailed, "could not start (Job %s): %s", name, text)
	case succeeded:
		return failed(slipway.CodeJobFailed, "ended with exit code 0, but its output matches %q (Job %s)", r.spec.FailIfOutputMatches, name)
	case failureReason(w.job) == batchv1.JobReasonDeadlineExceeded:
		return failed(slipway.CodeJobTimeout, "did not end within %s (Job %s)%s", time.Duration(*w.job.Spec.ActiveDeadlineSeconds)*time.Second, name, w.whyNotStarted())
	}
	if why := unusualEnd(w.last); why != "" {
		return failed(slipway.CodeJobFailed, "failed: %s (Job %s)", why, name)
	}
	return failed(slipway.CodeJobFailed, "failed with exit code %d (Job %s)", r.res.ExitCode, name)
}

// keepOutput redacts what the command wrote, then cuts it. Without any, it keeps what the
// cluster says of the pod instead.
func (w *jobWatch) keepOutput(ctx context.Context) {
	r := w.r
	text, whole := w.out.text()
	if strings.TrimSpace(text) == "" {
		switch message := terminationMessage(w.last); {
		case message != "" && notStarted(w.last):
			text, whole = CleanOutput([]byte(message)), true // of the container runtime, and there is no log
		case message != "":
			text, whole = lastWords(message)
			r.note("The log of the Job %s is gone; the output is the container's last message", w.job.Name)
		default:
			text, whole = w.instead(ctx), true
		}
	}
	kept, cut := CutOutput(r.opts.Redact(text))
	r.res.Output, r.res.Cut = kept, cut || !whole
}

// instead tells of a pod without output what the cluster says of it.
func (w *jobWatch) instead(ctx context.Context) string {
	var lines []string
	for _, cond := range w.job.Status.Conditions {
		if cond.Type == batchv1.JobFailed && cond.Status == corev1.ConditionTrue {
			lines = append(lines, fmt.Sprintf("Job %s: %s: %s", w.job.Name, cond.Reason, cond.Message))
		}
	}
	if w.last != nil {
		for _, f := range faultsOf(w.last) {
			lines = append(lines, f.text(w.last.Name))
		}
		if event := w.r.c.lastWarning(ctx, w.last); event != "" {
			lines = append(lines, "last event: "+event)
		}
	}
	if event := w.r.c.lastWarning(ctx, w.job); event != "" {
		lines = append(lines, "last event of the Job: "+event)
	}
	return strings.Join(lines, "\n")
}

// end makes a Job that cannot start end: by its deadline, so that it stays for people to
// look at. It waits for that, so that the next action finds it ended.
func (w *jobWatch) end(ctx context.Context) {
	raw := []byte(`{"spec":{"activeDeadlineSeconds":1}}`)
	err := w.r.c.api.Patch(ctx, w.job, client.RawPatch(types.MergePatchType, raw), client.FieldOwner(fieldManager))
	if err == nil {
		on := []watched{{&batchv1.JobList{}, []client.ListOption{client.InNamespace(w.job.Namespace)}}}
		err = w.r.c.await(ctx, w.r.c.goneWithin, on, func(ctx context.Context) (bool, error) {
			var now batchv1.Job
			if err := w.r.c.api.Get(ctx, client.ObjectKeyFromObject(w.job), &now); err != nil {
				return apierrors.IsNotFound(err), explain(client.IgnoreNotFound(err), "read the Job %s", w.job.Name)
			}
			return endedAs(&now) != "", nil
		})
	}
	if client.IgnoreNotFound(err) != nil {
		w.r.c.log.Warn("a Job that cannot start was not ended", "job", w.job.Name, "namespace", w.job.Namespace, "error", err)
		w.r.note("The Job %s could not be ended; delete it before the next action", w.job.Name)
	}
}

// whyNotStarted adds to a time-out what kept the command from starting, if anything did.
func (w *jobWatch) whyNotStarted() string {
	if w.last == nil {
		return ": no pod was made"
	}
	if s := actionStatus(w.last); s != nil && (s.State.Running != nil || s.State.Terminated != nil) {
		return ""
	}
	if faults := faultsOf(w.last); len(faults) > 0 {
		return ": " + faults[0].text(w.last.Name)
	}
	return ""
}

func failureReason(job *batchv1.Job) string {
	for _, cond := range job.Status.Conditions {
		if (cond.Type == batchv1.JobFailed || cond.Type == batchv1.JobFailureTarget) && cond.Status == corev1.ConditionTrue {
			return cond.Reason
		}
	}
	return ""
}

// actionStatus is the status of the command's container; a mesh may have put others beside it.
func actionStatus(p *corev1.Pod) *corev1.ContainerStatus {
	if p == nil {
		return nil
	}
	for i := range p.Status.ContainerStatuses {
		if p.Status.ContainerStatuses[i].Name == actionContainer {
			return &p.Status.ContainerStatuses[i]
		}
	}
	return nil
}

func exitCode(p *corev1.Pod) int {
	if s := actionStatus(p); s != nil && s.State.Terminated != nil {
		return int(s.State.Terminated.ExitCode)
	}
	return -1
}

// maxTerminationMessage is what the kubelet keeps of a log's end.
const maxTerminationMessage = 2 << 10

// lastWords is a termination message that the kubelet took from the end of a log, and
// whether that is all of the log. Of a longer log the first line may begin in the middle:
// it goes, since half a secret is no longer known for one.
func lastWords(message string) (text string, whole bool) {
	whole = len(message) < maxTerminationMessage-4 // which cuts on a character
	if !whole {
		if at := strings.IndexByte(message, '\n'); at >= 0 && at < len(message)-1 {
			message = message[at+1:]
		} else {
			message = "(one long line, of which only the end is known)"
		}
	}
	return CleanOutput([]byte(message)), whole
}

func terminationMessage(p *corev1.Pod) string {
	if s := actionStatus(p); s != nil && s.State.Terminated != nil {
		return s.State.Terminated.Message
	}
	return ""
}

// notStarted reports whether the container ended before its program began: there is no
// such program, or it may not be run.
func notStarted(p *corev1.Pod) bool {
	s := actionStatus(p)
	return s != nil && s.State.Terminated != nil &&
		slices.Contains([]string{"StartError", "ContainerCannotRun"}, s.State.Terminated.Reason)
}

// unusualEnd tells an end that is not the command's own: killed for memory, evicted,
// its pod deleted. "" when the exit code says it all.
func unusualEnd(p *corev1.Pod) string {
	if p == nil {
		return "its pod is gone, and nothing is known of its end"
	}
	if s := actionStatus(p); s != nil && s.State.Terminated != nil && s.State.Terminated.Reason == "OOMKilled" {
		limit := ""
		for _, c := range p.Spec.Containers {
			if m := c.Resources.Limits.Memory(); c.Name == actionContainer && !m.IsZero() {
				limit = " of " + m.String()
			}
		}
		return fmt.Sprintf("it was killed for using more memory than its limit%s allows (OOMKilled)", limit)
	}
	if notStarted(p) {
		return "its program could not be started: " + terminationMessage(p)
	}
	if p.Status.Reason != "" {
		return strings.TrimSuffix(fmt.Sprintf("%s: %s", p.Status.Reason, strings.TrimSpace(p.Status.Message)), ": ")
	}
	for _, cond := range p.Status.Conditions {
		if cond.Type == corev1.DisruptionTarget && cond.Status == corev1.ConditionTrue {
			return fmt.Sprintf("its pod was ended by the cluster, %s: %s", cond.Reason, cond.Message)
		}
	}
	if s := actionStatus(p); s == nil || s.State.Terminated == nil {
		return "its pod was deleted while it ran"
	}
	return ""
}

// DeleteJob deletes the Job of one flow run while it runs, and waits until its pods are
// gone, as for a cancelled action. Another's Job is left alone, and so is one that has ended:
// it is the evidence, and stays until the next action. It returns the name of what it
// deleted.
func (c *Client) DeleteJob(ctx context.Context, app slipway.Application, release, flowRunID string) (string, error) {
	var job batchv1.Job
	err := c.api.Get(ctx, client.ObjectKey{Namespace: app.Namespace, Name: JobName(release)}, &job)
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", explain(err, "read the Job %s in namespace %s", JobName(release), app.Namespace)
	}
	if job.Labels[LabelRole] != roleAction || !within(ApplicationLabels(app), job.Labels) || job.Labels[LabelFlowRun] != flowRunID {
		return "", nil
	}
	if endedAs(&job) != "" && job.DeletionTimestamp == nil {
		return "", nil
	}
	return job.Name, c.deleteJob(ctx, &job)
}

// DeleteJobsOf deletes the Jobs of the application's actions, as it is deleted itself.
func (c *Client) DeleteJobsOf(ctx context.Context, app slipway.Application) error {
	var list batchv1.JobList
	marks := client.MatchingLabels(ApplicationLabels(app))
	marks[LabelRole] = roleAction
	if err := c.api.List(ctx, &list, client.InNamespace(app.Namespace), marks); err != nil {
		return explain(err, "list the Jobs of %s in namespace %s", app.Name, app.Namespace)
	}
	for i := range list.Items {
		if err := c.deleteJob(ctx, &list.Items[i]); err != nil {
			return err
		}
	}
	return nil
}

func (c *Client) deleteJob(ctx context.Context, job *batchv1.Job) error {
	err := c.api.Delete(ctx, job, client.Preconditions{UID: &job.UID}, client.PropagationPolicy("Foreground"))
	if client.IgnoreNotFound(err) != nil {
		return explain(err, "delete the Job %s in namespace %s", job.Name, job.Namespace)
	}
	return c.jobGone(ctx, job)
}
