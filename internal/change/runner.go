package change

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"time"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/spec"
	"slipway.dev/slipway/internal/store"
)

// poolChange is one pool of a runner application before and after a change.
type poolChange struct {
	service string
	old     slipway.RunnerPool // the zero value: there is none yet
	wanted  *slipway.PoolSpec  // nil: the pool goes
	slots   []slipway.Slot     // those of old that are not closed
}

// revived reports whether the pool was going, and is wanted again.
func (p poolChange) revived() bool { return p.old.ID != 0 && p.old.Deleting && p.wanted != nil }

// replaces reports whether the runners that are there must make way for others.
func (p poolChange) replaces() bool {
	return p.old.ID != 0 && p.wanted != nil && (p.revived() || !p.old.Spec.SameRunners(*p.wanted))
}

// same reports whether there is nothing to write.
func (p poolChange) same() bool {
	return p.old.ID != 0 && !p.old.Deleting && p.wanted != nil && reflect.DeepEqual(p.old.Spec, *p.wanted)
}

// prepareRunners checks the spec of a runner application against everything that stands.
func (p *prepared) prepareRunners(ctx context.Context, tx *store.Tx) error {
	p.kind = slipway.ConfigureChange
	if p.app.Applied == 0 {
		p.kind = slipway.InstallChange
	}
	if err := p.readPools(ctx, tx); err != nil {
		return err
	}
	f, err := p.unknownSecrets(ctx, tx)
	if err != nil {
		return err
	}
	if len(f) > 0 {
		return refusal(p.in.File, f)
	}
	view, err := tx.ClusterView(ctx)
	if err != nil {
		return err
	}
	return p.fits(view, tx.Now)
}

// readPools joins the pools that there are with those that are asked for, by service.
func (p *prepared) readPools(ctx context.Context, tx *store.Tx) error {
	byService := map[string]*poolChange{}
	for name, service := range p.spec.Services {
		wanted := spec.Pool(service)
		byService[name] = &poolChange{service: name, wanted: &wanted}
	}
	if p.app.ID != 0 {
		pools, err := tx.RunnerPoolsOf(ctx, p.app.ID)
		if err != nil {
			return err
		}
		for _, old := range pools {
			if byService[old.Service] == nil {
				byService[old.Service] = &poolChange{service: old.Service}
			}
			change := byService[old.Service]
			change.old = old
			if change.slots, err = tx.OpenSlots(ctx, old.ID); err != nil {
				return err
			}
		}
	}
	for _, name := range sorted(byService) {
		p.pools = append(p.pools, *byService[name])
	}
	return nil
}

// fits refuses runners that would find no place. Only pools that ask for more than they
// have are judged: what an overcommitted cluster has already must stay changeable. What
// leaves with a replaced or a removed pool is free for what comes.
func (p *prepared) fits(view slipway.ClusterView, now time.Time) error {
	view.Nodes = slices.Clone(view.Nodes)
	var asks []slipway.CapacityAsk
	for _, change := range p.pools {
		placed := 0
		for _, s := range change.slots {
			if s.Node != "" {
				placed++
			}
		}
		if change.replaces() || change.wanted == nil {
			for _, s := range change.slots {
				release(view.Nodes, s.Node, change.old.Spec.Reserved())
			}
			placed = 0
		}
		if change.wanted != nil && change.grows() {
			asks = append(asks, slipway.CapacityAsk{Service: change.service, Spec: *change.wanted, Runners: change.wanted.Replicas, Held: placed})
		}
	}
	err := slipway.CheckCapacity(asks, view, now)
	if e, ok := errorOf(err); ok && len(e.Fields) > 0 {
		e.Msg = p.in.File + " cannot be deployed: not all of its runners would find a place"
		for i, f := range e.Fields {
			e.Fields[i] = p.at.Fault(f.Msg, f.Hint, strings.Split(f.Path, ".")...)
		}
	}
	p.places = slipway.Places(asks, view.Nodes)
	return err
}

// grows reports whether the pool may come to reserve more, or elsewhere, than before.
func (p poolChange) grows() bool {
	if p.old.ID == 0 || p.revived() {
		return true
	}
	a, b := p.old.Spec, *p.wanted
	return b.Replicas > a.Replicas || a.Reserved() != b.Reserved() || a.NodeName != b.NodeName || a.Architecture != b.Architecture
}

// release takes what one runner reserves off a node.
func release(nodes []slipway.Node, name string, c slipway.Capacity) {
	for i := range nodes {
		if n := &nodes[i]; n.Name == name {
			n.CPU.Requested -= c.CPU
			n.Memory.Requested -= c.Memory
			n.Disk.Requested -= c.Disk
			n.Pods.Requested -= c.Pods
		}
	}
}

// putPools writes the pools of a runner application as its new revision wants them, and
// wakes them. A pool that is asked for no more is kept until nothing of it is left.
func (s *Service) putPools(ctx context.Context, tx *store.Tx, p prepared) error {
	for _, change := range p.pools {
		id := change.old.ID
		switch {
		case change.same(), change.wanted == nil && change.old.Deleting:
		case change.wanted == nil:
			if err := tx.SetRunnerPoolDeleting(ctx, id, true); err != nil {
				return err
			}
		default:
			pool, err := tx.PutRunnerPool(ctx, slipway.RunnerPool{
				ApplicationID: p.app.ID, Service: change.service, Spec: *change.wanted, Paused: change.old.Paused,
			}, change.replaces())
			if err != nil {
				return err
			}
			id = pool.ID
		}
		if err := s.wake(ctx, tx, slipway.WakePool, id); err != nil {
			return err
		}
	}
	return nil
}
