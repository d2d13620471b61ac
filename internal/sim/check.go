package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// state is the whole of what is on record of pools, read at once.
type state struct {
	pools    []slipway.RunnerPool
	status   map[int64]slipway.PoolStatus
	slots    []slipway.Slot
	bySlot   map[int64]slipway.Slot
	byRunner map[string]slipway.Slot
}

func (w *World) read(ctx context.Context) (s state, err error) {
	s.bySlot, s.byRunner = map[int64]slipway.Slot{}, map[string]slipway.Slot{}
	err = w.look(ctx, func(tx *store.Tx) (err error) {
		if s.pools, err = tx.RunnerPools(ctx); err != nil {
			return err
		}
		if s.status, err = tx.PoolStatuses(ctx); err != nil {
			return err
		}
		s.slots, err = tx.AllOpenSlots(ctx)
		return err
	})
	for _, slot := range s.slots {
		s.bySlot[slot.ID], s.byRunner[strings.ToLower(slot.Runner)] = slot, slot
	}
	return s, err
}

func (s state) pool(id int64) slipway.RunnerPool {
	i := slices.IndexFunc(s.pools, func(p slipway.RunnerPool) bool { return p.ID == id })
	if i < 0 {
		return slipway.RunnerPool{}
	}
	return s.pools[i]
}

// open counts what counts against the limit: the slots on record, or what is really
// outside, whichever is more.
func (w *World) open(s state) map[int64]int {
	open, pods := map[int64]int{}, map[int64]int{}
	for _, slot := range s.slots {
		open[slot.PoolID]++
	}
	for _, p := range w.pods {
		if !p.stray {
			pods[p.pool]++
		}
	}
	for id, n := range pods {
		open[id] = max(open[id], n)
	}
	return open
}

// ceiling is how many runners all pools may have together, where there is one.
const ceiling = 4

// check looks at what must hold at every moment. What was noticed in the midst of a call,
// such as the end of a busy runner, is in violations already.
func (w *World) check(ctx context.Context) error {
	s, err := w.read(ctx)
	if err != nil {
		return err
	}
	// After a limit was lowered there are too many for a while; there may only be fewer then.
	open, total, before := w.open(s), 0, 0
	for _, id := range sortedKeys(open) {
		n := open[id]
		if limit := s.pool(id).Spec.Replicas; n > limit && n > w.before[id] {
			w.violate("pool %d has %d runners, and may have %d", id, n, limit)
		}
		total += n
	}
	for _, n := range w.before {
		before += n
	}
	if w.ceiling > 0 && total > w.ceiling && total > before {
		w.violate("all pools together have %d runners, and may have %d", total, w.ceiling)
	}
	w.before = open
	// These rows are written over and over: a secret may be in one for a moment only.
	rows := fmt.Sprint(s.slots, s.status)
	for _, secret := range w.secrets {
		if strings.Contains(rows, secret) {
			w.violate("a secret (%.12s…) is in the row of a slot or of a pool's status", secret)
		}
	}
	return w.broken()
}

// fair looks whether a pool that was looked at has taken, of what the common ceiling leaves,
// no more than those before it by priority had left to it, as far as was known of them.
func (w *World) fair(id int64, before, after state) {
	open, free, busy := map[int64]int{}, map[int64]int{}, map[int64]int{}
	for _, slot := range before.slots {
		if open[slot.PoolID]++; slot.State.Free() {
			free[slot.PoolID]++
		}
		if slot.State == slipway.SlotBusy {
			busy[slot.PoolID]++
		}
	}
	left, fresh := w.ceiling, 0
	own := after.pool(id)
	for _, slot := range after.slots {
		if _, old := before.bySlot[slot.ID]; !old && slot.PoolID == id {
			fresh++
		} else {
			left--
		}
	}
	asked := 0
	for _, p := range before.pools {
		st := before.status[p.ID]
		if p.Spec.Priority > own.Spec.Priority && !p.Paused && !p.Deleting && !st.HoldUntil.After(w.now) && st.State != slipway.PoolHeld {
			needs := max(st.Demand, keeps(p.Spec, w.now)-busy[p.ID])
			asked += max(0, min(needs-free[p.ID], p.Spec.Replicas-open[p.ID]))
		}
	}
	if fresh > max(0, left-asked) {
		w.violate("pool %d has %d new runners, though %d were left and pools of a higher priority asked for %d", id, fresh, left, asked)
	}
}

// broken returns the violations.
func (w *World) broken() error {
	if len(w.violations) == 0 {
		return nil
	}
	return errors.New(strings.Join(w.violations, "; "))
}

func (w *World) beingDeleted(ctx context.Context, id int64) (deleting bool, err error) {
	err = w.look(ctx, func(tx *store.Tx) error {
		p, err := tx.RunnerPool(ctx, id)
		if deleting = p.Deleting; slipway.Is(err, slipway.NotFound) {
			deleting, err = true, nil
		}
		return err
	})
	return deleting, err
}

// nobodys reports whether a registration may be left: its runner was given up, and no pool
// is there that looks at its scope.
func (w *World) nobodys(s state, name string) bool {
	reg := w.registrations[strings.ToLower(name)]
	return w.forgotten[name] && !slices.ContainsFunc(s.pools, func(p slipway.RunnerPool) bool {
		return p.Spec.Scope.Host() == reg.host.name() && p.Spec.Scope.Owner == reg.scope.Owner && p.Spec.Scope.Repository == reg.scope.Repository
	})
}

// leftovers looks for what has no slot outside, and for slots that have not outside what
// their state promises.
func (w *World) leftovers(s state) error {
	for _, p := range w.pods {
		if slot, ok := s.bySlot[p.slot]; !ok || slot.Runner != p.name {
			return fmt.Errorf("pod %s (%s) has no open slot", p.name, p.phase)
		}
	}
	all, _ := w.standing()
	for _, r := range all {
		if !w.ours(r.Name) || w.nobodys(s, r.Name) {
			continue
		}
		if _, ok := s.byRunner[strings.ToLower(r.Name)]; !ok {
			return fmt.Errorf("the registration %s has no open slot", r.Name)
		}
	}
	for _, slot := range s.slots {
		if slot.State != slipway.SlotIdle && slot.State != slipway.SlotBusy {
			return fmt.Errorf("slot %d (%s) is still %s: %s", slot.ID, slot.Runner, slot.State, slot.Failure)
		}
		i := slices.IndexFunc(w.pods, func(p *pod) bool { return p.slot == slot.ID && p.phase == running })
		if i < 0 {
			return fmt.Errorf("slot %d is %s, and its pod does not run", slot.ID, slot.State)
		}
		if r, ok := w.runner(slot.Runner); !ok || r.Busy != (slot.State == slipway.SlotBusy) {
			return fmt.Errorf("slot %d is %s, and the forge has it registered=%t, busy=%t", slot.ID, slot.State, ok, r.Busy)
		}
	}
	return nil
}
