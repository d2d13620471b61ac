package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"slipway.dev/slipway/internal/client"
	"slipway.dev/slipway/internal/wire"
)

// lookPatience is how long a look that was asked for is waited for. One takes seconds; the
// rest is for a server that has many others to make first.
const lookPatience = 3 * time.Minute

func (s *session) driftCommand() *cobra.Command {
	var env string
	var now bool
	c := &cobra.Command{
		Use: "drift APPLICATION", Short: "Show in what the cluster differs from what was applied", Args: args(1, 1), ValidArgsFunction: s.completeApplications,
		Long: `Show in what the cluster differs from what Slipway last applied: objects that
are gone, fields that somebody changed, objects that no change made. The server
looks when a change has ended and at intervals; --check-now asks for a look at
once and waits for it. A difference is told when two looks in a row have seen
it.

It exits with 7 when something differs, and with 6 when nobody could look.`,
		Example: "  slipway drift guestbook -e shop/dev --check-now",
		RunE: func(c *cobra.Command, a []string) error {
			cl, app, err := s.reach(c.Context(), a[0], env)
			if err != nil {
				return err
			}
			d, err := s.look(c.Context(), cl, app, now)
			if err != nil {
				return err
			}
			if err := s.show(d, func() { printDrift(s.Stdout, app, d) }); err != nil {
				return err
			}
			switch {
			case d.State == "drifted":
				return quiet(exitDiffers)
			case d.State == "unknown" || d.Missed != "":
				return quiet(exitUnavailable)
			}
			return nil
		},
	}
	s.addEnvironment(c, &env)
	c.Flags().BoolVar(&now, "check-now", false, "have the cluster compared now, and wait for it")
	return c
}

func (s *session) repairCommand() *cobra.Command {
	var env, key string
	var yes, wait bool
	var expect int64
	c := &cobra.Command{
		Use: "repair APPLICATION", Short: "Put back what drifted from what was applied", Args: args(1, 1), ValidArgsFunction: s.completeApplications,
		Long: `Put back what drifted: fields that somebody changed become what was applied,
objects that are gone are made again, what somebody added by hand is taken away.
Components that are stopped stay stopped, and no hook runs. An object that no
change made is left alone.

The cluster is compared first, and what a repair would put back is shown.`,
		Example: "  slipway repair guestbook -e shop/dev --wait",
		RunE: func(c *cobra.Command, a []string) error {
			cl, app, err := s.reach(c.Context(), a[0], env)
			if err != nil {
				return err
			}
			d, err := s.look(c.Context(), cl, app, true)
			if err != nil {
				return err
			}
			printDrift(s.Stderr, app, d)
			if d.Missed == "" && repairable(d) == 0 {
				s.say("there is nothing to put back")
				return nil
			}
			question := fmt.Sprintf("put back what differs on %s?", ref(app))
			if d.Missed == "" {
				question = fmt.Sprintf("put back %s on %s?", count(repairable(d), "difference", "differences"), ref(app))
			}
			if err := s.confirm(yes, question); err != nil {
				return err
			}
			accepted, err := cl.Repair(c.Context(), app.ID, wire.Repair{ExpectedRevision: cmp.Or(expect, app.Revision)}, key)
			if err != nil {
				return err
			}
			for _, w := range accepted.Warnings {
				s.say("%s %s", s.yellow(s.Stderr, "warning:"), w)
			}
			return s.follow(c.Context(), cl, accepted, wait)
		},
	}
	s.addEnvironment(c, &env)
	addYes(c, &yes)
	addChangeFlags(c, nil, &wait, &key)
	c.Flags().Int64Var(&expect, "expect", 0, "the revision that you have seen (default: the one of this moment)")
	return c
}

// look reads an application's drift; with now, as a look at this moment has it.
func (s *session) look(ctx context.Context, cl *client.Client, app wire.Application, now bool) (wire.Drift, error) {
	if !now {
		return cl.Drift(ctx, app.ID, time.Time{}, 0)
	}
	check, err := cl.CheckDrift(ctx, app.ID)
	if err != nil {
		return wire.Drift{}, err
	}
	for end := time.Now().Add(lookPatience); ; {
		d, err := cl.Drift(ctx, app.ID, check.Asked, client.MaxWait)
		if err != nil || d.Current {
			return d, err
		}
		if time.Now().After(end) {
			return d, (&failure{code: exitUnavailable, msg: fmt.Sprintf("nobody has looked at %s within %s", ref(app), lookPatience)}).
				hint("is there a server that works? see slipway tasks list")
		}
	}
}

func repairable(d wire.Drift) (n int) {
	for _, f := range d.Differences {
		if f.Repairable {
			n++
		}
	}
	return n
}

// printDrift writes what differs as people read it, one difference a line.
func printDrift(w io.Writer, a wire.Application, d wire.Drift) {
	fmt.Fprintf(w, "%s  %s\n", ref(a), driftWords(d))
	width := 0
	for _, f := range d.Differences {
		width = max(width, utf8.RuneCountInString(f.Object))
	}
	for _, f := range d.Differences {
		by := ""
		if f.By != "" {
			by = "  (" + f.By + ")"
		}
		fmt.Fprintf(w, "  %s   %s%s\n", pad(f.Object, width), value(f.Text), by)
	}
	for _, u := range d.Unable {
		fmt.Fprintf(w, "  not compared: %s\n", value(u))
	}
}

// driftWords says how an application stands, and how old that is.
func driftWords(d wire.Drift) string {
	var words string
	switch d.State {
	case "drifted":
		words = fmt.Sprintf("differs from revision %d since %s", d.Revision, agoPtr(d.Since, "an unknown time"))
	case "none":
		words = fmt.Sprintf("is as revision %d was applied", d.Revision)
	default:
		words = "was not compared yet"
	}
	switch {
	case d.Missed != "" && d.CheckedAt == nil:
		return words + " · " + d.Missed
	case d.Missed != "":
		return words + " · not checked since " + agoPtr(d.CheckedAt, "") + ": " + d.Missed
	case d.CheckedAt != nil:
		return words + " · checked " + agoPtr(d.CheckedAt, "")
	}
	return words
}

// driftCell is a list's word for it.
func driftCell(d *wire.DriftSummary) string {
	switch {
	case d == nil:
		return ""
	case d.State == "drifted":
		return count(d.Differences, "difference", "differences")
	case d.Missed != "" || d.State == "unknown":
		return "not checked"
	}
	return "none"
}

// driftLine is the same for one application, with its age.
func driftLine(d *wire.DriftSummary) string {
	if d == nil {
		return ""
	}
	words := driftCell(d)
	switch {
	case d.Missed != "" && d.CheckedAt != nil:
		return words + ", not checked since " + ago(*d.CheckedAt) + ": " + d.Missed
	case d.Missed != "":
		return words + ": " + d.Missed
	case d.CheckedAt != nil:
		words += ", checked " + ago(*d.CheckedAt)
	}
	if d.State == "drifted" {
		words += "; see slipway drift"
	}
	return words
}
