package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"slipway.dev/slipway/internal/client"
	"slipway.dev/slipway/internal/wire"
)

func (s *session) taskRetryCommand() *cobra.Command {
	var in wire.Retry
	var key string
	var yes, wait, plan bool
	c := &cobra.Command{
		Use: "retry TASK", Short: "Try a failed or cancelled task again", Args: args(1, 1), ValidArgsFunction: s.completeTasks,
		Long: `Try a failed or cancelled task again, from the step that failed. First is shown
which steps are done and stay done, which is repeated and which follow.

Of the step that failed, the actions that were completed are not run again. With
--from a whole earlier step is repeated, and what follows it; with --from-start
everything. An install always begins with its setup. The check of the change
comes each time: it changes nothing.

The retry is a task of the same change, with the same frozen context. When a
later change was accepted since, a retry is refused: deploy what you want now.`,
		Example: "  slipway tasks retry 41 --wait\n  slipway tasks retry 41 --from pre --plan",
		RunE: func(c *cobra.Command, a []string) error {
			n, err := taskID(a[0])
			if err != nil {
				return err
			}
			if in.From != "" && in.FromStart {
				return usagef("--from and --from-start are given together").hint("give one of them")
			}
			cl, err := s.connect()
			if err != nil {
				return err
			}
			p, err := cl.PlanRetry(c.Context(), n, in)
			// Under a key the request may have been made before, and then gives its answer again.
			asked := client.IsKind(err, "conflict") && key != "" && yes && !plan
			if err != nil && !asked {
				return err
			}
			if plan {
				s.warn(p.Warnings)
				return s.show(p, func() { printRetry(s.Stdout, p) })
			}
			if s.format == "table" && !asked {
				printRetry(s.Stdout, p)
			}
			s.warn(p.Warnings)
			if err := s.confirm(yes, "retry task "+a[0]+"?"); err != nil {
				return err
			}
			accepted, err := cl.RetryTask(c.Context(), n, in, key)
			if err != nil {
				return err
			}
			return s.follow(c.Context(), cl, accepted, wait)
		},
	}
	c.Flags().StringVar(&in.From, "from", "", "begin with this step, by its key or its name, and repeat it whole")
	c.Flags().BoolVar(&in.FromStart, "from-start", false, "begin with the first step")
	c.Flags().BoolVar(&plan, "plan", false, "only show what would be repeated; nothing is written")
	addChangeFlags(c, nil, &wait, &key)
	addYes(c, &yes)
	return c
}

// warn tells what a person should know before going on.
func (s *session) warn(warnings []string) {
	for _, w := range warnings {
		s.say("%s %s", s.yellow(s.Stderr, "warning:"), w)
	}
}

// printRetry writes what a retry would do: a line for each step, and what stands still
// meanwhile.
func printRetry(w io.Writer, p wire.RetryPlan) {
	fmt.Fprintf(w, "%s  %s, attempt %d\n", taskHeader(p.Task), p.Task.State, p.Attempt)
	for _, step := range p.Steps {
		mark, fate := "↻", "again"
		switch {
		case step.Fate == "kept":
			mark, fate = "✓", fmt.Sprintf("stays done, by task %d", step.DoneIn)
		case step.Key == "check" && step.Fate == "repeated":
			fate = "again; it changes nothing"
		case step.Maybe:
			mark, fate = "→", "follows, if needed"
		case step.Fate == "follows":
			mark, fate = "→", "follows"
		}
		if step.Fate != "kept" && len(step.Actions) > 0 {
			fate += ": " + strings.Join(step.Actions, ", ")
		}
		if len(step.KeptActions) > 0 {
			fate += " · stays done: " + strings.Join(step.KeptActions, ", ")
		}
		fmt.Fprintf(w, "  %s %s  %s\n", mark, pad(step.Name, nameWidth), fate)
	}
	var still []string
	if len(p.Stops) > 0 {
		still = append(still, "stops meanwhile: "+strings.Join(p.Stops, ", "))
	}
	for _, c := range p.Stopped {
		still = append(still, fmt.Sprintf("%s is stopped since task %d", c.Component, c.SinceTask))
	}
	if len(still) > 0 {
		fmt.Fprintln(w, strings.Join(still, " · "))
	}
}
