package cli

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"slipway.dev/slipway/internal/client"
	"slipway.dev/slipway/internal/wire"
)

func (s *session) loginCommand() *cobra.Command {
	var user, name string
	var stdin bool
	c := &cobra.Command{
		Use: "login [URL]", Short: "Log in to a server", Args: args(0, 1),
		Long: `Log in to a server: exchange a password for a personal token, named after this
host, and keep it in contexts.toml, which only you can read. "slipway logout"
revokes it. Programs use tokens of their own: see slipway tokens create.`,
		Example: "  slipway login https://slipway.example.com\n  slipway login --username ada --password-stdin < password-file",
		RunE: func(c *cobra.Command, a []string) error {
			if len(a) == 1 {
				s.server = a[0]
			}
			t, err := s.target()
			if err != nil {
				return err
			}
			if user == "" {
				if _, tty := terminal(s.Stdin); !tty {
					return usagef("nobody can be asked for the user's name here").hint("add --username")
				}
				if user, err = s.ask("user: "); err != nil {
					return err
				}
			}
			password, err := s.askPassword("password: ", stdin)
			if err != nil {
				return err
			}
			who, err := s.login(c, t, cmp.Or(name, s.context, contextName(t.url)), user, password)
			if err != nil {
				return err
			}
			s.say("logged in to %s as %s (%s)", t.url, who.Info.User, who.Info.Role)
			return nil
		},
	}
	f := c.Flags()
	f.StringVarP(&user, "username", "u", "", "who logs in; asked for when not given")
	f.StringVar(&name, "name", "", "what to call the context (default: the server's host)")
	f.BoolVar(&stdin, "password-stdin", false, "read the password from the standard input")
	return c
}

// login gets a token and remembers it.
func (s *session) login(c *cobra.Command, t target, context, user, password string) (wire.Session, error) {
	cl, err := s.client(t, "")
	if err != nil {
		return wire.Session{}, err
	}
	host, err := os.Hostname()
	if err != nil {
		host = "an unnamed host" // only a label
	}
	session, err := cl.Login(c.Context(), wire.Login{Username: user, Password: password, TokenName: "login from " + host[:min(len(host), 50)]})
	if err != nil {
		return session, err
	}
	saved := savedServer{URL: t.url, User: session.Info.User, Token: session.Token}
	if t.caFile != "" {
		if saved.CAFile, err = filepath.Abs(t.caFile); err != nil {
			return session, fmt.Errorf("remember the certificates: %w", err)
		}
	}
	return session, s.remember(context, saved)
}

func (s *session) logoutCommand() *cobra.Command {
	return &cobra.Command{
		Use: "logout", Short: "Revoke the login's token and forget it", Args: args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			t, err := s.target()
			if err != nil {
				return err
			}
			saved, err := s.loadContexts()
			if err != nil {
				return err
			}
			x := saved.Contexts[t.name]
			if x.Token == "" {
				return usagef("no login is kept for %s", t.url)
			}
			cl, err := s.client(x.target(t.name), x.Token)
			if err != nil {
				return err
			}
			// A token that the server does not take any more is as good as revoked.
			if err := cl.Logout(c.Context()); err != nil && !client.IsKind(err, "unauthenticated") {
				return err
			}
			x.Token = ""
			saved.Contexts[t.name] = x
			if err := s.saveContexts(saved); err != nil {
				return err
			}
			s.say("logged out of %s", x.URL)
			return nil
		},
	}
}

func (s *session) whoamiCommand() *cobra.Command {
	return &cobra.Command{
		Use: "whoami", Short: "Show who the server takes you for", Args: args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			t, err := s.target()
			if err != nil {
				return err
			}
			cl, err := s.client(t, t.token)
			if err != nil {
				return err
			}
			who, err := cl.Whoami(c.Context())
			if err != nil {
				return err
			}
			return s.show(who, func() {
				scope := ""
				if who.Project != "" {
					scope = who.Project + "/" + cmp.Or(who.Environment, "*")
				}
				s.fields("user", who.User, "role", who.Role, "only", scope, "server", t.url)
			})
		},
	}
}
