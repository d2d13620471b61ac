package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"slipway.dev/slipway/internal/slipway"
)

const jobColumns = `host, id, run_id, attempt, owner, repository, repository_id, name, workflow, branch, url, labels, state, runner, runner_id,
	conclusion, queued_at, started_at, ended_at, seen_at`

func readJob(scan scan) (j slipway.Job, err error) {
	return j, scan(&j.Host, &j.ID, &j.RunID, &j.Attempt, &j.Owner, &j.Repository, &j.RepositoryID, &j.Name, &j.Workflow, &j.Branch, &j.URL,
		fromJSON(&j.Labels), &j.State, &j.Runner, &j.RunnerID, &j.Conclusion, at(&j.QueuedAt), at(&j.StartedAt), at(&j.EndedAt), at(&j.SeenAt))
}

// PutJob records what was heard of a job, through a connection of an environment (0: of
// the installation). It reports whether the job moved: old news, and the same again, move
// nothing. What an earlier word told and this one does not is kept.
func (tx *Tx) PutJob(ctx context.Context, j slipway.Job, environmentID int64) (moved bool, err error) {
	labels := j.Labels
	if labels == nil {
		labels = []string{}
	}
	n, err := tx.exec(ctx, `INSERT INTO forge_jobs (host, id, run_id, attempt, owner, owner_key, repository, repository_id, name, workflow, branch,
			url, labels, state, rank, runner, runner_id, conclusion, queued_at, started_at, ended_at, seen_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (host, id) DO UPDATE SET state = excluded.state, rank = excluded.rank, labels = excluded.labels,
			runner = CASE WHEN excluded.runner <> '' THEN excluded.runner ELSE forge_jobs.runner END,
			runner_id = CASE WHEN excluded.runner_id <> 0 THEN excluded.runner_id ELSE forge_jobs.runner_id END,
			conclusion = excluded.conclusion, queued_at = COALESCE(forge_jobs.queued_at, excluded.queued_at),
			started_at = COALESCE(excluded.started_at, forge_jobs.started_at), ended_at = COALESCE(excluded.ended_at, forge_jobs.ended_at),
			seen_at = excluded.seen_at
		WHERE forge_jobs.rank < excluded.rank`,
		j.Host, j.ID, j.RunID, j.Attempt, j.Owner, strings.ToLower(j.Owner), j.Repository, j.RepositoryID, j.Name, j.Workflow, j.Branch,
		j.URL, asJSON{labels}, j.State, j.State.Rank(), j.Runner, j.RunnerID, j.Conclusion, j.QueuedAt, j.StartedAt, j.EndedAt, tx.Now)
	if err != nil {
		return false, fmt.Errorf("record job %d of %s: %w", j.ID, j.Host, err)
	}
	fresh, err := tx.exec(ctx, `INSERT INTO job_scopes (host, job_id, environment_id) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`,
		j.Host, j.ID, environmentID)
	if err != nil {
		return false, fmt.Errorf("record where job %d of %s may run: %w", j.ID, j.Host, err)
	}
	return n > 0 || fresh > 0, nil
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
// once for every environment that may serve them, the longest waiting first.
func (tx *Tx) QueuedJobs(ctx context.Context, host, owner string) ([]ScopedJob, error) {
	jobs, err := all(ctx, tx, func(scan scan) (j ScopedJob, err error) {
		j.Job, err = readJob(func(dest ...any) error { return scan(append(dest, &j.EnvironmentID)...) })
		return j, err
	}, `SELECT `+jobColumns+`, s.environment_id FROM forge_jobs JOIN job_scopes s USING (host)
		WHERE s.job_id = id AND host = ? AND owner_key = ? AND state = 'queued' AND queued_at > ? ORDER BY queued_at, id`,
		host, strings.ToLower(owner), tx.Now.Add(-slipway.MaxQueued))
	if err != nil {
		return nil, fmt.Errorf("list queued jobs of %s: %w", owner, err)
	}
	return jobs, nil
}

// JobsOnRunners finds the newest word of the jobs that runners of these names have or had.
func (tx *Tx) JobsOnRunners(ctx context.Context, runners []string) (map[string]slipway.Job, error) {
	out := map[string]slipway.Job{}
	for _, name := range runners {
		jobs, err := tx.jobs(ctx, `WHERE runner = ? AND runner <> '' ORDER BY rank, seen_at`, name)
		if err != nil {
			return nil, err
		}
		for _, j := range jobs {
			out[name] = j
		}
	}
	return out, nil
}

// JobsOfSlots finds the newest word of the jobs that the open slots of a pool have or had,
// by the name of the runner.
func (tx *Tx) JobsOfSlots(ctx context.Context, poolID int64) (map[string]slipway.Job, error) {
	jobs, err := tx.jobs(ctx, `WHERE runner <> '' AND runner IN (SELECT runner FROM runner_slots WHERE pool_id = ? AND closed_at IS NULL)
		ORDER BY rank, seen_at`, poolID)
	if err != nil {
		return nil, err
	}
	out := map[string]slipway.Job{}
	for _, j := range jobs {
		out[j.Runner] = j
	}
	return out, nil
}

// JobFilter narrows a list of jobs. Zero fields do not.
type JobFilter struct {
	Host, Owner, Repository string // Owner and Repository without regard to case
	States                  []slipway.JobState
	RunID                   int64
	Since                   time.Time
}

// Jobs lists jobs, the newest first.
func (tx *Tx) Jobs(ctx context.Context, f JobFilter, p Page) (List[slipway.Job], error) {
	after, err := p.afterID()
	if err != nil {
		return List[slipway.Job]{}, err
	}
	var w where
	w.andIf(f.Host != "", `host = ?`, f.Host)
	w.andIf(f.Owner != "", `owner_key = ?`, strings.ToLower(f.Owner))
	w.andIf(f.Repository != "", `LOWER(repository) = ?`, strings.ToLower(f.Repository))
	w.andIf(f.RunID != 0, `run_id = ?`, f.RunID)
	w.andIf(!f.Since.IsZero(), `seen_at >= ?`, f.Since)
	if len(f.States) > 0 {
		args := make([]any, len(f.States))
		for i, s := range f.States {
			args[i] = s
		}
		w.and(`state IN (?`+strings.Repeat(`, ?`, len(args)-1)+`)`, args...)
	}
	w.andIf(after > 0, `id < ?`, after)
	rows, err := tx.jobs(ctx, w.String()+` ORDER BY id DESC LIMIT ?`, w.with(p.more())...)
	if err != nil {
		return List[slipway.Job]{}, err
	}
	return list(p, rows, func(j slipway.Job) []string { return idKey(j.ID) }), nil
}

// Repositories lists the repositories on a host that jobs were heard of since a time, for
// an owner, as owner and name.
func (tx *Tx) Repositories(ctx context.Context, host, owner string, since time.Time) ([][2]string, error) {
	rs, err := all(ctx, tx, func(scan scan) (r [2]string, err error) { return r, scan(&r[0], &r[1]) },
		`SELECT DISTINCT owner, repository FROM forge_jobs WHERE host = ? AND owner_key = ? AND seen_at > ? ORDER BY owner, repository`,
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
