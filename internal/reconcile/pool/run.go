package pool

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"slipway.dev/slipway/internal/outside/forge"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

const (
	// runLimit bounds one run; what is not done by then is done by the next.
	runLimit = 3 * time.Minute
	// rounds bounds how often a run looks again because something moved.
	rounds = 8
)

// Pool brings one pool nearer to its demand. It is a handler of package task: looked at
// twice, or long after, a pool comes to the same end.
func (r *Reconciler) Pool(ctx context.Context, id int64) (again time.Duration, err error) {
	ctx, stop := context.WithTimeout(ctx, runLimit)
	defer stop()
	r.forges.forget(r.Store.Now())
	switch later, err := r.pace.rest(ctx, id); {
	case err != nil:
		return 0, fmt.Errorf("rest before a look at pool %d: %w", id, err)
	case later > 0:
		return later, nil
	}
	w := &run{r: r, id: id, ended: map[int64]bool{}}
	defer func() { r.pace.looked(id, w.waiting) }()
	for range rounds {
		var moved bool
		again, moved, err = w.round(ctx)
		switch {
		case slipway.Is(err, slipway.NotFound):
			r.forgetAbsences(id, func(absence) bool { return false })
			return 0, nil // the pool is gone, and its slots with it
		case err != nil:
			return 0, fmt.Errorf("look at pool %d: %w", id, err)
		case !moved:
			return again, nil
		}
	}
	return expecting, nil
}

// run is one run of the handler.
type run struct {
	r       *Reconciler
	id      int64
	waiting int // jobs, at the last look

	mu    sync.Mutex
	ended map[int64]bool // slots whose pod this run has asked to end
}

// round is snapshot, plan, act, record, once. It reports whether a slot moved, so that
// there may be more to do at once.
func (w *run) round(ctx context.Context) (again time.Duration, moved bool, err error) {
	first, err := w.r.places(ctx, w.id)
	if err != nil {
		return 0, false, err
	}
	// The world first, and the rows after it: a slot that is made meanwhile is in no list,
	// but something in a list has a row.
	seen, err := w.look(ctx, first)
	if err != nil {
		return 0, false, err
	}
	in, err := w.r.read(ctx, w.id)
	if err != nil {
		return 0, false, err
	}
	w.waiting = len(in.demand)
	if gone, err := w.retired(ctx, in, seen); gone || err != nil {
		return 0, false, err
	}
	d := w.decide(in, seen)
	if err := w.commit(ctx, &d); err != nil {
		return 0, false, err
	}
	acted, err := w.act(ctx, in, d)
	if err != nil {
		return 0, false, err
	}
	if err := w.record(ctx, d, acted); err != nil {
		return 0, false, err
	}
	return d.next.Again, d.moved || acted.moved, nil
}

// decision is what a round has decided, before anything is done.
type decision struct {
	next    Next
	status  slipway.PoolStatus
	changed []change       // slots that were judged or planned to be otherwise
	create  []slipway.Slot // new ones
	begin   []slipway.Slot // to be registered and launched now; their intent is in changed
	strays  strays
	moved   bool
	passOn  bool // launching was stopped just now, and jobs wait
}

// change is a slot as it is to be, and the state it is in.
type change struct {
	slot slipway.Slot
	from slipway.SlotState
}

// decide judges the slots, plans, and chooses what is begun now. It calls nobody.
func (w *run) decide(in rows, seen world) decision {
	r := w.r
	d := decision{status: in.status}
	was := d.status
	var failures []string
	slots := make([]slipway.Slot, len(in.slots))
	from := make(map[int64]slipway.Slot, len(in.slots))
	for i, s := range in.slots {
		from[s.ID] = s
		sighting := w.sighting(in, seen, s)
		slots[i] = Judge(s, sighting, in.now)
		if seen.podsListed && slots[i].State == slipway.SlotRemoving && w.ended[s.ID] && seen.pods[s.Runner] == nil {
			slots[i].State = slipway.SlotClosed
		}
		if why := Failed(s, slots[i], in.pool.Spec.Timeout); why != "" {
			failures = append(failures, why)
		}
		succeed(&d.status, slots[i], in.now)
		if p := seen.pods[s.Runner]; p != nil && p.Outdated && r.Image != "" {
			d.status.Outdated = r.Image
		}
		r.Metrics.moved(s, slots[i])
		r.Metrics.began(in.pool, s, slots[i], sighting.Job)
	}
	in.status = d.status
	if len(failures) > 0 {
		fail(&d.status, in, failures[0], HoldAfter(d.status.Failures+1))
	}
	snapshot := w.snapshot(in, seen, slots, d.status)
	d.next = Plan(snapshot)
	w.planned(&d, in, slots)
	w.chooseBegin(&d, snapshot, slots)
	for _, s := range slots {
		if was := from[s.ID]; s != was {
			d.changed = append(d.changed, change{s, was.State})
			d.moved = d.moved || s.State != was.State
		}
	}
	d.strays = w.strays(in, seen)
	w.describe(&d, in, seen, slots)
	d.passOn = len(in.demand) > 0 && !in.pool.Held(was, in.now) && in.pool.Held(d.status, in.now)
	return d
}

func (w *run) snapshot(in rows, seen world, slots []slipway.Slot, status slipway.PoolStatus) Snapshot {
	s := Snapshot{
		Pool: in.pool, Demand: len(in.demand), Room: in.room, Now: in.now,
		Hold: Hold{status.HoldUntil, status.HoldWhy}, Barred: w.r.barred(in),
	}
	if s.Barred == "" && seen.podsFailed != nil {
		s.Barred = "the cluster cannot be looked at: " + sentence(seen.podsFailed)
	}
	if len(in.demand) > 0 {
		s.Oldest = in.demand[0].QueuedAt
	}
	for _, slot := range slots {
		if slot.State != slipway.SlotClosed {
			s.Slots = append(s.Slots, slot)
		}
	}
	if _, _, err := in.pool.Spec.Effective(in.now); err != nil {
		w.r.Log.Warn("a schedule of a pool cannot be read", "pool", in.pool.Ref(), "error", err)
	}
	return s
}

// planned applies the plan to the slots.
func (w *run) planned(d *decision, in rows, slots []slipway.Slot) {
	at := map[int64]int{}
	for i, s := range slots {
		at[s.ID] = i
	}
	for _, e := range d.next.Drain {
		s := &slots[at[e.Slot]]
		if s.State == slipway.SlotBusy {
			s.Result = "it was ended with its job: " + e.Reason
		}
		if why := neverRegistered(*s, in.now); why != "" {
			fail(&d.status, in, why, HoldAfter(d.status.Failures+1))
		}
		*s = drain(*s, e.Reason)
	}
	for _, e := range d.next.Close {
		s := &slots[at[e.Slot]]
		s.State, s.Reason = slipway.SlotClosed, e.Reason
	}
	for range d.next.Launch {
		d.create = append(d.create, slipway.Slot{
			PoolID: in.pool.ID, Generation: in.pool.Generation, Scope: in.pool.Spec.Scope, Credential: in.pool.Spec.Credential,
			Runner: runnerName(w.r.Installation, in.pool.Service),
		})
	}
	d.moved = d.moved || len(d.create) > 0
}

// chooseBegin picks the slots that are registered and launched now: all that wait for it,
// or only one when the last attempt failed. That they are is on record before anybody is
// asked.
func (w *run) chooseBegin(d *decision, in Snapshot, slots []slipway.Slot) {
	if in.Barred != "" || in.Now.Before(d.status.HoldUntil) {
		return
	}
	for i := range slots {
		s := &slots[i]
		ready := s.State == slipway.SlotWanted || s.State == slipway.SlotRegistering && s.Failure != "" && !in.Now.Before(s.RetryAt)
		if !ready || d.status.Failures > 0 && len(d.begin) > 0 { // after a failure one tries first
			continue
		}
		s.State, s.Failure, s.RetryAt = slipway.SlotRegistering, "", time.Time{}
		d.begin = append(d.begin, *s)
	}
}

// neverRegistered says why a slot that leaves counts as a failure of its launch.
func neverRegistered(s slipway.Slot, now time.Time) string {
	if s.State == slipway.SlotStarting && now.Sub(s.Since) > registerWithin {
		return withSeen(fmt.Sprintf("a runner did not register within %s", words(registerWithin)), s)
	}
	return ""
}

// commit writes the decision before anything is done about it: what is about to be made
// outside is on record first.
func (w *run) commit(ctx context.Context, d *decision) error {
	return w.r.Store.InTx(ctx, func(tx *store.Tx) error {
		if err := w.limit(ctx, tx, d); err != nil {
			return err
		}
		for _, c := range d.changed {
			if err := tx.UpdateSlot(ctx, c.slot, c.from); err != nil {
				return err
			}
		}
		for _, s := range d.create {
			if _, err := tx.CreateSlot(ctx, s); err != nil {
				return err
			}
		}
		if d.passOn {
			if err := w.passOn(ctx, tx); err != nil {
				return err
			}
		}
		return tx.SetPoolStatus(ctx, d.status)
	})
}

// limit cuts new slots down to what the limits allow at this moment. The plan was made of
// an earlier one: meanwhile another pool may have taken what is left under the ceiling, or
// the pool may have been made smaller.
func (w *run) limit(ctx context.Context, tx *store.Tx, d *decision) error {
	if len(d.create) == 0 {
		return nil
	}
	if err := tx.HoldInstallation(ctx); err != nil {
		return err
	}
	p, err := tx.RunnerPool(ctx, w.id)
	if err != nil {
		return err
	}
	counts, err := tx.OpenSlotCounts(ctx)
	if err != nil {
		return err
	}
	open, all := 0, 0
	for _, c := range d.changed {
		if c.slot.State == slipway.SlotClosed {
			open, all = open-1, all-1 // by this very transaction
		}
	}
	for id, by := range counts {
		for _, n := range by {
			all += n
			if id == w.id {
				open += n
			}
		}
	}
	room := p.Spec.Replicas - open
	if w.r.MaxRunners > 0 {
		room = min(room, w.r.MaxRunners-all)
	}
	if p.Paused || p.Deleting {
		room = 0
	}
	d.create = d.create[:max(0, min(len(d.create), room))]
	return nil
}

// outcome is what came of acting.
type outcome struct {
	mu      sync.Mutex
	moved   bool
	failure string
	hold    time.Duration
	counts  bool // the failure counts as one of a row
	group   int64
}

func (o *outcome) failed(why string, hold time.Duration, counts bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.failure == "" || hold > o.hold {
		o.failure, o.hold = why, hold
	}
	o.counts = o.counts || counts
}

// act carries out one step for each slot that has one to do. Steps know nothing of each
// other, and each writes its own end.
func (w *run) act(ctx context.Context, in rows, d decision) (*outcome, error) {
	out := &outcome{}
	type step struct {
		slot slipway.Slot
		do   func(context.Context, *outcome, rows, slipway.Slot) (bool, error)
	}
	var steps []step
	for _, s := range d.begin {
		steps = append(steps, step{s, w.begin})
	}
	current := in.slots
	for _, s := range current {
		s = latest(s, d.changed)
		switch {
		case in.now.Before(s.RetryAt):
		case s.State == slipway.SlotDraining:
			steps = append(steps, step{s, w.unregister})
		case s.State == slipway.SlotRemoving && !w.ended[s.ID]:
			steps = append(steps, step{s, w.remove})
		}
	}
	if err := w.sweep(ctx, in, d.strays); err != nil {
		return out, err
	}
	work := make(chan step, len(steps))
	for _, s := range steps {
		work <- s
	}
	close(work)
	var errs []error
	var all sync.WaitGroup
	for range min(w.r.Parallel, len(steps)) {
		all.Go(func() {
			for s := range work {
				if ctx.Err() != nil {
					return
				}
				moved, err := s.do(ctx, out, in, s.slot)
				out.mu.Lock()
				out.moved = out.moved || moved
				if err != nil {
					errs = append(errs, err)
				}
				out.mu.Unlock()
			}
		})
	}
	all.Wait()
	if len(errs) > 0 {
		return out, errors.Join(errs...)
	}
	return out, context.Cause(ctx)
}

func latest(s slipway.Slot, changed []change) slipway.Slot {
	for _, c := range changed {
		if c.slot.ID == s.ID {
			return c.slot
		}
	}
	return s
}

// record writes down what acting taught of the pool as a whole.
func (w *run) record(ctx context.Context, d decision, o *outcome) error {
	if o.failure == "" && (o.group == 0 || o.group == d.status.Group) {
		return nil
	}
	return w.r.Store.InTx(ctx, func(tx *store.Tx) error {
		s := d.status
		if o.group != 0 {
			s.Group = o.group
		}
		if o.failure != "" {
			now := rows{now: tx.Now, status: s}
			if o.counts {
				fail(&s, now, o.failure, max(o.hold, HoldAfter(s.Failures+1)))
			} else {
				s.HoldUntil, s.HoldWhy = later(s.HoldUntil, tx.Now.Add(o.hold)), o.failure
			}
			if s.Demand > 0 && s.HoldUntil.After(tx.Now) && !d.status.HoldUntil.After(tx.Now) {
				if err := w.passOn(ctx, tx); err != nil {
					return err
				}
			}
		}
		return tx.SetPoolStatus(ctx, s)
	})
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// write moves one slot, in a transaction of its own.
func (w *run) write(ctx context.Context, s slipway.Slot, from slipway.SlotState) error {
	err := w.r.Store.InTx(ctx, func(tx *store.Tx) error { return tx.UpdateSlot(ctx, s, from) })
	if err != nil {
		return fmt.Errorf("record slot %d: %w", s.ID, err)
	}
	return nil
}

// sentence is an error in the words for people.
func sentence(err error) string {
	var e *slipway.Error
	if errors.As(err, &e) {
		if e.Hint != "" {
			return e.Msg + "; " + e.Hint
		}
		return e.Msg
	}
	return err.Error()
}

// refusal is how long to wait after an error of the forge, and whether it counts as a
// failure of the pool. Nothing that a person must see to is asked more often than once a
// minute.
func refusal(err error, jitter func(time.Duration) time.Duration) (hold time.Duration, counts bool) {
	var e *forge.Error
	switch forge.ProblemOf(err) {
	case forge.Throttled:
		if errors.As(err, &e) && e.RetryAfter > 0 {
			return jitter(e.RetryAfter), false
		}
		return jitter(time.Minute), false
	case forge.Refused, forge.Invalid:
		return time.Minute, true
	}
	return 0, true
}
