package observe

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"slipway.dev/slipway/internal/outside/forge"
	"slipway.dev/slipway/internal/secret"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
	"slipway.dev/slipway/internal/task"
)

// NounRecoveryRound is woken at start-up and at intervals, with the ID 1: every connection's
// lost deliveries are looked for, and the forges are asked for queued jobs.
const NounRecoveryRound = "recovery-round"

// Forge is what is asked of a forge with one credential.
type Forge interface {
	forge.Hooks
	Runs(ctx context.Context, repo forge.Repository, q forge.RunQuery) ([]forge.Run, error)
	Jobs(ctx context.Context, repo forge.Repository, run int64, attempt int) ([]forge.Job, error)
	Job(ctx context.Context, repo forge.Repository, id int64) (forge.Job, error)
	// Spare reports whether requests are left for what can wait.
	Spare() bool
}

// RecoveryConfig is everything that a recovery works with.
type RecoveryConfig struct {
	Store        *store.Store
	Queue        *task.Queue
	Box          *secret.Box
	Installation slipway.Installation
	// Forge returns the client of a credential at a base URL.
	Forge func(baseURL, credential string) (Forge, error)
	// TakeJobs records what the forge said of jobs, for the pools of an environment.
	TakeJobs func(ctx context.Context, environmentID int64, jobs []slipway.Job) (moved int, err error)
	Log      *slog.Logger
	Now      func() time.Time
}

// Recovery finds what deliveries did not tell: GitHub never repeats one that was lost. Its
// methods are handlers of package task.
type Recovery struct{ RecoveryConfig }

// NewRecovery returns a recovery. It starts nothing.
func NewRecovery(c RecoveryConfig) *Recovery {
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	if c.Now == nil {
		c.Now = c.Store.Now
	}
	return &Recovery{c}
}

const (
	// RecoveryEvery is how often lost deliveries are looked for and the forges are asked.
	RecoveryEvery = 10 * time.Minute
	roundWithin   = 5 * time.Minute

	deliveriesKept = 8 * 24 * time.Hour // an Enterprise Server can repeat one for seven days
	jobsKept       = 14 * 24 * time.Hour
	pruneAtOnce    = 5000
)

// Round has the connections looked at, asks the forges for jobs, and forgets what is old.
func (r *Recovery) Round(ctx context.Context, _ int64) (time.Duration, error) {
	err := r.Store.InTx(ctx, func(tx *store.Tx) error {
		all, err := tx.Connections(ctx)
		if err != nil {
			return err
		}
		for _, c := range all {
			if err := r.Queue.Enqueue(ctx, tx, task.WakeUp{Noun: slipway.WakeRecover, ID: c.ID, Priority: task.Background}); err != nil {
				return err
			}
		}
		if _, err := tx.PruneDeliveries(ctx, tx.Now.Add(-deliveriesKept), pruneAtOnce); err != nil {
			return err
		}
		_, err = tx.PruneJobs(ctx, tx.Now.Add(-jobsKept), pruneAtOnce)
		return err
	})
	if err != nil {
		return 0, err
	}
	limited, stop := context.WithTimeout(ctx, roundWithin)
	defer stop()
	return 0, r.poll(limited)
}

// secretOf opens a secret of an environment.
func (r *Recovery) secretOf(ctx context.Context, environmentID int64, name string) (string, error) {
	var sealed []byte
	err := r.Store.Read(ctx, func(tx *store.Tx) (err error) {
		sealed, err = tx.SecretSealed(ctx, environmentID, name)
		return err
	})
	if err != nil {
		return "", err
	}
	v, err := r.Box.Open(secret.Place{Installation: r.Installation.ID, Environment: environmentID, Name: name}, sealed)
	return string(v), err
}

// app returns the client of a connection's App; nil when it has none.
func (r *Recovery) app(ctx context.Context, c slipway.Connection) (Forge, error) {
	if c.AppID == 0 {
		return nil, nil
	}
	var sealed store.ConnectionSecrets
	err := r.Store.Read(ctx, func(tx *store.Tx) (err error) {
		sealed, err = tx.ConnectionSecrets(ctx, c.ID)
		return err
	})
	if err != nil {
		return nil, err
	}
	key, err := r.Box.Open(secret.AppPlace(r.Installation.ID, c.Hook), sealed.App)
	if err != nil {
		return nil, err
	}
	credential, err := json.Marshal(map[string]string{"app": strconv.FormatInt(c.AppID, 10), "private_key": string(key)})
	if err != nil {
		return nil, fmt.Errorf("use the App of connection %s: %w", c.Name, err)
	}
	return r.Forge(c.BaseURL, string(credential))
}

// ofPool returns the client of a credential of a pool.
func (r *Recovery) ofPool(ctx context.Context, p slipway.RunnerPool, name string) (Forge, error) {
	value, err := r.secretOf(ctx, p.EnvironmentID, name)
	if err != nil {
		return nil, err
	}
	return r.Forge(p.Spec.Scope.BaseURL, value)
}
