package view

import (
	"context"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// PoolFilter narrows the list of pools. Its zero value is all of them.
type PoolFilter struct{ Project, Environment string }

// PoolRow is a pool and how it stands.
type PoolRow struct {
	slipway.RunnerPool
	Status slipway.PoolStatus
	Slots  map[slipway.SlotState]int // open ones
}

// Open is how many slots the pool has that are not closed.
func (p PoolRow) Open() (n int) {
	for _, c := range p.Slots {
		n += c
	}
	return n
}

// Count is how many of its slots are in one of these states.
func (p PoolRow) Count(states ...slipway.SlotState) (n int) {
	for _, s := range states {
		n += p.Slots[s]
	}
	return n
}

// Starting are the states in which a runner is on its way.
var Starting = []slipway.SlotState{slipway.SlotWanted, slipway.SlotRegistering, slipway.SlotLaunching, slipway.SlotStarting}

// Leaving are the states in which a runner is being taken away.
var Leaving = []slipway.SlotState{slipway.SlotDraining, slipway.SlotRemoving}

// State is how the pool stands, also where its reconciler has not looked since it was
// asked to pause or to go.
func (p PoolRow) State() slipway.PoolState {
	switch {
	case p.Deleting:
		return slipway.PoolDeleting
	case p.Paused:
		return slipway.PoolPaused
	}
	return p.Status.State
}

// RunnerPools lists the pools that the caller sees. They are few.
func (r *Reader) RunnerPools(ctx context.Context, c slipway.Caller, f PoolFilter) ([]PoolRow, error) {
	return read(ctx, r, c, func(tx *store.Tx) ([]PoolRow, error) {
		project, environment, ok := confine(c, f.Project, f.Environment)
		if !ok {
			return nil, nil
		}
		all, err := poolsOf(ctx, tx)
		if err != nil {
			return nil, err
		}
		var out []PoolRow
		for _, p := range all {
			if (project == "" || p.Project == project) && (environment == "" || p.Environment == environment) {
				out = append(out, p)
			}
		}
		return out, nil
	})
}

// poolsOf reads all pools with how they stand, by three queries however many there are.
func poolsOf(ctx context.Context, tx *store.Tx) ([]PoolRow, error) {
	pools, err := tx.RunnerPools(ctx)
	if err != nil {
		return nil, err
	}
	statuses, err := tx.PoolStatuses(ctx)
	if err != nil {
		return nil, err
	}
	counts, err := tx.OpenSlotCounts(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]PoolRow, len(pools))
	for i, p := range pools {
		out[i] = PoolRow{RunnerPool: p, Status: statuses[p.ID], Slots: counts[p.ID]}
	}
	return out, nil
}

// ActionsPage is everything about the pools of one application.
type ActionsPage struct {
	Application slipway.Application
	Pools       []PoolRow
	Open        []SlotRow // the slots that are not closed, the oldest first
	OpenAll     int       // how many of those there are; Open may be cut
	Closed      []SlotRow // those that were closed last
	Queue       []JobRow  // jobs that run, then those that wait, the longest waiting first
	QueueAll    int
	Recent      []JobRow // that ended last
}

// SlotRow is a slot and its pool.
type SlotRow struct {
	slipway.Slot
	Service string      // the pool's
	Runs    slipway.Job // the job that it has or had; zero: none that is known
}

// JobRow is a job as the pools of one application see it.
type JobRow struct {
	slipway.Job
	Service string // of the pool that it falls to or ran on; empty: of none here
	Slot    int64  // that it runs or ran on; 0: none of ours
	Why     Why
}

// PageSize bounds the lists of an application's pools. 0: what a page holds.
type PageSize struct{ Slots, Closed, Jobs, Recent int }

func (s PageSize) orDefault() PageSize {
	or := func(n, otherwise int) int {
		if n <= 0 {
			return otherwise
		}
		return min(n, store.MaxLimit)
	}
	return PageSize{or(s.Slots, 100), or(s.Closed, 15), or(s.Jobs, 50), or(s.Recent, 15)}
}

// Actions returns the pools of a runner application with what their runners do, and which
// jobs they run or are to run.
func (r *Reader) Actions(ctx context.Context, c slipway.Caller, applicationID int64, size PageSize) (ActionsPage, error) {
	return read(ctx, r, c, func(tx *store.Tx) (ActionsPage, error) {
		a, err := application(ctx, tx, c, applicationID)
		if err != nil {
			return ActionsPage{}, err
		}
		return actionsPage(ctx, tx, c, a, size.orDefault())
	})
}

func actionsPage(ctx context.Context, tx *store.Tx, c slipway.Caller, a slipway.Application, size PageSize) (p ActionsPage, err error) {
	p.Application = a
	all, err := poolsOf(ctx, tx)
	if err != nil {
		return p, err
	}
	names := map[int64]string{}
	for _, row := range all {
		if row.ApplicationID == a.ID {
			p.Pools = append(p.Pools, row)
			names[row.ID] = row.Service
		}
	}
	if len(p.Pools) == 0 {
		return p, nil
	}
	open, err := tx.OpenSlotsOf(ctx, a.ID)
	if err != nil {
		return p, err
	}
	closed, err := tx.Slots(ctx, store.SlotFilter{ApplicationID: a.ID, Closed: true}, Page{Limit: size.Closed})
	if err != nil {
		return p, err
	}
	p.OpenAll = len(open)
	shown := open[:min(len(open), size.Slots)]
	runners := make([]string, 0, len(shown)+len(closed.Items))
	for _, s := range append(shown[:len(shown):len(shown)], closed.Items...) {
		if s.Job != 0 || s.State == slipway.SlotBusy {
			runners = append(runners, s.Runner)
		}
	}
	jobs, err := tx.JobsOnRunners(ctx, a.EnvironmentID, runners)
	if err != nil {
		return p, err
	}
	row := func(s slipway.Slot) SlotRow {
		return SlotRow{Slot: s, Service: names[s.PoolID], Runs: jobs[s.Runner]}
	}
	for _, s := range shown {
		p.Open = append(p.Open, row(s))
	}
	for _, s := range closed.Items {
		p.Closed = append(p.Closed, row(s))
	}
	return p, addQueue(ctx, tx, c, a, all, open, size, &p)
}

// Slots lists the slots of an application, the newest first; of one of its pools when a
// service is given.
func (r *Reader) Slots(ctx context.Context, c slipway.Caller, applicationID int64, service string, openOnly bool, p Page) (List[SlotRow], error) {
	return read(ctx, r, c, func(tx *store.Tx) (out List[SlotRow], err error) {
		a, err := application(ctx, tx, c, applicationID)
		if err != nil {
			return out, err
		}
		pools, err := tx.RunnerPoolsOf(ctx, a.ID)
		if err != nil {
			return out, err
		}
		f := store.SlotFilter{ApplicationID: a.ID, Open: openOnly}
		names := services(pools)
		for _, pool := range pools {
			if pool.Service == service {
				f.PoolID = pool.ID
			}
		}
		if service != "" && f.PoolID == 0 {
			return out, missing("pool %s of %s", service, a.Ref())
		}
		list, err := tx.Slots(ctx, f, p)
		if err != nil {
			return out, err
		}
		var runners []string
		for _, s := range list.Items {
			if s.Job != 0 {
				runners = append(runners, s.Runner)
			}
		}
		jobs, err := tx.JobsOnRunners(ctx, a.EnvironmentID, runners)
		if err != nil {
			return out, err
		}
		out.Next = list.Next
		for _, s := range list.Items {
			out.Items = append(out.Items, SlotRow{Slot: s, Service: names[s.PoolID], Runs: jobs[s.Runner]})
		}
		return out, nil
	})
}
