package cli

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"slipway.dev/slipway/internal/client"
	"slipway.dev/slipway/internal/wire"
)

func (s *session) tokensCommand() *cobra.Command {
	return group("tokens", "Make, list and revoke API tokens", []string{"token"},
		s.tokenListCommand(), s.tokenCreateCommand(),
		s.removal("revoke ID", "Revoke a token, at once", s.completeTokens,
			func(a string) string { return fmt.Sprintf("revoke token %s?", a) },
			func(c *cobra.Command, cl *client.Client, a string) error {
				n, err := strconv.ParseInt(a, 10, 64)
				if err != nil {
					return usagef("%q is not a token's ID", a).hint("see slipway tokens list")
				}
				return cl.RevokeToken(c.Context(), n)
			}))
}

func (s *session) tokenListCommand() *cobra.Command {
	var user string
	var everybody bool
	c := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List your tokens", Args: args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			cl, err := s.connect()
			if err != nil {
				return err
			}
			if everybody {
				user = client.Everybody
			}
			all, err := client.All(c.Context(), func(ctx context.Context, p client.Page) ([]wire.Token, string, error) {
				return cl.Tokens(ctx, user, p)
			})
			if err != nil {
				return err
			}
			return list(s, all, "no token", []string{"ID", "NAME", "USER", "BEGINS", "ROLE", "ONLY", "LAST USED", "ENDS"}, tokenRow)
		},
	}
	c.Flags().StringVar(&user, "user", "", "those of another user; for administrators")
	c.Flags().BoolVar(&everybody, "all", false, "everybody's; for administrators")
	c.MarkFlagsMutuallyExclusive("user", "all")
	must(c.RegisterFlagCompletionFunc("user", s.completeUsers))
	return c
}

func tokenRow(t wire.Token) []string {
	only := ""
	if t.Project != "" {
		only = t.Project + "/" + cmp.Or(t.Environment, "*")
	}
	ends := agoPtr(t.ExpiresAt, "never")
	if t.RevokedAt != nil {
		ends = "revoked " + ago(*t.RevokedAt)
	}
	return []string{strconv.FormatInt(t.ID, 10), t.Name, t.User, t.Hint, t.Role, only, agoPtr(t.LastUsedAt, "never"), ends}
}

func (s *session) tokenCreateCommand() *cobra.Command {
	var in wire.NewToken
	var env string
	var ends time.Duration
	c := &cobra.Command{
		Use: "create NAME", Short: "Make a token for a program", Args: args(1, 1),
		Long:    "Make a token for a program. Its value is printed once and cannot be read again;\ngive it to the program as SLIPWAY_TOKEN.",
		Example: "  slipway tokens create ci --role read-write -e shop/dev --expires 720h",
		RunE: func(c *cobra.Command, a []string) error {
			in.Name = a[0]
			if env != "" {
				in.Project = env
				if strings.Contains(env, "/") {
					var err error
					if in.Project, in.Environment, err = splitEnvironment(env); err != nil {
						return err
					}
				}
			}
			if c.Flags().Changed("expires") {
				if ends < time.Minute {
					return usagef("--expires is %s, shorter than a minute", ends)
				}
				in.ExpiresIn = int64(ends / time.Second)
			}
			cl, err := s.connect()
			if err != nil {
				return err
			}
			t, err := cl.CreateToken(c.Context(), in)
			if err != nil {
				return err
			}
			return s.show(t, func() {
				s.print("%s", t.Value)
				s.say("token %d of %s, role %s; it is not shown again", t.Info.ID, t.Info.User, t.Info.Role)
			})
		},
	}
	f := c.Flags()
	s.addRole(c, &in.Role, "", "at most your own, which it is by default")
	f.StringVarP(&env, "environment", "e", "", "confine it to project/environment, or to a project")
	f.DurationVar(&ends, "expires", 0, "how long it is valid, such as 720h (default: until revoked)")
	f.StringVar(&in.User, "user", "", "make it for another user; for administrators")
	must(c.RegisterFlagCompletionFunc("environment", s.completeEnvironments))
	must(c.RegisterFlagCompletionFunc("user", s.completeUsers))
	return c
}
