package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"slipway.dev/slipway/internal/slipway"
)

// freshFor is how long pages may tell an older time of a pool's last look.
const freshFor = 20 * time.Second

// poolEvent says that a pool, or a slot of it, must be read again: once in a transaction,
// however many of its slots move in it.
func (tx *Tx) poolEvent(ctx context.Context, poolID int64, kind string) error {
	if tx.toldPools[poolID] {
		return nil
	}
	n, err := tx.exec(ctx, `INSERT INTO events (at, kind, noun, noun_id, project, environment)
		SELECT ?, ?, 'pool', p.id, pr.name, e.name FROM runner_pools p JOIN applications a ON a.id = p.application_id
			JOIN environments e ON e.id = a.environment_id JOIN projects pr ON pr.id = e.project_id WHERE p.id = ?`, tx.Now, kind, poolID)
	if err != nil {
		return fmt.Errorf("say that pool %d changed: %w", poolID, err)
	}
	if n > 0 {
		if tx.toldPools == nil {
			tx.toldPools = map[int64]bool{}
		}
		tx.toldPools[poolID] = true
		tx.wake()
	}
	return nil
}

// statusEvent compares how a pool stands with what was written of it before, and says so
// when it differs. When only the time of the look is new, it says that now and then.
func (tx *Tx) statusEvent(ctx context.Context, s slipway.PoolStatus) error {
	was, err := tx.PoolStatus(ctx, s.PoolID)
	if err != nil {
		return err
	}
	looked := was.CheckedAt
	was.CheckedAt, was.ListedAt, was.Ledger.CheckedAt = s.CheckedAt, s.ListedAt, s.Ledger.CheckedAt
	switch {
	case !sameStatus(was, s):
		return tx.poolEvent(ctx, s.PoolID, slipway.EventPool)
	case s.CheckedAt.Sub(looked) >= freshFor:
		return tx.poolEvent(ctx, s.PoolID, slipway.EventPoolChecked)
	}
	return nil
}

func sameStatus(a, b slipway.PoolStatus) bool {
	return a.State == b.State && a.Why == b.Why && a.Demand == b.Demand && a.Failures == b.Failures && a.HoldUntil.Equal(b.HoldUntil) &&
		a.HoldWhy == b.HoldWhy && a.ListError == b.ListError && a.Version == b.Version && a.Warning == b.Warning &&
		slices.Equal(a.Ledger.Pods, b.Ledger.Pods) && slices.Equal(a.Ledger.Registrations, b.Ledger.Registrations) &&
		slices.Equal(a.Ledger.Slots, b.Ledger.Slots)
}
