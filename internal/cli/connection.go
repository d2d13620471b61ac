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

func (s *session) connectionsCommand() *cobra.Command {
	return group("connections", "Connect forges: webhook addresses, their secrets and deliveries", []string{"connection"},
		s.connectionListCommand(), s.connectionCreateCommand(), s.connectionGetCommand(), s.connectionRotateCommand(),
		s.connectionDeliveriesCommand(), s.connectionManifestCommand(), s.connectionAppCommand(),
		s.removal("delete NAME", "Delete a connection with the record of its deliveries", s.completeConnections,
			func(a string) string {
				return fmt.Sprintf("delete the connection %s? what its forge sends is then refused", a)
			},
			func(c *cobra.Command, cl *client.Client, a string) error { return cl.DeleteConnection(c.Context(), a) }))
}

func (s *session) completeConnections(c *cobra.Command, a []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(a) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return s.complete(c, func(ctx context.Context, cl *client.Client) ([]string, error) {
		all, err := cl.Connections(ctx, "", "")
		names := make([]string, len(all))
		for i, n := range all {
			names[i] = n.Name
		}
		return names, err
	})
}

func connectionScope(n wire.Connection) string {
	if n.Project == "" {
		return "the whole installation"
	}
	return n.Project + "/" + n.Environment
}

func (s *session) connectionListCommand() *cobra.Command {
	var env string
	c := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the connections", Args: args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			project, environment := "", ""
			if env != "" {
				var err error
				if project, environment, err = splitEnvironment(env); err != nil {
					return err
				}
			}
			cl, err := s.connect()
			if err != nil {
				return err
			}
			all, err := cl.Connections(c.Context(), project, environment)
			if err != nil {
				return err
			}
			return list(s, all, "no connection yet; slipway connections create makes one", []string{"NAME", "SCOPE", "FORGE", "LAST DELIVERY", "LOST DELIVERIES"},
				func(n wire.Connection) []string {
					return []string{n.Name, connectionScope(n), forgeOf(n), agoPtr(n.LastDelivery, "never"), recovery(n)}
				})
		},
	}
	s.addEnvironment(c, &env)
	c.Flags().Lookup("environment").Usage = "only those of a project/environment"
	return c
}

func forgeOf(n wire.Connection) string {
	if n.BaseURL != "" {
		return n.Forge + " at " + n.BaseURL
	}
	return n.Forge
}

func recovery(n wire.Connection) string {
	switch {
	case n.RecoverError != "":
		return "cannot be looked for"
	case n.RecoveredAt == nil:
		return "not looked for yet"
	}
	return "looked for " + ago(*n.RecoveredAt)
}

func (s *session) connectionCreateCommand() *cobra.Command {
	var env, appKey string
	var in wire.NewConnection
	var whole, fromStdin bool
	c := &cobra.Command{
		Use: "create NAME", Short: "Make an address that a forge can send deliveries to", Args: args(1, 1),
		Long: `Make an address that a forge can send deliveries to. Its jobs may wake the pools
of one environment or, with --installation, all of them.

The webhook's secret is made here and shown this once; --secret-stdin takes one
that exists. At GitHub, enter both in a webhook of the organization or the
repository, with the content type application/json and the event "Workflow
jobs". For a GitHub App, enter them on the App's page and give its App ID and
private key here: lost deliveries are then found with them.`,
		Example: `  slipway connections create acme -e shop/production
  slipway connections create acme-app --installation --app-id 12345 --app-key-file acme.private-key.pem`,
		RunE: func(c *cobra.Command, a []string) error {
			in.Name = a[0]
			if !whole {
				var err error
				if in.Project, in.Environment, err = s.environment(env); err != nil {
					return err
				}
			}
			if appKey != "" {
				pem, err := os.ReadFile(appKey)
				if err != nil {
					return usagef("%s", err)
				}
				in.AppKey = string(pem)
			}
			cl, err := s.connect()
			if err != nil {
				return err
			}
			if fromStdin {
				if in.Secret, err = s.readSecret(s.Stdin); err != nil {
					return err
				}
			}
			n, err := cl.CreateConnection(c.Context(), in)
			if err != nil {
				return err
			}
			return s.show(n, func() { s.printConnectionSecret(n) })
		},
	}
	s.addEnvironment(c, &env)
	f := c.Flags()
	f.BoolVar(&whole, "installation", false, "its jobs may wake the pools of every environment; for administrators")
	f.StringVar(&in.BaseURL, "base-url", "", "of a GitHub Enterprise Server: https://github.example.com (default: github.com)")
	f.BoolVar(&fromStdin, "secret-stdin", false, "read the webhook's secret from the standard input")
	f.Int64Var(&in.AppID, "app-id", 0, "the App ID of the GitHub App whose webhook it is")
	f.StringVar(&appKey, "app-key-file", "", "the App's private key, the .pem file that its page makes")
	c.MarkFlagsMutuallyExclusive("environment", "installation")
	c.MarkFlagsRequiredTogether("app-id", "app-key-file")
	return c
}

func (s *session) printConnectionSecret(n wire.ConnectionSecret) {
	s.fields("connection", n.Connection.Name, "scope", connectionScope(n.Connection), "webhook URL", n.Connection.WebhookURL, "secret", n.Secret)
	if n.Secret != "" {
		s.say("the secret is not shown again: enter it at the forge now")
	}
}

func (s *session) connectionGetCommand() *cobra.Command {
	return &cobra.Command{
		Use: "get NAME", Short: "Show a connection", Args: args(1, 1), ValidArgsFunction: s.completeConnections,
		RunE: func(c *cobra.Command, a []string) error {
			cl, err := s.connect()
			if err != nil {
				return err
			}
			n, err := cl.Connection(c.Context(), a[0])
			if err != nil {
				return err
			}
			return s.show(n, func() {
				app := ""
				if n.AppID != 0 {
					app = fmt.Sprint(n.AppID)
				}
				s.fields("connection", n.Name, "scope", connectionScope(n), "forge", forgeOf(n), "webhook URL", n.WebhookURL, "App", app, "credential", n.AppCredential, "install it at", n.InstallURL, "App begun", begun(n.AppBegun),
					"last delivery", agoPtr(n.LastDelivery, "never"), "lost deliveries", recovery(n), "why not", n.RecoverError, "created", ago(n.CreatedAt)+" by "+n.CreatedBy)
			})
		},
	}
}

func (s *session) connectionRotateCommand() *cobra.Command {
	var in wire.NewConnectionSecret
	var fromStdin bool
	c := &cobra.Command{
		Use: "rotate-secret NAME", Short: "Give a connection another webhook secret", Args: args(1, 1), ValidArgsFunction: s.completeConnections,
		Long: `Give a connection another webhook secret. Deliveries that are signed with the
one before are taken for another hour, so that the forge can be given the new
one without a loss; --at-once ends that at once, for a secret that became known.`,
		RunE: func(c *cobra.Command, a []string) (err error) {
			cl, err := s.connect()
			if err != nil {
				return err
			}
			if fromStdin {
				if in.Secret, err = s.readSecret(s.Stdin); err != nil {
					return err
				}
			}
			n, err := cl.RotateConnectionSecret(c.Context(), a[0], in)
			if err != nil {
				return err
			}
			return s.show(n, func() { s.printConnectionSecret(n) })
		},
	}
	c.Flags().BoolVar(&fromStdin, "secret-stdin", false, "read the secret from the standard input")
	c.Flags().BoolVar(&in.AtOnce, "at-once", false, "the secret before counts no more from now on")
	return c
}

func (s *session) connectionDeliveriesCommand() *cobra.Command {
	return &cobra.Command{
		Use: "deliveries NAME", Short: "List the newest deliveries of a connection", Args: args(1, 1), ValidArgsFunction: s.completeConnections,
		RunE: func(c *cobra.Command, a []string) error {
			cl, err := s.connect()
			if err != nil {
				return err
			}
			all, err := cl.Deliveries(c.Context(), a[0])
			if err != nil {
				return err
			}
			return list(s, all, "no delivery yet; one of another secret is refused and not kept", []string{"RECEIVED", "EVENT", "JOB", "OUTCOME", "WHY", "GUID"},
				func(d wire.Delivery) []string {
					job := ""
					if d.JobID != 0 {
						job = fmt.Sprint(d.JobID)
					}
					return []string{ago(d.ReceivedAt), strings.TrimSuffix(d.Event+" "+d.Action, " "), job, d.Outcome, d.Why, d.GUID}
				})
		},
	}
}

func (s *session) connectionManifestCommand() *cobra.Command {
	return &cobra.Command{
		Use: "manifest NAME", Short: "Show what GitHub makes the connection's App from", Args: args(1, 1), ValidArgsFunction: s.completeConnections,
		Long: `Show the manifest from which GitHub makes an App for this connection: its
webhook, what it may do, and the events that it hears.

A browser posts it, as the form field manifest, to register_url with the
organization's name put in. GitHub then gives a code, which is exchanged at
convert_url for the App's ID, private key and webhook secret, within an hour.
slipway connections app  does all that.`,
		RunE: func(c *cobra.Command, a []string) error {
			cl, err := s.connect()
			if err != nil {
				return err
			}
			m, err := cl.AppManifest(c.Context(), a[0])
			if err != nil {
				return err
			}
			return s.show(m, func() {
				s.fields("post to", m.RegisterURL, "then exchange at", m.ConvertURL)
				s.print("%s", m.Manifest)
			})
		},
	}
}
