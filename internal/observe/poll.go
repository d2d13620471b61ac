package observe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"slipway.dev/slipway/internal/outside/forge"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

const (
	maxRepositories = 30              // of one owner, in one round: those last heard of
	heldLong        = 3 * time.Minute // a queued job is asked about itself after this
	maxHeld         = 20              // jobs that are asked about themselves in one round
)

// circle is the pools of one environment for one owner: they are asked for together, with
// their own credentials.
type circle struct {
	host, owner string
	environment int64
	pools       []slipway.RunnerPool
}

func circles(pools []slipway.RunnerPool) []circle {
	var out []circle
	at := map[string]int{}
	for _, p := range pools {
		s := p.Spec.Scope
		key := fmt.Sprint(s.Host(), "/", strings.ToLower(s.Owner), "/", p.EnvironmentID)
		i, ok := at[key]
		if !ok {
			i, at[key] = len(out), len(out)
			out = append(out, circle{host: s.Host(), owner: s.Owner, environment: p.EnvironmentID})
		}
		out[i].pools = append(out[i].pools, p)
	}
	return out
}

// poll asks the forges for the jobs that pools could serve. A circle that fails, for its
// credential or for an outage, keeps no other one from being asked.
func (r *Recovery) poll(ctx context.Context) error {
	pools, err := r.pools(ctx)
	if err != nil {
		return err
	}
	for _, c := range circles(pools) {
		repos, held, err := r.known(ctx, c)
		if err != nil {
			return err
		}
		if err := r.ask(ctx, c, repos, held); err != nil && ctx.Err() == nil {
			r.Log.WarnContext(ctx, "a forge could not be asked for queued jobs", "host", c.host, "owner", c.owner, "error", err)
		}
	}
	return nil
}

func (r *Recovery) pools(ctx context.Context) (pools []slipway.RunnerPool, err error) {
	err = r.Store.Read(ctx, func(tx *store.Tx) (err error) {
		pools, err = tx.RunnerPools(ctx)
		return err
	})
	return slices.DeleteFunc(pools, func(p slipway.RunnerPool) bool { return p.Deleting || !p.Spec.Scope.Forge.TellsJobs() }), err
}

// known lists the repositories of a circle, and the jobs that count as queued there for
// long.
func (r *Recovery) known(ctx context.Context, c circle) (repos []forge.Repository, held []slipway.Job, err error) {
	err = r.Store.Read(ctx, func(tx *store.Tx) error {
		names, err := tx.Repositories(ctx, c.host, c.owner, tx.Now.Add(-jobsKept))
		if err != nil {
			return err
		}
		for _, p := range c.pools {
			if s := p.Spec.Scope; s.Repository != "" {
				names = append(names, [2]string{s.Owner, s.Repository})
			}
		}
		seen := map[string]bool{}
		for _, n := range names {
			key := strings.ToLower(n[0] + "/" + n[1])
			covered := slices.ContainsFunc(c.pools, func(p slipway.RunnerPool) bool { return p.Spec.Scope.Covers(n[0], n[1]) })
			if covered && !seen[key] && len(repos) < maxRepositories {
				seen[key] = true
				repos = append(repos, forge.Repository{Owner: n[0], Name: n[1]})
			}
		}
		queued, err := tx.QueuedJobs(ctx, c.host, c.owner)
		for _, j := range queued {
			if (j.EnvironmentID == 0 || j.EnvironmentID == c.environment) && j.QueuedAt.Before(tx.Now.Add(-heldLong)) && c.serves(j.Job) {
				held = append(held, j.Job)
			}
		}
		return err
	})
	return repos, held, err
}

func (c circle) serves(j slipway.Job) bool {
	return slices.ContainsFunc(c.pools, func(p slipway.RunnerPool) bool { return p.Spec.Serves(j) })
}

var errNobody = slipway.Errorf(slipway.NotFound, "no credential of the pools may read the jobs")

// ask reads the queued jobs of repositories, and what has become of jobs that are held.
func (r *Recovery) ask(ctx context.Context, c circle, repos []forge.Repository, held []slipway.Job) error {
	listed := map[int64]bool{}
	var failures []error
	for _, repo := range repos {
		jobs, err := r.jobsOf(ctx, c, repo)
		if err != nil {
			failures = append(failures, fmt.Errorf("ask for the jobs of %s: %w", repo, err))
			if !forge.Is(err, forge.Refused) {
				break // an outage, or a limit: the others would fail as well
			}
			continue
		}
		for _, j := range jobs {
			listed[j.ID] = true
		}
		if _, err := r.TakeJobs(ctx, c.environment, jobs); err != nil {
			return err
		}
	}
	n := 0
	for _, j := range held {
		if listed[j.ID] || n == maxHeld || len(failures) > 0 {
			continue
		}
		n++
		now, err := r.jobNow(ctx, c, j)
		if err != nil {
			failures = append(failures, fmt.Errorf("ask for job %d: %w", j.ID, err))
			continue
		}
		if _, err := r.TakeJobs(ctx, c.environment, []slipway.Job{now}); err != nil {
			return err
		}
	}
	return errors.Join(failures...)
}

// with asks with one credential of the circle after the other, until one may.
func (r *Recovery) with(ctx context.Context, c circle, repo forge.Repository, f func(Forge) error) error {
	err := error(errNobody)
	tried := map[string]bool{}
	for _, p := range c.pools {
		if name := p.Spec.Jobs(); p.Spec.Scope.Covers(repo.Owner, repo.Name) && !tried[name] {
			tried[name] = true
			client, fault := r.ofPool(ctx, p, name)
			if fault != nil {
				err = fault
				continue
			}
			if !client.Spare() {
				err = forge.Fail(forge.Throttled, "what is left of the credential's requests is kept for runners", "it goes on by itself", nil)
				continue
			}
			if err = f(client); !forge.Is(err, forge.Refused) {
				return err
			}
		}
	}
	return err
}

// jobsOf lists the jobs of a repository's runs that have not ended, as far as the circle
// serves them.
func (r *Recovery) jobsOf(ctx context.Context, c circle, repo forge.Repository) (out []slipway.Job, err error) {
	err = r.with(ctx, c, repo, func(client Forge) error {
		out = nil
		for _, status := range []string{"queued", "in_progress"} {
			runs, err := client.Runs(ctx, repo, forge.RunQuery{Status: status, Since: r.Now().Add(-2 * slipway.MaxQueued)})
			if err != nil {
				return err
			}
			for _, run := range runs {
				jobs, err := client.Jobs(ctx, repo, run.ID, 0)
				if forge.Is(err, forge.NotFound) {
					continue // it was deleted meanwhile
				} else if err != nil {
					return err
				}
				for _, j := range jobs {
					if plain := plainJob(c.host, j); c.serves(plain) {
						out = append(out, plain)
					}
				}
			}
		}
		return nil
	})
	return out, err
}

// jobNow is what the forge says of a job that is held as queued. One that it does not know
// any more is over.
func (r *Recovery) jobNow(ctx context.Context, c circle, j slipway.Job) (out slipway.Job, err error) {
	repo := forge.Repository{Owner: j.Owner, Name: j.Repository}
	err = r.with(ctx, c, repo, func(client Forge) error {
		found, err := client.Job(ctx, repo, j.ID)
		if forge.Is(err, forge.NotFound) {
			out = j
			out.State, out.Conclusion, out.EndedAt = slipway.JobCompleted, "gone", r.Now()
			return nil
		}
		out = plainJob(c.host, found)
		return err
	})
	return out, err
}

func plainJob(host string, j forge.Job) slipway.Job {
	out := j.Job
	out.Host, out.RunnerID, out.Workflow, out.Branch, out.URL = host, j.RunnerID, j.Workflow, j.Branch, j.URL
	return out
}

// Look asks the forge about the repository of a job whose first delivery was lost: others
// may have been. It is a handler of package task.
func (r *Recovery) Look(ctx context.Context, id int64) (time.Duration, error) {
	var jobs []slipway.Job
	err := r.Store.Read(ctx, func(tx *store.Tx) (err error) {
		jobs, err = tx.JobsWithID(ctx, id)
		return err
	})
	if err != nil {
		return 0, err
	}
	pools, err := r.pools(ctx)
	if err != nil {
		return 0, err
	}
	limited, stop := context.WithTimeout(ctx, roundWithin)
	defer stop()
	var failures []error
	for _, j := range jobs {
		for _, c := range circles(pools) {
			if c.host == j.Host && slices.ContainsFunc(c.pools, func(p slipway.RunnerPool) bool { return p.Spec.Scope.Covers(j.Owner, j.Repository) }) {
				failures = append(failures, r.ask(limited, c, []forge.Repository{{Owner: j.Owner, Name: j.Repository}}, nil))
			}
		}
	}
	return 0, errors.Join(failures...)
}
