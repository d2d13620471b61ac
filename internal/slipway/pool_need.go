package slipway

import "time"

// What a pool needs, and when it is held, is decided here alone: its own reconciler, those
// of the pools that share jobs or a ceiling with it, and who answers why a job waits go by
// the same rules.

// FreeWanted is how many free runners the pool should have beside its busy ones, when so
// many queued jobs fall to it. A schedule that cannot be read counts for nothing.
func (p RunnerPool) FreeWanted(demand, busy int, now time.Time) int {
	if p.Paused || p.Deleting {
		return 0
	}
	want := p.Spec.Replicas
	if !p.Spec.Fixed() {
		minimum, spare, _ := p.Spec.Effective(now) // the reconciler tells of a schedule that cannot be read
		want = max(demand, spare, minimum-busy)
	}
	return max(0, min(want, p.Spec.Replicas-busy))
}

// More is how many more runners the pool would launch if nothing but its own limit kept it
// from that.
func (p RunnerPool) More(demand int, open map[SlotState]int, now time.Time) int {
	all, free := 0, 0
	for state, n := range open {
		all += n
		if state.Free() {
			free += n
		}
	}
	return max(0, min(p.FreeWanted(demand, open[SlotBusy], now)-free, p.Spec.Replicas-all))
}

// Asks is what the pool would launch of a ceiling that it shares, as the others know it:
// with the jobs of its last look, and nothing while it could not use what they leave.
func (p RunnerPool) Asks(s PoolStatus, open map[SlotState]int, now time.Time) int {
	if p.Held(s, now) || p.barred(s) {
		return 0
	}
	return p.More(s.Demand, open, now)
}

// Left is how many more queued jobs the pool can take. One that is held has the runners
// that it has, but for those of which nothing is outside yet.
func (p RunnerPool) Left(s PoolStatus, open map[SlotState]int, now time.Time) int {
	left := p.Spec.Replicas - open[SlotBusy] - open[SlotDraining] - open[SlotRemoving]
	if p.Held(s, now) {
		left = min(left, open[SlotLaunching]+open[SlotStarting]+open[SlotIdle])
	}
	return left
}

// Held reports whether the pool launches nothing for now for a reason of its own: what
// keeps all pools from it is no reason to pass one over.
func (p RunnerPool) Held(s PoolStatus, now time.Time) bool {
	return !p.ChangedSince(s) && (s.HoldUntil.After(now) || s.Outdated != "")
}

// ChangedSince reports whether the pool was changed, paused or resumed since it was looked
// at: what stood in its way then may not any more, so it tries anew.
func (p RunnerPool) ChangedSince(s PoolStatus) bool {
	return s.Generation != p.Generation || p.UpdatedAt.After(s.CheckedAt)
}

// barred reports whether, at its last look, the pool needed runners and could not launch
// any, for another reason than a hold that ends by itself.
func (p RunnerPool) barred(s PoolStatus) bool {
	return !p.ChangedSince(s) && s.State == PoolHeld && !s.HoldUntil.After(s.CheckedAt)
}
