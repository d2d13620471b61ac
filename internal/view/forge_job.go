package view

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// JobPage is one job, why it waits, and who serves it.
type JobPage struct {
	slipway.Job
	Known bool // whether anything was heard of it
	Why   Why
	Slot  *SlotRow           // that it runs or ran on; nil: none of ours
	Pool  slipway.RunnerPool // that the caller sees, and that serves the job or ran it; zero: none
}

const (
	// openJobs is how many open jobs of an application's owners are looked through for its
	// queue, recentScanned how many ended ones for those that ended last, and scannedJobs how
	// many of any a page of its jobs is filled from.
	openJobs, recentScanned, scannedJobs = 2000, 400, 5000
	// staleJobs is how long a job that is not known to have ended is shown after the last
	// word of it. A forge ends one that runs for longer.
	staleJobs = 6 * 24 * time.Hour
)

// owners are the owners of an application's pools.
func owners(pools []slipway.RunnerPool) (out []store.ForgeOwner) {
	for _, p := range pools {
		o := store.ForgeOwner{Host: p.Spec.Scope.Host(), Owner: strings.ToLower(p.Spec.Scope.Owner)}
		if !slices.Contains(out, o) {
			out = append(out, o)
		}
	}
	return out
}

// servers finds which of some pools serves a job first. Jobs mostly ask for what others
// asked for before them, so an answer is kept.
type servers struct {
	pools []slipway.RunnerPool
	known map[string]int // by what a job asks for; -1: none
}

func newServers(pools []slipway.RunnerPool) *servers {
	return &servers{slices.SortedFunc(slices.Values(pools), slipway.PoolOrder), map[string]int{}}
}

func (s *servers) first(j slipway.Job) (slipway.RunnerPool, bool) {
	ask := strings.Join(append([]string{j.Host, j.Owner, j.Repository}, j.Labels...), "\x00")
	i, ok := s.known[ask]
	if !ok {
		i = slices.IndexFunc(s.pools, func(p slipway.RunnerPool) bool { return p.Spec.Serves(j) })
		s.known[ask] = i
	}
	if i < 0 {
		return slipway.RunnerPool{}, false
	}
	return s.pools[i], true
}

// addQueue adds the jobs of an application's pools: those that run, those that wait, with
// why, and those that ended last.
func addQueue(ctx context.Context, tx *store.Tx, c slipway.Caller, a slipway.Application, all []PoolRow, open []slipway.Slot, size PageSize, p *ActionsPage) error {
	s, own := situation(c, a, all, open, tx.Now)
	var err error
	if s.Cluster, err = tx.ClusterView(ctx); err != nil {
		return err
	}
	heard := store.HeardFilter{Owners: owners(own), EnvironmentID: a.EnvironmentID}
	jobs, err := tx.OpenJobsHeard(ctx, heard, tx.Now.Add(-staleJobs), openJobs)
	if err != nil {
		return err
	}
	slotOf := map[string]slipway.Slot{}
	for _, slot := range open {
		slotOf[slot.Runner] = slot
	}
	names, first, before := services(own), newServers(own), map[int64]int{}
	type entry struct{ row, ahead int }
	var queued []entry // of p.Queue, those to be explained
	for _, j := range jobs {
		pool, ok := first.first(j)
		if !ok {
			continue
		}
		row := JobRow{Job: j, Service: pool.Service}
		if slot, ours := slotOf[j.Runner]; ours && j.Runner != "" {
			row.Slot, row.Service = slot.ID, names[slot.PoolID]
		}
		if p.QueueAll++; len(p.Queue) < 2*size.Jobs || j.State == slipway.JobRunning {
			queued = append(queued, entry{len(p.Queue), before[pool.ID]})
			p.Queue = append(p.Queue, row)
		}
		if j.State == slipway.JobQueued && tx.Now.Sub(j.QueuedAt) < slipway.MaxQueued {
			before[pool.ID]++
		}
	}
	slices.SortStableFunc(queued, func(a, b entry) int { return cmp.Compare(turn(p.Queue[a.row].State), turn(p.Queue[b.row].State)) })
	queued = queued[:min(len(queued), size.Jobs)]
	shown := make([]JobRow, len(queued))
	parts := make([]*slipway.Job, len(queued))
	for i, e := range queued {
		shown[i] = p.Queue[e.row]
		parts[i] = &shown[i].Job
	}
	p.Queue = shown
	if err := tx.FillJobs(ctx, parts); err != nil {
		return err
	}
	if err := explain(ctx, tx, s, p.Queue, func(i int) int { return queued[i].ahead }); err != nil {
		return err
	}
	heard.State = slipway.JobCompleted
	recent, err := servedJobs(ctx, tx, heard, own, Page{Limit: size.Recent}, s, recentScanned)
	p.Recent = recent.Items
	return err
}

// explain says of each job why it waits.
func explain(ctx context.Context, tx *store.Tx, s Situation, rows []JobRow, ahead func(i int) int) error {
	jobs := make([]slipway.Job, len(rows))
	for i, r := range rows {
		jobs[i] = r.Job
	}
	scopes, err := tx.ScopesOf(ctx, jobs)
	if err != nil {
		return err
	}
	for i := range rows {
		s.Scopes, s.Ahead = scopes[i], ahead(i)
		rows[i].Why = WhyWaiting(rows[i].Job, s)
	}
	return nil
}

func services(pools []slipway.RunnerPool) map[int64]string {
	out := map[int64]string{}
	for _, p := range pools {
		out[p.ID] = p.Service
	}
	return out
}

// turn is the order in which the states of a queue's jobs are shown.
func turn(s slipway.JobState) int {
	return slices.Index([]slipway.JobState{slipway.JobRunning, slipway.JobQueued, slipway.JobWaiting, slipway.JobCompleted}, s)
}

// situation is what a caller may know around the jobs of an application. Connections and
// cluster are still to be read.
func situation(c slipway.Caller, a slipway.Application, all []PoolRow, open []slipway.Slot, now time.Time) (s Situation, own []slipway.RunnerPool) {
	s = Situation{
		Now: now, Statuses: map[int64]slipway.PoolStatus{}, Counts: map[int64]map[slipway.SlotState]int{}, Slots: map[int64][]slipway.Slot{},
	}
	for _, slot := range open {
		s.Slots[slot.PoolID] = append(s.Slots[slot.PoolID], slot)
	}
	for _, row := range all {
		if row.ApplicationID == a.ID {
			own = append(own, row.RunnerPool)
		} else if !c.Sees(row.Project, row.Environment) {
			continue
		}
		s.Pools = append(s.Pools, row.RunnerPool)
		s.Statuses[row.ID], s.Counts[row.ID] = row.Status, row.Slots
	}
	return s, own
}

// JobsFilter narrows the list of an application's jobs.
type JobsFilter struct {
	State slipway.JobState
	RunID int64
}

// Jobs lists the jobs that the pools of an application serve, the newest first.
func (r *Reader) Jobs(ctx context.Context, c slipway.Caller, applicationID int64, f JobsFilter, p Page) (List[JobRow], error) {
	return read(ctx, r, c, func(tx *store.Tx) (out List[JobRow], err error) {
		a, err := application(ctx, tx, c, applicationID)
		if err != nil {
			return out, err
		}
		all, err := poolsOf(ctx, tx)
		if err != nil {
			return out, err
		}
		open, err := tx.OpenSlotsOf(ctx, a.ID)
		if err != nil {
			return out, err
		}
		s, own := situation(c, a, all, open, tx.Now)
		if s.Cluster, err = tx.ClusterView(ctx); err != nil {
			return out, err
		}
		heard := store.HeardFilter{Owners: owners(own), EnvironmentID: a.EnvironmentID, State: f.State, RunID: f.RunID}
		return servedJobs(ctx, tx, heard, own, p, s, scannedJobs)
	})
}

// servedJobs fills a page with those of the jobs heard that the pools serve. It looks
// through a bounded number, so that a page may be short and yet have a next one.
func servedJobs(ctx context.Context, tx *store.Tx, f store.HeardFilter, own []slipway.RunnerPool, p Page, s Situation, most int) (out List[JobRow], err error) {
	limit := p.Length()
	skip, after, err := cutCursor(p.After)
	if err != nil {
		return out, err
	}
	first := newServers(own)
	full := func() error {
		return errors.Join(addSlots(ctx, tx, own, out.Items), explain(ctx, tx, s, out.Items, func(int) int { return 0 }))
	}
	for scanned := 0; ; {
		part, err := tx.JobsHeard(ctx, f, Page{Limit: min(4*limit, store.MaxLimit), After: after})
		if err != nil {
			return out, err
		}
		for i, j := range part.Items {
			pool, ok := first.first(j)
			if i < skip || !ok {
				continue
			}
			if len(out.Items) == limit {
				out.Next = cursor(i, after)
				return out, full()
			}
			out.Items = append(out.Items, JobRow{Job: j, Service: pool.Service})
		}
		scanned += len(part.Items)
		if skip, after = 0, part.Next; after == "" || scanned >= most {
			if after != "" {
				out.Next = cursor(0, after)
			}
			return out, full()
		}
	}
}

// addSlots adds the slots that jobs ran on.
func addSlots(ctx context.Context, tx *store.Tx, own []slipway.RunnerPool, rows []JobRow) error {
	var runners []string
	for _, j := range rows {
		if j.Runner != "" {
			runners = append(runners, j.Runner)
		}
	}
	slots, err := tx.SlotsByRunner(ctx, runners)
	if err != nil {
		return err
	}
	names := services(own)
	for i, j := range rows {
		if slot, ok := slots[j.Runner]; ok && j.Runner != "" {
			rows[i].Slot = slot.ID
			if name := names[slot.PoolID]; name != "" {
				rows[i].Service = name
			}
		}
	}
	return nil
}

// Job answers for one job of a forge, known or not. One that the caller may not see is not
// known: not even that it exists is told.
func (r *Reader) Job(ctx context.Context, c slipway.Caller, host string, id int64) (JobPage, error) {
	return read(ctx, r, c, func(tx *store.Tx) (p JobPage, err error) {
		s, err := around(ctx, tx, c)
		if err != nil {
			return p, err
		}
		p.Job, err = tx.Job(ctx, host, id)
		if err == nil {
			s.Scopes, err = tx.JobScopes(ctx, host, id)
		}
		if err != nil && !slipway.Is(err, slipway.NotFound) {
			return p, err
		}
		if err != nil || !s.seesJob(c, p.Job) {
			p.Job = slipway.Job{Host: host, ID: id}
			p.Why = Unheard(host, "", s)
			return p, nil //nolint:nilerr // NotFound is the answer
		}
		p.Known = true
		return p, addJob(ctx, tx, s, &p)
	})
}

// around reads what the caller may know around any job.
func around(ctx context.Context, tx *store.Tx, c slipway.Caller) (s Situation, err error) {
	all, err := poolsOf(ctx, tx)
	if err != nil {
		return s, err
	}
	s, _ = situation(c, slipway.Application{}, all, nil, tx.Now)
	if s.Cluster, err = tx.ClusterView(ctx); err != nil {
		return s, err
	}
	connections, err := tx.Connections(ctx)
	if err != nil {
		return s, err
	}
	for _, conn := range connections {
		// That of the installation may be what a confined token waits for as well, but its name
		// and its troubles are not its business.
		if conn.EnvironmentID == 0 && (c.Project != "" || c.Environment != "") {
			conn = slipway.Connection{ID: conn.ID, Name: "of the installation", BaseURL: conn.BaseURL, LastDelivery: conn.LastDelivery}
		} else if conn.EnvironmentID != 0 && !c.Sees(conn.Project, conn.Environment) {
			continue
		}
		s.Connections = append(s.Connections, conn)
	}
	return s, nil
}

// seesJob reports whether a caller may know of a job. Who sees the installation sees all.
// A confined token sees those that may run on pools that it sees.
func (s Situation) seesJob(c slipway.Caller, j slipway.Job) bool {
	if c.Project == "" && c.Environment == "" {
		return true
	}
	return slices.ContainsFunc(s.Pools, func(p slipway.RunnerPool) bool {
		return p.Spec.Scope.Host() == j.Host && p.Spec.Scope.Covers(j.Owner, j.Repository) && s.mayWake(p)
	})
}

// addJob adds who serves a job and why it waits.
func addJob(ctx context.Context, tx *store.Tx, s Situation, p *JobPage) error {
	var reach []slipway.RunnerPool
	for _, pool := range s.Pools {
		if pool.Spec.Scope.Host() == p.Host && pool.Spec.Scope.Covers(p.Owner, p.Repository) {
			reach = append(reach, pool)
		}
	}
	servers := newServers(reach)
	first, served := servers.first(p.Job)
	if served && s.mayWake(first) {
		p.Pool = first
	}
	for _, pool := range reach {
		slots, err := tx.OpenSlots(ctx, pool.ID)
		if err != nil {
			return err
		}
		s.Slots[pool.ID] = slots
	}
	if p.Runner != "" {
		slot, err := tx.SlotByRunner(ctx, p.Runner)
		if err != nil && !slipway.Is(err, slipway.NotFound) {
			return err
		}
		for _, pool := range s.Pools {
			if err == nil && pool.ID == slot.PoolID {
				p.Pool, p.Slot = pool, &SlotRow{Slot: slot, Service: pool.Service, Runs: p.Job}
			}
		}
	}
	if p.State == slipway.JobQueued {
		queued, err := tx.QueuedBefore(ctx, p.Job)
		if err != nil {
			return err
		}
		s.Ahead = before(queued, servers, first)
	}
	p.Why = WhyWaiting(p.Job, s)
	return nil
}

// before counts those of the jobs that fall to a pool.
func before(queued []slipway.Job, servers *servers, pool slipway.RunnerPool) (n int) {
	for _, q := range queued {
		if first, ok := servers.first(q); ok && first.ID == pool.ID {
			n++
		}
	}
	return n
}
