package task

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

var (
	// ErrCancelled is the cause with which a run's context ends when somebody asked for
	// the end of its task.
	ErrCancelled = errors.New("the task was cancelled")
	// ErrLostTask is the cause when another worker has the task by now. Nothing that this
	// one does for it counts any more.
	ErrLostTask = errors.New("the task was taken over by another worker")
	// ErrOver is returned by Claim for a task that has ended. A handler that returns it has
	// nothing left to do: the process before died between the end of the task and that of
	// its wake-up. It is a store.ErrStale too.
	ErrOver = fmt.Errorf("the task is over: %w", store.ErrStale)
)

// The kinds of a task's events. Both name the task.
const (
	TaskChanged = "task.changed"
	StepChanged = "step.changed"
)

// Journal is how reconcilers write the tasks that people see.
type Journal struct {
	store   *store.Store
	events  *Events
	replica string
	log     *slog.Logger

	mu   sync.Mutex
	runs map[int64]*Run // by task
}

// NewJournal returns a journal for the replica's workers. Watch makes cancellations reach
// them.
func NewJournal(s *store.Store, e *Events, replica string, log *slog.Logger) *Journal {
	if log == nil {
		log = slog.Default()
	}
	return &Journal{store: s, events: e, replica: replica, log: log, runs: map[int64]*Run{}}
}

// Watch brings cancellations to the runs of this process, until ctx ends: at once those
// that were asked for here, and within a second those that were asked for elsewhere.
func (j *Journal) Watch(ctx context.Context) {
	sub := j.events.Subscribe()
	defer sub.Close()
	// Events only make it quick: one that is lost must not leave a run that nobody ends.
	all := time.NewTicker(lookEvery)
	defer all.Stop()
	for {
		var ids []int64
		select {
		case <-ctx.Done():
			return
		case <-all.C:
			ids = j.held()
		case ev := <-sub.C:
			switch {
			case ev.Kind == Resync:
				ids = j.held()
			case ev.Noun == "task" && j.run(ev.NounID) != nil:
				ids = []int64{ev.NounID}
			}
		}
		if len(ids) == 0 {
			continue
		}
		if err := j.look(ctx, ids); err != nil && ctx.Err() == nil {
			j.log.Warn("cancelled tasks could not be looked for", "err", err)
		}
	}
}

// lookEvery is how often the tasks that run here are looked at without an event.
const lookEvery = 5 * time.Second

func (j *Journal) held() (ids []int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for id := range j.runs {
		ids = append(ids, id)
	}
	return ids
}

func (j *Journal) run(task int64) *Run {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.runs[task]
}

// look cancels the runs of this process whose tasks somebody cancelled.
func (j *Journal) look(ctx context.Context, ids []int64) error {
	return j.store.Read(ctx, func(tx *store.Tx) error {
		cancelled, err := tx.CancelledTasks(ctx, ids)
		for id, by := range cancelled {
			if r := j.run(id); r != nil {
				r.cancel(fmt.Errorf("%w by %s", ErrCancelled, by))
			}
		}
		return err
	})
}

// RequestCancel asks for the end of a task and says so to whoever runs it.
func RequestCancel(ctx context.Context, tx *store.Tx, id int64, by string) (slipway.Task, error) {
	t, err := tx.RequestCancel(ctx, id, by)
	if err != nil {
		return t, err
	}
	return t, AddEvent(ctx, tx, t, TaskChanged)
}

// AddEvent says that a task changed, in the transaction that changes it.
func AddEvent(ctx context.Context, tx *store.Tx, t slipway.Task, kind string) error {
	e := slipway.Event{Kind: kind, Noun: "task", NounID: t.ID}
	if parts := strings.SplitN(t.Application, "/", 3); len(parts) == 3 {
		e.Project, e.Environment = parts[0], parts[1]
	}
	return tx.AddEvent(ctx, e)
}

// Claim makes a task this process's own. The run must be closed. A task that is over is
// ErrOver.
func (j *Journal) Claim(ctx context.Context, id int64) (*Run, error) {
	r := &Run{journal: j}
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	j.mu.Lock()
	before := j.runs[id]
	j.runs[id] = r // before the claim, so that no cancellation falls between
	j.mu.Unlock()
	if before != nil {
		before.cancel(ErrLostTask)
	}
	err := j.store.InTx(ctx, func(tx *store.Tx) error {
		_, err := tx.ClaimTask(ctx, id, j.replica)
		if errors.Is(err, store.ErrStale) {
			return ErrOver
		}
		if err != nil {
			return err
		}
		if r.Task, err = tx.Task(ctx, id); err != nil {
			return err
		}
		return AddEvent(ctx, tx, r.Task, TaskChanged)
	})
	if err != nil {
		r.Close()
		return nil, err
	}
	if r.Task.CancelledBy != "" {
		r.cancel(fmt.Errorf("%w by %s", ErrCancelled, r.Task.CancelledBy))
	}
	return r, nil
}
