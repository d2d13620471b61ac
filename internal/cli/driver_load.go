package cli

import (
	"github.com/spf13/cobra"

	"slipway.dev/slipway/internal/spec"
)

func (s *session) driverLoadCommand() *cobra.Command {
	var rf registryFlags
	var vf verifyFlags
	c := &cobra.Command{
		Use: "load SOURCE", Short: "Load a driver from a directory, a registry or git", Args: args(1, 1),
		Long: `Load a driver into the server, which checks it first. SOURCE is one of

  DIRECTORY                                 a directory of this machine
  oci://registry/path/name:1.0.0            a registry, by a tag
  oci://registry/path/name@sha256:…         a registry, by a digest
  git+https://host/org/repo//path?ref=v1    git, at a branch, tag or commit
  git+ssh://git@host/org/repo//path?ref=v1  git, with an SSH key

The driver is fetched by this command, with this machine's credentials, and then
uploaded. What a tag or branch stood for, the digest or commit, is kept as the
driver's source. Git's submodules, links and Git LFS are not followed.

The same name and version with other content is refused: a loaded version never
changes. Loading the same content again is harmless, from wherever it comes.

Files named by SLIPWAY_VERIFY_KEYS count as --verify-key for every load.`,
		Example: `  slipway driver load ./guestbook
  slipway driver load oci://registry.example.com/drivers/guestbook:1.0.0 --verify-key cosign.pub
  slipway driver load "git+https://git.example.com/team/drivers//guestbook?ref=v1.0.0"`,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
		RunE: func(c *cobra.Command, a []string) error {
			f, err := s.fetch(c.Context(), a[0], rf, vf)
			if err != nil {
				return err
			}
			packed, _, err := spec.Pack(f.bundle)
			if err != nil {
				return err
			}
			cl, err := s.connect()
			if err != nil {
				return err
			}
			d, err := cl.LoadDriver(c.Context(), packed, f.source)
			if err != nil {
				return err
			}
			for _, w := range d.Warnings {
				s.say("%s %s", s.yellow(s.Stderr, "warning:"), w)
			}
			return s.show(d, func() {
				known := ""
				if d.Known {
					known = "  (it was loaded already)"
				}
				s.print("%s%s", driverLine(d, f.bundle), known)
				if f.source != d.Source && d.Known {
					s.print("  first loaded from %s", d.Source)
				}
				if f.signedBy != "" {
					s.print("  signed by the key of %s", f.signedBy)
				}
			})
		},
	}
	rf.add(c)
	vf.add(c)
	return c
}
