package store

import (
	"context"
	"fmt"
	"time"

	"slipway.dev/slipway/internal/slipway"
)

// AddEvent says, in the transaction that changes something, that it must be read again.
func (tx *Tx) AddEvent(ctx context.Context, e slipway.Event) error {
	_, err := tx.exec(ctx, `INSERT INTO events (at, kind, noun, noun_id, project, environment) VALUES (?, ?, ?, ?, ?, ?)`,
		tx.Now, e.Kind, e.Noun, e.NounID, e.Project, e.Environment)
	if err != nil {
		return fmt.Errorf("add event %s: %w", e.Kind, err)
	}
	tx.wake()
	return nil
}

// wake has those who listen hear of the transaction's events once it is committed.
func (tx *Tx) wake() {
	if !tx.woken {
		tx.woken = true
		tx.AfterCommit(tx.store.added.wake)
	}
}

// EventsAfter lists events with a higher ID, in the order of their IDs. On PostgreSQL an
// event with a lower ID may still be committed after one with a higher ID has been read:
// who must not miss any reads again from an earlier ID, as package task does.
func (tx *Tx) EventsAfter(ctx context.Context, id int64, limit int) ([]slipway.Event, error) {
	es, err := all(ctx, tx, func(scan scan) (e slipway.Event, err error) {
		return e, scan(&e.ID, at(&e.At), &e.Kind, &e.Noun, &e.NounID, &e.Project, &e.Environment)
	}, `SELECT id, at, kind, noun, noun_id, project, environment FROM events WHERE id > ? ORDER BY id LIMIT ?`, id, limit)
	if err != nil {
		return nil, fmt.Errorf("read events: %w", err)
	}
	return es, nil
}

// LastEvent returns the ID of the newest event, and 0 when there is none.
func (tx *Tx) LastEvent(ctx context.Context) (id int64, err error) {
	if err := tx.value(ctx, []any{&id}, `SELECT COALESCE(MAX(id), 0) FROM events`); err != nil {
		return 0, fmt.Errorf("read events: %w", err)
	}
	return id, nil
}

// PruneEvents forgets events from before a time and returns how many.
func (tx *Tx) PruneEvents(ctx context.Context, before time.Time) (int, error) {
	n, err := tx.exec(ctx, `DELETE FROM events WHERE at < ?`, before)
	if err != nil {
		return 0, fmt.Errorf("prune events: %w", err)
	}
	return int(n), nil
}
