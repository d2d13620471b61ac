package pool

import (
	"context"
	"fmt"
	"time"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
	"slipway.dev/slipway/internal/task"
)

// rows are what the database says of one pool, in one transaction.
type rows struct {
	now     time.Time
	pool    slipway.RunnerPool
	app     slipway.Application
	status  slipway.PoolStatus
	slots   []slipway.Slot // open ones
	jobs    map[string]slipway.Job
	demand  []Job
	room    int   // runners that the ceiling above the pool still allows
	secret  int64 // version of the credential; 0: there is none
	cluster slipway.ClusterView
	ours    map[int64]bool // the pools of the application
}

// unlimited is the room where no ceiling is.
const unlimited = 1 << 20

func (r *Reconciler) read(ctx context.Context, id int64) (out rows, err error) {
	err = r.Store.Read(ctx, func(tx *store.Tx) (err error) {
		out = rows{now: tx.Now, room: unlimited, ours: map[int64]bool{}}
		if out.pool, err = tx.RunnerPool(ctx, id); err != nil {
			return err
		}
		if out.app, err = tx.Application(ctx, out.pool.ApplicationID); err != nil {
			return err
		}
		if out.status, err = tx.PoolStatus(ctx, id); err != nil {
			return err
		}
		if out.slots, err = tx.OpenSlots(ctx, id); err != nil {
			return err
		}
		if out.jobs, err = tx.JobsOfSlots(ctx, out.pool); err != nil {
			return err
		}
		if out.cluster, err = tx.ClusterView(ctx); err != nil {
			return err
		}
		siblings, err := tx.RunnerPoolsOf(ctx, out.pool.ApplicationID)
		if err != nil {
			return err
		}
		for _, p := range siblings {
			out.ours[p.ID] = true
		}
		secret, err := tx.Secret(ctx, out.pool.EnvironmentID, out.pool.Spec.Credential)
		if err != nil && !slipway.Is(err, slipway.NotFound) {
			return err
		}
		out.secret = int64(secret.Version)
		r.startOver(&out.status, out)
		if out.demand, err = r.demand(ctx, tx, out); err != nil {
			return err
		}
		if r.MaxRunners > 0 {
			out.room, err = r.room(ctx, tx, out)
		}
		return err
	})
	return out, err
}

// places reads what a look at the world must know: where to look.
func (r *Reconciler) places(ctx context.Context, id int64) (out rows, err error) {
	err = r.Store.Read(ctx, func(tx *store.Tx) (err error) {
		out = rows{now: tx.Now}
		if out.pool, err = tx.RunnerPool(ctx, id); err != nil {
			return err
		}
		if out.status, err = tx.PoolStatus(ctx, id); err != nil {
			return err
		}
		out.slots, err = tx.OpenSlots(ctx, id)
		return err
	})
	return out, err
}

// demand finds the queued jobs that fall to a pool.
func (r *Reconciler) demand(ctx context.Context, tx *store.Tx, own rows) ([]Job, error) {
	if own.pool.Paused || own.pool.Deleting {
		return nil, nil // Assign gives it none, and they may be many
	}
	scope := own.pool.Spec.Scope
	scoped, err := tx.QueuedJobs(ctx, scope.Host(), scope.Owner)
	if err != nil || len(scoped) == 0 {
		return nil, err
	}
	var jobs []Job
	for _, s := range scoped {
		if n := len(jobs); n > 0 && jobs[n-1].ID == s.ID { // a job comes once for each environment, one after the other
			jobs[n-1].Environments = append(jobs[n-1].Environments, s.EnvironmentID)
			continue
		}
		jobs = append(jobs, Job{s.Job, []int64{s.EnvironmentID}})
	}
	pools, err := tx.RunnerPoolsFor(ctx, scope.Host(), scope.Owner)
	if err != nil {
		return nil, err
	}
	load := Load{}
	if len(pools) > 1 {
		if load, err = r.load(ctx, tx, own, pools); err != nil {
			return nil, err
		}
	}
	return Assign(jobs, pools, load, tx.Now).Jobs[own.pool.ID], nil
}

// load counts what of each pool's limit cannot take one more job.
func (r *Reconciler) load(ctx context.Context, tx *store.Tx, own rows, pools []slipway.RunnerPool) (Load, error) {
	counts, err := tx.OpenSlotCounts(ctx)
	if err != nil {
		return nil, err
	}
	statuses, err := r.statuses(ctx, tx, own)
	if err != nil {
		return nil, err
	}
	load := Load{}
	for _, p := range pools {
		load[p.ID] = p.Spec.Replicas - p.Left(statuses[p.ID], counts[p.ID], tx.Now)
	}
	return load, nil
}

// statuses returns how all pools stand: the own one as it starts this look, the others as
// their last look left them, but for what another image put in their way.
func (r *Reconciler) statuses(ctx context.Context, tx *store.Tx, own rows) (map[int64]slipway.PoolStatus, error) {
	statuses, err := tx.PoolStatuses(ctx)
	if err != nil {
		return nil, err
	}
	for id, s := range statuses {
		r.forgetImage(&s)
		statuses[id] = s
	}
	statuses[own.pool.ID] = own.status
	return statuses, nil
}

// passOn wakes the other pools of the owner, which may serve what this one does not for
// now.
func (w *run) passOn(ctx context.Context, tx *store.Tx) error {
	own, err := tx.RunnerPool(ctx, w.id)
	if err != nil {
		return err
	}
	pools, err := tx.RunnerPoolsFor(ctx, own.Spec.Scope.Host(), own.Spec.Scope.Owner)
	if err != nil {
		return err
	}
	for _, p := range pools {
		if p.ID == w.id || p.Paused || p.Deleting {
			continue
		}
		if err := w.r.Queue.Enqueue(ctx, tx, task.WakeUp{Noun: Noun, ID: p.ID}); err != nil {
			return err
		}
	}
	return nil
}

// room is what the installation's ceiling still leaves to a pool, when all that want more
// runners take turns.
//
// What the others want is counted anew from their files, the clock and their slots. Only
// their queued jobs, and what keeps them from launching, are of their own last look. That is
// half a minute old at most, and as much more as a look takes; where a wake-up was lost, two
// minutes, because Round finds the pool by then. For so long room may be left to a pool that
// does not need it any more, or be taken that another needs by now.
func (r *Reconciler) room(ctx context.Context, tx *store.Tx, own rows) (int, error) {
	counts, err := tx.OpenSlotCounts(ctx)
	if err != nil {
		return 0, err
	}
	statuses, err := r.statuses(ctx, tx, own)
	if err != nil {
		return 0, err
	}
	pools, err := tx.RunnerPools(ctx)
	if err != nil {
		return 0, err
	}
	left := r.MaxRunners
	var asks []Ask
	for _, p := range pools {
		for _, n := range counts[p.ID] {
			left -= n
		}
		more := p.Asks(statuses[p.ID], counts[p.ID], tx.Now)
		if p.ID == own.pool.ID {
			more = p.More(len(own.demand), counts[p.ID], tx.Now) // whether it may launch at all is for its plan to say
		}
		if more > 0 {
			asks = append(asks, Ask{Pool: p.ID, Priority: p.Spec.Priority, Runners: more})
		}
	}
	return Divide(left, asks)[own.pool.ID], nil
}

// barred says why nothing can be launched at all; it is empty when nothing bars.
func (r *Reconciler) barred(in rows) string {
	switch {
	case r.NoCluster != nil:
		return "there is no cluster to run runners on"
	case r.unprepared(in) != "":
		return r.unprepared(in)
	case in.app.Applied == 0 && in.app.Revision > 0:
		return "its namespace is being prepared" // or that has failed, and the application's task says why
	case in.status.Outdated != "":
		return fmt.Sprintf("GitHub does not take the runner program of the image %s any more; set runners.image to a newer one", r.Image)
	case !in.cluster.LookedAt.IsZero() && !in.cluster.RuntimeClass:
		return fmt.Sprintf("the cluster has no sandbox for runners: there is no RuntimeClass %s", slipway.RunnerRuntimeClass)
	}
	return ""
}

func (r *Reconciler) unprepared(in rows) string {
	if r.Unprepared == nil {
		return ""
	}
	return r.Unprepared(in.pool.Spec.Scope.Forge)
}
