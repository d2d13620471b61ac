package store

import (
	"context"
	"fmt"
	"time"

	"slipway.dev/slipway/internal/slipway"
)

// Counts is how many rows there are, for metrics.
type Counts struct {
	Applications map[slipway.ApplicationState]int64
	OpenTasks    map[slipway.TaskState]int64
	Replicas     int64
	Drifted      int64     // applications that differ from what was applied
	Unseen       int64     // applications of which the last look told nothing
	OldestCheck  time.Time // of an application, the one longest ago; zero: none was ever checked
}

// Counts counts what an operator watches. A state without rows is left out.
func (tx *Tx) Counts(ctx context.Context) (Counts, error) {
	c := Counts{Applications: map[slipway.ApplicationState]int64{}, OpenTasks: map[slipway.TaskState]int64{}}
	type row struct {
		state string
		n     int64
	}
	read := func(scan scan) (r row, err error) { return r, scan(&r.state, &r.n) }
	apps, err := all(ctx, tx, read, `SELECT state, COUNT(*) FROM applications WHERE deleted_at IS NULL GROUP BY state`)
	if err != nil {
		return c, fmt.Errorf("count applications: %w", err)
	}
	for _, r := range apps {
		c.Applications[slipway.ApplicationState(r.state)] = r.n
	}
	tasks, err := all(ctx, tx, read, `SELECT state, COUNT(*) FROM tasks WHERE ended_at IS NULL GROUP BY state`)
	if err != nil {
		return c, fmt.Errorf("count tasks: %w", err)
	}
	for _, r := range tasks {
		c.OpenTasks[slipway.TaskState(r.state)] = r.n
	}
	if err := tx.value(ctx, []any{&c.Replicas}, `SELECT COUNT(*) FROM replicas`); err != nil {
		return c, fmt.Errorf("count replicas: %w", err)
	}
	err = tx.value(ctx, []any{&c.Drifted, &c.Unseen, at(&c.OldestCheck)}, `SELECT COUNT(d.since),
			COUNT(CASE WHEN d.missed <> '' THEN 1 END), MIN(d.checked_at)
		FROM drift d JOIN applications a ON a.id = d.application_id WHERE a.deleted_at IS NULL`)
	if err != nil {
		return c, fmt.Errorf("count what drifted: %w", err)
	}
	return c, nil
}
