package cli

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"slipway.dev/slipway/internal/client"
	"slipway.dev/slipway/internal/wire"
)

// some collects one page of a listing, or all of it, and says when there is more.
func some[T any](s *session, ctx context.Context, all bool, read func(client.Page) ([]T, string, error)) ([]T, error) {
	if all {
		return client.All(ctx, func(_ context.Context, p client.Page) ([]T, string, error) { return read(p) })
	}
	items, more, err := read(client.Page{Limit: shownTasks})
	if err == nil && more != "" {
		s.say("older ones are shown with --all")
	}
	return items, err
}

func (s *session) runnerJobsCommand() *cobra.Command {
	var env string
	var f client.JobFilter
	var all bool
	c := &cobra.Command{
		Use: "jobs APPLICATION", Short: "List the jobs that an application's pools serve, newest first", Args: args(1, 1), ValidArgsFunction: s.completeApplications,
		RunE: func(c *cobra.Command, a []string) error {
			cl, app, err := s.reach(c.Context(), a[0], env)
			if err != nil {
				return err
			}
			jobs, err := some(s, c.Context(), all, func(p client.Page) ([]wire.Job, string, error) { return cl.Jobs(c.Context(), app.ID, f, p) })
			if err != nil {
				return err
			}
			return list(s, jobs, "no job", []string{"JOB", "RUN", "STATE", "REPOSITORY", "WORKFLOW", "NAME", "POOL", "QUEUED", "WAITED", "TOOK"}, jobRow)
		},
	}
	s.addEnvironment(c, &env)
	c.Flags().Int64Var(&f.Run, "run", 0, "only those of a run, of all its attempts")
	c.Flags().StringVar(&f.State, "state", "", "only those in a state: waiting, queued, in_progress or completed")
	c.Flags().BoolVar(&all, "all", false, "all of them, not only the newest")
	must(c.RegisterFlagCompletionFunc("state", cobra.FixedCompletions([]string{"waiting", "queued", "in_progress", "completed"}, cobra.ShellCompDirectiveNoFileComp)))
	return c
}

func jobRow(j wire.Job) []string {
	run := strconv.FormatInt(j.RunID, 10)
	if j.Attempt > 1 {
		run += fmt.Sprintf(" (attempt %d)", j.Attempt)
	}
	state, waited, took := j.State, "", ""
	if j.Conclusion != "" {
		state = j.Conclusion
	}
	if j.QueuedAt != nil && j.StartedAt != nil {
		waited = brief(j.StartedAt.Sub(*j.QueuedAt))
	}
	if j.StartedAt != nil && j.EndedAt != nil {
		took = brief(j.EndedAt.Sub(*j.StartedAt))
	}
	return []string{strconv.FormatInt(j.ID, 10), run, state, j.Repository, value(j.Workflow), value(j.Name), j.Service, agoPtr(j.QueuedAt, ""), waited, took}
}

// printJobLine writes a job and, below it, why it waits.
func printJobLine(w io.Writer, j wire.Job) {
	writeLine(w, "  %d  %s  %s", j.ID, strings.Trim(j.Repository+" · "+value(j.Workflow)+" · "+value(j.Name), " ·"), j.State)
	writeLine(w, "      %s", value(j.Why.Sentence))
}

// jobPage is the address of a job's page at its forge.
var jobPage = regexp.MustCompile(`^/[^/]+/[^/]+/(?:actions/runs/[0-9]+/jobs?|runs)/([0-9]+)/?$`)

// jobOf reads what names a job: its ID, or the address of its page.
func jobOf(text, host string) (string, int64, error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n > 0 {
		return host, n, nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return "", 0, usagef("%q names no job", text).hint("give its ID, or the address of its page: https://github.com/acme/shop/actions/runs/1/job/2")
	}
	if strings.Contains(u.Path, "/-/") {
		return "", 0, usagef("%q is a page of GitLab, which does not tell of jobs", text).hint("look at the page itself; slipway runners get shows whether the pool's runners are there")
	}
	m := jobPage.FindStringSubmatch(u.Path)
	if m == nil {
		return "", 0, usagef("%q is not the address of a job's page", text).hint("open the job itself, not its run: …/actions/runs/1/job/2")
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil {
		return "", 0, usagef("%q is not the address of a job's page", text)
	}
	return u.Host, n, nil
}

func addHost(c *cobra.Command, host *string) {
	c.Flags().StringVar(host, "host", "github.com", "the forge of a job that is named by its ID")
}

func (s *session) runnerWhyCommand() *cobra.Command {
	var host string
	var steps bool
	c := &cobra.Command{
		Use: "why JOB", Short: "Say why a job waits", Args: args(1, 1),
		Long: `Say in one sentence why a job waits, and what that rests on. JOB is its ID or
the address of its page. It also answers for a job that nobody has heard of.`,
		Example: "  slipway runners why https://github.com/acme/shop/actions/runs/7001/job/9001",
		RunE: func(c *cobra.Command, a []string) error {
			at, id, err := jobOf(a[0], host)
			if err != nil {
				return err
			}
			cl, err := s.connect()
			if err != nil {
				return err
			}
			j, err := cl.Job(c.Context(), at, id, steps)
			if err != nil {
				return err
			}
			return s.show(j, func() { s.printJob(j) })
		},
	}
	addHost(c, &host)
	c.Flags().BoolVar(&steps, "steps", false, "also ask the forge for its steps")
	return c
}

func (s *session) printJob(j wire.Job) {
	s.print("job %d  %s", j.ID, value(j.Why.Sentence))
	for _, e := range j.Why.Evidence {
		s.print("  %s", value(e))
	}
	run := ""
	if j.RunID != 0 {
		run = fmt.Sprintf("%d, attempt %d", j.RunID, max(1, j.Attempt))
	}
	name := strings.Trim(value(j.Workflow)+" · "+value(j.Name), " ·")
	if j.State != "unknown" {
		s.print("")
		s.fields("repository", j.Repository, "job", name, "run", run, "labels", strings.Join(j.Labels, ", "), "state", strings.TrimSpace(j.State+" "+j.Conclusion), "runner", j.Runner, "page", j.URL)
	}
	if j.StepsError != "" {
		s.print("\nits steps could not be read: %s", value(j.StepsError))
	}
	for i, st := range j.Steps {
		if i == 0 {
			s.print("\nsteps")
		}
		took := ""
		if st.StartedAt != nil && st.EndedAt != nil {
			took = brief(st.EndedAt.Sub(*st.StartedAt))
		}
		word := st.Status
		if st.Conclusion != "" {
			word = st.Conclusion
		}
		s.print("  %d  %s  %s  %s", st.Number, value(st.Name), word, took)
	}
}

func (s *session) runnerLogsCommand() *cobra.Command {
	var host, search string
	var lines int
	c := &cobra.Command{
		Use: "logs JOB", Short: "Print the log of a job that has ended, or search it", Args: args(1, 1),
		Long: `Print the log of a job that has ended. It is fetched from the forge, which has
masked the secrets in it, and is not stored. With --search only lines with that
text are printed, with their numbers, and it exits with 1 when there is none.`,
		Example: `  slipway runners logs 9001 --search "error:"`,
		RunE: func(c *cobra.Command, a []string) error {
			at, id, err := jobOf(a[0], host)
			if err != nil {
				return err
			}
			cl, err := s.connect()
			if err != nil {
				return err
			}
			log, err := wholeLog(c.Context(), cl, at, id, search, lines)
			if err != nil {
				return err
			}
			if err := s.show(log, func() { s.printLog(log, search != "") }); err != nil {
				return err
			}
			if search != "" && len(log.Lines) == 0 {
				return quiet(exitFailed)
			}
			return nil
		},
	}
	addHost(c, &host)
	c.Flags().StringVar(&search, "search", "", "only lines with this in them, without regard to case")
	c.Flags().IntVar(&lines, "lines", 20000, "print no more lines than this")
	return c
}

// logPage is how many lines are fetched at once.
const logPage = 5000

// wholeLog fetches a log part by part, up to a number of lines.
func wholeLog(ctx context.Context, cl *client.Client, host string, job int64, search string, most int) (wire.JobLog, error) {
	out := wire.JobLog{Lines: []wire.LogLine{}}
	for q := (client.LogQuery{Search: search}); ; {
		q.Limit = max(1, min(logPage, most-len(out.Lines)))
		part, err := cl.JobLog(ctx, host, job, q)
		if err != nil {
			return out, err
		}
		out.Lines, out.Read, out.Next, out.Cut = append(out.Lines, part.Lines...), part.Read, part.Next, part.Cut
		if q.After = part.Next; part.Next == 0 || len(out.Lines) >= most {
			return out, nil
		}
	}
}

func (s *session) printLog(l wire.JobLog, numbered bool) {
	for _, line := range l.Lines {
		text := line.Text // the server has freed it of control sequences
		if line.At != nil {
			text = line.At.UTC().Format("15:04:05") + "  " + text
		}
		if numbered {
			text = fmt.Sprintf("%6d  %s", line.Number, text)
		}
		s.print("%s", text)
	}
	switch {
	case l.Next != 0:
		s.say("more lines are there; print more with --lines")
	case l.Cut:
		s.say("the log is larger than is read; its end is on the job's page")
	case len(l.Lines) == 0:
		s.say("no line of %d", l.Read)
	}
}
