package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"slipway.dev/slipway/internal/slipway"
)

// JobWord is one word of a job, and through what it came.
type JobWord struct {
	slipway.Job
	EnvironmentID int64 // of the connection, or of the pool that asked; 0: of the installation
	Certain       bool  // it is the forge's own answer, and so counts for all environments
}

// JobMove is what a word of a job has changed.
type JobMove struct {
	Moved  bool // the job has come further by it, or came to another environment
	Unseen bool // it is the first word of a job that is no longer queued: others were lost
}

type jobKey struct {
	host string
	id   int64
}

// PutJob is PutJobs for one word of a connection. It reports whether the job moved.
func (tx *Tx) PutJob(ctx context.Context, j slipway.Job, environmentID int64) (moved bool, err error) {
	m, err := tx.PutJobs(ctx, []JobWord{{Job: j, EnvironmentID: environmentID}})
	if err != nil {
		return false, err
	}
	return m[0].Moved, nil
}

// PutJobs records what was heard of jobs, in the order of the words. Old news, and the same
// again, move nothing; what an earlier word told and a later one does not is kept. How far
// a job has come is kept for each environment: a word through the connection of one moves
// it there, a word of the installation's or of the forge itself moves it everywhere.
func (tx *Tx) PutJobs(ctx context.Context, words []JobWord) ([]JobMove, error) {
	ranks, err := tx.jobRanks(ctx, words)
	if err != nil {
		return nil, err
	}
	moves := make([]JobMove, len(words))
	jobs, moved := map[jobKey]slipway.Job{}, map[jobKey]map[int64]told{}
	for i, w := range words {
		k := jobKey{w.Host, w.ID}
		known, rank := ranks[k], w.State.Rank()
		if known == nil {
			known = map[int64]int{}
			ranks[k] = known
		}
		moves[i].Unseen = len(known) == 0 && w.State.Rank() > slipway.JobQueued.Rank()
		before, fresh := max(known[w.EnvironmentID], known[0]), known[w.EnvironmentID] == 0
		to := map[int64]int{}
		if fresh || before < rank {
			to[w.EnvironmentID] = max(before, rank)
		}
		if w.Certain || w.EnvironmentID == 0 {
			for e, r := range known {
				if r < rank {
					to[e] = rank
				}
			}
		}
		for e, r := range to {
			moves[i].Moved = moves[i].Moved || r == rank && known[e] < rank && before < rank || e != w.EnvironmentID
			known[e] = r
			if moved[k] == nil {
				moved[k] = map[int64]told{}
			}
			moved[k][e] = told{r, cmp.Or(w.Runner, moved[k][e].runner)}
		}
		if len(to) > 0 {
			jobs[k] = laterWord(jobs[k], w.Job)
		}
	}
	if err := tx.writeJobs(ctx, jobs); err != nil {
		return nil, err
	}
	return moves, tx.writeRanks(ctx, moved)
}

// told is what an environment was told of a job: how far it has come, and on whose runner.
// A word that one environment was told says nothing of the runners of another.
type told struct {
	rank   int
	runner string
}

// laterWord is what is known of a job after two words of it.
func laterWord(a, b slipway.Job) slipway.Job {
	if a.ID == 0 {
		return b
	}
	if b.State.Rank() < a.State.Rank() {
		a, b = b, a
	}
	if len(a.Labels) > 0 {
		b.Labels = a.Labels
	}
	if !a.QueuedAt.IsZero() {
		b.QueuedAt = a.QueuedAt
	}
	if b.StartedAt.IsZero() {
		b.StartedAt = a.StartedAt
	}
	if b.EndedAt.IsZero() {
		b.EndedAt = a.EndedAt
	}
	b.Runner, b.RunnerID = cmp.Or(b.Runner, a.Runner), cmp.Or(b.RunnerID, a.RunnerID)
	return b
}

// jobRanks reads how far the jobs have come in each environment that knows them.
func (tx *Tx) jobRanks(ctx context.Context, words []JobWord) (map[jobKey]map[int64]int, error) {
	ids := map[string][]int64{}
	for _, w := range words {
		ids[w.Host] = append(ids[w.Host], w.ID)
	}
	type row struct {
		id, environment int64
		rank            int
	}
	out := map[jobKey]map[int64]int{}
	for host, ids := range ids {
		slices.Sort(ids)
		for some := range slices.Chunk(slices.Compact(ids), maxRows) {
			these, args := oneOf(`job_id`, some)
			rows, err := all(ctx, tx, func(scan scan) (r row, err error) { return r, scan(&r.id, &r.environment, &r.rank) },
				`SELECT job_id, environment_id, rank FROM job_scopes WHERE `+these+` AND host = ?`, append(args, host)...)
			if err != nil {
				return nil, fmt.Errorf("read how far jobs of %s have come: %w", host, err)
			}
			for _, r := range rows {
				k := jobKey{host, r.id}
				if out[k] == nil {
					out[k] = map[int64]int{}
				}
				out[k][r.environment] = r.rank
			}
		}
	}
	return out, nil
}

func (tx *Tx) writeJobs(ctx context.Context, jobs map[jobKey]slipway.Job) error {
	var rows [][]any
	for _, k := range sortedJobs(jobs) {
		j := jobs[k]
		labels := j.Labels
		if labels == nil {
			labels = []string{}
		}
		rows = append(rows, []any{j.Host, j.ID, j.RunID, j.Attempt, j.Owner, strings.ToLower(j.Owner), j.Repository, j.RepositoryID, j.Name, j.Workflow,
			j.Branch, j.URL, asJSON{labels}, j.State, j.State.Rank(), j.Runner, j.RunnerID, j.Conclusion, j.QueuedAt, j.StartedAt, j.EndedAt, tx.Now})
	}
	// What it asks for stays as it was first told, for another environment may count on it.
	err := tx.insertRows(ctx, `INSERT INTO forge_jobs (host, id, run_id, attempt, owner, owner_key, repository, repository_id, name, workflow, branch,
			url, labels, state, rank, runner, runner_id, conclusion, queued_at, started_at, ended_at, seen_at) VALUES `,
		` ON CONFLICT (host, id) DO UPDATE SET state = excluded.state, rank = excluded.rank,
			runner = CASE WHEN excluded.runner <> '' THEN excluded.runner ELSE forge_jobs.runner END,
			runner_id = CASE WHEN excluded.runner_id <> 0 THEN excluded.runner_id ELSE forge_jobs.runner_id END,
			conclusion = excluded.conclusion, queued_at = COALESCE(forge_jobs.queued_at, excluded.queued_at),
			started_at = COALESCE(excluded.started_at, forge_jobs.started_at), ended_at = COALESCE(excluded.ended_at, forge_jobs.ended_at),
			seen_at = excluded.seen_at
		WHERE forge_jobs.rank < excluded.rank`, rows)
	if err != nil {
		return fmt.Errorf("record %d jobs: %w", len(rows), err)
	}
	return nil
}

func (tx *Tx) writeRanks(ctx context.Context, all map[jobKey]map[int64]told) error {
	var rows [][]any
	for _, k := range sortedJobs(all) {
		environments := make([]int64, 0, len(all[k]))
		for e := range all[k] {
			environments = append(environments, e)
		}
		slices.Sort(environments)
		for _, e := range environments {
			rows = append(rows, []any{k.host, k.id, e, all[k][e].rank, all[k][e].runner})
		}
	}
	err := tx.insertRows(ctx, `INSERT INTO job_scopes (host, job_id, environment_id, rank, runner) VALUES `,
		` ON CONFLICT (host, job_id, environment_id) DO UPDATE SET rank = excluded.rank,
			runner = CASE WHEN excluded.runner <> '' THEN excluded.runner ELSE job_scopes.runner END
		WHERE job_scopes.rank < excluded.rank`, rows)
	if err != nil {
		return fmt.Errorf("record where jobs may run: %w", err)
	}
	return nil
}

// sortedJobs gives the one order in which all writers take rows, so that none waits for
// another that waits for it.
func sortedJobs[V any](m map[jobKey]V) []jobKey {
	keys := make([]jobKey, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b jobKey) int { return cmp.Or(strings.Compare(a.host, b.host), cmp.Compare(a.id, b.id)) })
	return keys
}
