package cli

import (
	"github.com/spf13/cobra"

	"slipway.dev/slipway/internal/author"
)

func (s *session) driverInitCommand() *cobra.Command {
	return &cobra.Command{
		Use: "init NAME [DIRECTORY]", Short: "Begin a driver", Args: args(1, 2),
		Long: `Begin a driver: write a small one, whole, into a new directory. It deploys as it
is, with busybox as the application, so that every change can be tried from the
first minute on: put your image into values.j2.yml, your workloads into chart,
and your steps into actions.py.

The directory is NAME unless another is given. Nothing is overwritten.`,
		Example: `  slipway driver init guestbook
  cd guestbook && slipway driver test`,
		ValidArgsFunction: func(_ *cobra.Command, a []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(a) == 1 {
				return nil, cobra.ShellCompDirectiveFilterDirs
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, a []string) error {
			dir := a[len(a)-1]
			written, err := author.Init(a[0], dir)
			if err != nil {
				return err
			}
			return s.show(map[string]any{"driver": a[0], "directory": dir, "files": written}, func() {
				for _, f := range written {
					s.print("%s", f)
				}
				s.say("try it:  slipway driver test %s", dir)
			})
		},
	}
}
