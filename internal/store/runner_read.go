package store

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"slipway.dev/slipway/internal/slipway"
)

// SlotFilter narrows a list of slots. Zero fields do not.
type SlotFilter struct {
	ApplicationID int64
	PoolID        int64
	Open          bool // only those that are not closed
	Closed        bool // only those that are
}

func (f SlotFilter) where() (w where) {
	w.andIf(f.ApplicationID != 0, `pool_id IN (SELECT id FROM runner_pools WHERE application_id = ?)`, f.ApplicationID)
	w.andIf(f.PoolID != 0, `pool_id = ?`, f.PoolID)
	w.andIf(f.Open, `closed_at IS NULL`)
	w.andIf(f.Closed, `closed_at IS NOT NULL`)
	return w
}

// Slots lists slots, the newest first.
func (tx *Tx) Slots(ctx context.Context, f SlotFilter, p Page) (List[slipway.Slot], error) {
	after, err := p.afterID()
	if err != nil {
		return List[slipway.Slot]{}, err
	}
	w := f.where()
	w.andIf(after > 0, `id < ?`, after)
	rows, err := tx.slots(ctx, w.String()+` ORDER BY id DESC LIMIT ?`, w.with(p.more())...)
	if err != nil {
		return List[slipway.Slot]{}, err
	}
	return list(p, rows, func(s slipway.Slot) []string { return idKey(s.ID) }), nil
}

// OpenSlotsOf lists the open slots of an application's pools, the oldest first.
func (tx *Tx) OpenSlotsOf(ctx context.Context, applicationID int64) ([]slipway.Slot, error) {
	w := SlotFilter{ApplicationID: applicationID, Open: true}.where()
	return tx.slots(ctx, w.String()+` ORDER BY id`, w.args...)
}

// SlotsByRunner finds the slots, open or closed, of runners of these names.
func (tx *Tx) SlotsByRunner(ctx context.Context, runners []string) (map[string]slipway.Slot, error) {
	out := map[string]slipway.Slot{}
	for some := range slices.Chunk(runners, 500) {
		these, args := oneOf(`runner`, some)
		slots, err := tx.slots(ctx, `WHERE `+these, args...)
		if err != nil {
			return nil, err
		}
		for _, s := range slots {
			out[s.Runner] = s
		}
	}
	return out, nil
}

// ForgeOwner is an owner on a forge's host.
type ForgeOwner struct{ Host, Owner string }

// HeardFilter picks jobs of owners that were heard of through the connections of an
// environment or of the installation.
type HeardFilter struct {
	Owners        []ForgeOwner // none: no job
	EnvironmentID int64
	State         slipway.JobState // empty: any
	RunID         int64            // 0: any
}

func (f HeardFilter) where() (w where) {
	var pairs []string
	var args []any
	for _, o := range f.Owners {
		pairs = append(pairs, `host = ? AND owner_key = ?`)
		args = append(args, o.Host, strings.ToLower(o.Owner))
	}
	w.and(`(`+strings.Join(pairs, ` OR `)+`)`, args...)
	w.and(`EXISTS (SELECT 1 FROM job_scopes s WHERE s.host = forge_jobs.host AND s.job_id = forge_jobs.id AND s.environment_id IN (0, ?))`, f.EnvironmentID)
	w.andIf(f.State != "", `state = ?`, f.State)
	w.andIf(f.RunID != 0, `run_id = ?`, f.RunID)
	return w
}

// JobsHeard lists jobs, the newest first.
func (tx *Tx) JobsHeard(ctx context.Context, f HeardFilter, p Page) (List[slipway.Job], error) {
	parts, more, err := p.after(2)
	if err != nil || len(f.Owners) == 0 {
		return List[slipway.Job]{}, err
	}
	w := f.where()
	if more {
		id, err := parseID(parts[1])
		if err != nil {
			return List[slipway.Job]{}, err
		}
		w.and(`(id < ? OR id = ? AND host < ?)`, id, id, parts[0])
	}
	rows, err := tx.jobs(ctx, w.String()+` ORDER BY id DESC, host DESC LIMIT ?`, w.with(p.more())...)
	if err != nil {
		return List[slipway.Job]{}, err
	}
	return list(p, rows, func(j slipway.Job) []string { return []string{j.Host, formatID(j.ID)} }), nil
}

// askColumns are what a pool is chosen by, and the order of a queue. A queue may be long,
// and most of it is only counted.
const askColumns = `host, id, owner, repository, labels, state, runner, queued_at`

func readAsk(scan scan) (j slipway.Job, err error) {
	return j, scan(&j.Host, &j.ID, &j.Owner, &j.Repository, fromJSON(&j.Labels), &j.State, &j.Runner, at(&j.QueuedAt))
}

// OpenJobsHeard lists the jobs that have not ended, the longest waiting first, with what
// they ask for and no more. Of those that nothing was heard of since a time nothing is told.
func (tx *Tx) OpenJobsHeard(ctx context.Context, f HeardFilter, since time.Time, limit int) ([]slipway.Job, error) {
	if len(f.Owners) == 0 {
		return nil, nil
	}
	w := f.where()
	w.and(`state <> 'completed'`)
	w.and(`seen_at > ?`, since)
	js, err := all(ctx, tx, readAsk, `SELECT `+askColumns+` FROM forge_jobs `+w.String()+` ORDER BY queued_at, id LIMIT ?`, w.with(limit)...)
	if err != nil {
		return nil, fmt.Errorf("list open jobs: %w", err)
	}
	return js, nil
}

// QueuedBefore lists the jobs of an owner that were queued before another of its, and not
// too long ago, with what they ask for and no more.
func (tx *Tx) QueuedBefore(ctx context.Context, j slipway.Job) ([]slipway.Job, error) {
	js, err := all(ctx, tx, readAsk, `SELECT `+askColumns+` FROM forge_jobs WHERE host = ? AND owner_key = ? AND state = 'queued'
		AND queued_at > ? AND (queued_at < ? OR queued_at = ? AND id < ?) ORDER BY queued_at, id LIMIT 5000`,
		j.Host, strings.ToLower(j.Owner), tx.Now.Add(-slipway.MaxQueued), j.QueuedAt, j.QueuedAt, j.ID)
	if err != nil {
		return nil, fmt.Errorf("list the jobs queued before %d: %w", j.ID, err)
	}
	return js, nil
}

// FillJobs reads the rest of jobs of which only a part was read. One that is gone meanwhile
// stays as it is.
func (tx *Tx) FillJobs(ctx context.Context, jobs []*slipway.Job) error {
	byHost := map[string]map[int64]*slipway.Job{}
	for _, j := range jobs {
		if byHost[j.Host] == nil {
			byHost[j.Host] = map[int64]*slipway.Job{}
		}
		byHost[j.Host][j.ID] = j
	}
	for host, of := range byHost {
		for ids := range slices.Chunk(slices.Collect(maps.Keys(of)), 500) {
			these, args := oneOf(`id`, ids)
			whole, err := tx.jobs(ctx, `WHERE `+these+` AND host = ?`, append(args, host)...)
			if err != nil {
				return err
			}
			for _, j := range whole {
				*of[j.ID] = j
			}
		}
	}
	return nil
}

// ScopesOf returns, job by job, the environments through whose connections it was heard of;
// 0 stands for the installation.
func (tx *Tx) ScopesOf(ctx context.Context, jobs []slipway.Job) ([][]int64, error) {
	type row struct {
		host             string
		job, environment int64
	}
	at := map[row]int{}
	byHost := map[string][]int64{}
	for i, j := range jobs {
		at[row{host: j.Host, job: j.ID}] = i
		byHost[j.Host] = append(byHost[j.Host], j.ID)
	}
	out := make([][]int64, len(jobs))
	for host, ids := range byHost {
		for some := range slices.Chunk(ids, 500) {
			these, args := oneOf(`job_id`, some)
			rows, err := all(ctx, tx, func(scan scan) (r row, err error) { return r, scan(&r.host, &r.job, &r.environment) },
				`SELECT host, job_id, environment_id FROM job_scopes WHERE `+these+` AND host = ?
					ORDER BY job_id, environment_id`, append(args, host)...)
			if err != nil {
				return nil, fmt.Errorf("read where jobs of %s may run: %w", host, err)
			}
			for _, r := range rows {
				i := at[row{host: r.host, job: r.job}]
				out[i] = append(out[i], r.environment)
			}
		}
	}
	return out, nil
}
