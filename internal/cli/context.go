package cli

import (
	"maps"
	"slices"

	"github.com/spf13/cobra"
)

func (s *session) contextCommand() *cobra.Command {
	return group("context", "Choose the installation to speak to", []string{"contexts"},
		s.contextListCommand(), s.contextUseCommand(), s.contextRemoveCommand())
}

// shownContext is a context without its token.
type shownContext struct {
	Name        string `json:"name"`
	Current     bool   `json:"current"`
	URL         string `json:"url"`
	User        string `json:"user,omitempty"`
	Environment string `json:"environment,omitempty"`
}

func (s *session) contextListCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the contexts", Args: args(0, 0),
		RunE: func(*cobra.Command, []string) error {
			c, err := s.loadContexts()
			if err != nil {
				return err
			}
			var all []shownContext
			for _, name := range slices.Sorted(maps.Keys(c.Contexts)) {
				x := c.Contexts[name]
				all = append(all, shownContext{name, name == c.Current, x.URL, x.User, x.Environment})
			}
			return list(s, all, "no context yet; slipway login makes one", []string{"", "NAME", "SERVER", "USER", "ENVIRONMENT"},
				func(x shownContext) []string {
					mark := ""
					if x.Current {
						mark = "*"
					}
					return []string{mark, x.Name, x.URL, x.User, x.Environment}
				})
		},
	}
}

func (s *session) contextUseCommand() *cobra.Command {
	var environment string
	c := &cobra.Command{
		Use: "use NAME", Short: "Make a context the current one", Args: args(1, 1),
		Long:              "Make a context the current one. With -e, commands without -e use that\nenvironment from now on.",
		ValidArgsFunction: s.completeContexts,
		RunE: func(_ *cobra.Command, a []string) error {
			c, err := s.loadContexts()
			if err != nil {
				return err
			}
			x, ok := c.Contexts[a[0]]
			if !ok {
				return usagef("there is no context %q", a[0]).hint("see slipway context list, or make it with slipway login --name %s", a[0])
			}
			if environment != "" {
				if _, _, err := splitEnvironment(environment); err != nil {
					return err
				}
				x.Environment = environment
				c.Contexts[a[0]] = x
			}
			c.Current = a[0]
			if err := s.saveContexts(c); err != nil {
				return err
			}
			s.say("context %s: %s", a[0], x.URL)
			return nil
		},
	}
	c.Flags().StringVarP(&environment, "environment", "e", "", "the environment of commands without -e: project/environment")
	must(c.RegisterFlagCompletionFunc("environment", s.completeEnvironments))
	return c
}

func (s *session) contextRemoveCommand() *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME", Aliases: []string{"rm"}, Short: "Forget a context and its token, without revoking it", Args: args(1, 1),
		ValidArgsFunction: s.completeContexts,
		RunE: func(_ *cobra.Command, a []string) error {
			c, err := s.loadContexts()
			if err != nil {
				return err
			}
			if _, ok := c.Contexts[a[0]]; !ok {
				return usagef("there is no context %q", a[0])
			}
			delete(c.Contexts, a[0])
			if c.Current == a[0] {
				c.Current = ""
			}
			return s.saveContexts(c)
		},
	}
}
