package cli

import (
	"cmp"
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"slipway.dev/slipway/internal/client"
	"slipway.dev/slipway/internal/wire"
)

func (s *session) tasksCommand() *cobra.Command {
	return group("tasks", "List, show, watch, cancel and retry tasks", []string{"task"},
		s.taskListCommand(), s.taskGetCommand(), s.taskWatchCommand(), s.taskCancelCommand(), s.taskRetryCommand())
}

// shownTasks is how many tasks a list shows without --all: the newest, on one page.
const shownTasks = 50

func (s *session) taskListCommand() *cobra.Command {
	var app, env string
	var f client.TaskFilter
	var all bool
	c := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List tasks, newest first", Args: args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			cl, err := s.connect()
			if err != nil {
				return err
			}
			if app != "" {
				a, err := s.find(c.Context(), cl, app, env)
				if err != nil {
					return err
				}
				f.Application = a.ID
			}
			read := func(ctx context.Context, p client.Page) ([]wire.Task, string, error) { return cl.Tasks(ctx, f, p) }
			var tasks []wire.Task
			more := ""
			if all {
				tasks, err = client.All(c.Context(), read)
			} else {
				tasks, more, err = read(c.Context(), client.Page{Limit: shownTasks})
			}
			if err != nil {
				return err
			}
			if more != "" {
				defer s.say("older ones are shown with --all")
			}
			return list(s, tasks, "no task", []string{"TASK", "STATE", "TITLE", "APPLICATION", "BY", "WHEN", "TOOK"}, taskRow)
		},
	}
	c.Flags().StringVar(&app, "application", "", "only those of an application")
	c.Flags().StringVar(&f.State, "state", "", "only those in a state: queued, running, succeeded, failed or cancelled")
	c.Flags().BoolVar(&f.Open, "open", false, "only those that have not ended")
	c.Flags().BoolVar(&f.Root, "root", false, "leave out those that actions started")
	c.Flags().BoolVar(&all, "all", false, "all of them, not only the newest")
	must(c.RegisterFlagCompletionFunc("application", s.completeApplications))
	must(c.RegisterFlagCompletionFunc("state", cobra.FixedCompletions([]string{"queued", "running", "succeeded", "failed", "cancelled"}, cobra.ShellCompDirectiveNoFileComp)))
	s.addEnvironment(c, &env)
	return c
}

func taskRow(t wire.Task) []string {
	took := ""
	if t.StartedAt != nil && t.EndedAt != nil {
		took = brief(t.EndedAt.Sub(*t.StartedAt))
	}
	return []string{strconv.FormatInt(t.ID, 10), t.State, t.Title, t.Application, t.RequestedBy, ago(t.CreatedAt), took}
}

func taskID(a string) (int64, error) {
	n, err := strconv.ParseInt(a, 10, 64)
	if err != nil || n < 1 {
		return 0, usagef("%q is not a task's number", a).hint("see slipway tasks list")
	}
	return n, nil
}

func (s *session) taskGetCommand() *cobra.Command {
	var output bool
	c := &cobra.Command{
		Use: "get TASK", Short: "Show a task and its steps", Args: args(1, 1), ValidArgsFunction: s.completeTasks,
		RunE: func(c *cobra.Command, a []string) error {
			n, err := taskID(a[0])
			if err != nil {
				return err
			}
			cl, err := s.connect()
			if err != nil {
				return err
			}
			t, err := cl.Task(c.Context(), n)
			if err != nil {
				return err
			}
			outputs := map[int64]wire.Output{}
			if output {
				for _, step := range t.Steps {
					if step.Output == nil {
						continue
					}
					if outputs[step.ID], err = cl.StepOutput(c.Context(), t.ID, step.ID); err != nil {
						return err
					}
				}
			}
			return s.show(t, func() { s.printTask(t, outputs) })
		},
	}
	c.Flags().BoolVar(&output, "output", false, "print everything that is stored of the steps' output")
	return c
}

// printTask shows a task as --wait does, and what --wait has no need to say.
func (s *session) printTask(t wire.Task, outputs map[int64]wire.Output) {
	s.print("%s", taskHeader(t))
	by := ""
	if t.StartedBy != nil {
		by = t.StartedBy.Type + " (task " + strconv.FormatInt(t.StartedBy.TaskID, 10) + ")"
	}
	s.fields("  state", t.State, "  application", t.Application, "  requested by", t.RequestedBy, "  started by", by,
		"  cancelled by", t.CancelledBy, "  requested", ago(t.CreatedAt))
	v := screen{s: s, w: s.Stdout, task: t.ID}
	for _, l := range v.keptLines(t) {
		s.print("%s", l)
	}
	for _, step := range t.Steps {
		v.outputs = outputs
		for _, l := range v.stepLines(step) {
			s.print("%s", l)
		}
	}
	if t.State == "failed" && t.Error != "" && !shown(t) {
		s.print("failed: %s", strings.Join(nonEmpty(t.Error, t.Hint), " · "))
	}
	if t.RetriedBy != 0 {
		s.print("retried by task %d", t.RetriedBy)
	}
}

func nonEmpty(in ...string) []string {
	var out []string
	for _, x := range in {
		if x != "" {
			out = append(out, x)
		}
	}
	return out
}

func (s *session) taskWatchCommand() *cobra.Command {
	return &cobra.Command{
		Use: "watch TASK", Short: "Show a task's steps live, until it ends", Args: args(1, 1), ValidArgsFunction: s.completeTasks,
		Long: "Show a task's steps live, until it ends. The exit code is the task's: 0 when it\nsucceeded, 1 when it did not. Leaving early does not cancel the task.",
		RunE: func(c *cobra.Command, a []string) error {
			n, err := taskID(a[0])
			if err != nil {
				return err
			}
			cl, err := s.connect()
			if err != nil {
				return err
			}
			return s.watch(c.Context(), cl, n)
		},
	}
}

func (s *session) taskCancelCommand() *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use: "cancel TASK", Short: "Ask for a task's end", Args: args(1, 1), ValidArgsFunction: s.completeTasks,
		Long: "Ask for a task's end. Its running step is stopped, and later ones do not start.\nWhat is done already is not undone.",
		RunE: func(c *cobra.Command, a []string) error {
			n, err := taskID(a[0])
			if err != nil {
				return err
			}
			cl, err := s.connect()
			if err != nil {
				return err
			}
			if err := s.confirm(yes, "cancel task "+a[0]+"?"); err != nil {
				return err
			}
			t, err := cl.CancelTask(c.Context(), n)
			if err != nil {
				return err
			}
			return s.show(t, func() {
				s.print("task %d  %s: %s", t.ID, t.Title, cmp.Or(map[bool]string{true: t.State}[t.Over()], "asked to end"))
			})
		},
	}
	addYes(c, &yes)
	return c
}
