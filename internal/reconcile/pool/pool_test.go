package pool

import (
	"testing"
	"time"

	"slipway.dev/slipway/internal/slipway"
)

// World: a fake forge and a fake cluster over SQLite; see scene.

func TestAQueuedJobWakesAPoolThatSleepsAgain(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.live(10 * time.Second)
	if got := s.status(); got.State != slipway.PoolSleeping || s.kube.count() != 0 {
		t.Fatalf("with nothing to do the pool is %s with %d pods", got.State, s.kube.count())
	}
	s.queueJobs(3)
	s.live(3 * time.Minute)
	if s.done() != 3 {
		t.Errorf("%d of 3 jobs are done; slots %v", s.done(), s.states())
	}
	if s.most != 2 {
		t.Errorf("%d pods at most, want 2", s.most)
	}
	s.atRest()
	if got := s.status(); got.State != slipway.PoolSleeping || len(got.Ledger.Pods)+len(got.Ledger.Registrations)+len(got.Ledger.Slots) > 0 {
		t.Errorf("at the end: %+v", got)
	}
	for _, slot := range s.allSlots() {
		if slot.Job == 0 || slot.RegisteredAt.IsZero() || slot.OnlineAt.IsZero() || slot.BusyAt.IsZero() || slot.EndedAt.IsZero() || slot.Reason == "" {
			t.Errorf("a slot's life is not on record: %+v", slot)
		}
	}
}
