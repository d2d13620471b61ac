package pool

import (
	"cmp"
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"slipway.dev/slipway/internal/outside/forge"
	"slipway.dev/slipway/internal/secret"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
	"slipway.dev/slipway/internal/task"
)

// The nouns under which this package is woken.
const (
	Noun      = slipway.WakePool
	NounRound = "pool-round" // there is one: it wakes pools that nothing else woke
)

// cluster is what this reconciler needs of Kubernetes.
type cluster interface {
	// Launch asks for a pod with its Secret, by the name of the slot's runner. Asked twice
	// it makes one.
	Launch(ctx context.Context, l Launch) (uid string, err error)
	// Pods lists all runner pods of this installation in a namespace, or fails.
	Pods(ctx context.Context, namespace string) ([]Pod, error)
	// End asks for the end of a pod and its Secret. It succeeds when they are gone already;
	// they are known to be gone when Pods lists them no more.
	End(ctx context.Context, namespace, name string) error
}

// Launch is a pod that is asked for.
type Launch struct {
	Pool   slipway.RunnerPool
	Slot   slipway.Slot
	Config string // the secret with which the runner takes up its registration
}

// Pod is a runner's pod as the cluster shows it.
type Pod struct {
	Name       string
	UID        string
	Pool       int64
	Slot       int64
	CreatedAt  time.Time
	Running    bool   // its runner's program was started
	Over       bool   // its runner has ended, and does not start again
	Fault      bool   // something is wrong with it, or was when it ended
	Leaving    bool   // its end was asked for
	SecretOnly bool   // only its Secret is there, and no pod
	Outdated   bool   // it ended because the forge turned its version away
	Result     string // how it ended, in words
	Seen       string // how it stands, in words
	Node       string
	Image      string // that really runs, with its digest
}

// Config is everything that the reconciler works with.
type Config struct {
	Store        *store.Store
	Queue        *task.Queue
	Cluster      cluster
	NoCluster    error                          // when set, says why there is none
	Unprepared   func(slipway.ForgeKind) string // says why no runner of a forge can be launched in this installation; nil, or "": it can
	Box          *secret.Box
	Installation slipway.Installation
	// Forge returns the client of a credential at the forge of a scope: the same one for the
	// same credential, so that all who use it share its budget.
	Forge func(scope slipway.ForgeScope, credential string) (forge.Runners, error)

	// What follows may be zero.
	Image      string // of runners; what a pool must wait for when the forge turned it away
	MaxRunners int    // of the whole installation; 0: no such ceiling
	Parallel   int    // slots of a pool that are acted on at once; 0: 8
	Metrics    *Metrics
	Log        *slog.Logger
	Scatter    func() float64 // from 0 to 1, for spreading attempts over time; nil: at random
}

// Reconciler brings pools to their demand. Its methods are handlers of package task.
type Reconciler struct {
	Config
	forges *forges
	pace   pace

	mu     sync.Mutex
	absent map[absence]time.Time // since when something was not listed, or listed without a slot
}

// New returns a reconciler. It starts nothing.
func New(c Config) *Reconciler {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Metrics == nil {
		c.Metrics = NewMetrics()
	}
	if c.Scatter == nil {
		c.Scatter = rand.Float64
	}
	c.Parallel = cmp.Or(c.Parallel, 8)
	return &Reconciler{Config: c, forges: newForges(c), absent: map[absence]time.Time{}}
}

// Round wakes pools that were not looked at for a while: their wake-up was lost, or never
// made. It is a handler of package task.
func (r *Reconciler) Round(ctx context.Context, _ int64) (again time.Duration, err error) {
	return 0, r.Store.InTx(ctx, func(tx *store.Tx) error {
		pools, err := tx.RunnerPools(ctx)
		if err != nil {
			return err
		}
		statuses, err := tx.PoolStatuses(ctx)
		if err != nil {
			return err
		}
		for _, p := range pools {
			if tx.Now.Sub(statuses[p.ID].CheckedAt) < 2*settled {
				continue
			}
			if err := r.Queue.Enqueue(ctx, tx, task.WakeUp{Noun: Noun, ID: p.ID}); err != nil {
				return err
			}
		}
		return nil
	})
}
