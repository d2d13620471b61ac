package cli

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"slipway.dev/slipway/internal/client"
	"slipway.dev/slipway/internal/wire"
)

func (s *session) secretsCommand() *cobra.Command {
	return group("secrets", "Set, list and delete secrets of an environment", []string{"secret"},
		s.secretListCommand(), s.secretSetCommand(), s.secretDeleteCommand())
}

func (s *session) secretListCommand() *cobra.Command {
	var env string
	c := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the secrets, without values", Args: args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			project, environment, err := s.environment(env)
			if err != nil {
				return err
			}
			cl, err := s.connect()
			if err != nil {
				return err
			}
			all, err := client.All(c.Context(), func(ctx context.Context, p client.Page) ([]wire.Secret, string, error) {
				return cl.Secrets(ctx, project, environment, p)
			})
			if err != nil {
				return err
			}
			return list(s, all, "no secret yet; slipway secrets set makes one", []string{"NAME", "VERSION", "CHANGED", "BY", "USED BY"},
				func(x wire.Secret) []string {
					return []string{x.Name, fmt.Sprint(x.Version), ago(x.UpdatedAt), x.UpdatedBy, strings.Join(x.UsedBy, ", ")}
				})
		},
	}
	s.addEnvironment(c, &env)
	return c
}

func (s *session) secretSetCommand() *cobra.Command {
	var env, file string
	c := &cobra.Command{
		Use: "set NAME", Short: "Give a secret a value", Args: args(1, 1),
		Long: `Give a secret a value. The value is asked for, or read from the standard input
or a file; it is not an argument, for arguments are seen by others. One line end
at its end is dropped. It cannot be read back.`,
		Example: "  slipway secrets set guestbook-db -e shop/dev < password-file",
		RunE: func(c *cobra.Command, a []string) error {
			project, environment, err := s.environment(env)
			if err != nil {
				return err
			}
			cl, err := s.connect()
			if err != nil {
				return err
			}
			value, err := s.secretValue(file)
			if err != nil {
				return err
			}
			x, err := cl.SetSecret(c.Context(), project, environment, a[0], wire.SecretValue{Value: value})
			if err != nil {
				return err
			}
			return s.show(x, func() { s.print("secret %s, version %d", x.Name, x.Version) })
		},
	}
	s.addEnvironment(c, &env)
	c.Flags().StringVar(&file, "file", "", "read the value from a file")
	return c
}

func (s *session) secretValue(file string) (string, error) {
	if file != "" {
		f, err := os.Open(file)
		if err != nil {
			return "", usagef("%s", err)
		}
		defer f.Close()
		return s.readSecret(f)
	}
	_, tty := terminal(s.Stdin)
	return s.askPassword("value: ", !tty)
}

func (s *session) secretDeleteCommand() *cobra.Command {
	var env string
	c := s.removal("delete NAME", "Delete a secret that no application uses", nil,
		func(a string) string { return fmt.Sprintf("delete the secret %s?", a) },
		func(c *cobra.Command, cl *client.Client, a string) error {
			project, environment, err := s.environment(env)
			if err != nil {
				return err
			}
			return cl.DeleteSecret(c.Context(), project, environment, a)
		})
	s.addEnvironment(c, &env)
	return c
}

// addEnvironment adds the flag -e.
func (s *session) addEnvironment(c *cobra.Command, env *string) {
	c.Flags().StringVarP(env, "environment", "e", "", "project/environment (default: the context's)")
	must(c.RegisterFlagCompletionFunc("environment", s.completeEnvironments))
}
