package store

import (
	"context"
	"fmt"
)

// The queue keeps its jobs in tables of its own beside ours. What is asked of them here
// cannot be asked through its interface; package task's tests hold it against the pinned
// version.

// HoldJob proves that the job is still the caller's: it runs, in the attempt that the
// caller was given. It is stale when the job was given to another meanwhile. The job
// stays so until the transaction ends.
func (tx *Tx) HoldJob(ctx context.Context, jobID int64, attempt int) error {
	n, err := tx.exec(ctx, `UPDATE river_job SET attempt = attempt WHERE id = ? AND state = 'running' AND attempt = ?`, jobID, attempt)
	if err != nil {
		return fmt.Errorf("hold job %d: %w", jobID, err)
	}
	if n == 0 {
		return stale("hold job %d in attempt %d", jobID, attempt)
	}
	return nil
}

// LostWakeUps lists up to limit entries whose job is no longer there to carry them. The
// caller enqueues a job for each. It happens when a job is discarded, which nothing of
// ours does, but an older release's leader may do to a kind it does not know.
func (tx *Tx) LostWakeUps(ctx context.Context, limit int) ([]WakeUp, error) {
	lock := tx.forUpdate()
	if lock != "" {
		lock += " SKIP LOCKED"
	}
	lost, err := all(ctx, tx, readWakeUp, `SELECT `+wakeUpColumns+` FROM wakeups WHERE job_id IS NOT NULL
		AND NOT EXISTS (SELECT 1 FROM river_job j WHERE j.id = wakeups.job_id
			AND j.state IN ('available', 'pending', 'retryable', 'running', 'scheduled'))
		ORDER BY noun, noun_id LIMIT ?`+lock, limit)
	if err != nil {
		return nil, fmt.Errorf("look for lost wake-ups: %w", err)
	}
	return lost, nil
}
