package task

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/rivertype"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// ErrFenced is the cause with which handlers are cancelled when this process could not
// beat for so long that the others may have given it up.
var ErrFenced = errors.New("this process may have been given up by the others")

// worker is one run of a wake-up, in River's terms.
type worker struct {
	river.WorkerDefaults[args]
	queue *Queue
}

func (w *worker) Work(ctx context.Context, job *river.Job[args]) error {
	return w.queue.run(ctx, job.JobRow, job.Args.ID)
}

// run looks at a noun once. It ends the job itself, in the transaction in which it looks
// whether somebody woke the noun meanwhile; River gets an error only when that
// transaction fails.
func (q *Queue) run(ctx context.Context, job *rivertype.JobRow, id int64) error {
	noun := job.Kind
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	q.mu.Lock()
	q.running[job.ID] = cancel
	q.mu.Unlock()
	defer func() {
		q.mu.Lock()
		delete(q.running, job.ID)
		q.mu.Unlock()
	}()

	// Read before the handler reads anything: what is woken after this moment is looked at
	// once more.
	var before store.WakeUp
	err := q.store.Read(ctx, func(tx *store.Tx) (err error) {
		before, err = tx.WakeUp(ctx, noun, id)
		return err
	})
	if err != nil && !slipway.Is(err, slipway.NotFound) {
		return fmt.Errorf("begin to look at %s %d: %w", noun, id, err)
	}
	end := store.RunEnd{Generation: before.Generation, Backoff: backoff}
	if err == nil && before.JobID == job.ID { // otherwise the job carries nothing any more
		end.Again, err = q.handle(ctx, noun, id)
		switch {
		case errors.Is(err, ErrOver):
		case err != nil && ctx.Err() != nil:
			end.Stopped = true
		case err != nil:
			level := slog.LevelWarn
			if errors.Is(err, store.ErrStale) && before.Failures < 3 {
				// Somebody else wrote first. Reading again is all that it needs.
				level, end.Backoff = slog.LevelDebug, func(failures int) time.Duration { return backoff(failures) / 20 }
			}
			end.Failed = true
			q.log.Log(ctx, level, "a wake-up could not be handled and is repeated", "noun", noun, "id", id,
				"failures", before.Failures+1, "err", err)
		}
	}
	return q.finish(ctx, job, id, end)
}

// handle calls the handler. A panic is an error of it.
func (q *Queue) handle(ctx context.Context, noun string, id int64) (again time.Duration, err error) {
	defer func() {
		if p := recover(); p != nil {
			q.log.Error("a handler panicked", "noun", noun, "id", id, "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	again, err = q.handlers[noun](ctx, id)
	for _, p := range q.periodic {
		if p.noun == noun && p.id == id && (again <= 0 || again > p.every) {
			again = p.every
		}
	}
	return again, err
}

// finishLimit bounds the writing of a run's end, which goes on when the run was cancelled.
const finishLimit = 10 * time.Second

func (q *Queue) finish(ctx context.Context, job *rivertype.JobRow, id int64, end store.RunEnd) error {
	write, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishLimit)
	defer cancel()
	err := q.store.InTx(write, func(tx *store.Tx) error {
		row, again, err := tx.FinishWakeUp(write, job.Kind, id, job.ID, end)
		unknown := errors.Is(err, store.ErrStale) // the entry is another job's; this one only ends
		if err != nil && !unknown {
			return err
		}
		if err := tx.HoldJob(write, job.ID, job.Attempt); err != nil {
			return err
		}
		if _, err := river.JobCompleteTx[riverdriver.Driver[*sql.Tx]](write, tx.SQL(), &river.Job[args]{JobRow: job}); err != nil {
			return fmt.Errorf("end job %d: %w", job.ID, err)
		}
		if unknown {
			return nil
		}
		if !row.NextAt.IsZero() {
			tx.AfterCommit(q.ripen)
		}
		if again {
			return q.carry(write, tx, []store.WakeUp{row})
		}
		return nil
	})
	switch {
	case errors.Is(err, store.ErrStale):
		// The job was taken from this process, and another one carries the wake-up. What
		// River writes at the end of a job that does not run any more has no effect.
		q.log.Warn("a run ended whose job was given to another process meanwhile", "noun", job.Kind, "id", id, "job", job.ID)
		return nil
	case err != nil:
		q.log.Warn("the end of a run could not be written; it is repeated", "noun", job.Kind, "id", id, "err", err)
	}
	return err
}

// backoff is how long to wait after that many failures in a row: 1 s, 2 s, 4 s … 1 min,
// with a fifth more or less, so that what failed together is not repeated together.
func backoff(failures int) time.Duration {
	d := time.Minute
	if failures <= 6 {
		d = time.Second << max(failures-1, 0)
	}
	return time.Duration(float64(d) * (0.8 + 0.4*rand.Float64())) //nolint:gosec // it spreads load, and nobody gains by guessing it
}
