package cli

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"slipway.dev/slipway/internal/client"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/wire"
)

// lookForApp is how often a connection is asked whether it has its App.
const lookForApp = 2 * time.Second

func (s *session) connectionAppCommand() *cobra.Command {
	var env, organization, appKey string
	var in wire.TakeApp
	within := time.Hour
	c := &cobra.Command{
		Use: "app NAME", Short: "Make the GitHub App of a connection", Args: args(1, 1), ValidArgsFunction: s.completeConnections,
		Long: `Make the GitHub App of a connection. It sends what happens to jobs, and its key
registers runners: it is saved as a secret for pools to name.

Open the address that is printed in a browser that is signed in to Slipway and
to GitHub, and say yes at GitHub. This waits until the App's key has come back,
and then says where the App is to be installed.

When the browser does not find the way back from GitHub, give the code that
stands in its address with --code, within the hour. An App that is there
already is taken with --app-id and --app-key-file.`,
		Example: `  slipway connections app acme --organization acme
  slipway connections app acme --code 9f1c2d…
  slipway connections app acme --app-id 12345 --app-key-file acme.private-key.pem`,
		RunE: func(c *cobra.Command, a []string) error {
			if env != "" {
				var err error
				if in.Project, in.Environment, err = splitEnvironment(env); err != nil {
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
			if in.Code == "" && in.AppID == 0 {
				return s.makeApp(c.Context(), cl, a[0], appQuery(organization, in), within)
			}
			t, err := cl.TakeApp(c.Context(), a[0], in)
			if err != nil {
				return err
			}
			return s.show(t, func() {
				s.printApp(t.Connection)
				s.sayRenamed(t.InsteadOf, t.Secret)
				if t.KeptSecret {
					s.say("the App's webhook secret must be the connection's; if you do not have it, make another:  slipway connections rotate-secret %s", a[0])
				}
			})
		},
	}
	f := c.Flags()
	f.StringVar(&organization, "organization", "", "whose App it is to be")
	f.StringVarP(&env, "environment", "e", "", "save its credential in this project/environment (default: the\nconnection's)")
	must(c.RegisterFlagCompletionFunc("environment", s.completeEnvironments))
	f.StringVar(&in.Secret, "secret", "", "save its credential under this name (default: NAME-app)")
	f.StringVar(&in.Code, "code", "", "the code that GitHub gave")
	f.Int64Var(&in.AppID, "app-id", 0, "the App ID of an App that is there already")
	f.StringVar(&appKey, "app-key-file", "", "its private key, the .pem file that its page makes")
	f.DurationVar(&within, "timeout", within, "wait no longer than this")
	c.MarkFlagsRequiredTogether("app-id", "app-key-file")
	c.MarkFlagsMutuallyExclusive("code", "app-id", "organization")
	return c
}

func appQuery(organization string, in wire.TakeApp) string {
	q := url.Values{}
	for name, v := range map[string]string{"organization": organization, "secret": in.Secret} {
		if v != "" {
			q.Set(name, v)
		}
	}
	if in.Environment != "" {
		q.Set("in", in.Project+"/"+in.Environment)
	}
	if len(q) == 0 {
		return ""
	}
	return "?" + q.Encode()
}

// makeApp leads a person to the page that makes the App, and waits for it.
func (s *session) makeApp(ctx context.Context, cl *client.Client, name, query string, within time.Duration) error {
	n, err := cl.Connection(ctx, name)
	if err != nil {
		return err
	}
	if n.AppID != 0 {
		return slipway.Errorf(slipway.Conflict, "the connection %s has its App already: %d", name, n.AppID).
			WithHint("make another connection for another App: slipway connections create")
	}
	// Where the browser comes back to: a session of another address would not be there.
	own, _, _ := strings.Cut(n.WebhookURL, "/webhooks/")
	s.say("open this address in a browser that is signed in to Slipway and to GitHub:")
	s.say("\n  %s/connections/%s/app%s\n", own, url.PathEscape(name), query)
	ctx, stop := context.WithTimeout(ctx, within)
	defer stop()
	w := s.wait("waiting for the App")
	told, asked := "", ""
	for {
		select {
		case <-ctx.Done():
			w.end()
			return slipway.Errorf(slipway.Unavailable, "the connection %s has no App yet", name).
				WithHint("run this again, or give the code of the browser's address:  slipway connections app %s --code CODE", name)
		case <-time.After(lookForApp):
		}
		n, err := cl.Connection(ctx, name)
		switch {
		case ctx.Err() != nil:
			continue
		case err != nil:
			w.end()
			return err
		case n.AppID != 0:
			w.end()
			return s.show(n, func() {
				s.printApp(n)
				if asked != "" && n.AppCredential != asked {
					s.sayRenamed(path.Base(asked), path.Base(n.AppCredential))
				}
			})
		case n.AppBegun != nil:
			asked = n.AppBegun.Secret
			if n.AppBegun.Error != told {
				if told = n.AppBegun.Error; told != "" {
					s.say("%s", value(told))
				}
			}
		}
	}
}

func (s *session) printApp(n wire.Connection) {
	s.fields("connection", n.Name, "App", fmt.Sprint(n.AppID), "page", n.AppURL, "credential", n.AppCredential, "install it at", n.InstallURL)
}

// sayRenamed tells that the credential is under another name than was asked for.
func (s *session) sayRenamed(asked, name string) {
	if asked != "" && asked != name {
		s.say("another secret took the name %s meanwhile; name %s as the credential of pools", value(asked), value(name))
	}
}

// begun says that an App is being made.
func begun(a *wire.AppBegun) string {
	if a == nil {
		return ""
	}
	out := ago(a.BegunAt)
	if a.Organization != "" {
		out += " for " + a.Organization
	}
	if a.Error != "" {
		out += "; " + value(a.Error)
	}
	return out
}
