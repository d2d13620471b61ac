package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

const rootHelp = `Slipway runs applications on Kubernetes through their whole life.

Start a server with "slipway server", make the first administrator with
"slipway setup", load a driver, and deploy:

  slipway driver init guestbook        # or a driver that you have
  slipway driver load ./guestbook
  slipway plan guestbook.toml -e shop/dev
  slipway deploy guestbook.toml -e shop/dev --wait

Every command but server, config, python and those of a driver's author (driver
init, validate, render and test) speaks to a server. Which one is
said by, the first that is set: --server or SLIPWAY_URL; --context or
SLIPWAY_CONTEXT; the context that "slipway login" made or "slipway context use"
chose; http://127.0.0.1:8080. SLIPWAY_TOKEN stands in for the token of a login.
A server whose certificate the system does not know is trusted by --ca-file or
SLIPWAY_CA_FILE; a login keeps that file's name with its context.

Exit codes:
  0    done
  1    the task failed or was cancelled, or something broke
  2    the command line or a file is wrong
  3    not logged in, or not allowed
  4    there is no such thing
  5    conflict: it changed meanwhile, or exists
  6    the server does not answer, or asks to wait
  7    drift: the cluster is not as it was applied, or runners left something
  8    a driver has faults, or a test of its actions does not pass
  130  interrupted`

// root builds the tree of commands.
func (s *session) root() *cobra.Command {
	root := group("slipway", "Run applications on Kubernetes through their whole life", nil)
	root.Long = rootHelp
	root.SilenceErrors, root.SilenceUsage = true, true
	f := root.PersistentFlags()
	f.StringVar(&s.context, "context", "", "the installation to speak to, by its name in contexts.toml")
	f.StringVar(&s.server, "server", "", "the server to speak to, by its URL")
	f.StringVar(&s.caFile, "ca-file", "", "a file of PEM certificates to trust the server by, beside the system's (or SLIPWAY_CA_FILE)")
	must(root.MarkPersistentFlagFilename("ca-file"))
	f.StringVarP(&s.format, "format", "o", "table", "how to print: table, json or yaml")
	root.PersistentPreRunE = func(c *cobra.Command, _ []string) error {
		// Cobra looks at these as well, and would end as if the server had refused.
		if err := errors.Join(c.ValidateRequiredFlags(), c.ValidateFlagGroups()); err != nil {
			return usagef("%s", err).hint("see %s --help", c.CommandPath())
		}
		return s.checkFormat()
	}
	must(root.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{"table", "json", "yaml"}, cobra.ShellCompDirectiveNoFileComp)))
	must(root.RegisterFlagCompletionFunc("context", s.completeContexts))
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usagef("%s", err).hint("see %s --help", c.CommandPath())
	})
	root.AddGroup(
		&cobra.Group{ID: "work", Title: "Applications:"},
		&cobra.Group{ID: "own", Title: "What a team owns:"},
		&cobra.Group{ID: "who", Title: "Who may do what:"},
		&cobra.Group{ID: "run", Title: "The server:"},
	)
	root.SetCompletionCommandGroupID("run")
	root.SetHelpCommandGroupID("run")
	for group, commands := range map[string][]*cobra.Command{
		"work": {s.planCommand(), s.validateCommand(), s.deployCommand(), s.rollbackCommand(), s.stopCommand(), s.startCommand(), s.driftCommand(), s.repairCommand(), s.backupsCommand(), s.restoreCommand(), s.applicationsCommand(), s.runnersCommand(), s.tasksCommand(), s.driversCommand()},
		"own":  {s.projectsCommand(), s.environmentsCommand(), s.secretsCommand(), s.connectionsCommand()},
		"who":  {s.loginCommand(), s.logoutCommand(), s.whoamiCommand(), s.contextCommand(), s.usersCommand(), s.tokensCommand(), s.auditCommand()},
		"run":  {s.serverCommand(), s.setupCommand(), s.configCommand(), s.pythonCommand(), s.versionCommand(), s.moverCommand()},
	} {
		for _, c := range commands {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	return root
}

// group returns a command that only holds others. Called alone it shows its help; with an
// unknown name it says so, where cobra would show help and exit as if all were well.
func group(use, short string, aliases []string, commands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{
		Use: use, Short: short, Aliases: aliases,
		Args: cobra.ArbitraryArgs, // or cobra answers an unknown name itself
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return c.Help()
			}
			e := usagef("%s has no command %q", c.CommandPath(), args[0])
			if near := c.SuggestionsFor(args[0]); len(near) > 0 {
				return e.hint("did you mean %s?", strings.Join(near, " or "))
			}
			return e.hint("see %s --help", c.CommandPath())
		},
		SuggestionsMinimumDistance: 2,
	}
	c.AddCommand(commands...)
	return c
}

// args checks the number of arguments and names what is missing, by the words of the
// command's own usage line.
func args(minimum, maximum int) cobra.PositionalArgs {
	return func(c *cobra.Command, got []string) error {
		switch {
		case len(got) < minimum:
			return usagef("%s needs %s", c.CommandPath(), missing(c.Use, len(got))).hint("usage: %s", c.UseLine())
		case maximum >= 0 && len(got) > maximum:
			return usagef("%s does not take %q", c.CommandPath(), got[maximum]).hint("usage: %s", c.UseLine())
		}
		return nil
	}
}

// missing returns the word of a usage line that stands for argument n: "an APPLICATION".
func missing(use string, n int) string {
	words := strings.Fields(use)[1:]
	if n < len(words) {
		return "a " + strings.Trim(words[n], "[].")
	}
	return fmt.Sprintf("%d arguments", n+1)
}

// must holds what can only fail by a slip in this package, which every start would show.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
