package kube

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// world is a fake API server: it keeps objects and answers, and no controller acts on
// them but what a test does itself.
type world struct {
	*Client
	mu   sync.Mutex
	uids int
	log  map[string]func(ctx context.Context) io.ReadCloser // by pod
}

// newWorld returns a world with objects. funcs may make requests fail.
func newWorld(t *testing.T, funcs interceptor.Funcs, objects ...client.Object) *world {
	t.Helper()
	w := &world{log: map[string]func(context.Context) io.ReadCloser{}}
	// The fake gives no UIDs and does not know them as a precondition, so the world does.
	var writing sync.Mutex
	funcs.Delete = func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
		writing.Lock()
		defer writing.Unlock()
		var how client.DeleteOptions
		how.ApplyOptions(opts)
		now := o.DeepCopyObject().(client.Object)
		if err := c.Get(ctx, client.ObjectKeyFromObject(o), now); err != nil {
			return err
		}
		if how.Preconditions != nil && how.Preconditions.UID != nil && *how.Preconditions.UID != now.GetUID() {
			return apierrors.NewConflict(schema.GroupResource{}, o.GetName(), errors.New("the UID is another"))
		}
		return c.Delete(ctx, o, opts...)
	}
	create := funcs.Create
	funcs.Create = func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
		writing.Lock()
		defer writing.Unlock()
		if o.GetUID() == "" {
			o.SetUID(w.uid())
		}
		if create != nil {
			return create(ctx, c, o, opts...)
		}
		return c.Create(ctx, o, opts...)
	}
	s := scheme()
	record := &unstructured.Unstructured{}
	record.SetGroupVersionKind(recordKind)
	s.AddKnownTypeWithName(recordKind, &unstructured.Unstructured{})
	s.AddKnownTypeWithName(recordKind.GroupVersion().WithKind("ApplicationList"), &unstructured.UnstructuredList{})
	metav1.AddToGroupVersion(s, recordKind.GroupVersion())
	for _, o := range objects {
		if o.GetUID() == "" {
			o.SetUID(w.uid())
		}
	}
	api := fake.NewClientBuilder().WithScheme(s).WithObjects(objects...).
		WithStatusSubresource(record, &batchv1.Job{}, &corev1.Pod{}).
		WithIndex(&corev1.Event{}, "involvedObject.uid", func(o client.Object) []string {
			return []string{string(o.(*corev1.Event).InvolvedObject.UID)}
		}).
		WithInterceptorFuncs(funcs).Build()
	w.Client = newClient(api, Config{Installation: "installation-1"})
	w.resync, w.goneWithin, w.steadyFor = 20*time.Millisecond, 300*time.Millisecond, 0
	w.logs = func(ctx context.Context, _, pod string, _ *corev1.PodLogOptions) (io.ReadCloser, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if open := w.log[pod]; open != nil {
			return open(ctx), nil
		}
		return nil, errors.New("the pod has no log")
	}
	return w
}

func (w *world) uid() types.UID {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.uids++
	return types.UID(fmt.Sprintf("uid-%d", w.uids))
}

// prints gives a pod a log.
func (w *world) prints(pod, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log[pod] = func(context.Context) io.ReadCloser { return io.NopCloser(strings.NewReader(text)) }
}

// noLog takes a pod's log away, as its deletion does.
func (w *world) noLog(pod string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.log, pod)
}

// plays waits for the Job of the guestbook and then does what a controller would.
func (w *world) plays(t *testing.T, act func(ctx context.Context, job *batchv1.Job)) (done <-chan struct{}) {
	t.Helper()
	ch := make(chan struct{})
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	go func() {
		defer close(ch)
		for ctx.Err() == nil {
			var job batchv1.Job
			err := w.api.Get(ctx, client.ObjectKey{Namespace: guestbook.Namespace, Name: "guestbook-action"}, &job)
			if err == nil && endedAs(&job) == "" && job.DeletionTimestamp == nil {
				act(ctx, &job)
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
	return ch
}

// soon is a context that ends a test's wait which would not end by itself.
func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// starts makes the pod of a Job with the given state of its container.
func (w *world) starts(ctx context.Context, t *testing.T, job *batchv1.Job, name string, state corev1.ContainerState) *corev1.Pod {
	t.Helper()
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: job.Namespace, Name: name, Labels: map[string]string{labelJobName: job.Name},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: job.Name, UID: job.UID, Controller: new(true)}},
		},
		Spec: job.Spec.Template.Spec,
	}
	status := corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{Name: actionContainer, State: state}}}
	if err := w.api.Create(ctx, p); err != nil {
		t.Error(err)
		return p
	}
	w.shows(ctx, t, p, status)
	return p
}

func (w *world) shows(ctx context.Context, t *testing.T, p *corev1.Pod, status corev1.PodStatus) {
	t.Helper()
	p.Status = status
	if err := w.api.Status().Update(ctx, p); err != nil {
		t.Error(err)
	}
}

// ends ends a Job with a condition.
func (w *world) ends(ctx context.Context, t *testing.T, job *batchv1.Job, kind batchv1.JobConditionType, reason string) {
	t.Helper()
	var now batchv1.Job
	if err := w.api.Get(ctx, client.ObjectKeyFromObject(job), &now); err != nil {
		t.Error(err)
		return
	}
	now.Status.Conditions = append(now.Status.Conditions, batchv1.JobCondition{
		Type: kind, Status: corev1.ConditionTrue, Reason: reason, Message: "as the test wants it",
		LastTransitionTime: metav1.NewTime(time.Date(2026, 3, 2, 10, 14, 0, 0, time.UTC)),
	})
	if err := w.api.Status().Update(ctx, &now); err != nil {
		t.Error(err)
	}
}

func running() corev1.ContainerState {
	return corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
}

func exited(code int32, reason string) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason}}
}

func waiting(reason, message string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
}
