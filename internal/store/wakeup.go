package store

import (
	"context"
	"fmt"
	"time"

	"slipway.dev/slipway/internal/slipway"
)

// WakeUp is a noun's entry in the list of what must be looked at. The queue's job only
// carries it to a worker: a job may be lost, this row may not.
type WakeUp struct {
	Noun       string
	ID         int64
	Generation int64     // counts the wake-ups, so that one during a run is noticed at its end
	JobID      int64     // the queue's job that waits or runs; 0: none
	NextAt     time.Time // when to look without being asked again; zero: never
	Queue      string
	Priority   int
	Failures   int // runs in a row that failed
}

const wakeUpColumns = `noun, noun_id, generation, job_id, next_at, queue, priority, failures`

func readWakeUp(scan scan) (w WakeUp, err error) {
	return w, scan(&w.Noun, &w.ID, &w.Generation, orZero(&w.JobID), at(&w.NextAt), &w.Queue, &w.Priority, &w.Failures)
}

// AskWakeUp asks that a noun be looked at, at once when when is not in the future. It
// holds the row until the transaction ends; who asks for several does so in the order of
// noun and ID. When the row that it returns has no job, and it was to be at once, the
// caller enqueues one and sets it.
func (tx *Tx) AskWakeUp(ctx context.Context, w WakeUp, when time.Time) (WakeUp, error) {
	now, next := int64(1), time.Time{}
	if when.After(tx.Now) {
		now, next = 0, when
	}
	return one(ctx, tx, "wake-up", readWakeUp, `INSERT INTO wakeups (noun, noun_id, generation, next_at, queue, priority, failures)
		VALUES (?, ?, ?, ?, ?, ?, 0)
		ON CONFLICT (noun, noun_id) DO UPDATE SET generation = wakeups.generation + excluded.generation,
			next_at = CASE WHEN excluded.next_at IS NULL OR wakeups.next_at < excluded.next_at THEN wakeups.next_at
				ELSE excluded.next_at END,
			priority = CASE WHEN excluded.priority < wakeups.priority THEN excluded.priority ELSE wakeups.priority END
		RETURNING `+wakeUpColumns, w.Noun, w.ID, now, next, w.Queue, w.Priority)
}

// SetWakeUpJob records the queue's job that carries the wake-up.
func (tx *Tx) SetWakeUpJob(ctx context.Context, noun string, id, jobID int64) error {
	_, err := tx.exec(ctx, `UPDATE wakeups SET job_id = ? WHERE noun = ? AND noun_id = ?`, jobID, noun, id)
	if err != nil {
		return fmt.Errorf("record the job of the wake-up of %s %d: %w", noun, id, err)
	}
	return nil
}

// WakeUp returns the entry of a noun, and NotFound when nothing is to be looked at.
func (tx *Tx) WakeUp(ctx context.Context, noun string, id int64) (WakeUp, error) {
	return one(ctx, tx, "wake-up", readWakeUp, `SELECT `+wakeUpColumns+` FROM wakeups WHERE noun = ? AND noun_id = ?`, noun, id)
}

// WakeUps lists every entry. It is for tests and for diagnosis.
func (tx *Tx) WakeUps(ctx context.Context) ([]WakeUp, error) {
	return all(ctx, tx, readWakeUp, `SELECT `+wakeUpColumns+` FROM wakeups ORDER BY noun, noun_id`)
}

// NextWakeUp returns the earliest time at which an entry becomes due, and zero when none
// does.
func (tx *Tx) NextWakeUp(ctx context.Context) (next time.Time, err error) {
	if err := tx.value(ctx, []any{at(&next)}, `SELECT MIN(next_at) FROM wakeups`); err != nil {
		return next, fmt.Errorf("look for the next wake-up: %w", err)
	}
	return next, nil
}

// RipenWakeUps turns up to limit entries that have become due into ones that were asked
// for, and returns those that need a job. Entries that another process has in hand are
// left to it.
func (tx *Tx) RipenWakeUps(ctx context.Context, limit int) ([]WakeUp, error) {
	lock := tx.forUpdate()
	if lock != "" {
		lock += " SKIP LOCKED"
	}
	due, err := all(ctx, tx, readWakeUp, `SELECT `+wakeUpColumns+` FROM wakeups WHERE next_at <= ?
		ORDER BY noun, noun_id LIMIT ?`+lock, tx.Now, limit)
	if err != nil {
		return nil, fmt.Errorf("look for due wake-ups: %w", err)
	}
	var need []WakeUp
	for _, w := range due {
		_, err := tx.exec(ctx, `UPDATE wakeups SET next_at = NULL, generation = generation + 1 WHERE noun = ? AND noun_id = ?`, w.Noun, w.ID)
		if err != nil {
			return nil, fmt.Errorf("ripen the wake-up of %s %d: %w", w.Noun, w.ID, err)
		}
		if w.JobID == 0 {
			need = append(need, w)
		}
	}
	return need, nil
}

// RunEnd is what a run of a wake-up came to.
type RunEnd struct {
	Generation int64         // as it was when the run began
	Again      time.Duration // look again after this; 0: not of itself
	Stopped    bool          // the run was cut short by this process's end: repeat it at once
	Failed     bool
	Backoff    func(failures int) time.Duration // of a failed run, in place of Again
}

// wokenRetry is how soon a failed run is repeated at the latest when somebody woke it
// meanwhile: what made it fail may be what has changed. It is not at once, because work
// that wakes itself and then fails must not spin.
const wokenRetry = time.Second

// FinishWakeUp ends the run of a job. The entry goes, unless it was woken meanwhile or is
// to be looked at again later; needsJob says that the caller has to enqueue a job for it
// at once. It is stale when the entry is carried by another job by now.
func (tx *Tx) FinishWakeUp(ctx context.Context, noun string, id, jobID int64, end RunEnd) (w WakeUp, needsJob bool, err error) {
	w, err = one(ctx, tx, "wake-up", readWakeUp,
		`SELECT `+wakeUpColumns+` FROM wakeups WHERE noun = ? AND noun_id = ? AND job_id = ?`+tx.forUpdate(), noun, id, jobID)
	switch {
	case slipway.Is(err, slipway.NotFound):
		return w, false, stale("end the run of %s %d by job %d", noun, id, jobID)
	case err != nil:
		return w, false, err
	}
	woken, again := w.Generation != end.Generation || end.Stopped, end.Again
	if end.Failed {
		w.Failures++
		again = end.Backoff(w.Failures)
		if woken {
			again, woken = min(again, wokenRetry), false
		}
	} else if !end.Stopped {
		w.Failures = 0
	}
	if again > 0 {
		if next := tx.Now.Add(again); w.NextAt.IsZero() || next.Before(w.NextAt) {
			w.NextAt = next
		}
	}
	w.JobID = 0
	if !woken && w.NextAt.IsZero() {
		_, err = tx.exec(ctx, `DELETE FROM wakeups WHERE noun = ? AND noun_id = ?`, noun, id)
	} else {
		_, err = tx.exec(ctx, `UPDATE wakeups SET job_id = NULL, next_at = ?, failures = ? WHERE noun = ? AND noun_id = ?`,
			w.NextAt, w.Failures, noun, id)
	}
	if err != nil {
		return w, false, fmt.Errorf("end the run of %s %d: %w", noun, id, err)
	}
	return w, woken, nil
}
