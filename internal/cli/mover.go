package cli

import "github.com/spf13/cobra"

// moverCommand carries the bytes of a backup. Slipway starts it in a Job; people have no
// use for it, so it is not in the help.
func (s *session) moverCommand() *cobra.Command {
	return &cobra.Command{
		Use: "mover", Short: "Carry the bytes of a backup, inside a Job of Slipway's", Args: args(0, 0), Hidden: true,
		RunE: func(c *cobra.Command, _ []string) error {
			if s.Mover == nil {
				return usagef("this program carries no backups")
			}
			return s.Mover(c.Context(), s.getenv)
		},
	}
}
