package store

import (
	"context"
	"fmt"
	"time"

	"slipway.dev/slipway/internal/slipway"
)

// AddReplica registers a process before it takes any work: work held by a process that is
// not registered is given to others.
func (tx *Tx) AddReplica(ctx context.Context, r slipway.Replica) error {
	now, err := tx.serverTime(ctx)
	if err != nil {
		return fmt.Errorf("register replica %s: %w", r.ID, err)
	}
	_, err = tx.exec(ctx, `INSERT INTO replicas (id, host, role, version, started_at, seen_at)
		VALUES (?, ?, ?, ?, ?, ?)`, r.ID, r.Host, r.Role, r.Version, now, now)
	if err != nil {
		return fmt.Errorf("register replica %s: %w", r.ID, err)
	}
	return nil
}

// BeatReplica says that the process lives. It is stale when the others have given it up:
// then its work is theirs, and it must stop.
func (tx *Tx) BeatReplica(ctx context.Context, r slipway.Replica) error {
	now, err := tx.serverTime(ctx)
	if err != nil {
		return fmt.Errorf("beat for replica %s: %w", r.ID, err)
	}
	n, err := tx.exec(ctx, `UPDATE replicas SET seen_at = ? WHERE id = ?`, now, r.ID)
	if err != nil {
		return fmt.Errorf("beat for replica %s: %w", r.ID, err)
	}
	if n == 0 {
		return stale("beat for replica %s", r.ID)
	}
	return nil
}

const replicaColumns = `id, host, role, version, started_at, seen_at`

func readReplica(scan scan) (r slipway.Replica, err error) {
	return r, scan(&r.ID, &r.Host, &r.Role, &r.Version, at(&r.StartedAt), at(&r.SeenAt))
}

// Replicas lists the processes that are registered, the oldest first.
func (tx *Tx) Replicas(ctx context.Context) ([]slipway.Replica, error) {
	return all(ctx, tx, readReplica, `SELECT `+replicaColumns+` FROM replicas ORDER BY started_at, id`)
}

// DeadReplicas lists those that have not been seen for olderThan.
func (tx *Tx) DeadReplicas(ctx context.Context, olderThan time.Duration) ([]slipway.Replica, error) {
	now, err := tx.serverTime(ctx)
	if err != nil {
		return nil, fmt.Errorf("list dead replicas: %w", err)
	}
	return all(ctx, tx, readReplica, `SELECT `+replicaColumns+` FROM replicas WHERE seen_at < ? ORDER BY id`,
		now.Add(-olderThan))
}

// RemoveReplica forgets a process: at its end, or when the others give it up. With a
// seenAt that is not zero it is stale when the process has beaten since.
func (tx *Tx) RemoveReplica(ctx context.Context, id string, seenAt time.Time) error {
	query, args := `DELETE FROM replicas WHERE id = ?`, []any{id}
	if !seenAt.IsZero() {
		query, args = query+` AND seen_at = ?`, append(args, seenAt)
	}
	n, err := tx.exec(ctx, query, args...)
	if err != nil {
		return fmt.Errorf("remove replica %s: %w", id, err)
	}
	if n == 0 && !seenAt.IsZero() {
		return stale("remove replica %s", id)
	}
	return nil
}

// RemoveOtherReplicas forgets every process but one. It is for a database that only one
// process can have open: whoever else is in it is dead by definition.
func (tx *Tx) RemoveOtherReplicas(ctx context.Context, id string) error {
	_, err := tx.exec(ctx, `DELETE FROM replicas WHERE id <> ?`, id)
	if err != nil {
		return fmt.Errorf("remove the replicas of before: %w", err)
	}
	return nil
}
