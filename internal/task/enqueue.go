package task

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"

	"slipway.dev/slipway/internal/store"
)

// Priority orders wake-ups that wait for a worker.
type Priority int

const (
	Normal     Priority = iota
	Urgent              // somebody waits for it
	Background          // can wait until there is nothing else
)

func (p Priority) river() int {
	switch p {
	case Urgent:
		return 1
	case Background:
		return 4
	}
	return 2
}

// WakeUp says that a noun must be looked at.
type WakeUp struct {
	Noun     string
	ID       int64
	At       time.Time // zero: at once
	Priority Priority

	// Nested says that other work waits for this. It gets workers of its own, so that
	// those who wait can never take the last one away from what they wait for. Nested
	// work starts none of its own.
	Nested bool
}

// nestedQueue is where nested wake-ups wait for their workers.
const nestedQueue = "nested"

// args are what River keeps of a wake-up: the noun is the kind of the job.
type args struct {
	noun string
	ID   int64 `json:"id"`
}

func (a args) Kind() string { return a.noun }

type key struct {
	noun string
	id   int64
}

// batch gathers the wake-ups of one transaction.
type batch struct{ wanted map[key]WakeUp }

type batchKey struct{ q *Queue }

// Enqueue asks that a noun be looked at, when the transaction has committed. Wake-ups of
// one noun are one: it is looked at once, at the earliest time that was asked for, and
// once more when it is being looked at already.
func (q *Queue) Enqueue(ctx context.Context, tx *store.Tx, w WakeUp) error {
	if w.Noun == "" || w.ID <= 0 {
		return fmt.Errorf("wake up %q %d: a wake-up needs a noun and its ID", w.Noun, w.ID)
	}
	b, ok := tx.Attached(batchKey{q}, func() any { return &batch{} }).(*batch)
	if !ok {
		return fmt.Errorf("wake up %s %d: something else is attached to the transaction", w.Noun, w.ID)
	}
	if b.wanted == nil {
		// The rows are taken at the end and in one order: two transactions that wake the
		// same nouns in different orders would wait for each other.
		b.wanted = map[key]WakeUp{}
		tx.BeforeCommit(func(ctx context.Context) error {
			wanted := b.wanted
			b.wanted = nil
			return q.flush(ctx, tx, wanted)
		})
	}
	k := key{w.Noun, w.ID}
	if was, ok := b.wanted[k]; ok && was.At.Before(w.At) {
		w.At = was.At
	}
	b.wanted[k] = w
	return nil
}

func (q *Queue) flush(ctx context.Context, tx *store.Tx, wanted map[key]WakeUp) error {
	ws := make([]WakeUp, 0, len(wanted))
	for _, w := range wanted {
		ws = append(ws, w)
	}
	slices.SortFunc(ws, func(a, b WakeUp) int { return cmp.Or(cmp.Compare(a.Noun, b.Noun), cmp.Compare(a.ID, b.ID)) })
	var need []store.WakeUp
	for _, w := range ws {
		ask := store.WakeUp{Noun: w.Noun, ID: w.ID, Queue: river.QueueDefault, Priority: w.Priority.river()}
		if w.Nested {
			ask.Queue = nestedQueue
		}
		row, err := tx.AskWakeUp(ctx, ask, w.At)
		if err != nil {
			return fmt.Errorf("wake up %s %d: %w", w.Noun, w.ID, err)
		}
		switch {
		case w.At.After(tx.Now):
			tx.AfterCommit(q.ripen)
		case row.JobID == 0:
			need = append(need, row)
		}
	}
	return q.carry(ctx, tx, need)
}

// carry enqueues a job for each wake-up.
func (q *Queue) carry(ctx context.Context, tx *store.Tx, ws []store.WakeUp) error {
	if len(ws) == 0 {
		return nil
	}
	params := make([]river.InsertManyParams, len(ws))
	queues := map[string]bool{}
	for i, w := range ws {
		params[i] = river.InsertManyParams{
			Args:       args{noun: w.Noun, ID: w.ID},
			InsertOpts: &river.InsertOpts{Queue: w.Queue, Priority: w.Priority},
		}
		queues[w.Queue] = true
	}
	inserted, err := q.insert.InsertManyTx(ctx, tx.SQL(), params)
	if err != nil {
		return fmt.Errorf("enqueue %d jobs: %w", len(ws), err)
	}
	for _, r := range inserted {
		var a args
		if err := json.Unmarshal(r.Job.EncodedArgs, &a); err != nil {
			return fmt.Errorf("read job %d back: %w", r.Job.ID, err)
		}
		if err := tx.SetWakeUpJob(ctx, r.Job.Kind, a.ID, r.Job.ID); err != nil {
			return err
		}
	}
	return q.announce(ctx, tx, queues)
}

// insertTopic is where River's workers listen for new jobs.
const insertTopic = "river_insert"

// announce tells the workers of every process. River does so too, but not twice within a
// fetch's cool-down, whether or not the transaction that announced has been committed: a
// wake-up in the shadow of another would wait for the next poll.
func (q *Queue) announce(ctx context.Context, tx *store.Tx, queues map[string]bool) error {
	var payloads []string
	for name := range queues {
		payloads = append(payloads, fmt.Sprintf(`{"queue": %q}`, name))
	}
	if own, ok := q.driver.(*instant); ok {
		tx.AfterCommit(func() {
			for _, p := range payloads {
				own.bell.ring(riverdriver.Notification{Topic: insertTopic, Payload: p})
			}
		})
		return nil
	}
	err := q.driver.UnwrapExecutor(tx.SQL()).NotifyMany(ctx, &riverdriver.NotifyManyParams{Payload: payloads, Topic: insertTopic})
	if err != nil {
		return fmt.Errorf("announce jobs: %w", err)
	}
	return nil
}

// ripen has the times of delayed wake-ups looked at anew.
func (q *Queue) ripen() {
	select {
	case q.ripe <- struct{}{}:
	default:
	}
}
