package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"slipway.dev/slipway/internal/client"
	"slipway.dev/slipway/internal/wire"
)

// poolSwitch is what pausing, resuming and forgetting have in common.
type poolSwitch struct {
	verb, short, long string
	ask               string // the question before it, of the application; empty: it is not asked
	done              func(wire.PoolSwitch) string
	do                func(*client.Client, context.Context, int64, wire.PoolNames, string) (wire.PoolSwitches, error)
}

func (s *session) runnerPauseCommand() *cobra.Command {
	return s.poolSwitchCommand(poolSwitch{
		verb: "pause", short: "Have pools take no more jobs",
		long: "Have pools take no more jobs: free runners go, and busy ones end their jobs\nfirst. Pools stay paused through later deploys. Without a pool all are paused.",
		done: func(p wire.PoolSwitch) string { return p.Ref + " is paused; busy runners end their jobs" }, do: (*client.Client).PausePools,
	})
}

func (s *session) runnerResumeCommand() *cobra.Command {
	return s.poolSwitchCommand(poolSwitch{
		verb: "resume", short: "Have paused pools take jobs again",
		done: func(p wire.PoolSwitch) string { return p.Ref + " takes jobs" }, do: (*client.Client).ResumePools,
	})
}

func (s *session) runnerForgetCommand() *cobra.Command {
	return s.poolSwitchCommand(poolSwitch{
		verb: "forget", short: "Give up runners whose cleanup cannot end",
		long: `Give up the runners of pools that are being deleted and whose cleanup cannot
end, because their token or their forge is gone. What is left of them,
a registration or a pod, is nobody's from then on. Only administrators may, and
the audit keeps the names.`,
		ask:  "give up all runners of %s that are being removed, and leave what remains of them?",
		done: func(p wire.PoolSwitch) string { return p.Ref + ": nothing of it is waited for any more" }, do: (*client.Client).ForgetRunners,
	})
}

func (s *session) poolSwitchCommand(how poolSwitch) *cobra.Command {
	var env, key string
	var yes bool
	c := &cobra.Command{
		Use: how.verb + " APPLICATION [POOL...]", Short: how.short, Long: how.long, Args: args(1, -1), ValidArgsFunction: s.completeApplications,
		RunE: func(c *cobra.Command, a []string) error {
			cl, app, err := s.reach(c.Context(), a[0], env)
			if err != nil {
				return err
			}
			if how.ask != "" {
				if err := s.confirm(yes, fmt.Sprintf(how.ask, strings.Join(append([]string{ref(app)}, a[1:]...), " "))); err != nil {
					return err
				}
			}
			out, err := how.do(cl, c.Context(), app.ID, wire.PoolNames{Pools: a[1:]}, cmp.Or(key, client.NewKey()))
			if err != nil {
				return err
			}
			return s.show(out, func() {
				shown := 0
				for _, p := range out.Pools {
					if how.verb != "forget" || p.Deleting {
						s.print("%s", how.done(p))
						shown++
					}
				}
				if shown == 0 {
					s.say("no pool of %s is being deleted", ref(app))
				}
			})
		},
	}
	s.addEnvironment(c, &env)
	if how.ask != "" {
		addYes(c, &yes)
	}
	c.Flags().StringVar(&key, "key", "", "an idempotency key: asking again under it gives the first answer again")
	return c
}
