package pool

import (
	"context"
	"slices"
	"testing"
	"time"

	"slipway.dev/slipway/internal/outside/forge"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// revise writes a revision of the application with these services, as package change would,
// and has the pools of the others go.
func (s *scene) revise(number int64, services ...string) {
	s.Helper()
	wanted := slipway.ApplicationSpec{Services: map[string]slipway.RunnerService{}}
	for _, name := range services {
		wanted.Services[name] = slipway.RunnerService{}
	}
	s.write(func(ctx context.Context, tx *store.Tx) error {
		if _, err := tx.CreateRevision(ctx, slipway.Revision{ApplicationID: s.app.ID, Number: number, Spec: wanted}); err != nil {
			return err
		}
		if err := tx.SetApplicationWanted(ctx, s.app.ID, number-1, number, 0); err != nil {
			return err
		}
		if err := tx.SetApplicationApplied(ctx, s.app.ID, store.Applied{Revision: number}); err != nil {
			return err
		}
		pools, err := tx.RunnerPoolsOf(ctx, s.app.ID)
		for _, p := range pools {
			if !slices.Contains(services, p.Service) {
				err = tx.SetRunnerPoolDeleting(ctx, p.ID, true)
			}
		}
		return err
	})
}

func (s *scene) services() (names []string) {
	s.Helper()
	s.must(s.store.Read(s.Context(), func(tx *store.Tx) error {
		pools, err := tx.RunnerPoolsOf(s.Context(), s.app.ID)
		for _, p := range pools {
			names = append(names, p.Service)
		}
		return err
	}))
	return names
}

// TestAServiceThatIsTakenOutLeavesNoRecord, and comes back when it is written again. World:
// fake, over SQLite.
func TestAServiceThatIsTakenOutLeavesNoRecord(t *testing.T) {
	t.Parallel()
	s := newScene(t, func(p *slipway.PoolSpec) { p.Minimum = 1 })
	s.another("second")
	s.revise(1, "runner", "second")
	s.live(30 * time.Second)
	s.wantStates(slipway.SlotIdle)

	s.kube.stuck = true
	s.kube.away = true
	s.revise(2, "second")
	s.live(time.Minute)
	if got := s.services(); len(got) != 2 {
		t.Errorf("while the cluster does not answer the pools are %v; the record must stay", got)
	}
	s.kube.away = false
	s.kube.pods["stray"] = &fakePod{Pod: Pod{Name: "stray", UID: "1", Pool: s.pool.ID, Slot: 4711, Over: true, CreatedAt: s.time()}}
	first := s.pool
	s.live(40 * time.Second)
	if got := s.services(); len(got) != 2 || len(s.slots()) != 0 {
		t.Errorf("with a pod of its own left the pools are %v", got)
	}
	s.live(2 * time.Minute)
	if got := s.services(); !slices.Equal(got, []string{"second"}) {
		t.Errorf("when all is cleaned up the pools are %v, want only the second", got)
	}
	if left := s.github.Registrations(); s.kube.count() != 0 || len(left) != 0 {
		t.Errorf("left are %d pods and %v", s.kube.count(), left)
	}
	if again, _ := s.look(); again != 0 {
		t.Errorf("a pool that is gone is looked at again after %s", again)
	}

	s.kube.stuck = false
	s.pool = s.another("runner")
	s.revise(3, "runner", "second")
	if s.pool.ID == first.ID || s.pool.Deleting || s.pool.Generation != 1 {
		t.Errorf("written again it is %+v", s.pool)
	}
	s.live(30 * time.Second)
	s.wantStates(slipway.SlotIdle)
}

// TestAPoolThatGoesWaitsForALateRegistration, and not for a credential that is gone. World:
// fake, over SQLite.
func TestAPoolThatGoesWaitsForALateRegistration(t *testing.T) {
	t.Parallel()
	s := newScene(t, func(p *slipway.PoolSpec) { p.Minimum = 1 })
	s.another("second")
	s.revise(1, "runner", "second")
	s.live(30 * time.Second)
	s.revise(2, "second")
	for len(s.slots()) > 0 {
		s.live(2 * time.Second)
	}
	s.live(10 * time.Second)
	_, err := s.github.Register(t.Context(), slipway.ForgeScope{Owner: "acme"}, forge.Registration{Name: NamePrefix(s.r.Installation) + "late", Labels: []string{"x"}})
	s.must(err)
	s.live(4 * time.Minute)
	if left := s.github.Registrations(); len(left) != 0 {
		t.Errorf("left are %v", left)
	}
	if got := s.services(); !slices.Equal(got, []string{"second"}) {
		t.Errorf("the pools are %v", got)
	}

	s.pool = s.another("runner")
	s.revise(3, "runner", "second")
	s.live(30 * time.Second)
	s.revise(4, "second")
	for len(s.slots()) > 0 {
		s.live(2 * time.Second)
	}
	s.github.Revoke(true)
	s.live(2 * time.Minute)
	if got := s.services(); !slices.Equal(got, []string{"second"}) {
		t.Errorf("with a credential that is gone the pools are %v", got)
	}
}

// TestADeletionKeepsTheRecordsOfPools, because it may be taken back. World: fake, over SQLite.
func TestADeletionKeepsTheRecordsOfPools(t *testing.T) {
	t.Parallel()
	s := newScene(t, func(p *slipway.PoolSpec) { p.Minimum = 1 })
	s.revise(1, "runner")
	s.live(30 * time.Second)
	s.setPool(func(p *slipway.RunnerPool) { p.Deleting = true })
	s.live(2 * time.Minute)
	s.atRest()
	if got := s.services(); len(got) != 1 {
		t.Errorf("the pools are %v", got)
	}
	s.setPool(func(p *slipway.RunnerPool) { p.Deleting = false })
	s.live(30 * time.Second)
	s.wantStates(slipway.SlotIdle)
}
