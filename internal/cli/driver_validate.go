package cli

import (
	"github.com/spf13/cobra"
)

func (s *session) driverValidateCommand() *cobra.Command {
	var at authorFlags
	c := &cobra.Command{
		Use: "validate [DIRECTORY]", Short: "Find everything that is wrong with a driver", Args: args(0, 1),
		Long: `Find everything that is wrong with a driver, all at once, each with its file,
line and column and what to write instead. It is what the server does when the
driver is loaded, done here: neither a server nor a cluster nor a network is
asked, and no code of the driver runs.

It looks at the specification; at the functions of the actions; at the values
and the chart, for the lowest and the highest version that the driver supports;
whether each component is among the chart's workloads, with its container; and
at the file of tests. A chart named by oci:// or https:// is not looked at.

Exit code 8 says that the driver has faults.`,
		Example: `  slipway driver validate ./guestbook
  slipway driver validate -o json | jq -r '.faults[].message'`,
		ValidArgsFunction: directories,
		RunE: func(c *cobra.Command, a []string) error {
			tools, clean, err := s.authorTools(at)
			if err != nil {
				return err
			}
			defer clean()
			d, err := s.checkDriver(c, tools, directory(a))
			if err != nil {
				return err
			}
			if done, err := s.machine(d); err != nil || done && d.Valid {
				return err
			} else if done {
				return quiet(exitFaulty)
			}
			s.warnAll(d.Warnings)
			for _, f := range d.Faults {
				s.print("%s", f)
			}
			if !d.Valid {
				s.say("%s has %s", d.title(), count(len(d.Faults), "fault", "faults"))
				return quiet(exitFaulty)
			}
			s.print("%s is valid: %s, %s  %s", d.title(), count(len(d.spec.Components), "component", "components"),
				count(len(d.spec.Actions), "action", "actions"), shortDigest(d.Digest))
			return nil
		},
	}
	at.add(c)
	return c
}

// directory is the first argument, or the current directory.
func directory(a []string) string {
	if len(a) == 0 {
		return "."
	}
	return a[0]
}
