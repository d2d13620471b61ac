//go:build cluster

package kube

// World: real cluster.

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/slipway"
)

// script is a command of an action, as another call of the same task each time.
func script(app slipway.Application, run, text string) JobSpec {
	return JobSpec{App: app, Release: app.Name, TaskID: 41, TaskKind: slipway.UpgradeTask, StepID: 3, FlowRunID: run, CallKey: run + "/1/1",
		Command: []string{"/bin/sh", "-c", text}, Image: busybox, Timeout: time.Minute}
}

func TestRealJobs(t *testing.T) {
	t.Parallel()
	c, app := realCluster(t)
	if err := c.ApplySecret(t.Context(), app.Namespace, "guestbook-slipway", map[string][]byte{"db": []byte("hunter2")}, ApplicationLabels(app)); err != nil {
		t.Fatal(err)
	}
	web := deploy(t, c, app, "web", 0, func() corev1.Container {
		k := shell("web", "sleep 3600")
		k.Env = []corev1.EnvVar{{Name: "HOST", Value: "db"}, {Name: "URL", Value: "postgres://$(HOST)"}, {Name: "OLD", Value: "stays"}}
		k.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("32Mi")}
		return k
	}(), 1)
	for i, tc := range []struct {
		name    string
		text    string
		change  func(*JobSpec)
		opts    func(*JobOptions)
		code    string
		message string
		output  string // exactly; "*" for any
		cut     bool
		within  time.Duration
	}{
		{name: "succeeds", text: "echo fine"},
		{
			name: "has the component's environment, with the team's on top", text: `echo $HOST $URL $OLD $NEW $PASSWORD; exit 3`,
			change: func(s *JobSpec) {
				s.From, s.Env = &web, []EnvVar{{Name: "HOST", Value: "db-2"}, {Name: "NEW", Value: "1"}, {Name: "PASSWORD", SecretName: "guestbook-slipway", SecretKey: "db"}}
			},
			code: slipway.CodeJobFailed, message: "failed with exit code 3 (Job guestbook-action)", output: "db-2 postgres://db-2 stays 1 <redacted>\n",
		},
		{name: "has no service account's token", text: "ls /var/run/secrets/kubernetes.io 2>/dev/null && exit 1; exit 0"},
		{name: "writes 200 lines", text: "seq 1 200; exit 1", code: slipway.CodeJobFailed, message: "exit code 1", output: numbers(1, 200)},
		{name: "writes 201 lines", text: "seq 1 201; exit 1", code: slipway.CodeJobFailed, message: "exit code 1", output: numbers(2, 201), cut: true},
		{name: "writes one line of 70 KiB without an end", text: `head -c 71680 /dev/zero | tr '\0' x; exit 1`, code: slipway.CodeJobFailed, message: "exit code 1",
			output: strings.Repeat("x", 65536), cut: true},
		{name: "writes to both of its outputs, with colours", text: `printf '\033[31mred\033[0m\n'; sleep 1; echo bad >&2; exit 1`, code: slipway.CodeJobFailed, message: "exit code 1", output: "red\nbad\n"},
		{name: "says that it has failed, and ends well", text: "echo FAILED to migrate; exit 0", change: func(s *JobSpec) { s.FailIfOutputMatches = regexp.MustCompile("FAILED") },
			code: slipway.CodeJobFailed, message: "ended with exit code 0, but its output matches", output: "FAILED to migrate\n"},
		{name: "ends well and does not say that it has failed", text: "seq 1 100000", change: func(s *JobSpec) { s.FailIfOutputMatches = regexp.MustCompile("FAILED") }},
		{name: "does not end", text: "echo begun; sleep 600", change: func(s *JobSpec) { s.Timeout = 4 * time.Second },
			code: slipway.CodeJobTimeout, message: "did not end within 4s (Job guestbook-action)", output: "begun\n", within: 60 * time.Second},
		{name: "has an image that cannot be had", text: "true", change: func(s *JobSpec) { s.Image = "registry.example.com/none:1"; s.Timeout = 10 * time.Minute },
			opts: func(o *JobOptions) { o.ImageAfter = 3 * time.Second },
			code: slipway.CodeJobFailed, message: "could not start (Job guestbook-action): pod guestbook-action-", output: "*", within: 60 * time.Second},
		{name: "has an image that is no reference", text: "true", change: func(s *JobSpec) { s.Image = "Not An Image"; s.Timeout = 10 * time.Minute },
			opts: func(o *JobOptions) { o.ImageAfter = time.Second },
			code: slipway.CodeJobFailed, message: "InvalidImageName", output: "*", within: 60 * time.Second},
		{name: "needs a Secret that is not there", text: "true", change: func(s *JobSpec) { s.Env = []EnvVar{{Name: "A", SecretName: "none", SecretKey: "x"}} },
			opts: func(o *JobOptions) { o.ImageAfter = time.Second },
			code: slipway.CodeJobFailed, message: "CreateContainerConfigError", output: "*", within: 60 * time.Second},
		{name: "uses more memory than it may", text: `a=$(head -c 300000000 /dev/zero | tr '\0' x); echo ${#a}`, change: func(s *JobSpec) { s.From = &web },
			code: slipway.CodeJobFailed, message: "", output: "*"},
		{name: "is another program than there is", text: "", change: func(s *JobSpec) { s.Command = []string{"/bin/nonesuch", "--password=hunter2"} },
			opts: func(o *JobOptions) { o.ImageAfter = time.Second },
			code: slipway.CodeJobFailed, message: `the command "/bin/nonesuch --password=<redacted>"`, output: "*"},
	} {
		spec := script(app, fmt.Sprintf("run-%d", i), tc.text)
		if tc.change != nil {
			tc.change(&spec)
		}
		o := JobOptions{Redact: redact, ImageAfter: time.Minute}
		if tc.opts != nil {
			tc.opts(&o)
		}
		begun := time.Now()
		res, err := c.RunJob(t.Context(), spec, o)
		t.Logf("%s: %s: %v", tc.name, time.Since(begun).Round(time.Millisecond), err)
		if tc.code == "" && err != nil || tc.code != "" && (err == nil || CodeOf(err) != tc.code || !strings.Contains(err.Error(), tc.message)) {
			t.Errorf("a command that %s: error %v (%s), want %s: %s", tc.name, err, CodeOf(err), tc.code, tc.message)
		}
		if tc.output == "*" && res.Output == "" || tc.output != "*" && res.Output != tc.output || res.Cut != tc.cut {
			t.Errorf("a command that %s: output %d bytes, cut %v, %.300q; want %d bytes, %.100q", tc.name, len(res.Output), res.Cut, res.Output, len(tc.output), tc.output)
		}
		if tc.output == "*" {
			t.Logf("its output: %s", res.Output)
		}
		if tc.within > 0 && time.Since(begun) > tc.within {
			t.Errorf("a command that %s: it took %s", tc.name, time.Since(begun))
		}
		if i > 0 && (len(res.Notes) != 1 || !strings.HasPrefix(res.Notes[0], "Deleted the Job guestbook-action, left by the upgrade task 41 (")) {
			t.Errorf("a command that %s: notes %q", tc.name, res.Notes)
		}
		if strings.Contains(fmt.Sprint(res, err), "hunter2") {
			t.Errorf("a command that %s: the secret is in what people read", tc.name)
		}
	}
	if err := c.DeleteJobsOf(t.Context(), app); err != nil {
		t.Error(err)
	}
	if left := podsIn(t, c, app, map[string]string{LabelRole: roleAction}); len(left) > 0 {
		t.Errorf("%d pods of Jobs are left", len(left))
	}
}

func TestRealJobThatNoQuotaAdmits(t *testing.T) {
	t.Parallel()
	c, app := realCluster(t)
	create(t, c, &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: "none"},
		Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}}})
	time.Sleep(time.Second) // until the quota counts
	res, err := c.RunJob(t.Context(), script(app, "run", "true"), JobOptions{Redact: redact, ImageAfter: 2 * time.Second})
	t.Logf("%v\n%s", err, res.Output)
	if CodeOf(err) != slipway.CodeJobFailed || !strings.Contains(err.Error(), "no pod can be made: FailedCreate") || !strings.Contains(err.Error(), "exceeded quota") {
		t.Errorf("RunJob() = %v", err)
	}
}

func numbers(from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintln(&b, i)
	}
	return b.String()
}

func TestRealJobOfTwentyCallsAtOnce(t *testing.T) {
	t.Parallel()
	c, app := realCluster(t)
	// One that has ended is there, so that the deletion is fought for as well.
	if _, err := c.RunJob(t.Context(), script(app, "before", "true"), JobOptions{Redact: redact}); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	counts := map[string]int{}
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			_, err := c.RunJob(t.Context(), script(app, fmt.Sprintf("run-%d", i), "sleep 8"), JobOptions{Redact: redact})
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				counts["ran"]++
				return
			}
			counts[CodeOf(err)]++
		})
	}
	all.Wait()
	if counts["ran"] != 1 || counts[slipway.CodeJobRunning] != 19 {
		t.Errorf("the outcomes are %v, want 1 ran and 19 refused", counts)
	}
}

func TestRealJobIsAdoptedAfterARestart(t *testing.T) {
	t.Parallel()
	c, app := realCluster(t)
	spec := script(app, "run", "echo begun; sleep 6; echo done; exit 4")
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
	_, err := c.RunJob(ctx, spec, JobOptions{Redact: redact})
	cancel()
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("the first watcher: %v", err)
	}
	res, err := c.RunJob(t.Context(), spec, JobOptions{Redact: redact})
	if !res.Adopted || res.ExitCode != 4 || res.Output != "begun\ndone\n" || err == nil {
		t.Errorf("the second watcher: %+v, %v", res, err)
	}
	// And once more, when all is over: the same answer.
	res, err = c.RunJob(t.Context(), spec, JobOptions{Redact: redact})
	if !res.Adopted || res.ExitCode != 4 || res.Output != "begun\ndone\n" || err == nil {
		t.Errorf("the third watcher: %+v, %v", res, err)
	}
	spec.Command[2] = "true"
	if _, err = c.RunJob(t.Context(), spec, JobOptions{Redact: redact}); CodeOf(err) != slipway.CodeJobRunning {
		t.Errorf("the same call with another command: %v", err)
	}
}

func TestRealJobThatOthersMeddleWith(t *testing.T) {
	t.Parallel()
	c, app := realCluster(t)
	key := client.ObjectKey{Namespace: app.Namespace, Name: "guestbook-action"}
	foreign := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: "guestbook-action"}, Spec: batchv1.JobSpec{
		Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{shell("x", "true")}}}}}
	create(t, c, foreign)
	_, err := c.RunJob(t.Context(), script(app, "run-1", "true"), JobOptions{Redact: redact})
	if CodeOf(err) != slipway.CodeJobRunning || !strings.Contains(err.Error(), "not Slipway's; it is left untouched") {
		t.Errorf("beside a foreign Job: %v", err)
	}
	var there batchv1.Job
	if err := c.api.Get(t.Context(), key, &there); err != nil || there.UID != foreign.UID || there.DeletionTimestamp != nil {
		t.Errorf("the foreign Job: %v, %v", there.UID, err)
	}
	if err := c.DeleteJobsOf(t.Context(), app); err != nil {
		t.Error(err)
	}
	if err := c.api.Get(t.Context(), key, &there); err != nil {
		t.Errorf("the foreign Job after DeleteJobsOf: %v", err)
	}
	if err := c.api.Delete(t.Context(), foreign, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		t.Fatal(err)
	}

	// The Job is deleted while it is watched.
	meddle := func(after string, act func(ctx context.Context, job *batchv1.Job) error) {
		go func() {
			for t.Context().Err() == nil {
				var job batchv1.Job
				if c.api.Get(t.Context(), key, &job) == nil && job.Labels[LabelFlowRun] == after && job.Status.Ready != nil && *job.Status.Ready > 0 {
					time.Sleep(time.Second) // its output is written
					if err := act(t.Context(), &job); err != nil {
						t.Error(err)
					}
					return
				}
				time.Sleep(50 * time.Millisecond)
			}
		}()
	}
	meddle("run-2", func(ctx context.Context, job *batchv1.Job) error {
		return c.api.Delete(ctx, job, client.PropagationPolicy(metav1.DeletePropagationBackground))
	})
	res, err := c.RunJob(t.Context(), script(app, "run-2", "echo half; sleep 60"), JobOptions{Redact: redact})
	if CodeOf(err) != slipway.CodeJobFailed || !strings.Contains(err.Error(), "was deleted while it ran") || res.Output != "half\n" {
		t.Errorf("a Job that is deleted: %v, output %q", err, res.Output)
	}

	// Its pod is deleted, at once and by force, so that no log is left to be read.
	meddle("run-3", func(ctx context.Context, job *batchv1.Job) error {
		pods, err := c.podsOfJob(ctx, job)
		if err != nil || len(pods) == 0 {
			return fmt.Errorf("no pod: %w", err)
		}
		return c.api.Delete(ctx, &pods[0], client.GracePeriodSeconds(0))
	})
	res, err = c.RunJob(t.Context(), script(app, "run-3", "echo half; sleep 60"), JobOptions{Redact: redact})
	t.Logf("a pod that is deleted: %v", err)
	if CodeOf(err) != slipway.CodeJobFailed || res.Output != "half\n" {
		t.Errorf("a pod that is deleted: %v, output %q", err, res.Output)
	}

	// Another deletes the ended Job and puts a new one there, after we have read the old.
	old, err := BuildJob(script(app, "run-4", "sleep 30"))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.DeleteJobsOf(t.Context(), app); err != nil {
		t.Fatal(err)
	}
	create(t, c, old)
	stale := old.DeepCopy()
	stale.UID = "00000000-0000-0000-0000-000000000000" // of the one that is no more
	if err := c.deleteJob(t.Context(), stale); err == nil {
		t.Error("a Job was deleted under another's UID")
	}
	if err := c.api.Get(t.Context(), key, &there); err != nil || there.UID != old.UID || there.DeletionTimestamp != nil {
		t.Errorf("the newer Job: %v, %v", there.DeletionTimestamp, err)
	}
	if name, err := c.DeleteJob(t.Context(), app, app.Name, "run-4"); name == "" || err != nil {
		t.Errorf("DeleteJob() = %q, %v", name, err)
	}
	if left := podsIn(t, c, app, map[string]string{LabelRole: roleAction}); len(left) > 0 {
		t.Errorf("%d pods are left", len(left))
	}
}
