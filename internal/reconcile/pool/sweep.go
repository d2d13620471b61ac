package pool

import (
	"context"
	"maps"
	"slices"

	"slipway.dev/slipway/internal/outside/forge"
	"slipway.dev/slipway/internal/slipway"
)

// strays are what is outside without a slot. Only what has lasted is in due.
type strays struct {
	pods          []Pod
	registrations []forge.Runner
	duePods       []Pod
	dueRunners    []forge.Runner
}

// strays compares both directions. Lists were asked for before the rows were read, so what
// has a slot has it by now; and nothing is due on the word of one list.
func (w *run) strays(in rows, seen world) strays {
	r := w.r
	var out strays
	slots := map[string]bool{}
	for _, s := range in.slots {
		slots[s.Runner] = true
	}
	for _, name := range slices.Sorted(maps.Keys(seen.pods)) {
		p := seen.pods[name]
		if slots[p.Name] || p.Pool != in.pool.ID && in.ours[p.Pool] {
			continue
		}
		out.pods = append(out.pods, *p)
		if r.since(absence{in.pool.ID, strayPod, p.Name}, true, seen.podsAt) >= strayAfter {
			out.duePods = append(out.duePods, *p)
		}
	}
	out.registrations = seen.strays
	for _, reg := range seen.strays {
		if r.since(absence{in.pool.ID, strayRegistration, reg.Name}, true, seen.own.At) >= strayAfter {
			out.dueRunners = append(out.dueRunners, reg)
		}
	}
	r.forgetAbsences(in.pool.ID, func(a absence) bool {
		switch a.kind {
		case strayPod:
			return !seen.podsListed || slices.ContainsFunc(out.pods, func(p Pod) bool { return p.Name == a.name })
		case strayRegistration:
			return seen.own.At.IsZero() || slices.ContainsFunc(out.registrations, func(x forge.Runner) bool { return x.Name == a.name })
		}
		return slots[a.name]
	})
	return out
}

// sweep removes what is due: pods that carry our installation, and registrations that have
// its name, of which no slot is open at this moment either. The forge refuses for a runner
// that has a job, and then it is left.
func (w *run) sweep(ctx context.Context, in rows, s strays) error {
	if len(s.duePods)+len(s.dueRunners) == 0 {
		return nil
	}
	open, err := w.r.openRunners(ctx)
	if err != nil {
		return err
	}
	for _, reg := range s.dueRunners {
		if open[reg.Name] {
			continue
		}
		client, err := w.r.forges.open(ctx, in.pool, in.pool.Spec.Scope, in.pool.Spec.Credential)
		if err == nil {
			err = client.Unregister(ctx, in.pool.Spec.Scope, reg.ID)
		}
		w.r.Log.WarnContext(ctx, "a registration without a slot was found", "pool", in.pool.Ref(), "runner", reg.Name, "removed", err == nil, "error", err)
		if err != nil && !forge.Is(err, forge.NotFound, forge.Busy) {
			break // the next look tries again
		}
	}
	busy := map[string]bool{}
	for _, reg := range s.registrations {
		busy[reg.Name] = reg.Busy
	}
	for _, p := range s.duePods {
		if open[p.Name] || busy[p.Name] {
			continue
		}
		err := w.r.Cluster.End(ctx, in.pool.Namespace, p.Name)
		w.r.Log.WarnContext(ctx, "a runner pod without a slot was found", "pool", in.pool.Ref(), "pod", p.Name, "removed", err == nil, "error", err)
	}
	return nil
}

// ledger is what does not belong together, as people read it.
func ledger(in rows, seen world, s strays, slots []slipway.Slot) slipway.Ledger {
	l := slipway.Ledger{CheckedAt: in.status.Ledger.CheckedAt}
	if !seen.podsListed || seen.own.At.IsZero() {
		return in.status.Ledger // half a look says nothing
	}
	l.CheckedAt = seen.own.At
	if seen.podsAt.Before(l.CheckedAt) {
		l.CheckedAt = seen.podsAt
	}
	for _, p := range s.pods {
		l.Pods = append(l.Pods, p.Name)
	}
	for _, reg := range s.registrations {
		l.Registrations = append(l.Registrations, reg.Name)
	}
	for _, slot := range slots {
		switch slot.State {
		case slipway.SlotStarting, slipway.SlotIdle, slipway.SlotBusy:
			if seen.pods[slot.Runner] == nil && seen.podsAt.After(slot.Since) {
				l.Slots = append(l.Slots, slot.Runner)
			}
		}
	}
	return l
}
