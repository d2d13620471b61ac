package store

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"slipway.dev/slipway/internal/slipway"
)

const jobColumns = `host, id, run_id, attempt, owner, repository, repository_id, name, workflow, branch, url, labels, state, runner, runner_id,
	conclusion, queued_at, started_at, ended_at, seen_at`

// qualified puts a table's name before each column.
func qualified(table, columns string) string {
	names := strings.Split(columns, ",")
	for i, n := range names {
		names[i] = table + "." + strings.TrimSpace(n)
	}
	return strings.Join(names, ", ")
}

func readJob(scan scan) (j slipway.Job, err error) {
	return j, scan(&j.Host, &j.ID, &j.RunID, &j.Attempt, &j.Owner, &j.Repository, &j.RepositoryID, &j.Name, &j.Workflow, &j.Branch, &j.URL,
		fromJSON(&j.Labels), &j.State, &j.Runner, &j.RunnerID, &j.Conclusion, at(&j.QueuedAt), at(&j.StartedAt), at(&j.EndedAt), at(&j.SeenAt))
}

func (tx *Tx) Job(ctx context.Context, host string, id int64) (slipway.Job, error) {
	return one(ctx, tx, fmt.Sprintf("job %d of %s", id, host), readJob, `SELECT `+jobColumns+` FROM forge_jobs WHERE host = ? AND id = ?`, host, id)
}

// JobScopes lists the environments through whose connections a job was heard of; 0 stands
// for the installation.
func (tx *Tx) JobScopes(ctx context.Context, host string, id int64) ([]int64, error) {
	ids, err := all(ctx, tx, func(scan scan) (id int64, err error) { return id, scan(&id) },
		`SELECT environment_id FROM job_scopes WHERE host = ? AND job_id = ? ORDER BY environment_id`, host, id)
	if err != nil {
		return nil, fmt.Errorf("read where job %d of %s may run: %w", id, host, err)
	}
	return ids, nil
}

// ScopedJob is a job with the environments that may serve it; 0 stands for all.
type ScopedJob struct {
	slipway.Job
	EnvironmentID int64
}

// QueuedJobs lists the demand of an owner on a host: jobs that are queued and not too old,
// once for every environment that may serve them, the longest waiting first. A job is
// queued for an environment until its own connections, or one of the installation, or the
// forge itself say otherwise.
//
// There may be tens of thousands, and a pool reads them at each look. So of each job there
// is only what says whom it concerns: its ID, place, labels, and since when it waits.
func (tx *Tx) QueuedJobs(ctx context.Context, host, owner string) ([]ScopedJob, error) {
	type row struct{ owner, repository, labels string }
	known := map[row]slipway.Job{} // most jobs ask for the same as others, and share it in memory
	jobs, err := all(ctx, tx, func(scan scan) (j ScopedJob, err error) {
		var r row
		var id int64
		var queued time.Time
		if err := scan(&id, &r.owner, &r.repository, &r.labels, at(&queued), &j.EnvironmentID); err != nil {
			return j, err
		}
		like, ok := known[r]
		if !ok {
			like = slipway.Job{Host: host, Owner: r.owner, Repository: r.repository, State: slipway.JobQueued} // whatever another environment's connection was told
			if err := json.Unmarshal([]byte(r.labels), &like.Labels); err != nil {
				return j, fmt.Errorf("read the labels of job %d: %w", id, err)
			}
			known[r] = like
		}
		j.Job = like
		j.ID, j.QueuedAt = id, queued
		return j, nil
	}, `SELECT f.id, f.owner, f.repository, f.labels, f.queued_at, s.environment_id FROM job_scopes s JOIN forge_jobs f ON f.host = s.host AND f.id = s.job_id
		WHERE s.rank = 2 AND s.host = ? AND f.owner_key = ? AND f.queued_at > ?`,
		host, strings.ToLower(owner), tx.Now.Add(-slipway.MaxQueued))
	if err != nil {
		return nil, fmt.Errorf("list queued jobs of %s: %w", owner, err)
	}
	// The database would sort wide rows, and takes longer.
	slices.SortFunc(jobs, func(a, b ScopedJob) int {
		return cmp.Or(a.QueuedAt.Compare(b.QueuedAt), cmp.Compare(a.ID, b.ID), cmp.Compare(a.EnvironmentID, b.EnvironmentID))
	})
	return jobs, nil
}

// JobsOnRunners finds the newest word of the jobs that runners of these names have or had,
// as an environment was told.
func (tx *Tx) JobsOnRunners(ctx context.Context, environmentID int64, runners []string) (map[string]slipway.Job, error) {
	out := map[string]slipway.Job{}
	for names := range slices.Chunk(runners, 500) {
		these, args := oneOf(`s.runner`, names)
		if err := tx.jobsOnRunners(ctx, out, environmentID, these, args...); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// JobsOfSlots finds the newest word of the jobs that the open slots of a pool have or had,
// by the name of the runner, as the pool's environment was told.
func (tx *Tx) JobsOfSlots(ctx context.Context, p slipway.RunnerPool) (map[string]slipway.Job, error) {
	out := map[string]slipway.Job{}
	return out, tx.jobsOnRunners(ctx, out, p.EnvironmentID, `s.runner IN (SELECT runner FROM runner_slots WHERE pool_id = ? AND closed_at IS NULL)`, p.ID)
}

func (tx *Tx) jobsOnRunners(ctx context.Context, out map[string]slipway.Job, environmentID int64, these string, args ...any) error {
	jobs, err := all(ctx, tx, func(scan scan) (j slipway.Job, err error) {
		var rank int
		var runner string
		j, err = readJob(func(dest ...any) error { return scan(append(dest, &rank, &runner)...) })
		if j.Runner = runner; j.State.Rank() != rank { // another environment was told more, or something else
			j.State, j.Conclusion, j.EndedAt = slipway.JobStateOf(rank), "", time.Time{}
		}
		return j, err
	}, `SELECT `+qualified(`f`, jobColumns)+`, s.rank, s.runner FROM job_scopes s JOIN forge_jobs f ON f.host = s.host AND f.id = s.job_id
		WHERE s.runner <> '' AND `+these+` AND s.environment_id IN (0, ?) ORDER BY s.rank, f.seen_at`, append(args, environmentID)...)
	if err != nil {
		return fmt.Errorf("list the jobs of runners: %w", err)
	}
	for _, j := range jobs {
		out[j.Runner] = j
	}
	return nil
}

// Repositories lists the repositories on a host that jobs were heard of since a time, for
// an owner, as owner and name, the last heard of first.
func (tx *Tx) Repositories(ctx context.Context, host, owner string, since time.Time) ([][2]string, error) {
	rs, err := all(ctx, tx, func(scan scan) (r [2]string, err error) { return r, scan(&r[0], &r[1]) },
		`SELECT MAX(owner), repository FROM forge_jobs WHERE host = ? AND owner_key = ? AND seen_at > ?
		GROUP BY repository ORDER BY MAX(seen_at) DESC, repository`,
		host, strings.ToLower(owner), since)
	if err != nil {
		return nil, fmt.Errorf("list the known repositories of %s: %w", owner, err)
	}
	return rs, nil
}

// PruneJobs drops jobs that nothing was heard of since a time, at most limit, and says how
// many.
func (tx *Tx) PruneJobs(ctx context.Context, before time.Time, limit int) (int64, error) {
	n, err := tx.exec(ctx, `DELETE FROM forge_jobs WHERE (host, id) IN (SELECT host, id FROM forge_jobs WHERE seen_at < ? LIMIT ?)`, before, limit)
	if err != nil {
		return 0, fmt.Errorf("drop old jobs: %w", err)
	}
	return n, nil
}

func (tx *Tx) jobs(ctx context.Context, rest string, args ...any) ([]slipway.Job, error) {
	js, err := all(ctx, tx, readJob, `SELECT `+jobColumns+` FROM forge_jobs `+rest, args...)
	if err != nil {
		return nil, fmt.Errorf("list jobs: %w", err)
	}
	return js, nil
}

// JobsWithID lists the jobs of this number at the forges that there are pools for: one,
// unless several count as far.
func (tx *Tx) JobsWithID(ctx context.Context, id int64) ([]slipway.Job, error) {
	return tx.jobs(ctx, `WHERE host IN (SELECT host FROM runner_pools) AND id = ? ORDER BY host`, id)
}
