package pool

import (
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"slipway.dev/slipway/internal/slipway"
)

// World: a fake forge and a fake cluster over SQLite; see scene.

func TestAQueuedJobWakesAPoolThatSleepsAgain(t *testing.T) { // ARC#3446: three jobs, and never more than the limit of two
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

func TestHowLongJobsWereQueuedIsCounted(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.queueJobs(3)
	s.live(3 * time.Minute)
	registry := prometheus.NewPedanticRegistry()
	s.must(registry.Register(s.r.Metrics))
	families, err := registry.Gather()
	s.must(err)
	for _, f := range families {
		if f.GetName() != "slipway_runner_queue_seconds" {
			continue
		}
		var labels []string
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels = append(labels, l.GetValue())
		}
		h := f.GetMetric()[0].GetHistogram()
		// Two run at once, so the third waits for one of them.
		if h.GetSampleCount() != 3 || h.GetSampleSum() < 10 || h.GetSampleSum() > 180 {
			t.Errorf("%d jobs were queued for %g s together: %v", h.GetSampleCount(), h.GetSampleSum(), labels)
		}
		if !slices.Contains(labels, s.pool.Service) || !slices.Contains(labels, s.pool.Application) {
			t.Errorf("they are counted for %v", labels)
		}
		return
	}
	t.Error("nothing was counted")
}
