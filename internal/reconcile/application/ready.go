package application

import (
	"context"
	"sync"
	"time"

	"slipway.dev/slipway/internal/outside/helm"
	"slipway.dev/slipway/internal/outside/kube"
)

// ready waits until everything that the change applied is ready. What that is comes from
// rendering once more, which gives the same objects, so that a wait that is taken up after
// a restart is for the same as before.
func (r *Reconciler) ready(ctx context.Context, w *work) error {
	now, err := r.read(ctx, w.snap.Task.ID)
	if err != nil {
		return bookErr(err)
	}
	if now.Application.Applied > w.snap.Wanted.Number {
		return nil // a later change has the cluster, and waits for its own
	}
	frozen, err := r.frozen(ctx, now)
	if err != nil {
		return err
	}
	request, err := r.chartRequest(ctx, now, frozen, "")
	if err != nil {
		return err
	}
	rendered, err := r.Charts.Render(ctx, helm.RenderRequest{
		Chart: request.Chart, Values: request.Values, Release: request.Release, Namespace: now.Application.Namespace,
		Patch: request.Patch, Upgrade: w.snap.From != nil, Redact: request.Redact,
	})
	if err != nil {
		return err
	}
	return r.awaitReady(ctx, w, rendered.Objects)
}

// awaitReady waits for objects. When one cannot become ready, the step shows how the pods
// stand: the error has room for the first fault alone.
func (r *Reconciler) awaitReady(ctx context.Context, w *work, objects []kube.Object) error {
	o := r.readyOptions(w)
	err := r.Cluster.Ready(ctx, w.snap.Application, objects, o)
	if err == nil || ctx.Err() != nil || kube.Away(err) {
		return err
	}
	look, stop := context.WithTimeout(ctx, diagnoseFor)
	defer stop()
	text, cut, why := r.Cluster.Diagnose(look, w.snap.Application, o.Redact)
	if why != nil || text == "" {
		// It is gathered beside an error, which stands without it.
		r.Log.DebugContext(ctx, "nothing is known of the pods", "application", w.snap.Application.Ref(), "error", why)
		return err
	}
	if keep := w.step.SetOutput(text, cut); keep != nil {
		return bookErr(keep)
	}
	return err
}

// diagnoseFor bounds the look at the pods of what did not become ready.
const diagnoseFor = 30 * time.Second

func (r *Reconciler) readyOptions(w *work) kube.ReadyOptions {
	o := kube.ReadyOptions{
		Components: map[string]time.Duration{}, ImageAfter: r.ImageAfter,
		Redact: r.redactor(context.Background(), w.snap.Application, w.snap.Wanted.Spec),
	}
	for name, c := range w.snap.components() {
		o.Components[name] = c.ReadyTimeout
	}
	return o
}

// byID is a lock for each ID.
type byID struct {
	mu   sync.Mutex
	held map[int64]*idLock
}

type idLock struct {
	sync.Mutex
	users int
}

func (b *byID) lock(id int64) {
	b.mu.Lock()
	if b.held == nil {
		b.held = map[int64]*idLock{}
	}
	l := b.held[id]
	if l == nil {
		l = &idLock{}
		b.held[id] = l
	}
	l.users++
	b.mu.Unlock()
	l.Lock()
}

func (b *byID) unlock(id int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.held[id]
	if l.users--; l.users == 0 {
		delete(b.held, id)
	}
	l.Unlock()
}
