package task

import (
	"context"
	"time"

	"slipway.dev/slipway/internal/store"
)

const (
	// ripenEvery is how soon a delayed wake-up is found that another process enqueued.
	ripenEvery = time.Second
	// ripenAgain is when it is tried again after a failure. A database that is down or full
	// stays so for a while, and each try is a line in a log that may be on the same full disk.
	ripenAgain = 5 * time.Second
	// ripenBatch bounds one transaction.
	ripenBatch = 100
)

// ripenLoop makes delayed wake-ups due at their time. Every process with workers does so;
// one that another has in hand is passed over.
func (q *Queue) ripenLoop(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-q.ripe:
		}
		next, err := q.ripenDue(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			q.log.Warn("delayed wake-ups could not be looked at", "err", err)
		}
		timer.Reset(next)
	}
}

// ripenDue wakes what is due, and returns how long to wait for the next.
func (q *Queue) ripenDue(ctx context.Context) (time.Duration, error) {
	var next, now time.Time
	err := q.store.Read(ctx, func(tx *store.Tx) (err error) {
		now = tx.Now
		next, err = tx.NextWakeUp(ctx)
		return err
	})
	if err != nil {
		return ripenAgain, err
	}
	if wait := next.Sub(now); next.IsZero() || wait > 0 {
		if next.IsZero() || wait > ripenEvery {
			wait = ripenEvery
		}
		return wait, nil
	}
	ripened := 0
	err = q.store.InTx(ctx, func(tx *store.Tx) error {
		need, err := tx.RipenWakeUps(ctx, ripenBatch)
		if err != nil {
			return err
		}
		ripened = len(need)
		return q.carry(ctx, tx, need)
	})
	switch {
	case err != nil:
		return ripenAgain, err
	case ripened == 0:
		// It runs already, or another process has it in hand.
		return ripenEvery / 10, nil
	}
	return 0, nil
}
