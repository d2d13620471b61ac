package cli

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"slipway.dev/slipway/internal/client"
	"slipway.dev/slipway/internal/wire"
)

func (s *session) runnersCommand() *cobra.Command {
	return group("runners", "See, pause and resume runner pools; see their slots and jobs", []string{"runner"},
		s.runnerListCommand(), s.runnerGetCommand(), s.runnerSlotsCommand(), s.runnerJobsCommand(),
		s.runnerWhyCommand(), s.runnerLogsCommand(), s.runnerLedgerCommand(),
		s.runnerPauseCommand(), s.runnerResumeCommand(), s.runnerForgetCommand())
}

// narrow reads the flag of commands that list pools: a project, with or without an
// environment.
func narrow(env string) (project, environment string, err error) {
	if env == "" || !strings.Contains(env, "/") {
		return env, "", nil
	}
	return splitEnvironment(env)
}

func (s *session) runnerListCommand() *cobra.Command {
	var env string
	c := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the runner pools", Args: args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			project, environment, err := narrow(env)
			if err != nil {
				return err
			}
			cl, err := s.connect()
			if err != nil {
				return err
			}
			all, err := cl.RunnerPools(c.Context(), project, environment)
			if err != nil {
				return err
			}
			return list(s, all, "no runner pool yet; slipway deploy makes one of a runner application",
				[]string{"POOL", "STATE", "JOBS WAITING", "BUSY", "FREE", "LIMIT", "FOR", "LABELS", "CHECKED"}, func(p wire.RunnerPool) []string {
					return []string{
						p.Ref, p.State, strconv.Itoa(p.Demand), strconv.Itoa(p.Slots["busy"]), strconv.Itoa(freeSlots(p)), strconv.Itoa(p.Replicas),
						scopeWord(p), strings.Join(p.Labels, ","), agoPtr(p.CheckedAt, "never"),
					}
				})
		},
	}
	c.Flags().StringVarP(&env, "environment", "e", "", "only those of project/environment, or of a project")
	must(c.RegisterFlagCompletionFunc("environment", s.completeEnvironments))
	return c
}

// scopeWord writes a scope; its host only when it is not the common one.
func scopeWord(p wire.RunnerPool) string {
	if p.Host == "github.com" {
		return p.Scope
	}
	return p.Host + "/" + p.Scope
}

func freeSlots(p wire.RunnerPool) int {
	return p.Slots["idle"] + p.Slots["wanted"] + p.Slots["registering"] + p.Slots["launching"] + p.Slots["starting"]
}

func (s *session) runnerGetCommand() *cobra.Command {
	var env string
	var watch bool
	c := &cobra.Command{
		Use: "get APPLICATION", Short: "Show an application's pools, slots and queue", Args: args(1, 1), ValidArgsFunction: s.completeApplications,
		Long: `Show the pools of a runner application: how they stand and why, their open
slots with the phase of each, the jobs that run and wait, each with why it
waits, and whether anything was left behind.

With --watch it stays and shows what changes; interrupt it to end.`,
		Example: "  slipway runners get team-ci -e shop/production --watch",
		RunE: func(c *cobra.Command, a []string) error {
			cl, app, err := s.reach(c.Context(), a[0], env)
			if err != nil {
				return err
			}
			if watch {
				return s.watchRunners(c.Context(), cl, app)
			}
			got, err := cl.Actions(c.Context(), app.ID, 0)
			if err != nil {
				return err
			}
			return s.show(got, func() { s.printActions(s.Stdout, got) })
		},
	}
	s.addEnvironment(c, &env)
	c.Flags().BoolVar(&watch, "watch", false, "stay, and show what changes")
	return c
}

// printActions writes pools, slots and queue as people read them.
func (s *session) printActions(w io.Writer, a wire.Actions) {
	if len(a.Pools) == 0 {
		writeLine(w, "%s has no runner pool", a.Application)
		return
	}
	for i, p := range a.Pools {
		if i > 0 {
			writeLine(w, "")
		}
		s.printPool(w, p)
	}
	if len(a.Slots) > 0 {
		writeLine(w, "\nslots")
		rows := make([][]string, len(a.Slots))
		for i, slot := range a.Slots {
			rows[i] = slotRow(slot)
		}
		table(w, slotHead, rows)
		if more := a.SlotsAll - len(a.Slots); more > 0 {
			writeLine(w, "and %d more: slipway runners slots --open", more)
		}
	}
	if len(a.Queue) == 0 {
		writeLine(w, "\n%s", noJobs(a.Pools))
		return
	}
	writeLine(w, "\njobs")
	for _, j := range a.Queue {
		printJobLine(w, j)
	}
	if more := a.QueueAll - len(a.Queue); more > 0 {
		writeLine(w, "and %d more: slipway runners jobs", more)
	}
}

func (s *session) printPool(w io.Writer, p wire.RunnerPool) {
	line := fmt.Sprintf("%s  %s", p.Ref, s.stateWord(w, p.State))
	if p.Why != "" {
		line += " · " + value(p.Why)
	}
	writeLine(w, "%s", line)
	writeLine(w, "  %s · %d busy · %d idle · %d starting · %d leaving · at most %d · %s",
		count(p.Demand, "job waits", "jobs wait"), p.Slots["busy"], p.Slots["idle"], freeSlots(p)-p.Slots["idle"], p.Slots["draining"]+p.Slots["removing"], p.Replicas, sleeps(p))
	writeLine(w, "  for %s · labels %s", scopeWord(p), strings.Join(p.Labels, ", "))
	if p.HoldUntil != nil && time.Until(*p.HoldUntil) > 0 {
		writeLine(w, "  %s", s.yellow(w, fmt.Sprintf("nothing is launched until %s: %s", p.HoldUntil.UTC().Format("15:04:05 UTC"), value(p.HoldWhy))))
	}
	if p.Warning != "" {
		writeLine(w, "  %s %s", s.yellow(w, "warning:"), value(p.Warning))
	}
	if p.Observed.Error != "" {
		writeLine(w, "  its runners were last listed %s: %s", agoPtr(p.Observed.At, "never"), value(p.Observed.Error))
	}
	writeLine(w, "  %s", ledgerLine(p.Ledger))
}

// noJobs is what stands in place of the jobs, where there are none or none is told of.
func noJobs(pools []wire.RunnerPool) string {
	if !slices.ContainsFunc(pools, func(p wire.RunnerPool) bool { return p.Forge == "GitHub" }) {
		return "jobs are on the pages of " + pools[0].Forge + ", which does not tell of them"
	}
	return "no job runs or waits"
}

func sleeps(p wire.RunnerPool) string {
	if p.IdleSeconds == 0 {
		return "a fixed pool"
	}
	return fmt.Sprintf("at least %d, after %s without a job", p.Minimum, long(time.Duration(p.IdleSeconds)*time.Second))
}

func (s *session) stateWord(w io.Writer, state string) string {
	switch state {
	case "ready":
		return s.green(w, state)
	case "held":
		return s.red(w, state)
	case "full", "paused":
		return s.yellow(w, state)
	}
	return state
}

// ledgerLine says whether anything was left behind, and how old that is.
func ledgerLine(l wire.Ledger) string {
	if l.CheckedAt == nil {
		return "nobody has looked yet whether anything was left behind"
	}
	line := fmt.Sprintf("%s without a slot, %s without a slot", count(len(l.Pods), "pod", "pods"), count(len(l.Registrations), "registration", "registrations"))
	if n := len(l.Slots); n > 0 {
		line += fmt.Sprintf(", %s without a pod", count(n, "slot", "slots"))
	}
	return line + ", checked " + ago(*l.CheckedAt)
}

var slotHead = []string{"SLOT", "POOL", "STATE", "FOR", "RUNNER", "JOB", "NODE", ""}

func slotRow(s wire.Slot) []string {
	job := ""
	if s.Job != 0 {
		job = strings.TrimSpace(strconv.FormatInt(s.Job, 10) + " " + value(s.JobName))
	}
	at := long(time.Since(s.Since))
	if s.State == "closed" {
		at = ago(s.Since)
	}
	return []string{strconv.FormatInt(s.ID, 10), s.Service, s.State, at, s.Runner, job, s.Node, slotSays(s)}
}

// slotSays is what a slot tells beside its state: first what keeps it.
func slotSays(s wire.Slot) string {
	switch {
	case s.Failure != "":
		says := value(s.Failure)
		if s.RetryAt != nil && time.Until(*s.RetryAt) > 0 {
			says += ", again in " + long(time.Until(*s.RetryAt))
		}
		return says
	case s.State == "closed" && s.Result != "":
		return value(s.Result)
	case s.Reason != "":
		return value(s.Reason)
	}
	return value(s.Seen)
}

func (s *session) runnerSlotsCommand() *cobra.Command {
	var env, pool string
	var open, all bool
	c := &cobra.Command{
		Use: "slots APPLICATION", Short: "List slots, open and closed, newest first", Args: args(1, 1), ValidArgsFunction: s.completeApplications,
		RunE: func(c *cobra.Command, a []string) error {
			cl, app, err := s.reach(c.Context(), a[0], env)
			if err != nil {
				return err
			}
			slots, err := some(s, c.Context(), all, func(p client.Page) ([]wire.Slot, string, error) {
				return cl.Slots(c.Context(), app.ID, pool, open, p)
			})
			if err != nil {
				return err
			}
			return list(s, slots, "no slot", slotHead, slotRow)
		},
	}
	s.addEnvironment(c, &env)
	c.Flags().StringVar(&pool, "pool", "", "only those of a pool, by its service")
	c.Flags().BoolVar(&open, "open", false, "only those that are not closed")
	c.Flags().BoolVar(&all, "all", false, "all of them, not only the newest")
	return c
}

func (s *session) runnerLedgerCommand() *cobra.Command {
	var env string
	c := &cobra.Command{
		Use: "ledger", Short: "Show whether a pod, a registration or a slot was left behind", Args: args(0, 0),
		Long: `Show, pool by pool, what the last sweep found that does not belong together:
pods without a slot, registrations without a slot, and slots without a pod. It
exits with 7 when there is any.`,
		RunE: func(c *cobra.Command, _ []string) error {
			project, environment, err := narrow(env)
			if err != nil {
				return err
			}
			cl, err := s.connect()
			if err != nil {
				return err
			}
			all, err := cl.RunnerPools(c.Context(), project, environment)
			if err != nil {
				return err
			}
			left := false
			for _, p := range all {
				left = left || len(p.Ledger.Pods)+len(p.Ledger.Registrations)+len(p.Ledger.Slots) > 0
			}
			if err := s.printLedger(all); err != nil {
				return err
			}
			if left {
				return quiet(exitDiffers)
			}
			return nil
		},
	}
	c.Flags().StringVarP(&env, "environment", "e", "", "only pools of project/environment, or of a project")
	must(c.RegisterFlagCompletionFunc("environment", s.completeEnvironments))
	return c
}

func (s *session) printLedger(pools []wire.RunnerPool) error {
	type entry struct {
		Pool string `json:"pool"`
		wire.Ledger
	}
	all := make([]entry, len(pools))
	for i, p := range pools {
		all[i] = entry{p.Ref, p.Ledger}
	}
	return s.show(all, func() {
		if len(all) == 0 {
			s.say("no runner pool yet")
		}
		for _, e := range all {
			s.print("%s  %s", e.Pool, ledgerLine(e.Ledger))
			for _, group := range []struct {
				what  string
				names []string
			}{{"pod", e.Pods}, {"registration", e.Registrations}, {"slot", e.Slots}} {
				for _, n := range group.names {
					s.print("  %s %s", group.what, value(n))
				}
			}
		}
	})
}
