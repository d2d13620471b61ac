package cli

import (
	"cmp"
	"strings"

	"github.com/spf13/cobra"
	"slipway.dev/slipway/internal/client"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/wire"
)

func (s *session) usersCommand() *cobra.Command {
	return group("users", "List, make and change users", []string{"user"},
		s.userListCommand(), s.userGetCommand(), s.userCreateCommand(), s.userSetCommand(), s.userPasswordCommand(),
		s.userActiveCommand("deactivate", "Shut a user out, at once and everywhere", false),
		s.userActiveCommand("activate", "Let a deactivated user in again", true))
}

func userState(u wire.User) string {
	switch {
	case !u.Active:
		return "deactivated"
	case u.BuiltIn:
		return "active, built in"
	}
	return "active"
}

func (s *session) userListCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the users", Args: args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			cl, err := s.connect()
			if err != nil {
				return err
			}
			all, err := client.All(c.Context(), cl.Users)
			if err != nil {
				return err
			}
			return list(s, all, "no user", []string{"NAME", "ROLE", "STATE", "LAST LOGIN"},
				func(u wire.User) []string {
					return []string{u.Name, u.Role, userState(u), agoPtr(u.LastLoginAt, "never")}
				})
		},
	}
}

func (s *session) printUser(u wire.User) {
	s.fields("user", u.Name, "role", u.Role, "state", userState(u), "made", ago(u.CreatedAt), "last login", agoPtr(u.LastLoginAt, "never"))
}

func (s *session) userGetCommand() *cobra.Command {
	return &cobra.Command{
		Use: "get NAME", Short: "Show a user", Args: args(1, 1), ValidArgsFunction: s.completeUsers,
		RunE: func(c *cobra.Command, a []string) error {
			cl, err := s.connect()
			if err != nil {
				return err
			}
			u, err := cl.User(c.Context(), a[0])
			if err != nil {
				return err
			}
			return s.show(u, func() { s.printUser(u) })
		},
	}
}

func (s *session) addRole(c *cobra.Command, role *string, byDefault, usage string) {
	names := make([]string, len(slipway.Roles()))
	for i, r := range slipway.Roles() {
		names[i] = string(r)
	}
	c.Flags().StringVar(role, "role", byDefault, usage+": "+strings.Join(names, ", "))
	must(c.RegisterFlagCompletionFunc("role", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp)))
}

func (s *session) userCreateCommand() *cobra.Command {
	var role string
	var stdin bool
	c := &cobra.Command{
		Use: "create NAME", Short: "Make a user", Args: args(1, 1),
		RunE: func(c *cobra.Command, a []string) error {
			cl, err := s.connect()
			if err != nil {
				return err
			}
			password, err := s.askNewPassword(stdin)
			if err != nil {
				return err
			}
			u, err := cl.CreateUser(c.Context(), wire.NewUser{Name: a[0], Role: role, Password: password}, "")
			if err != nil {
				return err
			}
			return s.show(u, func() { s.print("user %s (%s)", u.Name, u.Role) })
		},
	}
	s.addRole(c, &role, string(slipway.ReadOnly), "what they may do")
	c.Flags().BoolVar(&stdin, "password-stdin", false, "read the password from the standard input")
	return c
}

// changeUser sends a change of a user and shows them as they are then.
func (s *session) changeUser(c *cobra.Command, name string, in wire.UserChange) error {
	cl, err := s.connect()
	if err != nil {
		return err
	}
	u, err := cl.ChangeUser(c.Context(), name, in)
	if err != nil {
		return err
	}
	return s.show(u, func() { s.printUser(u) })
}

func (s *session) userSetCommand() *cobra.Command {
	var role string
	c := &cobra.Command{
		Use: "set-role NAME --role ROLE", Short: "Change what a user may do", Args: args(1, 1), ValidArgsFunction: s.completeUsers,
		RunE: func(c *cobra.Command, a []string) error {
			if role == "" {
				return usagef("slipway users set-role needs --role")
			}
			return s.changeUser(c, a[0], wire.UserChange{Role: &role})
		},
	}
	s.addRole(c, &role, "", "what they may do")
	return c
}

func (s *session) userActiveCommand(verb, short string, active bool) *cobra.Command {
	return &cobra.Command{
		Use: verb + " NAME", Short: short, Args: args(1, 1), ValidArgsFunction: s.completeUsers,
		RunE: func(c *cobra.Command, a []string) error {
			return s.changeUser(c, a[0], wire.UserChange{Active: &active})
		},
	}
}

func (s *session) userPasswordCommand() *cobra.Command {
	var stdin bool
	c := &cobra.Command{
		Use: "set-password [NAME]", Short: "Set a password: one's own, or as an administrator another's", Args: args(0, 1), ValidArgsFunction: s.completeUsers,
		Long: `Set a password. One's own needs the current one as well; with --password-stdin
it is the first line of the standard input, and the new one the second.`,
		RunE: func(c *cobra.Command, a []string) error {
			cl, err := s.connect()
			if err != nil {
				return err
			}
			me, err := cl.Whoami(c.Context())
			if err != nil {
				return err
			}
			name := cmp.Or(strings.Join(a, ""), me.User)
			in := wire.UserChange{}
			own := strings.EqualFold(name, me.User)
			if own {
				if in.CurrentPassword, err = s.askPassword("current password: ", stdin); err != nil {
					return err
				}
			}
			var fresh string
			if own && stdin {
				var two bool
				if in.CurrentPassword, fresh, two = strings.Cut(in.CurrentPassword, "\n"); !two {
					return usagef("the standard input has one line").hint("give the current password on the first line and the new one on the second")
				}
			} else if fresh, err = s.askNewPassword(stdin); err != nil {
				return err
			}
			in.Password = &fresh
			return s.changeUser(c, name, in)
		},
	}
	c.Flags().BoolVar(&stdin, "password-stdin", false, "read the password from the standard input")
	return c
}
