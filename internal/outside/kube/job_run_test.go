package kube

// World: fake API server (controller-runtime's); the test plays the Job controller.

import (
	"context"
	"errors"
	"io"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"slipway.dev/slipway/internal/slipway"
)

// redact stands for the real redactor: it knows one secret.
func redact(s string) string { return strings.ReplaceAll(s, "hunter2", "<redacted>") }

func opts() JobOptions {
	return JobOptions{Redact: redact, ImageAfter: 60 * time.Millisecond}
}

func TestRunJobSucceedsAndLeavesTheJob(t *testing.T) {
	t.Parallel()
	w := newWorld(t, interceptor.Funcs{})
	done := w.plays(t, func(ctx context.Context, job *batchv1.Job) {
		w.prints("p", "all well\n")
		w.starts(ctx, t, job, "p", exited(0, "Completed"))
		w.ends(ctx, t, job, batchv1.JobComplete, "")
	})
	res, err := w.RunJob(soon(t), migrate(), opts())
	<-done
	if err != nil || res.Job != "guestbook-action" || res.Output != "" || len(res.Notes) > 0 || res.Adopted {
		t.Errorf("RunJob() = %+v, %v; want success without output or notes", res, err)
	}
	var job batchv1.Job
	if err := w.api.Get(t.Context(), client.ObjectKey{Namespace: guestbook.Namespace, Name: res.Job}, &job); err != nil {
		t.Errorf("the Job is not there for whoever looks: %v", err)
	}
}

func TestRunJobFails(t *testing.T) {
	t.Parallel()
	oom := exited(137, "OOMKilled")
	for _, tc := range []struct {
		name    string
		spec    func(*JobSpec)
		play    func(w *world, ctx context.Context, t *testing.T, job *batchv1.Job)
		code    string
		message string
		output  string // a part of it
		notes   int
	}{
		{
			name: "with an exit code, its output redacted",
			spec: func(s *JobSpec) { s.Command = append(s.Command, "--password=hunter2") },
			play: func(w *world, ctx context.Context, t *testing.T, job *batchv1.Job) {
				w.prints("p", "connecting with hunter2\ncolumn \"author\" already exists\n")
				w.starts(ctx, t, job, "p", exited(3, "Error"))
				w.ends(ctx, t, job, batchv1.JobFailed, batchv1.JobReasonBackoffLimitExceeded)
			},
			code:    slipway.CodeJobFailed,
			message: `the command "guestbook migrate --password=<redacted>" failed with exit code 3 (Job guestbook-action)`,
			output:  "connecting with <redacted>\ncolumn \"author\" already exists\n",
		},
		{
			name: "and its pod is deleted at once: the output was read as it was written",
			play: func(w *world, ctx context.Context, t *testing.T, job *batchv1.Job) {
				read := make(chan struct{})
				w.mu.Lock()
				w.log["p"] = func(context.Context) io.ReadCloser {
					return io.NopCloser(io.MultiReader(strings.NewReader("boom\n"), readsThen(func() { close(read) })))
				}
				w.mu.Unlock()
				p := w.starts(ctx, t, job, "p", running())
				<-read
				w.noLog("p")
				if err := w.api.Delete(ctx, p); err != nil {
					t.Error(err)
				}
				w.ends(ctx, t, job, batchv1.JobFailed, batchv1.JobReasonBackoffLimitExceeded)
			},
			code: slipway.CodeJobFailed, message: "its pod was deleted while it ran", output: "boom\n",
		},
		{
			name: "and its log is gone: the termination message",
			play: func(w *world, ctx context.Context, t *testing.T, job *batchv1.Job) {
				state := exited(1, "Error")
				state.Terminated.Message = "last words of hunter2"
				w.starts(ctx, t, job, "p", state)
				w.ends(ctx, t, job, batchv1.JobFailed, batchv1.JobReasonBackoffLimitExceeded)
			},
			code: slipway.CodeJobFailed, message: "failed with exit code 1", output: "last words of <redacted>", notes: 1,
		},
		{
			name: "and of its log only the end is known: a line that begins in the middle goes",
			play: func(w *world, ctx context.Context, t *testing.T, job *batchv1.Job) {
				state := exited(1, "Error")
				state.Terminated.Message = "ter2 is half a secret" + strings.Repeat("x", 2000) + "\n" + strings.Repeat("y", 24) + "\n"
				w.starts(ctx, t, job, "p", state)
				w.ends(ctx, t, job, batchv1.JobFailed, batchv1.JobReasonBackoffLimitExceeded)
			},
			code: slipway.CodeJobFailed, message: "failed with exit code 1", output: strings.Repeat("y", 24), notes: 1,
		},
		{
			name: "with a command that is longer than a line",
			spec: func(s *JobSpec) { s.Command = []string{"guestbook", "hunter2", strings.Repeat("ü", 300)} },
			play: func(w *world, ctx context.Context, t *testing.T, job *batchv1.Job) {
				w.prints("p", "no\n")
				w.starts(ctx, t, job, "p", exited(1, "Error"))
				w.ends(ctx, t, job, batchv1.JobFailed, batchv1.JobReasonBackoffLimitExceeded)
			},
			code: slipway.CodeJobFailed, output: "no\n",
			message: `the command "guestbook <redacted> ` + strings.Repeat("ü", 200-len("guestbook <redacted> ")-1) + `…" failed with exit code 1`,
		},
		{
			name: "for memory",
			spec: func(s *JobSpec) {},
			play: func(w *world, ctx context.Context, t *testing.T, job *batchv1.Job) {
				w.prints("p", "growing\n")
				w.starts(ctx, t, job, "p", oom)
				w.ends(ctx, t, job, batchv1.JobFailed, batchv1.JobReasonBackoffLimitExceeded)
			},
			code: slipway.CodeJobFailed, message: "it was killed for using more memory than its limit of 64Mi allows (OOMKilled)", output: "growing\n",
		},
		{
			name: "because there is no such program",
			play: func(w *world, ctx context.Context, t *testing.T, job *batchv1.Job) {
				state := exited(128, "StartError")
				state.Terminated.Message = `exec: "guestbook": not found`
				w.starts(ctx, t, job, "p", state)
				w.ends(ctx, t, job, batchv1.JobFailed, batchv1.JobReasonBackoffLimitExceeded)
			},
			code: slipway.CodeJobFailed, message: `failed: its program could not be started: exec: "guestbook": not found (Job guestbook-action)`, output: `exec: "guestbook": not found`,
		},
		{
			name: "by eviction",
			play: func(w *world, ctx context.Context, t *testing.T, job *batchv1.Job) {
				p := w.starts(ctx, t, job, "p", running())
				w.shows(ctx, t, p, corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: "The node was low on resource: memory. "})
				w.ends(ctx, t, job, batchv1.JobFailed, batchv1.JobReasonBackoffLimitExceeded)
			},
			code: slipway.CodeJobFailed, message: "failed: Evicted: The node was low on resource: memory. (Job guestbook-action)", output: "Evicted",
		},
		{
			name: "by its deadline",
			play: func(w *world, ctx context.Context, t *testing.T, job *batchv1.Job) {
				w.prints("p", "still at it\n")
				w.starts(ctx, t, job, "p", running())
				w.ends(ctx, t, job, batchv1.JobFailed, batchv1.JobReasonDeadlineExceeded)
			},
			code: slipway.CodeJobTimeout, message: `the command "guestbook migrate" did not end within 10m0s (Job guestbook-action)`, output: "still at it\n",
		},
		{
			name: "by its deadline without a pod: what the cluster says instead",
			play: func(w *world, ctx context.Context, t *testing.T, job *batchv1.Job) {
				w.event(ctx, t, job, "FailedCreate", `pods "x" is forbidden: exceeded quota`)
				w.ends(ctx, t, job, batchv1.JobFailed, batchv1.JobReasonDeadlineExceeded)
			},
			code: slipway.CodeJobTimeout, message: "did not end within 10m0s (Job guestbook-action): no pod was made", output: "exceeded quota",
		},
		{
			name: "when no pod can be made, long before the deadline",
			play: func(w *world, ctx context.Context, t *testing.T, job *batchv1.Job) {
				w.event(ctx, t, job, "FailedCreate", `pods "x" is forbidden: violates PodSecurity`)
				w.untilTold(ctx, job)
				w.ends(ctx, t, job, batchv1.JobFailed, batchv1.JobReasonDeadlineExceeded)
			},
			code:    slipway.CodeJobFailed,
			message: `could not start (Job guestbook-action): no pod can be made: FailedCreate: pods "x" is forbidden: violates PodSecurity`,
			output:  "violates PodSecurity",
		},
		{
			name: "when its image cannot be had, long before the deadline",
			play: func(w *world, ctx context.Context, t *testing.T, job *batchv1.Job) {
				p := w.starts(ctx, t, job, "p", waiting("ErrImagePull", "not found"))
				w.event(ctx, t, p, "Failed", "Failed to pull image")
				w.shows(ctx, t, p, corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{
					{Name: actionContainer, State: waiting("ImagePullBackOff", "Back-off pulling image")}}})
				w.untilTold(ctx, job)
				w.ends(ctx, t, job, batchv1.JobFailed, batchv1.JobReasonDeadlineExceeded)
			},
			code:    slipway.CodeJobFailed,
			message: "could not start (Job guestbook-action): pod p: container action cannot start: ImagePullBackOff: Back-off pulling image (image registry.example.com/guestbook:1.1.0); last event: Failed: Failed to pull image",
			output:  "ImagePullBackOff",
		},
		{
			name: "when somebody deletes the Job",
			play: func(w *world, ctx context.Context, t *testing.T, job *batchv1.Job) {
				w.prints("p", "half done\n")
				w.starts(ctx, t, job, "p", running())
				time.Sleep(150 * time.Millisecond) // until its log is read
				if err := w.api.Delete(ctx, job); err != nil {
					t.Error(err)
				}
			},
			code: slipway.CodeJobFailed, message: "was cut short: its Job guestbook-action was deleted while it ran", output: "half done\n",
		},
		{
			name: "when its output says so, whatever the exit code",
			spec: func(s *JobSpec) { s.FailIfOutputMatches = regexp.MustCompile(`(?m)^FAILED\b`) },
			play: func(w *world, ctx context.Context, t *testing.T, job *batchv1.Job) {
				w.prints("p", "migrating\nFAILED with hunter2\n"+strings.Repeat("and on it goes\n", 50000))
				w.starts(ctx, t, job, "p", exited(0, "Completed"))
				w.ends(ctx, t, job, batchv1.JobComplete, "")
			},
			code: slipway.CodeJobFailed, message: "ended with exit code 0, but its output matches", output: "and on it goes\n",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, interceptor.Funcs{})
			spec := migrate()
			if tc.spec != nil {
				tc.spec(&spec)
			}
			done := w.plays(t, func(ctx context.Context, job *batchv1.Job) { tc.play(w, ctx, t, job) })
			res, err := w.RunJob(soon(t), spec, opts())
			<-done
			if err == nil || CodeOf(err) != tc.code || !strings.Contains(err.Error(), tc.message) {
				t.Errorf("RunJob() = %v\ncode %s, want %s and: %s", err, CodeOf(err), tc.code, tc.message)
			}
			if !strings.Contains(res.Output, tc.output) {
				t.Errorf("the output is %.300q, want in it %q", res.Output, tc.output)
			}
			if len(res.Notes) != tc.notes {
				t.Errorf("the notes are %q, want %d", res.Notes, tc.notes)
			}
			if strings.Contains(res.Output, "half a secret") {
				t.Errorf("the half of a secret is in the output: %.60q", res.Output)
			}
			if strings.Contains(res.Output+err.Error()+strings.Join(res.Notes, ""), "hunter2") {
				t.Error("the secret is in what people read")
			}
		})
	}
}

// untilTold waits until a Job is told to end, so that the next action can begin.
func (w *world) untilTold(ctx context.Context, job *batchv1.Job) {
	for now := job.DeepCopy(); ctx.Err() == nil; time.Sleep(5 * time.Millisecond) {
		if w.api.Get(ctx, client.ObjectKeyFromObject(job), now) == nil && *now.Spec.ActiveDeadlineSeconds == 1 {
			return
		}
	}
}

// readsThen is an empty reader that tells when it is reached, and then breaks off, as a
// log does whose container goes away.
func readsThen(reached func()) io.Reader {
	once := sync.OnceFunc(reached)
	return readerFunc(func([]byte) (int, error) { once(); return 0, errors.New("the connection was lost") })
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// event records a warning about an object.
func (w *world) event(ctx context.Context, t *testing.T, o client.Object, reason, message string) {
	t.Helper()
	e := &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: o.GetNamespace(), Name: o.GetName() + "." + strings.ToLower(reason)},
		Type:       corev1.EventTypeWarning, Reason: reason, Message: message,
		InvolvedObject: corev1.ObjectReference{Name: o.GetName(), UID: o.GetUID()},
		LastTimestamp:  metav1.Now(),
	}
	if err := w.api.Create(ctx, e); err != nil {
		t.Error(err)
	}
}

func TestRunJobRedactsBeforeItCuts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, interceptor.Funcs{})
	// The cut falls into the middle of the secret: redacted afterwards, half would stay.
	end := strings.Repeat("x", slipway.MaxOutputBytes-4)
	done := w.plays(t, func(ctx context.Context, job *batchv1.Job) {
		w.prints("p", strings.Repeat("y", 100)+"hunter2"+end)
		w.starts(ctx, t, job, "p", exited(1, "Error"))
		w.ends(ctx, t, job, batchv1.JobFailed, batchv1.JobReasonBackoffLimitExceeded)
	})
	res, err := w.RunJob(soon(t), migrate(), opts())
	<-done
	if err == nil || !res.Cut || res.Output != "ted>"+end {
		t.Errorf("err %v, cut %v, output %.40q…", err, res.Cut, res.Output)
	}
}

// left is a Job of an earlier task.
func left(change func(*batchv1.Job)) *batchv1.Job {
	s := migrate()
	s.TaskID, s.FlowRunID, s.CallKey = 40, "0ld", "0ld/1/1"
	job, err := BuildJob(s)
	if err != nil {
		panic(err)
	}
	job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionTrue,
		LastTransitionTime: metav1.NewTime(time.Date(2026, 3, 2, 10, 14, 0, 0, time.UTC))}}
	if change != nil {
		change(job)
	}
	return job
}

func TestRunJobMeetsAnEarlierJob(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		there   *batchv1.Job
		code    string // "": this call's Job runs and succeeds
		message string
		notes   string
		stays   bool // the earlier Job is untouched
		adopted bool
	}{
		{"that has failed", left(nil), "", "", "Deleted the Job guestbook-action, left by the upgrade task 40 (failed 2026-03-02 10:14)", false, false},
		{"that has succeeded", left(func(j *batchv1.Job) { j.Status.Conditions[0].Type = batchv1.JobComplete }), "", "",
			"Deleted the Job guestbook-action, left by the upgrade task 40 (succeeded 2026-03-02 10:14)", false, false},
		{"of its own flow run: without a line", left(func(j *batchv1.Job) { j.Labels[LabelFlowRun] = "0f1e" }), "", "", "", false, false},
		{"that runs", left(func(j *batchv1.Job) { j.Status.Conditions, j.Status.Active = nil, 1 }), slipway.CodeJobRunning,
			"the Job guestbook-action of task 40 is still running; wait for it to end and request the change again", "", true, false},
		{"that has no pod yet", left(func(j *batchv1.Job) { j.Status.Conditions = nil }), slipway.CodeJobRunning, "is still running", "", true, false},
		{"that fails but has not ended", left(func(j *batchv1.Job) { j.Status.Conditions[0].Type = batchv1.JobFailureTarget }), slipway.CodeJobRunning, "is still running", "", true, false},
		{"that is not ours", left(func(j *batchv1.Job) { j.Labels = nil }), slipway.CodeJobRunning, "that is not Slipway's; it is left untouched", "", true, false},
		{"of another application", left(func(j *batchv1.Job) { j.Labels[LabelApplication] = "other" }), slipway.CodeJobRunning, "it is left untouched", "", true, false},
		{"that is being deleted and does not go", left(func(j *batchv1.Job) {
			j.DeletionTimestamp, j.Finalizers = new(metav1.Now()), []string{"test/stays"}
		}), slipway.CodeJobRunning, "was deleted and is not gone after 300ms: the Job is still there", "", true, false},
		{"of this very call", left(func(j *batchv1.Job) {
			own, _ := BuildJob(migrate())
			own.Status = j.Status
			own.Status.Conditions[0].Type = batchv1.JobComplete
			*j = *own
		}), "", "", "", true, true},
		{"of this very call, with another command", left(func(j *batchv1.Job) {
			s := migrate()
			s.Command = []string{"guestbook", "other"}
			own, _ := BuildJob(s)
			own.Status = j.Status
			*j = *own
		}), slipway.CodeJobRunning, "exists with another command", "", true, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, interceptor.Funcs{}, tc.there.DeepCopy())
			var before batchv1.Job
			key := client.ObjectKey{Namespace: guestbook.Namespace, Name: "guestbook-action"}
			if err := w.api.Get(t.Context(), key, &before); err != nil {
				t.Fatal(err)
			}
			if tc.code == "" && !tc.adopted {
				w.plays(t, func(ctx context.Context, job *batchv1.Job) { w.ends(ctx, t, job, batchv1.JobComplete, "") })
			}
			var heard []string
			o := opts()
			o.Note = func(s string) { heard = append(heard, s) }
			res, err := w.RunJob(soon(t), migrate(), o)
			if tc.code == "" && err != nil || tc.code != "" && (err == nil || CodeOf(err) != tc.code || !strings.Contains(err.Error(), tc.message)) {
				t.Errorf("RunJob() = %v (%s), want %s: %s", err, CodeOf(err), tc.code, tc.message)
			}
			if got := strings.Join(res.Notes, "\n"); got != tc.notes || strings.Join(heard, "\n") != tc.notes || res.Adopted != tc.adopted {
				t.Errorf("notes %q, heard %q, adopted %v; want %q and %v", got, heard, res.Adopted, tc.notes, tc.adopted)
			}
			var after batchv1.Job
			if err := w.api.Get(t.Context(), key, &after); err != nil {
				t.Fatal(err)
			}
			if (after.UID == before.UID) != tc.stays {
				t.Errorf("the Job's UID was %s and is %s; want it to stay: %v", before.UID, after.UID, tc.stays)
			}
		})
	}
}

func TestOfTwentyCommandsAtOnceOneRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t, interceptor.Funcs{}, left(nil))
	release := make(chan struct{})
	w.plays(t, func(ctx context.Context, job *batchv1.Job) {
		<-release
		w.ends(ctx, t, job, batchv1.JobComplete, "")
	})
	var mu sync.Mutex
	var ran, refused int
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			s := migrate()
			s.FlowRunID = "run-" + decimal(int64(i))
			s.CallKey = s.FlowRunID + "/1/1"
			_, err := w.RunJob(soon(t), s, opts())
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				ran++
			case CodeOf(err) == slipway.CodeJobRunning:
				refused++
				if refused == 19 {
					close(release)
				}
			default:
				t.Error(err)
			}
		})
	}
	all.Wait()
	if ran != 1 || refused != 19 {
		t.Errorf("%d ran and %d were refused, want 1 and 19", ran, refused)
	}
}

func TestRunJobLeavesTheJobWhenItsContextEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, interceptor.Funcs{})
	ctx, cancel := context.WithCancelCause(t.Context())
	shutdown := errors.New("the server stops")
	w.plays(t, func(_ context.Context, job *batchv1.Job) {
		w.prints("p", "working\n")
		w.starts(t.Context(), t, job, "p", running())
		cancel(shutdown)
	})
	begun := time.Now()
	_, err := w.RunJob(ctx, migrate(), opts())
	if !errors.Is(err, shutdown) || time.Since(begun) > 5*time.Second {
		t.Errorf("RunJob() = %v after %s, want the cause at once", err, time.Since(begun))
	}
	var job batchv1.Job
	if err := w.api.Get(t.Context(), client.ObjectKey{Namespace: guestbook.Namespace, Name: "guestbook-action"}, &job); err != nil {
		t.Errorf("the Job: %v, want it left for the next start to adopt", err)
	}
	// Cancelled for good: its own flow run may delete it, another's may not.
	if name, err := w.DeleteJob(t.Context(), guestbook, "guestbook", "another"); name != "" || err != nil {
		t.Errorf("DeleteJob of another run = %q, %v", name, err)
	}
	running := job.DeepCopy()
	job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionTrue}}
	if err := w.api.Status().Update(t.Context(), &job); err != nil {
		t.Fatal(err)
	}
	if name, err := w.DeleteJob(t.Context(), guestbook, "guestbook", "0f1e"); name != "" || err != nil {
		t.Errorf("DeleteJob of one that has ended = %q, %v, want it left as evidence", name, err)
	}
	running.ResourceVersion = job.ResourceVersion
	if err := w.api.Status().Update(t.Context(), running); err != nil {
		t.Fatal(err)
	}
	if name, err := w.DeleteJob(t.Context(), guestbook, "guestbook", "0f1e"); name != "guestbook-action" || err == nil {
		// The fake has no garbage collector, so the pod stays and the wait says so.
		t.Errorf("DeleteJob = %q, %v", name, err)
	}
	if err := w.api.Get(t.Context(), client.ObjectKeyFromObject(&job), &job); !apierrors.IsNotFound(err) {
		t.Errorf("the Job after DeleteJob: %v", err)
	}
}

func TestRunJobNeedsARedactor(t *testing.T) {
	t.Parallel()
	w := newWorld(t, interceptor.Funcs{})
	if _, err := w.RunJob(soon(t), migrate(), JobOptions{}); !slipway.Is(err, slipway.Internal) {
		t.Errorf("RunJob() = %v, want a refusal", err)
	}
}

func TestAWaitOutlivesItsWatch(t *testing.T) {
	t.Parallel()
	silent := func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) (watch.Interface, error) {
		return watch.NewFake(), nil // open, and without a word, as behind a proxy that lost it
	}
	refusing := func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) (watch.Interface, error) {
		return nil, errors.New("no watches today")
	}
	closing := func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) (watch.Interface, error) {
		w := watch.NewFake()
		w.Stop()
		return w, nil
	}
	for name, open := range map[string]func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) (watch.Interface, error){
		"that says nothing": silent, "that is refused": refusing, "that ends at once": closing,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, interceptor.Funcs{Watch: open})
			w.plays(t, func(ctx context.Context, job *batchv1.Job) {
				time.Sleep(100 * time.Millisecond)
				w.ends(ctx, t, job, batchv1.JobComplete, "")
			})
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			if _, err := w.RunJob(ctx, migrate(), opts()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAWatchWakesLongBeforeTheNextReading(t *testing.T) {
	t.Parallel()
	w := newWorld(t, interceptor.Funcs{})
	w.resync = time.Hour
	w.plays(t, func(ctx context.Context, job *batchv1.Job) {
		time.Sleep(150 * time.Millisecond)
		w.ends(ctx, t, job, batchv1.JobComplete, "")
	})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if _, err := w.RunJob(ctx, migrate(), opts()); err != nil {
		t.Errorf("RunJob() = %v: the watch did not wake it", err)
	}
}

func TestAWaitOutlivesAnAPIServerThatIsAway(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	away := 0
	w := newWorld(t, interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
		mu.Lock()
		defer mu.Unlock()
		if _, ok := o.(*batchv1.Job); ok && away < 5 {
			away++
			return apierrors.NewServiceUnavailable("it restarts")
		}
		return c.Get(ctx, key, o, opts...)
	}})
	w.plays(t, func(ctx context.Context, job *batchv1.Job) { w.ends(ctx, t, job, batchv1.JobComplete, "") })
	if _, err := w.RunJob(soon(t), migrate(), opts()); err != nil {
		t.Errorf("RunJob() = %v", err)
	}
}

func TestALogThatBreaksOffIsReadAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, interceptor.Funcs{})
	spec := migrate()
	spec.FailIfOutputMatches = regexp.MustCompile(`PANIC`)
	opened := 0
	w.mu.Lock()
	w.log["p"] = func(context.Context) io.ReadCloser { // called under the lock
		opened++
		if opened == 1 {
			return io.NopCloser(io.MultiReader(strings.NewReader("first\n"), iotest.ErrReader(io.ErrUnexpectedEOF)))
		}
		return io.NopCloser(strings.NewReader("first\nPANIC\nlast\n"))
	}
	w.mu.Unlock()
	w.plays(t, func(ctx context.Context, job *batchv1.Job) {
		w.starts(ctx, t, job, "p", running())
		time.Sleep(100 * time.Millisecond)
		w.ends(ctx, t, job, batchv1.JobComplete, "")
	})
	res, err := w.RunJob(soon(t), spec, opts())
	if err == nil || res.Output != "first\nPANIC\nlast\n" || res.Cut {
		t.Errorf("RunJob() = %v, output %q, cut %v", err, res.Output, res.Cut)
	}
}
