package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"slipway.dev/slipway/internal/slipway"
)

const poolSelect = `SELECT p.id, p.application_id, a.environment_id, pr.name, e.name, a.name, e.namespace, p.service, p.spec,
	p.generation, p.paused, p.deleting, v.last_job_event, p.created_at, p.updated_at
	FROM runner_pools p JOIN applications a ON a.id = p.application_id JOIN environments e ON e.id = a.environment_id
	JOIN projects pr ON pr.id = e.project_id LEFT JOIN pool_activity v ON v.pool_id = p.id`

func readPool(scan scan) (p slipway.RunnerPool, err error) {
	err = scan(&p.ID, &p.ApplicationID, &p.EnvironmentID, &p.Project, &p.Environment, &p.Application, &p.Namespace, &p.Service,
		fromJSON(&p.Spec), &p.Generation, &p.Paused, &p.Deleting, at(&p.LastJobEvent), at(&p.CreatedAt), at(&p.UpdatedAt))
	p.Namespace = slipway.RunnerNamespace(p.Namespace, p.ApplicationID)
	return p, err
}

// PutRunnerPool writes what a team asks for, and makes the pool if there is none of the
// service. Replace counts the generation up: every runner is then replaced once its job
// has ended. Package change alone calls it.
func (tx *Tx) PutRunnerPool(ctx context.Context, p slipway.RunnerPool, replace bool) (slipway.RunnerPool, error) {
	more := 0
	if replace {
		more = 1
	}
	id, err := tx.insert(ctx, `INSERT INTO runner_pools (application_id, service, host, owner_key, spec, generation, paused, deleting, created_at, updated_at)
		VALUES (?, ?, ?, ?, ?, 1, ?, ?, ?, ?)
		ON CONFLICT (application_id, service) DO UPDATE SET host = excluded.host, owner_key = excluded.owner_key, spec = excluded.spec,
			generation = runner_pools.generation + CAST(? AS INTEGER), deleting = excluded.deleting, updated_at = excluded.updated_at
		RETURNING id`, p.ApplicationID, p.Service, p.Spec.Scope.Host(), strings.ToLower(p.Spec.Scope.Owner), asJSON{p.Spec},
		p.Paused, p.Deleting, tx.Now, tx.Now, more)
	if err != nil {
		return p, fmt.Errorf("write the pool %s: %w", p.Service, orMissing(err, "there is no application %d", p.ApplicationID))
	}
	return tx.RunnerPool(ctx, id)
}

// SetRunnerPoolPaused pauses or resumes a pool.
func (tx *Tx) SetRunnerPoolPaused(ctx context.Context, id int64, paused bool) error {
	return tx.poolFlag(ctx, "paused", id, paused)
}

// SetRunnerPoolDeleting says that a pool is to lose all its slots, or that it is wanted
// again.
func (tx *Tx) SetRunnerPoolDeleting(ctx context.Context, id int64, deleting bool) error {
	return tx.poolFlag(ctx, "deleting", id, deleting)
}

func (tx *Tx) poolFlag(ctx context.Context, column string, id int64, v bool) error {
	n, err := tx.exec(ctx, `UPDATE runner_pools SET `+column+` = ?, updated_at = ? WHERE id = ?`, v, tx.Now, id)
	if err != nil {
		return fmt.Errorf("set pool %d %s: %w", id, column, err)
	}
	if n == 0 {
		return slipway.Errorf(slipway.NotFound, "there is no pool %d", id)
	}
	return tx.poolEvent(ctx, id, slipway.EventPool)
}

// DeleteRunnerPool drops the record of a pool with its slots. It is a Conflict while a
// slot is open: something of it may be left outside.
func (tx *Tx) DeleteRunnerPool(ctx context.Context, id int64) error {
	_, err := tx.dropPool(ctx, id, ``)
	return err
}

// RetireRunnerPool is DeleteRunnerPool for a pool that is being deleted. It is stale when
// the pool is wanted again.
func (tx *Tx) RetireRunnerPool(ctx context.Context, id int64) error {
	n, err := tx.dropPool(ctx, id, ` AND deleting = ?`, true)
	if err == nil && n == 0 {
		return stale("retire pool %d, which is not being deleted", id)
	}
	return err
}

func (tx *Tx) dropPool(ctx context.Context, id int64, only string, args ...any) (n int64, err error) {
	open, err := tx.OpenSlots(ctx, id)
	if err != nil {
		return 0, err
	}
	if len(open) > 0 {
		return 0, slipway.Errorf(slipway.Conflict, "the pool still has %d open slots", len(open))
	}
	if n, err = tx.exec(ctx, `DELETE FROM runner_pools WHERE id = ?`+only, append([]any{id}, args...)...); err != nil {
		return 0, fmt.Errorf("delete pool %d: %w", id, err)
	}
	return n, nil
}

func (tx *Tx) RunnerPool(ctx context.Context, id int64) (slipway.RunnerPool, error) {
	return one(ctx, tx, fmt.Sprintf("pool %d", id), readPool, poolSelect+` WHERE p.id = ?`, id)
}

// RunnerPoolsOf lists the pools of an application by service.
func (tx *Tx) RunnerPoolsOf(ctx context.Context, applicationID int64) ([]slipway.RunnerPool, error) {
	return tx.pools(ctx, `WHERE p.application_id = ? ORDER BY p.service`, applicationID)
}

// RunnerPools lists all pools of the installation by ID, those that are being deleted too.
func (tx *Tx) RunnerPools(ctx context.Context) ([]slipway.RunnerPool, error) {
	return tx.pools(ctx, `ORDER BY p.id`)
}

// RunnerPoolsFor lists the pools whose scope is of an owner on a host: those that could
// serve its jobs.
func (tx *Tx) RunnerPoolsFor(ctx context.Context, host, owner string) ([]slipway.RunnerPool, error) {
	return tx.pools(ctx, `WHERE p.host = ? AND p.owner_key = ? ORDER BY p.id`, host, strings.ToLower(owner))
}

func (tx *Tx) pools(ctx context.Context, rest string, args ...any) ([]slipway.RunnerPool, error) {
	ps, err := all(ctx, tx, readPool, poolSelect+` `+rest, args...)
	if err != nil {
		return nil, fmt.Errorf("list runner pools: %w", err)
	}
	return ps, nil
}

// PoolHeard notes that a job which the pool serves was heard of: its idle time begins
// anew. An older time changes nothing.
func (tx *Tx) PoolHeard(ctx context.Context, poolID int64, when time.Time) error {
	_, err := tx.exec(ctx, `INSERT INTO pool_activity (pool_id, last_job_event) VALUES (?, ?)
		ON CONFLICT (pool_id) DO UPDATE SET last_job_event = excluded.last_job_event
		WHERE pool_activity.last_job_event < excluded.last_job_event`, poolID, when)
	if err != nil {
		return fmt.Errorf("note a job of pool %d: %w", poolID, err)
	}
	return nil
}

const poolStatusSelect = `SELECT pool_id, state, why, demand, checked_at, failures, hold_until, hold_why, group_id, listed_at, list_error,
	version, warning, newest, newest_at, outdated, generation, credential, failed_at, ledger FROM pool_status`

func readPoolStatus(scan scan) (s slipway.PoolStatus, err error) {
	return s, scan(&s.PoolID, &s.State, &s.Why, &s.Demand, at(&s.CheckedAt), &s.Failures, at(&s.HoldUntil), &s.HoldWhy, &s.Group,
		at(&s.ListedAt), &s.ListError, &s.Version, &s.Warning, &s.Newest, at(&s.NewestAt), &s.Outdated, &s.Generation, &s.CredentialVersion,
		at(&s.FailedAt), fromJSON(&s.Ledger))
}

// PoolStatus returns how a pool stands; the zero status with its ID before its reconciler
// has looked at it.
func (tx *Tx) PoolStatus(ctx context.Context, poolID int64) (slipway.PoolStatus, error) {
	s, err := one(ctx, tx, fmt.Sprintf("status of pool %d", poolID), readPoolStatus, poolStatusSelect+` WHERE pool_id = ?`, poolID)
	if slipway.Is(err, slipway.NotFound) {
		return slipway.PoolStatus{PoolID: poolID}, nil
	}
	return s, err
}

// PoolStatuses returns how all pools stand, by pool.
func (tx *Tx) PoolStatuses(ctx context.Context) (map[int64]slipway.PoolStatus, error) {
	ss, err := all(ctx, tx, readPoolStatus, poolStatusSelect)
	if err != nil {
		return nil, fmt.Errorf("list how pools stand: %w", err)
	}
	out := make(map[int64]slipway.PoolStatus, len(ss))
	for _, s := range ss {
		out[s.PoolID] = s
	}
	return out, nil
}

// SetPoolStatus writes how a pool stands. Package reconcile/pool alone calls it.
func (tx *Tx) SetPoolStatus(ctx context.Context, s slipway.PoolStatus) error {
	if err := tx.statusEvent(ctx, s); err != nil {
		return err
	}
	_, err := tx.exec(ctx, `INSERT INTO pool_status (pool_id, state, why, demand, checked_at, failures, hold_until, hold_why, group_id,
			listed_at, list_error, version, warning, newest, newest_at, outdated, generation, credential, failed_at, ledger)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (pool_id) DO UPDATE SET state = excluded.state, why = excluded.why, demand = excluded.demand,
			checked_at = excluded.checked_at, failures = excluded.failures, hold_until = excluded.hold_until,
			hold_why = excluded.hold_why, group_id = excluded.group_id, listed_at = excluded.listed_at,
			list_error = excluded.list_error, version = excluded.version, warning = excluded.warning, newest = excluded.newest, newest_at = excluded.newest_at,
			outdated = excluded.outdated, generation = excluded.generation, credential = excluded.credential,
			failed_at = excluded.failed_at, ledger = excluded.ledger`,
		s.PoolID, s.State, s.Why, s.Demand, s.CheckedAt, s.Failures, s.HoldUntil, s.HoldWhy, s.Group, s.ListedAt, s.ListError,
		s.Version, s.Warning, s.Newest, s.NewestAt, s.Outdated, s.Generation, s.CredentialVersion, s.FailedAt, asJSON{s.Ledger})
	if err != nil {
		return fmt.Errorf("record how pool %d stands: %w", s.PoolID, orMissing(err, "there is no pool %d", s.PoolID))
	}
	return nil
}
