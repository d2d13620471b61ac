package change

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// PoolsInput names pools of a runner application, by their services.
type PoolsInput struct {
	ApplicationID  int64
	Pools          []string // empty: all of them
	IdempotencyKey string
}

// PausePools has pools take no more jobs: their free runners go, and busy ones end their
// jobs first. They stay paused through later changes, until they are resumed. Who may
// write in the environment may.
func (s *Service) PausePools(ctx context.Context, c slipway.Caller, in PoolsInput) ([]slipway.RunnerPool, error) {
	return s.setPaused(ctx, c, in, true, "pool.pause")
}

// ResumePools has paused pools take jobs again. Who may write in the environment may.
func (s *Service) ResumePools(ctx context.Context, c slipway.Caller, in PoolsInput) ([]slipway.RunnerPool, error) {
	return s.setPaused(ctx, c, in, false, "pool.resume")
}

func (s *Service) setPaused(ctx context.Context, c slipway.Caller, in PoolsInput, paused bool, action string) ([]slipway.RunnerPool, error) {
	if err := need(c, slipway.ReadWrite); err != nil {
		return nil, err
	}
	return s.eachPool(ctx, c, in, action, func(tx *store.Tx, p slipway.RunnerPool) error {
		if p.Deleting {
			return slipway.Errorf(slipway.Conflict, "the pool %s is being deleted", p.Ref()).WithHint("there is nothing to pause or to resume any more")
		}
		if p.Paused == paused {
			return nil
		}
		if err := tx.SetRunnerPoolPaused(ctx, p.ID, paused); err != nil {
			return err
		}
		return record(ctx, tx, c, deed{action, "pool", p.ID, p.Ref(), facts{"paused": p.Paused}, facts{"paused": paused}})
	})
}

// ForgetRunners gives up the runners of pools that are being deleted and whose cleanup
// cannot end: with a token that is gone, of a server that is gone. What is left of them
// outside is then nobody's. Administrators may.
func (s *Service) ForgetRunners(ctx context.Context, c slipway.Caller, in PoolsInput) ([]slipway.RunnerPool, error) {
	if err := need(c, slipway.Administrator); err != nil {
		return nil, err
	}
	return s.eachPool(ctx, c, in, "pool.forget", func(tx *store.Tx, p slipway.RunnerPool) error {
		if !p.Deleting {
			if len(in.Pools) == 0 {
				return nil // of all pools, those that are going are meant
			}
			return slipway.Errorf(slipway.Conflict, "the pool %s is not being deleted", p.Ref()).
				WithHint("take the service out of the application's file and deploy it, or delete the application")
		}
		open, err := tx.OpenSlots(ctx, p.ID)
		if err != nil || len(open) == 0 {
			return err
		}
		var left []facts
		for _, slot := range open {
			left = append(left, facts{"runner": slot.Runner, "state": slot.State, "scope": slot.Scope.String(), "failure": slot.Failure})
			if err := tx.ForgetSlot(ctx, slot.ID, "given up by "+c.UserName+"; what was left outside was not removed"); err != nil {
				return err
			}
		}
		return record(ctx, tx, c, deed{"pool.forget", "pool", p.ID, p.Ref(), facts{"runners": left}, nil})
	})
}

// eachPool does something to the pools that are named, wakes them, and returns them as
// they are then.
func (s *Service) eachPool(ctx context.Context, c slipway.Caller, in PoolsInput, action string, do func(tx *store.Tx, p slipway.RunnerPool) error) ([]slipway.RunnerPool, error) {
	r := request{c, in.IdempotencyKey, action, []any{in.ApplicationID, in.Pools}}
	ids, _, err := once(ctx, s.Store, r, func(tx *store.Tx) (ids []int64, err error) {
		app, err := application(ctx, tx, c, in.ApplicationID)
		if err != nil {
			return nil, err
		}
		chosen, err := poolsNamed(ctx, tx, app, in.Pools)
		if err != nil {
			return nil, err
		}
		for _, p := range chosen {
			if err := do(tx, p); err != nil {
				return nil, err
			}
			if err := s.wake(ctx, tx, slipway.WakePool, p.ID); err != nil {
				return nil, err
			}
			ids = append(ids, p.ID)
		}
		return ids, tx.AddEvent(ctx, slipway.Event{Kind: "application.changed", Noun: "application", NounID: app.ID, Project: app.Project, Environment: app.Environment})
	})
	if err != nil {
		return nil, err
	}
	var out []slipway.RunnerPool
	err = s.Store.Read(ctx, func(tx *store.Tx) error {
		all, err := tx.RunnerPoolsOf(ctx, in.ApplicationID)
		for _, p := range all {
			if slices.Contains(ids, p.ID) {
				out = append(out, p)
			}
		}
		return err
	})
	return out, err
}

func poolsNamed(ctx context.Context, tx *store.Tx, app slipway.Application, names []string) ([]slipway.RunnerPool, error) {
	if app.Kind != slipway.RunnerApplication {
		return nil, slipway.Errorf(slipway.Conflict, "%s is an application with a driver and has no runner pools", app.Ref()).
			WithHint("stop its components with  slipway stop %s COMPONENT", app.Ref())
	}
	all, err := tx.RunnerPoolsOf(ctx, app.ID)
	if err != nil || len(names) == 0 {
		return all, err
	}
	var known []string
	byName := map[string]slipway.RunnerPool{}
	for _, p := range all {
		known = append(known, p.Service)
		byName[p.Service] = p
	}
	var out []slipway.RunnerPool
	for _, name := range names {
		p, ok := byName[name]
		if !ok {
			return nil, invalid("pools", fmt.Sprintf("%s has no pool %q", app.Ref(), name), "name one of: "+strings.Join(known, ", "))
		}
		if !slices.ContainsFunc(out, func(have slipway.RunnerPool) bool { return have.ID == p.ID }) {
			out = append(out, p)
		}
	}
	return out, nil
}

// pools does something to every pool of an application, and wakes it.
func (s *Service) pools(ctx context.Context, tx *store.Tx, app slipway.Application, do func(slipway.RunnerPool) error) error {
	if app.Kind != slipway.RunnerApplication {
		return nil
	}
	all, err := tx.RunnerPoolsOf(ctx, app.ID)
	if err != nil {
		return err
	}
	for _, p := range all {
		if err := do(p); err != nil {
			return err
		}
		if err := s.wake(ctx, tx, slipway.WakePool, p.ID); err != nil {
			return err
		}
	}
	return nil
}

// keepPools takes back that the pools of an application are being deleted, but for those
// that its wanted revision does not have.
func (s *Service) keepPools(ctx context.Context, tx *store.Tx, app slipway.Application) error {
	if app.Kind != slipway.RunnerApplication {
		return nil
	}
	wanted, err := tx.Revision(ctx, app.ID, app.Revision)
	if err != nil {
		return err
	}
	return s.pools(ctx, tx, app, func(p slipway.RunnerPool) error {
		if _, kept := wanted.Spec.Services[p.Service]; !kept {
			return nil
		}
		return tx.SetRunnerPoolDeleting(ctx, p.ID, false)
	})
}
