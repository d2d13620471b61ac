package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"slipway.dev/slipway/internal/slipway"
)

const slotSelect = `SELECT id, pool_id, generation, scope, credential, runner, runner_id, state, since, job, reason, failure, failures,
	retry_at, pod, node, seen, image, version, result, created_at, registered_at, started_at, online_at, busy_at, ended_at, closed_at
	FROM runner_slots`

func readSlot(scan scan) (s slipway.Slot, err error) {
	return s, scan(&s.ID, &s.PoolID, &s.Generation, fromJSON(&s.Scope), &s.Credential, &s.Runner, &s.RunnerID, &s.State, at(&s.Since),
		&s.Job, &s.Reason, &s.Failure, &s.Failures, at(&s.RetryAt), &s.Pod, &s.Node, &s.Seen, &s.Image, &s.Version, &s.Result,
		at(&s.CreatedAt), at(&s.RegisteredAt), at(&s.StartedAt), at(&s.OnlineAt), at(&s.BusyAt), at(&s.EndedAt), at(&s.ClosedAt))
}

// CreateSlot writes a slot down before anything is asked for outside. A name that was used
// before is Exists.
func (tx *Tx) CreateSlot(ctx context.Context, s slipway.Slot) (slipway.Slot, error) {
	id, err := tx.insert(ctx, `INSERT INTO runner_slots (pool_id, generation, scope, credential, runner, runner_id, state, since, job,
			reason, failure, failures, pod, node, seen, image, version, result, created_at)
		VALUES (?, ?, ?, ?, ?, 0, ?, ?, 0, '', '', 0, '', '', '', '', '', '', ?) RETURNING id`,
		s.PoolID, s.Generation, asJSON{s.Scope}, s.Credential, s.Runner, slipway.SlotWanted, tx.Now, tx.Now)
	if err != nil {
		err = orExists(err, "the runner name %s was used before", s.Runner)
		return s, fmt.Errorf("create a slot of pool %d: %w", s.PoolID, orMissing(err, "there is no pool %d", s.PoolID))
	}
	if err := tx.poolEvent(ctx, s.PoolID, slipway.EventPool); err != nil {
		return s, err
	}
	return tx.Slot(ctx, id)
}

// UpdateSlot writes all of a slot. It is Stale when the slot is not in the state from any
// more; a move that is not legal is refused. When the state changes, Since is set to now
// and what was counted in the old one is forgotten.
func (tx *Tx) UpdateSlot(ctx context.Context, s slipway.Slot, from slipway.SlotState) error {
	if s.State != from {
		if !from.MayMove(s.State) {
			return fmt.Errorf("move slot %d from %s to %s: there is no such move", s.ID, from, s.State)
		}
		s.Since, s.Failures, s.Failure, s.RetryAt = tx.Now, 0, "", time.Time{}
		if s.State == slipway.SlotClosed {
			s.ClosedAt = tx.Now
		}
	}
	n, err := tx.exec(ctx, `UPDATE runner_slots SET runner_id = ?, state = ?, since = ?, job = ?, reason = ?, failure = ?, failures = ?,
			retry_at = ?, pod = ?, node = ?, seen = ?, image = ?, version = ?, result = ?, registered_at = ?, started_at = ?,
			online_at = ?, busy_at = ?, ended_at = ?, closed_at = ?
		WHERE id = ? AND state = ?`,
		s.RunnerID, s.State, s.Since, s.Job, s.Reason, s.Failure, s.Failures, s.RetryAt, s.Pod, s.Node, s.Seen, s.Image, s.Version,
		s.Result, s.RegisteredAt, s.StartedAt, s.OnlineAt, s.BusyAt, s.EndedAt, s.ClosedAt, s.ID, from)
	if err != nil {
		return fmt.Errorf("update slot %d: %w", s.ID, err)
	}
	if n == 0 {
		return stale("update slot %d, which is not %s any more", s.ID, from)
	}
	return tx.poolEvent(ctx, s.PoolID, slipway.EventPool)
}

func (tx *Tx) Slot(ctx context.Context, id int64) (slipway.Slot, error) {
	return one(ctx, tx, fmt.Sprintf("slot %d", id), readSlot, slotSelect+` WHERE id = ?`, id)
}

// SlotByRunner finds the slot, open or closed, that has or had a runner of this name.
func (tx *Tx) SlotByRunner(ctx context.Context, runner string) (slipway.Slot, error) {
	return one(ctx, tx, "slot of runner "+runner, readSlot, slotSelect+` WHERE runner = ?`, runner)
}

// OpenSlots lists the slots of a pool that are not closed, the oldest first.
func (tx *Tx) OpenSlots(ctx context.Context, poolID int64) ([]slipway.Slot, error) {
	return tx.slots(ctx, `WHERE pool_id = ? AND closed_at IS NULL ORDER BY id`, poolID)
}

// AllOpenSlots lists the open slots of all pools, the oldest first.
func (tx *Tx) AllOpenSlots(ctx context.Context) ([]slipway.Slot, error) {
	return tx.slots(ctx, `WHERE closed_at IS NULL ORDER BY id`)
}

// OpenSlotCounts counts the open slots of every pool by state.
func (tx *Tx) OpenSlotCounts(ctx context.Context) (map[int64]map[slipway.SlotState]int, error) {
	type row struct {
		pool  int64
		state slipway.SlotState
		n     int
	}
	rows, err := all(ctx, tx, func(scan scan) (r row, err error) { return r, scan(&r.pool, &r.state, &r.n) },
		`SELECT pool_id, state, COUNT(*) FROM runner_slots WHERE closed_at IS NULL GROUP BY pool_id, state`)
	if err != nil {
		return nil, fmt.Errorf("count slots: %w", err)
	}
	out := map[int64]map[slipway.SlotState]int{}
	for _, r := range rows {
		if out[r.pool] == nil {
			out[r.pool] = map[slipway.SlotState]int{}
		}
		out[r.pool][r.state] = r.n
	}
	return out, nil
}

// OpenRunners lists the names of all runners whose slots are open.
func (tx *Tx) OpenRunners(ctx context.Context) (map[string]bool, error) {
	names, err := all(ctx, tx, func(scan scan) (n string, err error) { return n, scan(&n) }, `SELECT runner FROM runner_slots WHERE closed_at IS NULL`)
	if err != nil {
		return nil, fmt.Errorf("list the names of runners: %w", err)
	}
	out := make(map[string]bool, len(names))
	for _, n := range names {
		out[n] = true
	}
	return out, nil
}

// ForgetSlot closes an open slot whatever is left of it outside, and says why. It is for a
// person who gives a cleanup up, and goes past the legal moves on purpose. It is NotFound
// for a slot that is closed.
func (tx *Tx) ForgetSlot(ctx context.Context, id int64, why string) error {
	n, err := tx.exec(ctx, `UPDATE runner_slots SET state = ?, since = ?, reason = ?, closed_at = ? WHERE id = ? AND closed_at IS NULL`,
		slipway.SlotClosed, tx.Now, why, tx.Now, id)
	if err != nil {
		return fmt.Errorf("forget slot %d: %w", id, err)
	}
	if n == 0 {
		return slipway.Errorf(slipway.NotFound, "there is no open slot %d", id)
	}
	return nil
}

// PruneSlots drops slots that were closed before a time, at most limit, and says how many.
func (tx *Tx) PruneSlots(ctx context.Context, before time.Time, limit int) (int64, error) {
	n, err := tx.exec(ctx, `DELETE FROM runner_slots WHERE id IN (SELECT id FROM runner_slots WHERE closed_at < ? LIMIT ?)`, before, limit)
	if err != nil {
		return 0, fmt.Errorf("drop old slots: %w", err)
	}
	return n, nil
}

func (tx *Tx) slots(ctx context.Context, rest string, args ...any) ([]slipway.Slot, error) {
	ss, err := all(ctx, tx, readSlot, slotSelect+` `+rest, args...)
	if err != nil {
		return nil, fmt.Errorf("list slots: %w", err)
	}
	return ss, nil
}

// RunnerOwner is whose a runner is, and on which forge's host it is registered.
type RunnerOwner struct {
	PoolID        int64
	EnvironmentID int64
	Host          string
}

// OwnersOfRunners finds to whom open slots with these runners belong, by the runner's name.
func (tx *Tx) OwnersOfRunners(ctx context.Context, runners []string) (map[string]RunnerOwner, error) {
	out := map[string]RunnerOwner{}
	for some := range slices.Chunk(runners, maxRows) {
		these, args := oneOf(`s.runner`, some)
		type row struct {
			runner string
			owner  RunnerOwner
		}
		rows, err := all(ctx, tx, func(scan scan) (r row, err error) {
			var scope slipway.ForgeScope
			err = scan(&r.runner, &r.owner.PoolID, &r.owner.EnvironmentID, fromJSON(&scope))
			r.owner.Host = scope.Host()
			return r, err
		}, `SELECT s.runner, s.pool_id, a.environment_id, s.scope FROM runner_slots s JOIN runner_pools p ON p.id = s.pool_id
			JOIN applications a ON a.id = p.application_id WHERE s.closed_at IS NULL AND `+these, args...)
		if err != nil {
			return nil, fmt.Errorf("find the owners of runners: %w", err)
		}
		for _, r := range rows {
			out[r.runner] = r.owner
		}
	}
	return out, nil
}
