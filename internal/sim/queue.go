package sim

import (
	"context"
	"errors"
	"time"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
	"slipway.dev/slipway/internal/task"
)

// The queue's list of wake-ups is the real one, in the database, and is written by the real
// Enqueue. What is left out is River, which only carries an entry to a goroutine: here the
// entries that are due are handled one at a time, in an order that the run's steps choose.

// due lists what could be handled now.
func (w *World) due(ctx context.Context) (due []store.WakeUp, err error) {
	err = w.look(ctx, func(tx *store.Tx) error {
		all, err := tx.WakeUps(ctx)
		for _, u := range all {
			if _, handled := w.proc.handlers[u.Noun]; !handled || u.JobID == 0 && (u.NextAt.IsZero() || u.NextAt.After(w.now)) {
				continue
			}
			if u.Noun == slipway.WakeTask {
				if wait, err := waits(ctx, tx, u.ID); err != nil || wait {
					if err != nil {
						return err
					}
					continue
				}
			}
			due = append(due, u)
		}
		return err
	})
	return due, err
}

// sleep lets time pass until something is due, if it is soon.
func (w *World) sleep(ctx context.Context) error {
	return w.look(ctx, func(tx *store.Tx) error {
		next, err := tx.NextWakeUp(ctx)
		if wait := next.Sub(w.now); err == nil && wait > 0 {
			w.now = w.now.Add(min(wait, time.Minute))
		}
		return err
	})
}

// handle handles one entry, as package task's worker does.
func (w *World) handle(ctx context.Context, u store.WakeUp) error {
	w.Count.Runs++
	w.tell("run %s %d", u.Noun, u.ID)
	if u.JobID == 0 {
		err := w.write(ctx, func(tx *store.Tx) (err error) {
			if err = w.ripen(ctx, tx); err == nil {
				u, err = tx.WakeUp(ctx, u.Noun, u.ID)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	if u.Noun != slipway.WakePool || w.ceiling == 0 {
		return w.carry(ctx, u)
	}
	before, err := w.read(ctx)
	if err != nil {
		return err
	}
	if err := w.carry(ctx, u); err != nil || w.frozen != nil {
		return err
	}
	after, err := w.read(ctx)
	w.fair(u.ID, before, after)
	return err
}

func (w *World) carry(ctx context.Context, u store.WakeUp) error {
	end, p := store.RunEnd{Generation: u.Generation, Backoff: backoff}, w.proc
	f := w.fly(ctx, true, func(ctx context.Context) error {
		again, err := p.handlers[u.Noun](ctx, u.ID)
		if every := p.every[u.Noun]; every > 0 && (again <= 0 || again > every) {
			again = every
		}
		end.Again = again
		if err != nil && !errors.Is(err, task.ErrOver) {
			w.tell("run %s %d failed: %v", u.Noun, u.ID, err)
			w.log.WriteString(err.Error() + "\n")
			end.Failed = true
		}
		return w.store.InTx(ctx, func(tx *store.Tx) error {
			row, needsJob, err := tx.FinishWakeUp(ctx, u.Noun, u.ID, u.JobID, end)
			switch {
			case errors.Is(err, store.ErrStale):
				return nil
			case err != nil || !needsJob:
				return err
			}
			return w.setJob(ctx, tx, row)
		})
	})
	if !f.parked {
		return w.landed(f)
	}
	return w.takeOver(ctx, f, u)
}

// ripen gives entries whose time has come a job, as the queue's own loop does.
func (w *World) ripen(ctx context.Context, tx *store.Tx) error {
	need, err := tx.RipenWakeUps(ctx, 1000)
	if err != nil {
		return err
	}
	for _, u := range need {
		if err := w.setJob(ctx, tx, u); err != nil {
			return err
		}
	}
	return nil
}

// setJob stands for what the queue does when it has River carry an entry.
func (w *World) setJob(ctx context.Context, tx *store.Tx, u store.WakeUp) error {
	w.carried++
	return tx.SetWakeUpJob(ctx, u.Noun, u.ID, 1<<40+w.carried)
}

// backoff is package task's, without its chance.
func backoff(failures int) time.Duration {
	if failures > 6 {
		return time.Minute
	}
	return time.Second << max(failures-1, 0)
}
