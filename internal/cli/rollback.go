package cli

import (
	"fmt"

	"github.com/spf13/cobra"
	"slipway.dev/slipway/internal/client"
	"slipway.dev/slipway/internal/wire"
)

func (s *session) rollbackCommand() *cobra.Command {
	var env, key string
	var in wire.Rollback
	var yes, wait, plan bool
	c := &cobra.Command{
		Use: "rollback APPLICATION", Short: "Bring an application back to an earlier revision", Args: args(1, 1), ValidArgsFunction: s.completeApplications,
		Long: `Bring an application back to the content of an earlier revision, as a new one.
Without --to that is the revision before the last move to another version.

Another version needs a driver that knows the way back: the driver that is left
behind runs its rollback hooks. It is refused once an action that cannot be
undone has begun; then restore from a backup. What will happen is shown first.`,
		Example: "  slipway rollback guestbook --plan\n  slipway rollback guestbook --to 3 --wait",
		RunE: func(c *cobra.Command, a []string) error {
			cl, app, err := s.reach(c.Context(), a[0], env)
			if err != nil {
				return err
			}
			p, err := cl.PlanRollback(c.Context(), app.ID, in.To)
			// Under a key the request may have been made before, and then gives its answer again.
			asked := client.IsKind(err, "conflict") && key != "" && yes && !plan && c.Flags().Changed("expect")
			if err != nil && !asked {
				return err
			}
			s.warn(p.Warnings)
			if plan {
				return s.show(p, func() { printPlan(s.Stdout, p) })
			}
			if s.format == "table" && !asked {
				printPlan(s.Stdout, p)
			}
			if err := s.confirm(yes, fmt.Sprintf("roll %s back to revision %d?", app.Name, p.Target)); err != nil {
				return err
			}
			if !c.Flags().Changed("expect") {
				in.ExpectedRevision = p.Revision // what was shown is what happens, or nothing
			}
			accepted, err := cl.Rollback(c.Context(), app.ID, in, key)
			if err != nil {
				return err
			}
			return s.follow(c.Context(), cl, accepted, wait)
		},
	}
	s.addEnvironment(c, &env)
	c.Flags().Int64Var(&in.To, "to", 0, "the revision to go back to (default: the one before the last move)")
	c.Flags().Int64Var(&in.ExpectedRevision, "expect", 0, "the revision that you have seen (default: the one of this moment)")
	c.Flags().BoolVar(&plan, "plan", false, "only show what would happen; nothing is written")
	addChangeFlags(c, nil, &wait, &key)
	addYes(c, &yes)
	return c
}
