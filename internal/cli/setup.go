package cli

import (
	"cmp"
	"os"

	"github.com/spf13/cobra"
	"slipway.dev/slipway/internal/wire"
)

func (s *session) setupCommand() *cobra.Command {
	var secretFile, user string
	var stdin bool
	c := &cobra.Command{
		Use: "setup --secret-file FILE", Short: "Make the first administrator", Args: args(0, 0),
		Long: `Make the first administrator of a new installation, and log in as them. The
server has said at its first start where the one-time secret is; only who can
read that file can do this, and only once.`,
		Example: "  slipway setup --secret-file ~/.local/share/slipway/setup-secret",
		RunE: func(c *cobra.Command, _ []string) error {
			if secretFile == "" {
				return usagef("slipway setup needs --secret-file").hint("the server prints where it is at its first start")
			}
			secret, err := s.readSetupSecret(secretFile)
			if err != nil {
				return err
			}
			t, err := s.target()
			if err != nil {
				return err
			}
			if user == "" {
				if _, tty := terminal(s.Stdin); !tty {
					return usagef("nobody can be asked for the administrator's name here").hint("add --username and --password-stdin")
				}
				if user, err = s.ask("name of the administrator: "); err != nil {
					return err
				}
			}
			password, err := s.askNewPassword(stdin)
			if err != nil {
				return err
			}
			cl, err := s.client(t, "")
			if err != nil {
				return err
			}
			made, err := cl.Setup(c.Context(), wire.Setup{Secret: secret, Username: user, Password: password})
			if err != nil {
				return err
			}
			if _, err := s.login(c, t, cmp.Or(s.context, contextName(t.url)), made.Name, password); err != nil {
				return err
			}
			s.say("administrator %s is made, and logged in to %s", made.Name, t.url)
			return nil
		},
	}
	f := c.Flags()
	f.StringVar(&secretFile, "secret-file", "", "the file with the one-time secret")
	f.StringVarP(&user, "username", "u", "", "the administrator's name; asked for when not given")
	f.BoolVar(&stdin, "password-stdin", false, "read the password from the standard input")
	must(c.MarkFlagFilename("secret-file"))
	return c
}

func (s *session) readSetupSecret(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", usagef("%s", err).hint("the server prints its place at its first start; once the administrator is made it is gone: log in with  slipway login")
	}
	defer f.Close()
	return s.readSecret(f)
}
