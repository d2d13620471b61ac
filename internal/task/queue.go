package task

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/rivertype"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

const (
	// DefaultWorkers is how many wake-ups a process handles at once. They mostly wait for
	// others, so there are many.
	DefaultWorkers = 50

	// Poll is how soon a wake-up is found whose announcement was lost.
	Poll = time.Second
)

// Options of a Queue.
type Options struct {
	Replica slipway.Replica // this process; the ID is new at every start
	Workers int             // 0: DefaultWorkers, and as many for nested wake-ups
	Log     *slog.Logger    // nil: the default one
	Grace   time.Duration   // how long Stop lets handlers go on before it cancels them; 0: 5 s

	// For tests; zero is the constant of the same name.
	BeatEvery, DeadAfter time.Duration
}

// Handler looks at one noun. It is told which, and not why. It returns when to look again
// without being woken; 0 is never. An error is logged and the noun looked at again after
// a back-off.
type Handler func(ctx context.Context, id int64) (again time.Duration, err error)

// Queue brings wake-ups to handlers.
type Queue struct {
	store   *store.Store
	driver  riverdriver.Driver[*sql.Tx]
	options Options
	log     *slog.Logger

	handlers map[string]Handler
	periodic []periodic
	insert   *river.Client[*sql.Tx] // never started
	work     *river.Client[*sql.Tx] // nil when there is no handler

	mu      sync.Mutex
	running map[int64]context.CancelCauseFunc // by job
	lost    chan struct{}
	isLost  bool
	ripe    chan struct{} // a wake-up may be due earlier than was known
	stop    context.CancelFunc
	loops   sync.WaitGroup
	halt    chan struct{} // closed when Stop begins
}

type periodic struct {
	noun  string
	id    int64
	every time.Duration
}

// NewQueue returns a queue over a store, with the driver of the same database.
func NewQueue(s *store.Store, driver riverdriver.Driver[*sql.Tx], o Options) (*Queue, error) {
	if o.Replica.ID == "" {
		return nil, errors.New("a queue needs the ID of its replica")
	}
	if o.Workers == 0 {
		o.Workers = DefaultWorkers
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Grace == 0 {
		o.Grace = 5 * time.Second
	}
	if o.BeatEvery == 0 {
		o.BeatEvery = BeatEvery
	}
	if o.DeadAfter == 0 {
		o.DeadAfter = DeadAfter
	}
	if !s.Shared() {
		driver = newInstant(driver)
	}
	q := &Queue{
		store: s, driver: driver, options: o, log: o.Log.With("replica", o.Replica.ID),
		handlers: map[string]Handler{}, running: map[int64]context.CancelCauseFunc{},
		lost: make(chan struct{}), ripe: make(chan struct{}, 1), halt: make(chan struct{}),
	}
	var err error
	q.insert, err = river.NewClient(driver, &river.Config{Logger: q.riverLog(), MaxAttempts: maxAttempts})
	if err != nil {
		return nil, fmt.Errorf("prepare the queue: %w", err)
	}
	return q, nil
}

// maxAttempts is River's limit on how often a job may be given out. Only the deaths of
// processes count towards it, because a handler's failure ends its job and makes another.
const maxAttempts = math.MaxInt16

// Handle has a noun's wake-ups brought to h. It is called before Start; a process that
// handles nothing only enqueues.
func (q *Queue) Handle(noun string, h Handler) { q.handlers[noun] = h }

// Periodic has a noun looked at regularly, beside what else wakes it. It is called before
// Start, for a noun that this process handles.
func (q *Queue) Periodic(noun string, id int64, every time.Duration) {
	q.periodic = append(q.periodic, periodic{noun, id, every})
}

// Start registers this process, takes over what dead ones left, and begins to handle
// wake-ups. It goes on until Stop.
func (q *Queue) Start(ctx context.Context) error {
	if err := q.register(ctx); err != nil {
		return err
	}
	loop, stop := context.WithCancel(context.WithoutCancel(ctx))
	q.stop = stop
	if len(q.handlers) > 0 {
		if err := q.startWork(ctx, loop); err != nil {
			stop()
			return err
		}
		q.loops.Go(func() { q.ripenLoop(loop) })
	}
	q.loops.Go(func() { q.beatLoop(loop) })
	return nil
}

func (q *Queue) startWork(ctx, loop context.Context) error {
	if err := q.takeOver(ctx); err != nil {
		return fmt.Errorf("take over the work of dead processes: %w", err)
	}
	workers := river.NewWorkers()
	for noun := range q.handlers {
		river.AddWorkerArgs(workers, args{noun: noun}, river.Worker[args](&worker{queue: q}))
	}
	var err error
	q.work, err = river.NewClient(q.driver, &river.Config{
		ID:      q.options.Replica.ID,
		Logger:  q.riverLog(),
		Workers: workers,
		Queues: map[string]river.QueueConfig{
			river.QueueDefault: {MaxWorkers: q.options.Workers},
			nestedQueue:        {MaxWorkers: q.options.Workers},
		},
		// A kind that this release does not know stays for one that does.
		FetchOnlyKnownKinds: true,
		FetchCooldown:       fetchCooldown,
		FetchPollInterval:   Poll,
		JobTimeout:          -1, // handlers bound their own work
		MaxAttempts:         maxAttempts,
		// River's rescuer goes by age and would discard kinds it does not know; ours goes
		// by heartbeats. It cannot be switched off, so it is sent far into the past.
		RescueStuckJobsAfter:        100 * 365 * 24 * time.Hour,
		RetryPolicy:                 retrySoon{},
		CompletedJobRetentionPeriod: 10 * time.Minute,
		DiscardedJobRetentionPeriod: 24 * time.Hour,
		SoftStopTimeout:             q.options.Grace,
	})
	if err != nil {
		return fmt.Errorf("prepare the queue: %w", err)
	}
	if err := q.work.Start(loop); err != nil {
		return fmt.Errorf("start the queue: %w", err)
	}
	return q.store.InTx(ctx, func(tx *store.Tx) error {
		for _, p := range q.periodic {
			if err := q.Enqueue(ctx, tx, WakeUp{Noun: p.noun, ID: p.id}); err != nil {
				return err
			}
		}
		return nil
	})
}

// fetchCooldown is how long the queue waits between two fetches. It is the least that
// River allows within reason: a wake-up that comes right after a fetch waits for it.
const fetchCooldown = 2 * time.Millisecond

// retrySoon is for the one failure that River gets to see: the end of a run could not be
// written.
type retrySoon struct{}

func (retrySoon) NextRetry(*rivertype.JobRow) time.Time { return time.Now().Add(2 * time.Second) }

// Stop takes no more wake-ups, lets the handlers that run go on for the grace, cancels
// those that still do, and waits for them until ctx ends. What was cut short is given to
// another process, or to the next start.
// It is called once, after a Start that succeeded.
func (q *Queue) Stop(ctx context.Context) (err error) {
	close(q.halt)
	if q.work != nil {
		if err = q.work.Stop(ctx); err != nil {
			err = fmt.Errorf("stop the queue: %w", err)
		}
	}
	q.stop()
	q.loops.Wait()
	return errors.Join(err, q.unregister(ctx))
}

// Lost is closed when the others have given this process up: its work is theirs by now.
// The process must end, and may start again under another ID.
func (q *Queue) Lost() <-chan struct{} { return q.lost }
