package sim

import (
	"context"
	"fmt"
	"time"

	"slipway.dev/slipway/internal/change"
	"slipway.dev/slipway/internal/outside/forge"
	poolreconcile "slipway.dev/slipway/internal/reconcile/pool"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
	"slipway.dev/slipway/internal/task"
	"slipway.dev/slipway/internal/webhook"
)

// process is our own process: everything that a crash loses.
type process struct {
	change   *change.Service
	queue    *task.Queue
	handlers map[string]task.Handler
	every    map[string]time.Duration // of the nouns that are looked at regularly
	lines    map[string]*line         // by credential
}

// start begins the process anew. What it knew is gone; what is in the database is not.
func (w *World) start(ctx context.Context) (err error) {
	w.lives++
	p := &process{handlers: map[string]task.Handler{}, every: map[string]time.Duration{}, lines: map[string]*line{}}
	p.queue, err = w.db.queue(task.Options{Replica: slipway.Replica{ID: fmt.Sprintf("r-%d", w.lives)}, Log: w.logger()})
	if err != nil {
		return err
	}
	p.change = &change.Service{Store: w.store, Box: w.box, Wake: func(ctx context.Context, tx *store.Tx, noun string, id int64) error {
		return p.queue.Enqueue(ctx, tx, task.WakeUp{Noun: noun, ID: id})
	}}
	r := poolreconcile.New(poolreconcile.Config{
		Store: w.store, Queue: p.queue, Cluster: kube{w}, Box: w.box, Installation: slipway.Installation{ID: installation, ExternalID: installation},
		Forge: func(_ slipway.ForgeScope, credential string) (forge.Runners, error) {
			return w.line(p, credential), nil
		},
		MaxRunners: w.ceiling, Parallel: 1, Log: w.logger(), Scatter: func() float64 { return 0.5 },
	})
	p.handlers[poolreconcile.Noun], p.handlers[poolreconcile.NounRound] = r.Pool, r.Round
	p.every[poolreconcile.NounRound] = time.Minute
	w.proc = p
	return w.store.InTx(ctx, func(tx *store.Tx) error {
		return p.queue.Enqueue(ctx, tx, task.WakeUp{Noun: poolreconcile.NounRound, ID: 1})
	})
}

// line is the client of a credential, the same one for the same credential.
func (w *World) line(p *process, credential string) *line {
	if p.lines[credential] == nil {
		p.lines[credential] = &line{w, credential}
	}
	return p.lines[credential]
}

// take takes one of the deliveries that have arrived. When our process dies meanwhile, or
// says that it could not keep it, the forge has no good answer; here the delivery simply
// stays, as one that is still on its way.
func (w *World) take(ctx context.Context, n int) error {
	a := w.inbox[n]
	return w.live(ctx, func(ctx context.Context) error {
		d := change.Delivery{Connection: a.connection, GUID: a.guid, Event: a.event, Size: int64(len(a.payload))}
		e, err := webhook.Parse(a.event, a.payload, w.now)
		if err != nil {
			return fmt.Errorf("read delivery %s: %w", a.guid, err)
		}
		if e.Job != nil {
			d.Job = &e.Job.Job
			d.Job.Host, d.Job.RunnerID = slipway.ForgeHost(a.connection.BaseURL), e.Job.RunnerID
			d.Action = string(d.Job.State)
			w.tell("take job %d %s %v on %s", d.Job.ID, d.Job.State, d.Job.Labels, d.Job.Runner)
		}
		taken := w.proc.change.TakeDeliveries(ctx, []change.Delivery{d})
		if taken[0].Err != nil {
			return taken[0].Err
		}
		w.inbox = append(w.inbox[:n:n], w.inbox[n+1:]...)
		w.taken = append(w.taken[max(0, len(w.taken)-20):], a)
		return nil
	})
}
