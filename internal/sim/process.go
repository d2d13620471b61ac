package sim

import (
	"context"
	"fmt"
	"time"

	"slipway.dev/slipway/internal/change"
	"slipway.dev/slipway/internal/observe"
	"slipway.dev/slipway/internal/outside/forge"
	"slipway.dev/slipway/internal/reconcile/application"
	poolreconcile "slipway.dev/slipway/internal/reconcile/pool"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
	"slipway.dev/slipway/internal/task"
)

// process is our own process: everything that a crash loses.
type process struct {
	change   *change.Service
	queue    *task.Queue
	handlers map[string]task.Handler
	every    map[string]time.Duration // of the nouns that are looked at regularly
	lines    map[[2]string]*line      // by base URL and credential
}

// periodic are the nouns that are looked at regularly.
var periodic = []struct {
	noun  string
	every time.Duration
}{
	{poolreconcile.NounRound, time.Minute},
	{observe.NounRecoveryRound, observe.RecoveryEvery},
}

// start begins the process anew. What it knew is gone; what is in the database is not.
func (w *World) start(ctx context.Context) (err error) {
	w.proc, err = w.begin(ctx)
	return err
}

// begin makes a process. It is the server's handle, without what no runner pool needs.
func (w *World) begin(ctx context.Context) (p *process, err error) {
	w.lives++
	replica := slipway.Replica{ID: fmt.Sprintf("r-%d", w.lives)}
	p = &process{handlers: map[string]task.Handler{}, every: map[string]time.Duration{}, lines: map[[2]string]*line{}}
	if p.queue, err = w.db.queue(task.Options{Replica: replica, Log: w.logger()}); err != nil {
		return nil, err
	}
	p.change = &change.Service{Store: w.store, Box: w.box, Wake: func(ctx context.Context, tx *store.Tx, noun string, id int64) error {
		return p.queue.Enqueue(ctx, tx, task.WakeUp{Noun: noun, ID: id})
	}}
	ours := slipway.Installation{ID: installation, ExternalID: installation}
	pools := poolreconcile.New(poolreconcile.Config{
		Store: w.store, Queue: p.queue, Cluster: kubeline{w}, Box: w.box, Installation: ours,
		Forge: func(s slipway.ForgeScope, credential string) (forge.Runners, error) {
			return w.line(p, s.BaseURL, credential), nil
		},
		MaxRunners: w.ceiling, Parallel: 1, Log: w.logger(), Scatter: func() float64 { return 0.5 },
	})
	p.handlers[poolreconcile.Noun], p.handlers[poolreconcile.NounRound] = pools.Pool, pools.Round
	recovery := observe.NewRecovery(observe.RecoveryConfig{
		Store: w.store, Queue: p.queue, Box: w.box, Installation: ours, TakeJobs: p.change.TakeJobs, Log: w.logger(),
		Forge: func(base, credential string) (observe.Forge, error) { return w.line(p, base, credential), nil },
	})
	p.handlers[observe.NounRecoveryRound] = recovery.Round
	p.handlers[slipway.WakeRecover], p.handlers[slipway.WakeLook] = recovery.Recover, recovery.Look
	apps := application.New(application.Config{
		Store: w.store, Queue: p.queue, Journal: task.NewJournal(w.store, task.NewEvents(w.store, w.logger()), replica.ID, w.logger()),
		Replica: replica.ID, Cluster: spaces{w: w}, Tokens: tokens{}, Box: w.box, Installation: ours, Log: w.logger(),
	})
	p.handlers[application.NounTask] = apps.Task
	return p, w.store.InTx(ctx, func(tx *store.Tx) error {
		for _, x := range periodic {
			p.every[x.noun] = x.every
			if err := p.queue.Enqueue(ctx, tx, task.WakeUp{Noun: x.noun, ID: 1}); err != nil {
				return err
			}
		}
		return nil
	})
}

// line is the client of a credential, the same one for the same credential.
func (w *World) line(p *process, base, credential string) *line {
	k := [2]string{base, credential}
	if p.lines[k] == nil {
		p.lines[k] = &line{w, w.at(base), credential}
	}
	return p.lines[k]
}

// tokens are those of actions, which runner applications do not have.
type tokens struct{}

func (tokens) MintTaskToken(context.Context, *store.Tx, int64, time.Time) (string, error) {
	return "", slipway.Errorf(slipway.Internal, "a runner application has no actions")
}

func (tokens) RevokeTaskTokens(context.Context, *store.Tx, int64) error { return nil }
