package task

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/rivertype"

	"slipway.dev/slipway/internal/store"
)

const (
	// BeatEvery is how often a process says that it lives.
	BeatEvery = 3 * time.Second
	// DeadAfter is how long a process is silent before the others take over its work.
	DeadAfter = 15 * time.Second

	// watchLease names the one process that looks for dead ones.
	watchLease = "watchdog"
	// orphanAfter is how old a job must be that the database holds for running here, and
	// that does not.
	orphanAfter = 30 * time.Second
)

// register makes this process known before it takes any work.
func (q *Queue) register(ctx context.Context) error {
	err := q.store.InTx(ctx, func(tx *store.Tx) error {
		if !q.store.Shared() {
			if err := tx.RemoveOtherReplicas(ctx, q.options.Replica.ID); err != nil {
				return err
			}
		}
		return tx.AddReplica(ctx, q.options.Replica)
	})
	if err != nil {
		return fmt.Errorf("start the queue: %w", err)
	}
	return nil
}

func (q *Queue) unregister(ctx context.Context) error {
	return q.store.InTx(ctx, func(tx *store.Tx) error {
		if err := tx.ReleaseLease(ctx, watchLease, q.options.Replica.ID); err != nil {
			return err
		}
		return tx.RemoveReplica(ctx, q.options.Replica.ID, time.Time{})
	})
}

// beatLoop says that this process lives and, in the one that holds the lease, gives away
// the work of those that do not.
func (q *Queue) beatLoop(ctx context.Context) {
	ticker := time.NewTicker(q.options.BeatEvery)
	defer ticker.Stop()
	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		err := q.beat(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, store.ErrStale):
			q.giveUp()
			return
		case err != nil:
			q.log.Warn("no heartbeat could be written", "err", err, "since", time.Since(last).Round(time.Second))
			// Before the others may take the work, and not after: the rest of the time is
			// for what is under way to stop.
			if q.store.Shared() && time.Since(last) > q.options.DeadAfter-q.options.BeatEvery {
				q.cancelAll(ErrFenced)
			}
			continue
		}
		last = time.Now()
		if q.work == nil {
			continue
		}
		if err := q.watch(ctx); err != nil && ctx.Err() == nil {
			q.log.Warn("the work of dead processes could not be looked for", "err", err)
		}
	}
}

func (q *Queue) beat(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, q.options.BeatEvery)
	defer cancel()
	return q.store.InTx(ctx, func(tx *store.Tx) error { return tx.BeatReplica(ctx, q.options.Replica) })
}

// giveUp ends what runs here: this process was taken for dead, and others do its work.
func (q *Queue) giveUp() {
	q.log.Error("the other processes have given this one up; it must end")
	q.cancelAll(ErrFenced)
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.isLost {
		q.isLost = true
		close(q.lost)
	}
}

func (q *Queue) cancelAll(cause error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, cancel := range q.running {
		cancel(cause)
	}
}

// takeOver is the first look, at the start. Where no other process can be, it needs no
// lease.
func (q *Queue) takeOver(ctx context.Context) error {
	if q.store.Shared() {
		return q.watch(ctx)
	}
	return q.rescue(ctx)
}

// watch looks for dead processes, if it is this one's turn, and for jobs of this one that
// run no more.
func (q *Queue) watch(ctx context.Context) error {
	var mine bool
	err := q.store.InTx(ctx, func(tx *store.Tx) (err error) {
		mine, err = tx.AcquireLease(ctx, watchLease, q.options.Replica.ID, 3*q.options.BeatEvery)
		if err != nil || !mine {
			return err
		}
		dead, err := tx.DeadReplicas(ctx, q.options.DeadAfter)
		if err != nil {
			return err
		}
		for _, r := range dead {
			switch err := tx.RemoveReplica(ctx, r.ID, r.SeenAt); {
			case errors.Is(err, store.ErrStale): // it beat after all
			case err != nil:
				return err
			default:
				q.log.Warn("a process is dead; its work is given to others", "dead", r.ID, "host", r.Host, "seen", r.SeenAt)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if !mine {
		return q.rescueOwn(ctx)
	}
	return q.rescue(ctx)
}

// rescue takes the jobs of processes that are not registered from them, and carries anew
// every wake-up whose job is gone. It goes by what is there and not by who just died, so
// one that is cut short is completed by the next.
func (q *Queue) rescue(ctx context.Context) error {
	// The jobs are read before the processes: a process registers before it takes a job.
	jobs, read, err := q.runningJobs(ctx)
	if err != nil {
		return err
	}
	var alive []string
	err = q.store.Read(ctx, func(tx *store.Tx) error {
		rs, err := tx.Replicas(ctx)
		for _, r := range rs {
			alive = append(alive, r.ID)
		}
		return err
	})
	if err != nil {
		return err
	}
	err = q.discard(ctx, slices.DeleteFunc(jobs, func(j *rivertype.JobRow) bool {
		return slices.Contains(alive, holder(j)) && !q.orphan(j)
	}), read)
	if err != nil {
		return err
	}
	return q.store.InTx(ctx, func(tx *store.Tx) error {
		lost, err := tx.LostWakeUps(ctx, ripenBatch)
		if err != nil || len(lost) == 0 {
			return err
		}
		q.log.Warn("wake-ups whose process or job was lost are enqueued again", "count", len(lost))
		return q.carry(ctx, tx, lost)
	})
}

// rescueOwn discards jobs that the database holds for running here. Whoever watches then
// carries their wake-ups anew.
func (q *Queue) rescueOwn(ctx context.Context) error {
	jobs, read, err := q.runningJobs(ctx)
	if err != nil {
		return err
	}
	return q.discard(ctx, slices.DeleteFunc(jobs, func(j *rivertype.JobRow) bool { return !q.orphan(j) }), read)
}

// orphan reports whether a job is this process's by the database and has ended here: the
// write of its end was lost.
func (q *Queue) orphan(j *rivertype.JobRow) bool {
	if holder(j) != q.options.Replica.ID || j.AttemptedAt == nil || time.Since(*j.AttemptedAt) < orphanAfter {
		return false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	_, runs := q.running[j.ID]
	return !runs
}

// holder is the process that a job was given to last.
func holder(j *rivertype.JobRow) string {
	if len(j.AttemptedBy) == 0 {
		return ""
	}
	return j.AttemptedBy[len(j.AttemptedBy)-1]
}

// farAhead makes River's question for jobs that began before a time one for all jobs,
// also when the clock was set back.
const farAhead = 365 * 24 * time.Hour

// runningJobs lists every job that the database holds for running, whatever its kind, and
// the time at which it began to read.
func (q *Queue) runningJobs(ctx context.Context) (out []*rivertype.JobRow, read time.Time, err error) {
	const page = 1000
	read = time.Now()
	for after := int64(0); ; {
		jobs, err := q.driver.GetExecutor().JobGetStuck(ctx, &riverdriver.JobGetStuckParams{
			AfterID: after, Max: page, StuckHorizon: read.Add(farAhead),
		})
		if err != nil {
			return nil, read, fmt.Errorf("list the jobs that run: %w", err)
		}
		out = append(out, jobs...)
		if len(jobs) < page {
			return out, read, nil
		}
		after = jobs[len(jobs)-1].ID
	}
}

// discard ends the jobs that were read as running. Their wake-ups get other jobs: the
// same job given to another process would be ended by the first one, if that lives after
// all, because River does not look whose a job is when it writes its end.
func (q *Queue) discard(ctx context.Context, jobs []*rivertype.JobRow, read time.Time) error {
	if len(jobs) == 0 {
		return nil
	}
	now := time.Now().UTC()
	p := &riverdriver.JobRescueManyParams{StuckHorizon: read.Add(farAhead)}
	for _, j := range jobs {
		note, err := json.Marshal(rivertype.AttemptError{At: now, Attempt: max(j.Attempt, 0), Error: "the process that ran it is dead"})
		if err != nil {
			return err
		}
		p.ID = append(p.ID, j.ID)
		p.Error = append(p.Error, note)
		p.FinalizedAt = append(p.FinalizedAt, &now)
		p.ScheduledAt = append(p.ScheduledAt, now)
		p.State = append(p.State, string(rivertype.JobStateDiscarded))
	}
	if _, err := q.driver.GetExecutor().JobRescueMany(ctx, p); err != nil {
		return fmt.Errorf("discard %d jobs of dead processes: %w", len(jobs), err)
	}
	return nil
}
