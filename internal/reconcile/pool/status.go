package pool

import (
	"time"

	"slipway.dev/slipway/internal/slipway"
)

// startOver forgets failures that were counted for another state of the pool, or another
// version of its credential: what failed then may succeed now.
func (r *Reconciler) startOver(s *slipway.PoolStatus, in rows) {
	r.forgetImage(s)
	if s.Generation == in.pool.Generation && s.CredentialVersion == in.secret && !in.pool.UpdatedAt.After(s.CheckedAt) {
		return
	}
	s.Generation, s.CredentialVersion = in.pool.Generation, in.secret
	s.Failures, s.FailedAt, s.HoldUntil, s.HoldWhy, s.Outdated = 0, time.Time{}, time.Time{}, "", ""
}

// forgetImage drops that the forge turned an image away which is not the one of now.
func (r *Reconciler) forgetImage(s *slipway.PoolStatus) {
	if s.Outdated != r.Image {
		s.Outdated = ""
	}
}

// provenAfter is how long a runner must have waited for a job until its launch counts as
// a success.
const provenAfter = time.Minute

// succeed forgets failures when a runner that was made after the last of them proved that
// launching works: it has a job, or has waited for one for a while.
func succeed(s *slipway.PoolStatus, slot slipway.Slot, now time.Time) {
	if s.Failures == 0 || !slot.CreatedAt.After(s.FailedAt) {
		return
	}
	if !slot.BusyAt.IsZero() || slot.State == slipway.SlotIdle && now.Sub(slot.OnlineAt) >= provenAfter {
		s.Failures, s.FailedAt, s.HoldUntil, s.HoldWhy = 0, time.Time{}, time.Time{}, ""
	}
}

// fail counts one more failure in a row, and has launching rest.
func fail(s *slipway.PoolStatus, in rows, why string, hold time.Duration) {
	s.Failures++
	s.FailedAt = in.now
	s.HoldUntil, s.HoldWhy = later(s.HoldUntil, in.now.Add(hold)), why
}
