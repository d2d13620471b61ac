package github

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/google/go-github/v92/github"

	"slipway.dev/slipway/internal/outside/forge"
	"slipway.dev/slipway/internal/outside/forge/rest"
	"slipway.dev/slipway/internal/slipway"
)

func (c *Client) inRepository(ctx context.Context, r forge.Repository, doing, permission string) (*github.Client, context.Context, context.CancelFunc, request, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	g, err := c.of(r.Owner)
	return g, ctx, cancel, request{doing: doing + " of " + r.String(), permission: permission, absent: forge.Refused}, err
}

// Runs lists the runs of a repository.
func (c *Client) Runs(ctx context.Context, repo forge.Repository, q forge.RunQuery) ([]forge.Run, error) {
	var out []forge.Run
	seen := map[int64]bool{}
	err := pages(func(o github.ListOptions) (*github.Response, error) {
		g, ctx, cancel, what, err := c.inRepository(ctx, repo, "list the runs", readActions)
		defer cancel()
		if err != nil {
			return nil, err
		}
		opts := &github.ListWorkflowRunsOptions{Status: q.Status, ListOptions: o, ExcludePullRequests: true}
		if !q.Since.IsZero() {
			// By the hour, so that who asks again and again asks the same.
			opts.Created = ">=" + q.Since.UTC().Truncate(time.Hour).Format(time.RFC3339)
		}
		page, res, err := g.Actions.ListRepositoryWorkflowRuns(ctx, repo.Owner, repo.Name, opts)
		if err != nil {
			return res, c.explain(what, res, err)
		}
		for _, r := range page.WorkflowRuns {
			if !seen[r.GetID()] && (r.CreatedAt == nil || !r.GetCreatedAt().Before(q.Since)) {
				seen[r.GetID()] = true
				out = append(out, run(r))
			}
		}
		return res, nil
	})
	return out, err
}

// Run returns one run.
func (c *Client) Run(ctx context.Context, repo forge.Repository, id int64) (forge.Run, error) {
	g, ctx, cancel, what, err := c.inRepository(ctx, repo, "read a run", readActions)
	defer cancel()
	if err != nil {
		return forge.Run{}, err
	}
	what.absent = forge.NotFound
	r, res, err := g.Actions.GetWorkflowRunByID(ctx, repo.Owner, repo.Name, id)
	if err != nil {
		return forge.Run{}, c.absentIn(ctx, repo, c.explain(what, res, err))
	}
	return run(r), nil
}

// absentIn makes sure that "not found" is said of a run or a job, and not of a repository
// that the credential may no longer see. It is absent, for what a repository holds.
func (c *Client) absentIn(ctx context.Context, repo forge.Repository, err error) error {
	if !forge.Is(err, forge.NotFound) {
		return err
	}
	g, ctx, cancel, what, fault := c.inRepository(ctx, repo, "list the runs", readActions)
	defer cancel()
	if fault != nil {
		return fault
	}
	_, res, fault := g.Actions.ListRepositoryWorkflowRuns(ctx, repo.Owner, repo.Name, &github.ListWorkflowRunsOptions{ListOptions: github.ListOptions{PerPage: 1}})
	if fault != nil {
		return c.explain(what, res, fault)
	}
	return err
}

func run(r *github.WorkflowRun) forge.Run {
	return forge.Run{
		ID: r.GetID(), Attempt: max(r.GetRunAttempt(), 1), Name: r.GetName(), Status: r.GetStatus(), Conclusion: r.GetConclusion(),
		CreatedAt: r.GetCreatedAt().UTC(), UpdatedAt: r.GetUpdatedAt().UTC(), URL: r.GetHTMLURL(),
	}
}

// Jobs lists the jobs of a run.
func (c *Client) Jobs(ctx context.Context, repo forge.Repository, run int64, attempt int) ([]forge.Job, error) {
	var out []forge.Job
	total := 0
	err := pages(func(o github.ListOptions) (*github.Response, error) {
		g, ctx, cancel, what, err := c.inRepository(ctx, repo, "list the jobs of a run", readActions)
		defer cancel()
		if err != nil {
			return nil, err
		}
		what.absent = forge.NotFound
		var page *github.Jobs
		var res *github.Response
		if attempt > 0 {
			page, res, err = g.Actions.ListWorkflowJobsAttempt(ctx, repo.Owner, repo.Name, run, int64(attempt), &o)
		} else {
			page, res, err = g.Actions.ListWorkflowJobs(ctx, repo.Owner, repo.Name, run, &github.ListWorkflowJobsOptions{Filter: "latest", ListOptions: o})
		}
		if err != nil {
			return res, c.absentIn(ctx, repo, c.explain(what, res, err))
		}
		total = page.GetTotalCount()
		for _, j := range page.Jobs {
			out = append(out, job(repo, j))
		}
		return res, nil
	})
	if err == nil && len(out) < total {
		err = forge.Fail(forge.Away, fmt.Sprintf("GitHub says that run %d has %d jobs and lists %d", run, total, len(out)), "it is read again", nil)
	}
	return out, err
}

// Job returns one job.
func (c *Client) Job(ctx context.Context, repo forge.Repository, id int64) (forge.Job, error) {
	g, ctx, cancel, what, err := c.inRepository(ctx, repo, "read a job", readActions)
	defer cancel()
	if err != nil {
		return forge.Job{}, err
	}
	what.absent = forge.NotFound
	j, res, err := g.Actions.GetWorkflowJobByID(ctx, repo.Owner, repo.Name, id)
	if err != nil {
		return forge.Job{}, c.absentIn(ctx, repo, c.explain(what, res, err))
	}
	return job(repo, j), nil
}

// states are GitHub's words for how far a job is. What waits for anything is no demand.
var states = map[string]slipway.JobState{
	"queued": slipway.JobQueued, "in_progress": slipway.JobRunning, "completed": slipway.JobCompleted,
	"waiting": slipway.JobWaiting, "requested": slipway.JobWaiting, "pending": slipway.JobWaiting,
}

func job(repo forge.Repository, j *github.WorkflowJob) forge.Job {
	out := forge.Job{
		Job: slipway.Job{
			ID: j.GetID(), RunID: j.GetRunID(), Attempt: int(max(j.GetRunAttempt(), 1)), Owner: repo.Owner, Repository: repo.Name,
			Name: j.GetName(), Labels: j.Labels, State: states[j.GetStatus()], QueuedAt: utc(j.CreatedAt), SeenAt: time.Now().UTC(),
		},
		Workflow: j.GetWorkflowName(), Branch: j.GetHeadBranch(), URL: j.GetHTMLURL(),
	}
	if out.State == "" {
		out.State = slipway.JobWaiting // a word of tomorrow's: not demand, and not an end
	}
	if out.State == slipway.JobRunning || out.State == slipway.JobCompleted {
		out.Runner, out.RunnerID, out.Group, out.StartedAt = j.GetRunnerName(), j.GetRunnerID(), j.GetRunnerGroupID(), utc(j.StartedAt)
	}
	if out.State == slipway.JobCompleted {
		out.Conclusion, out.EndedAt = j.GetConclusion(), utc(j.CompletedAt)
	}
	for _, s := range j.Steps {
		out.Steps = append(out.Steps, forge.Step{
			Number: s.GetNumber(), Name: s.GetName(), Status: s.GetStatus(), Conclusion: s.GetConclusion(), StartedAt: utc(s.StartedAt), EndedAt: utc(s.CompletedAt),
		})
	}
	return out
}

func utc(t *github.Timestamp) time.Time {
	if t == nil || t.IsZero() {
		return time.Time{}
	}
	return t.UTC()
}

// Log fetches the log of a job that has ended. GitHub answers with an address elsewhere
// that is good for a minute; the credential stays here.
func (c *Client) Log(ctx context.Context, repo forge.Repository, jobID, limit int64) (io.ReadCloser, error) {
	g, callCtx, cancel, what, err := c.inRepository(ctx, repo, "read the log of a job", readActions)
	defer cancel()
	if err != nil {
		return nil, err
	}
	what.absent = forge.NotFound
	at, res, err := g.Actions.GetWorkflowJobLogs(callCtx, repo.Owner, repo.Name, jobID, 0)
	if err != nil {
		return nil, c.absentIn(callCtx, repo, c.explain(what, res, err))
	}
	if at.Scheme != "https" && !rest.Loopback(at.Hostname()) {
		return nil, forge.Fail(forge.Invalid, "GitHub leads to a log without TLS", "", nil)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, forge.Fail(forge.Away, "GitHub leads to no log", "", nil)
	}
	got, err := c.plain.Do(req)
	if err != nil {
		// The address is a secret for its minute; the library's error would quote it.
		return nil, forge.Fail(forge.Away, "the log's store does not answer", "", ctx.Err())
	}
	if got.StatusCode != http.StatusOK {
		_ = got.Body.Close()
		if got.StatusCode == http.StatusNotFound || got.StatusCode == http.StatusGone {
			return nil, forge.Fail(forge.NotFound, "the log is not there any more", "", nil)
		}
		return nil, forge.Fail(forge.Away, fmt.Sprintf("the log's store answers with %d", got.StatusCode), "", nil)
	}
	return &limitedLog{got.Body, limit}, nil
}

// limitedLog ends with an error instead of quietly.
type limitedLog struct {
	body io.ReadCloser
	left int64
}

func (l *limitedLog) Read(p []byte) (int, error) {
	if l.left <= 0 {
		var one [1]byte
		if n, err := l.body.Read(one[:]); n == 0 && err != nil {
			return 0, err
		}
		return 0, forge.Fail(forge.TooLarge, "the log is larger than is read here", "see it at GitHub", nil)
	}
	if int64(len(p)) > l.left {
		p = p[:l.left]
	}
	n, err := l.body.Read(p)
	l.left -= int64(n)
	return n, err
}

func (l *limitedLog) Close() error { return l.body.Close() }

// RerunFailed runs what failed once more.
func (c *Client) RerunFailed(ctx context.Context, repo forge.Repository, id int64) error {
	g, ctx, cancel, what, err := c.inRepository(ctx, repo, "rerun the failed jobs of a run", writeActions)
	defer cancel()
	if err != nil {
		return err
	}
	res, err := g.Actions.RerunFailedJobsByID(ctx, repo.Owner, repo.Name, id)
	return c.absentIn(ctx, repo, c.rerun(what, res, err))
}

// RerunJob runs one job once more.
func (c *Client) RerunJob(ctx context.Context, repo forge.Repository, id int64) error {
	g, ctx, cancel, what, err := c.inRepository(ctx, repo, "rerun a job", writeActions)
	defer cancel()
	if err != nil {
		return err
	}
	res, err := g.Actions.RerunJobByID(ctx, repo.Owner, repo.Name, id)
	return c.absentIn(ctx, repo, c.rerun(what, res, err))
}

// rerun tells the refusals of a rerun apart: GitHub says 403 to all of them, and only its
// words differ.
func (c *Client) rerun(what request, res *github.Response, err error) error {
	what.absent = forge.NotFound
	switch {
	case said(err, http.StatusForbidden, "already running", "is running", "still running", "in progress", "not completed"):
		return forge.Fail(forge.Running, "GitHub does not rerun a run that has not ended", "it is asked again when the run has ended", err)
	case said(err, http.StatusForbidden, "over a month", "created over", "too old", "cannot be rerun", "cannot be retried", "unable to retry", "exceeded", "maximum"):
		return forge.Fail(forge.TooLate, "GitHub does not rerun this any more: "+words(err), "start the workflow anew", err)
	}
	return c.explain(what, res, err)
}

func words(err error) string {
	s := err.Error()
	if i := strings.LastIndex(s, ": "); i >= 0 {
		s = s[i+2:]
	}
	return rest.Short(strings.TrimSuffix(s, " []"))
}
