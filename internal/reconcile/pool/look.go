package pool

import (
	"context"
	"slices"
	"time"

	"slipway.dev/slipway/internal/outside/forge"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// world is what was seen outside.
type world struct {
	podsListed bool
	podsAt     time.Time       // when they were asked for
	pods       map[string]*Pod // by name
	podsFailed error
	runners    map[slipway.ForgeScope]Listed // without group
	own        Listed                        // of the pool's present scope
	strays     []forge.Runner                // registrations of ours in own without a slot
	client     forge.Runners                 // of the pool's present credential; nil: it does not open
	newest     string                        // version of the runner program that the forge offers; empty: not asked
}

// quiet is how long the forge of a pool without any slot is left alone between two looks
// for strays.
const quiet = 5 * time.Minute

// look lists what is outside. What cannot be looked at is left out, and proves nothing.
func (w *run) look(ctx context.Context, in rows) (world, error) {
	r := w.r
	seen := world{pods: map[string]*Pod{}, runners: map[slipway.ForgeScope]Listed{}}
	if r.NoCluster == nil {
		seen.podsAt = r.Store.Now()
		pods, err := r.Cluster.Pods(ctx, in.pool.Namespace)
		seen.podsListed, seen.podsFailed = err == nil, err
		for i := range pods {
			seen.pods[pods[i].Name] = &pods[i]
		}
	}
	if len(in.slots) == 0 && !in.pool.Deleting && in.now.Sub(in.status.Ledger.CheckedAt) < quiet && len(in.status.Ledger.Registrations) == 0 {
		return seen, nil
	}
	eager := false
	places := []place{{in.pool.Spec.Credential, placeOf(in.pool.Spec.Scope)}}
	for _, s := range in.slots {
		eager = eager || s.State == slipway.SlotStarting
		if at := (place{s.Credential, placeOf(s.Scope)}); s.State != slipway.SlotWanted && !slices.Contains(places, at) {
			places = append(places, at)
		}
	}
	for _, p := range places {
		own := p.scope == placeOf(in.pool.Spec.Scope) && p.credential == in.pool.Spec.Credential
		client, err := r.forges.open(ctx, in.pool, p.scope, p.credential)
		if err != nil {
			if own {
				seen.own.Failed = err
			}
			continue
		}
		l := r.forges.list(ctx, client, p.scope, eager)
		if !l.At.IsZero() {
			seen.runners[p.scope] = l
		}
		if own {
			seen.own, seen.client = l, client
			if seen.strays, err = l.strays(NamePrefix(r.Installation), func() (map[string]bool, error) { return r.openRunners(ctx) }); err != nil {
				return seen, err
			}
		}
	}
	if seen.client != nil {
		seen.newest = r.forges.newest(ctx, seen.client, in.pool.Spec)
	}
	return seen, nil
}

func (r *Reconciler) openRunners(ctx context.Context) (names map[string]bool, err error) {
	err = r.Store.Read(ctx, func(tx *store.Tx) (err error) {
		names, err = tx.OpenRunners(ctx)
		return err
	})
	return names, err
}

type place struct {
	credential string
	scope      slipway.ForgeScope
}

// placeOf is a scope without its group: lists do not know groups.
func placeOf(s slipway.ForgeScope) slipway.ForgeScope {
	s.Group = 0
	return s
}

// sighting is what was seen of one slot. Something is gone only when whole lists, each
// asked for after it was made, have not shown it for a while.
func (w *run) sighting(in rows, seen world, s slipway.Slot) Sighting {
	var out Sighting
	if j, ok := in.jobs[s.Runner]; ok && (j.State == slipway.JobRunning || j.State == slipway.JobCompleted) {
		out.Job = &j
	}
	if p := seen.pods[s.Runner]; p != nil && !p.SecretOnly {
		out.Pod = p
	}
	if seen.podsListed && s.Pod != "" && seen.podsAt.After(s.Since) {
		out.PodGone = w.r.since(absence{in.pool.ID, noPod, s.Runner}, out.Pod == nil, seen.podsAt) >= goneAfter
	}
	l, ok := seen.runners[placeOf(s.Scope)]
	if !ok {
		return out
	}
	if known, there := l.Named[s.Runner]; there {
		out.Runner = &known
	}
	if !s.RegisteredAt.IsZero() && l.At.After(s.RegisteredAt) {
		out.RunnerOut = w.r.since(absence{in.pool.ID, noRegistration, s.Runner}, out.Runner == nil, l.At) >= goneAfter
	}
	out.Jobless = w.jobless(in, s, out, l.At)
	off := out.Runner != nil && !out.Runner.Online && !out.Runner.Busy && s.State == slipway.SlotIdle
	out.RunnerOff = w.r.since(absence{in.pool.ID, silent, s.Runner}, off, l.At) >= silentAfter
	return out
}

// jobless reports whether the forge's lists show a busy runner without a job for so long that
// it is believed. Where a runner takes one job after another that ends it, and the forge is
// asked once more before: so one look is enough, unless the runner is out of touch.
func (w *run) jobless(in rows, s slipway.Slot, see Sighting, at time.Time) bool {
	free := see.Runner != nil && !see.Runner.Busy && s.State == slipway.SlotBusy && see.Job == nil
	here := free && see.Runner.Online
	if s.Scope.Forge.EndsByItself() {
		return w.r.since(absence{in.pool.ID, jobless, s.Runner}, here && s.Scope.Forge.TellsJobs(), at) >= joblessAfter
	}
	return w.r.since(absence{in.pool.ID, jobless, s.Runner}, free && !here, at) >= silentAfter || here
}
