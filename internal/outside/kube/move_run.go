package kube

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/slipway"
)

// startWithin is how long a pod of a carriage may take to start its first container: to
// find a node and to have its volumes.
const startWithin = 10 * time.Minute

// MoveResult is how a carriage went. Output is filled beside an error too.
type MoveResult struct {
	slipway.MoveResult
	Output string // the end of what the failed container wrote, redacted
	Cut    bool
}

// RunMove carries bytes and waits for the end. A Job of that name that is there already is
// the same carriage, begun before; it is watched on. The Job and its Secret stay, so that
// the caller can record the result before EndMove removes them.
func (c *Client) RunMove(ctx context.Context, s MoveSpec, opts JobOptions) (MoveResult, error) {
	if opts.Redact == nil {
		return MoveResult{}, slipway.Errorf(slipway.Internal, "the carriage %s was to run without a redactor", s.Name)
	}
	opts.ImageAfter = cmp.Or(opts.ImageAfter, DefaultImageAfter)
	want, err := BuildMove(s)
	if err != nil {
		return MoveResult{}, err
	}
	if len(s.Credentials) > 0 {
		// Before the Job, whose pod would wait for it. Its owner comes after: whoever dies in
		// between comes back here, or to EndMove.
		if err := c.ApplySecret(ctx, s.App.Namespace, s.Name, s.Credentials, want.Labels); err != nil {
			return MoveResult{}, err
		}
	}
	r := &jobRun{c: c, spec: JobSpec{App: s.App, TaskID: s.TaskID, Command: []string{string(s.Order.Do)}}, opts: opts, res: JobResult{Job: want.Name}}
	job, err := r.own(ctx, want)
	if err != nil {
		return MoveResult{}, err
	}
	if len(s.Credentials) > 0 {
		if err := c.ownSecret(ctx, job); err != nil {
			return MoveResult{}, err
		}
	}
	m := &moveWatch{jobWatch: &jobWatch{r: r, job: job, out: newOutput(c, job.Namespace, nil), stuck: map[string]time.Time{}}, begun: c.now()}
	return m.watch(ctx)
}

// ownSecret makes the Job the owner of its Secret, which then goes with it, whoever
// deletes it.
func (c *Client) ownSecret(ctx context.Context, job *batchv1.Job) error {
	owner := []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: job.Name, UID: job.UID}}
	raw, err := json.Marshal(map[string]any{"metadata": map[string]any{"ownerReferences": owner}})
	if err != nil {
		return fmt.Errorf("name the owner of the Secret %s: %w", job.Name, err)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: job.Namespace, Name: job.Name}}
	err = c.api.Patch(ctx, secret, client.RawPatch("application/merge-patch+json", raw), client.FieldOwner(fieldManager))
	if client.IgnoreNotFound(err) != nil {
		return secretError(err, job.Namespace, job.Name)
	}
	return nil // gone: an EndMove before us, whose Job has ended
}

// EndMove removes the Job of a carriage with its pods, and its Secret. What is gone
// already, or is not ours, is left at that.
func (c *Client) EndMove(ctx context.Context, app slipway.Application, name string) error {
	if err := c.DeleteSecret(ctx, app.Namespace, name); err != nil {
		return err
	}
	var job batchv1.Job
	err := c.api.Get(ctx, client.ObjectKey{Namespace: app.Namespace, Name: name}, &job)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return explain(err, "read the Job %s in namespace %s", name, app.Namespace)
	}
	if job.Labels[LabelRole] != roleAction || !within(ApplicationLabels(app), job.Labels) {
		return nil
	}
	return c.deleteJob(ctx, &job)
}

// EndMovesOf removes every carriage of a task, as when it was cancelled.
func (c *Client) EndMovesOf(ctx context.Context, app slipway.Application, taskID int64) error {
	var list batchv1.JobList
	marks := client.MatchingLabels(ApplicationLabels(app))
	marks[LabelRole], marks[LabelTask] = roleAction, decimal(taskID)
	if err := c.api.List(ctx, &list, client.InNamespace(app.Namespace), marks); err != nil {
		return explain(err, "list the Jobs of task %d in namespace %s", taskID, app.Namespace)
	}
	for i := range list.Items {
		// An action's Job stays for people to look at; a carriage carries its own name.
		if job := &list.Items[i]; job.Annotations[annotationCall] == job.Name {
			if err := c.EndMove(ctx, app, job.Name); err != nil {
				return err
			}
		}
	}
	return c.endSecretsOf(ctx, app, marks)
}

// endSecretsOf removes the Secrets of carriages whose Jobs were never made.
func (c *Client) endSecretsOf(ctx context.Context, app slipway.Application, marks client.MatchingLabels) error {
	var list metav1.PartialObjectMetadataList
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	if err := c.api.List(ctx, &list, client.InNamespace(app.Namespace), marks); err != nil {
		return explain(err, "list the Secrets of a task in namespace %s", app.Namespace)
	}
	for _, s := range list.Items {
		if err := c.DeleteSecret(ctx, app.Namespace, s.Name); err != nil {
			return err
		}
	}
	return nil
}

// moveWatch follows the Job of a carriage.
type moveWatch struct {
	*jobWatch
	begun time.Time
}

func (m *moveWatch) watch(ctx context.Context) (MoveResult, error) {
	defer m.out.stop()
	in := client.InNamespace(m.job.Namespace)
	on := []watched{
		{&batchv1.JobList{}, []client.ListOption{in, client.MatchingLabels{LabelTask: m.job.Labels[LabelTask], LabelRole: roleAction}}},
		{&corev1.PodList{}, []client.ListOption{in, client.MatchingLabels{labelJobName: m.job.Name}}},
	}
	limit := time.Duration(*m.job.Spec.ActiveDeadlineSeconds)*time.Second + overdue
	err := m.r.c.await(ctx, limit, on, m.look)
	switch {
	case err == nil:
		return m.ended(ctx)
	case errors.Is(err, errTimeout):
		return MoveResult{}, slipway.Errorf(slipway.Unavailable, "the Job %s has not ended, %s after it was to end by itself", m.job.Name, overdue).
			WithHint("check the cluster's controller manager")
	}
	return MoveResult{}, fmt.Errorf("wait for the Job %s: %w", m.job.Name, err)
}

// look is check, with a limit for a pod that no node takes or whose volumes do not come.
func (m *moveWatch) look(ctx context.Context) (bool, error) {
	done, err := m.check(ctx)
	if done || err != nil || m.last == nil || started(m.last) {
		return done, err
	}
	if m.r.c.now().Sub(m.begun) < startWithin {
		return false, nil
	}
	m.final = "pod " + m.last.Name + " did not start"
	if faults := faultsOf(m.last); len(faults) > 0 {
		m.final = faults[0].text(m.last.Name)
	}
	return true, nil
}

// started reports whether any container of the pod has begun.
func started(p *corev1.Pod) bool {
	return slices.ContainsFunc(slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses), func(s corev1.ContainerStatus) bool {
		return s.State.Running != nil || s.State.Terminated != nil
	})
}

// ended reads the mover's result, or says what failed.
func (m *moveWatch) ended(ctx context.Context) (MoveResult, error) {
	var out MoveResult
	if text := m.moverMessage(); text != "" {
		if err := json.Unmarshal([]byte(text), &out.MoveResult); err != nil && strings.HasPrefix(text, "{") {
			return out, fmt.Errorf("read the result of the Job %s: %w", m.job.Name, err)
		}
	}
	if strings.HasPrefix(endedAs(m.job), "succeeded") && !m.gone && out.Error == "" {
		return out, nil
	}
	name, status := m.culprit()
	out.Output, out.Cut = m.outputOf(ctx, name)
	redact := m.r.opts.Redact
	fail := func(format string, args ...any) (MoveResult, error) {
		return out, &slipway.Error{Kind: slipway.Unavailable, Msg: redact(fmt.Sprintf(format, args...))}
	}
	switch {
	case m.gone:
		return fail("the Job %s was deleted while it ran", m.job.Name)
	case m.final != "":
		if event := m.r.c.lastWarning(ctx, m.lastOrJob()); event != "" && !strings.Contains(m.final, event) {
			m.final += "; last event: " + briefly(event, m.finalMessage)
		}
		m.end(ctx)
		return fail("the Job %s could not start: %s", m.job.Name, m.final)
	case out.Error != "":
		return fail("%s", out.Error)
	case failureReason(m.job) == batchv1.JobReasonDeadlineExceeded:
		return fail("the Job %s did not end within %s", m.job.Name, time.Duration(*m.job.Spec.ActiveDeadlineSeconds)*time.Second)
	case status == nil || status.State.Terminated == nil:
		return fail("the pod of the Job %s was ended while it ran: %s", m.job.Name, cmp.Or(podReason(m.last), "nobody said why"))
	case status.State.Terminated.Reason == "OOMKilled":
		return fail("the container %s of the Job %s was killed for using more memory than its limit allows (OOMKilled)", name, m.job.Name)
	}
	what := "the mover"
	if name == databaseContainer || name == actionContainer && m.moverIsInit() {
		what = "the database's program"
	}
	if last := finalLine(out.Output); last != "" {
		return fail("%s failed with exit code %d: %s", what, status.State.Terminated.ExitCode, last)
	}
	return fail("%s failed with exit code %d (Job %s)", what, status.State.Terminated.ExitCode, m.job.Name)
}

func (m *moveWatch) lastOrJob() client.Object {
	if m.last != nil {
		return m.last
	}
	return m.job
}

func podReason(p *corev1.Pod) string {
	if p == nil {
		return ""
	}
	return strings.TrimSuffix(fmt.Sprintf("%s: %s", p.Status.Reason, strings.TrimSpace(p.Status.Message)), ": ")
}

func finalLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	last := strings.TrimSpace(lines[len(lines)-1])
	if runes := []rune(last); len(runes) > 300 {
		last = string(runes[:299]) + "…"
	}
	return last
}

func (m *moveWatch) moverIsInit() bool {
	init := m.job.Spec.Template.Spec.InitContainers
	return len(init) > 0 && init[0].Name == moverContainer
}

// moverMessage is the last message of the mover's container.
func (m *moveWatch) moverMessage() string {
	if m.last == nil {
		return ""
	}
	name := actionContainer
	if m.moverIsInit() {
		name = moverContainer
	}
	for _, s := range slices.Concat(m.last.Status.InitContainerStatuses, m.last.Status.ContainerStatuses) {
		if s.Name == name && s.State.Terminated != nil {
			return s.State.Terminated.Message
		}
	}
	return ""
}

// culprit is the first container that failed; without one, the last that began.
func (m *moveWatch) culprit() (string, *corev1.ContainerStatus) {
	if m.last == nil {
		return "", nil
	}
	var begun *corev1.ContainerStatus
	for _, s := range slices.Concat(m.last.Status.InitContainerStatuses, m.last.Status.ContainerStatuses) {
		if s.State.Terminated != nil && s.State.Terminated.ExitCode != 0 {
			return s.Name, &s
		}
		if s.State.Running != nil {
			begun = &s
		}
	}
	if begun == nil {
		return "", nil
	}
	return begun.Name, begun
}

// outputOf reads the end of what a container wrote, redacts it and cuts it.
func (m *moveWatch) outputOf(ctx context.Context, container string) (string, bool) {
	if m.last == nil || container == "" {
		return "", false
	}
	ctx, cancel := context.WithTimeout(ctx, logGrace)
	defer cancel()
	stream, err := m.r.c.logs(ctx, m.last.Namespace, m.last.Name, &corev1.PodLogOptions{Container: container})
	if err != nil {
		return "", false
	}
	defer stream.Close()
	t := &tail{}
	if _, err := copyAll(t, stream); err != nil && t.Len() == 0 {
		return "", false
	}
	raw, dropped := t.Bytes()
	kept, cut := CutOutput(m.r.opts.Redact(CleanOutput(raw)))
	return kept, cut || dropped
}
