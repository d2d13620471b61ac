package observe

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"slipway.dev/slipway/internal/outside/kube"
	"slipway.dev/slipway/internal/secret"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
	"slipway.dev/slipway/internal/task"
)

// NounRound is woken at intervals, with the ID 1, to find applications that nobody looks
// at: those that were there before there were looks, and those whose wake-up was lost.
const NounRound = "drift-round"

// cluster is what is asked of Kubernetes. Package kube is the real one.
type cluster interface {
	Compare(ctx context.Context, app slipway.Application, ms []kube.Manifest, o kube.CompareOptions) (kube.Comparison, error)
	CompareSecret(ctx context.Context, namespace, name string, data map[string][]byte) ([]slipway.Difference, error)
	CompareRecord(ctx context.Context, app slipway.Application, want kube.Record) ([]slipway.Difference, error)
	SetRecordDrift(ctx context.Context, app slipway.Application, state slipway.DriftState, message string) error
	Nodes(ctx context.Context) (nodes []slipway.Node, runtimeClass bool, err error)
}

// charts is what is asked of Helm.
type charts interface {
	Applied(ctx context.Context, app slipway.Application, release string) ([]kube.Manifest, error)
}

// Config is everything that an observer works with.
type Config struct {
	Store        *store.Store
	Queue        *task.Queue
	Cluster      cluster
	Charts       charts
	Box          *secret.Box
	Installation slipway.Installation
	NoCluster    error // when set, why there is none

	// What follows may be zero.
	Every   time.Duration // between two looks at one application; 0: 5 min
	Again   time.Duration // until a second look at what was seen once; 0: 5 s
	Within  time.Duration // the longest that one look may take; 0: 1 min
	AtOnce  int           // looks at once in this process; 0: 4
	Now     func() time.Time
	Log     *slog.Logger
	Scatter func() float64 // from 0 to 1, for spreading looks over time; nil: at random
}

// Observer looks at applications. Its methods are handlers of package task.
type Observer struct {
	Config
	seats chan struct{} // one for each look
}

// New returns an observer. It starts nothing.
func New(c Config) *Observer {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Scatter == nil {
		c.Scatter = rand.Float64
	}
	if c.Now == nil {
		c.Now = c.Store.Now
	}
	c.Every, c.Again = cmp.Or(c.Every, 5*time.Minute), cmp.Or(c.Again, 5*time.Second)
	c.Within = cmp.Or(c.Within, time.Minute)
	return &Observer{Config: c, seats: make(chan struct{}, cmp.Or(c.AtOnce, 4))}
}

// Look looks at one application. It is a handler of package task.
func (o *Observer) Look(ctx context.Context, id int64) (again time.Duration, err error) {
	select {
	case o.seats <- struct{}{}:
		defer func() { <-o.seats }()
	default:
		// Not waited for here: those who wait would take the queue's workers away from tasks.
		return time.Duration((2 + 8*o.Scatter()) * float64(time.Second)), nil
	}
	began := o.Now()
	w, err := o.read(ctx, id)
	switch {
	case slipway.Is(err, slipway.NotFound):
		return 0, nil
	case err != nil:
		return 0, err
	case w.app.State == slipway.AppDeleted:
		return 0, o.Store.InTx(ctx, func(tx *store.Tx) error { return tx.ForgetDrift(ctx, id) })
	case w.app.Applied == 0 || w.app.Deleting:
		return 0, nil // the end of its change wakes us
	}
	s := Sight{Began: began, Revision: w.app.Applied, Missed: w.busy}
	if s.Missed == "" {
		limited, stop := context.WithTimeout(ctx, o.Within)
		defer stop()
		if s, err = o.see(limited, w, began); err != nil {
			if ctx.Err() != nil {
				return 0, context.Cause(ctx) // this process is being stopped; that says nothing of the cluster
			}
			s = Sight{Began: began, Revision: w.app.Applied, Missed: o.why(limited, err)}
			o.Log.DebugContext(ctx, "a look at an application told nothing", "application", w.app.Ref(), "error", err)
		}
	}
	was, now, err := o.write(ctx, w, s)
	if err != nil {
		return 0, err
	}
	if now.Missed == "" && len(now.Suspected) > 0 {
		return o.Again, nil
	}
	if now.Missed == "" {
		o.tellCluster(ctx, w.app, was, now)
	}
	return o.next(), nil
}

// next is when to look again, a tenth sooner or later, so that what was deployed together
// is not looked at together for ever.
func (o *Observer) next() time.Duration {
	return time.Duration(float64(o.Every) * (0.9 + 0.2*o.Scatter()))
}

// why is what people read of a look that told nothing.
func (o *Observer) why(ctx context.Context, err error) string {
	var e *slipway.Error
	switch {
	case ctx.Err() != nil:
		return fmt.Sprintf("the cluster did not answer within %s", o.Within)
	case asError(err, &e) && e.Hint != "":
		return e.Msg + " (" + e.Hint + ")"
	case asError(err, &e):
		return e.Msg
	}
	return "the look failed; the server's log says why"
}

// write records what was seen, unless the application has moved meanwhile: then what was
// seen is of neither before nor after.
func (o *Observer) write(ctx context.Context, w wanted, s Sight) (was, now slipway.Drift, err error) {
	err = o.Store.InTx(ctx, func(tx *store.Tx) error {
		after, err := readWanted(ctx, tx, w.app.ID)
		if err != nil {
			return err
		}
		if s.Missed == "" && (after.busy != "" || after.app.Applied != w.app.Applied || after.app.LastChange != w.app.LastChange) {
			s.Missed = cmp.Or(after.busy, "a change came while it was looked at")
		}
		if was, err = tx.Drift(ctx, w.app.ID); err != nil {
			return err
		}
		now = Judge(was, s)
		if err := tx.SetDrift(ctx, now); err != nil {
			return err
		}
		kind := slipway.EventChecked
		if news(was, now) {
			kind = slipway.EventDrift
		}
		return tx.AddEvent(ctx, slipway.Event{
			Kind: kind, Noun: "application", NounID: w.app.ID, Project: w.app.Project, Environment: w.app.Environment,
		})
	})
	return was, now, err
}

// Round has the applications looked at at which nobody looks. It is a handler of package
// task. The looks are spread over the time between two of them.
func (o *Observer) Round(ctx context.Context, _ int64) (again time.Duration, err error) {
	err = o.Store.InTx(ctx, func(tx *store.Tx) error {
		ids, err := tx.OverdueForDrift(ctx, tx.Now.Add(-2*o.Every), roundSize)
		if err != nil {
			return err
		}
		for _, id := range ids {
			at := tx.Now.Add(time.Duration(float64(o.Every) * o.Scatter()))
			if err := o.Queue.Enqueue(ctx, tx, task.WakeUp{Noun: slipway.WakeDrift, ID: id, At: at, Priority: task.Background}); err != nil {
				return err
			}
		}
		return nil
	})
	return 0, err
}

// roundSize bounds how many wake-ups one round makes; the next one goes on.
const roundSize = 1000
