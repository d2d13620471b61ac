package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"slipway.dev/slipway/internal/client"
	"slipway.dev/slipway/internal/wire"
)

func (s *session) environmentsCommand() *cobra.Command {
	return group("environments", "List, make, change and delete environments", []string{"environment", "env", "envs"},
		s.environmentListCommand(), s.environmentCreateCommand(), s.environmentGetCommand(), s.environmentSetCommand(),
		s.removal("delete PROJECT/ENVIRONMENT", "Delete an environment without applications", s.completeEnvironments,
			func(a string) string { return fmt.Sprintf("delete the environment %s and its secrets?", a) },
			func(c *cobra.Command, cl *client.Client, a string) error {
				p, e, err := splitEnvironment(a)
				if err != nil {
					return err
				}
				return cl.DeleteEnvironment(c.Context(), p, e)
			}))
}

// environmentsOf lists the environments of a project, or of all when it is empty.
func environmentsOf(cl *client.Client, project string) func(context.Context, client.Page) ([]wire.Environment, string, error) {
	return func(ctx context.Context, p client.Page) ([]wire.Environment, string, error) {
		return cl.Environments(ctx, project, p)
	}
}

func (s *session) environmentListCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list [PROJECT]", Aliases: []string{"ls"}, Short: "List the environments", Args: args(0, 1), ValidArgsFunction: s.completeProjects,
		RunE: func(c *cobra.Command, a []string) error {
			cl, err := s.connect()
			if err != nil {
				return err
			}
			all, err := client.All(c.Context(), environmentsOf(cl, strings.Join(a, "")))
			if err != nil {
				return err
			}
			return list(s, all, "no environment yet; slipway environments create makes one", []string{"ENVIRONMENT", "NAMESPACE", "CREATED"},
				func(e wire.Environment) []string {
					return []string{e.Project + "/" + e.Name, e.Namespace, ago(e.CreatedAt)}
				})
		},
	}
}

func (s *session) environmentCreateCommand() *cobra.Command {
	var namespace string
	var set []string
	c := &cobra.Command{
		Use: "create PROJECT/ENVIRONMENT", Short: "Make an environment", Args: args(1, 1),
		RunE: func(c *cobra.Command, a []string) error {
			project, name, err := splitEnvironment(a[0])
			if err != nil {
				return err
			}
			settings, err := pairs(set)
			if err != nil {
				return err
			}
			cl, err := s.connect()
			if err != nil {
				return err
			}
			e, err := cl.CreateEnvironment(c.Context(), wire.NewEnvironment{Project: project, Name: name, Namespace: namespace, Settings: settings}, "")
			if err != nil {
				return err
			}
			return s.show(e, func() { s.print("environment %s/%s in namespace %s", e.Project, e.Name, e.Namespace) })
		},
	}
	c.Flags().StringVar(&namespace, "namespace", "", "the cluster's namespace (default: project-environment)")
	c.Flags().StringArrayVar(&set, "set", nil, "a setting for drivers, name=value; may be repeated")
	return c
}

func (s *session) environmentGetCommand() *cobra.Command {
	return &cobra.Command{
		Use: "get PROJECT/ENVIRONMENT", Short: "Show an environment", Args: args(1, 1), ValidArgsFunction: s.completeEnvironments,
		RunE: func(c *cobra.Command, a []string) error {
			project, name, err := splitEnvironment(a[0])
			if err != nil {
				return err
			}
			cl, err := s.connect()
			if err != nil {
				return err
			}
			e, err := cl.Environment(c.Context(), project, name)
			if err != nil {
				return err
			}
			return s.show(e, func() { s.printEnvironment(e) })
		},
	}
}

func (s *session) printEnvironment(e wire.Environment) {
	s.fields("environment", e.Project+"/"+e.Name, "namespace", e.Namespace, "created", ago(e.CreatedAt))
	if len(e.Settings) == 0 {
		return
	}
	s.print("settings")
	for _, k := range slices.Sorted(maps.Keys(e.Settings)) {
		s.print("  %s = %s", k, e.Settings[k])
	}
}

func (s *session) environmentSetCommand() *cobra.Command {
	return &cobra.Command{
		Use: "set PROJECT/ENVIRONMENT NAME=VALUE...", Short: "Change settings of an environment", Args: args(2, -1),
		Long:              "Change settings of an environment, which drivers see as environment.settings.\nNAME= without a value removes it. No secrets: every reader sees settings.",
		ValidArgsFunction: s.completeEnvironments,
		RunE: func(c *cobra.Command, a []string) error {
			project, name, err := splitEnvironment(a[0])
			if err != nil {
				return err
			}
			change, err := pairs(a[1:])
			if err != nil {
				return err
			}
			cl, err := s.connect()
			if err != nil {
				return err
			}
			e, err := cl.Environment(c.Context(), project, name)
			if err != nil {
				return err
			}
			settings := maps.Clone(e.Settings)
			if settings == nil {
				settings = map[string]string{}
			}
			for k, v := range change {
				settings[k] = v
				if v == "" {
					delete(settings, k)
				}
			}
			e, err = cl.SetEnvironmentSettings(c.Context(), project, name, wire.EnvironmentSettings{Settings: settings})
			if err != nil {
				return err
			}
			return s.show(e, func() { s.printEnvironment(e) })
		},
	}
}

// pairs reads name=value arguments.
func pairs(in []string) (map[string]string, error) {
	if len(in) == 0 {
		return nil, nil
	}
	out := map[string]string{}
	for _, p := range in {
		k, v, ok := strings.Cut(p, "=")
		if !ok || k == "" {
			return nil, usagef("%q is not name=value", p)
		}
		out[k] = v
	}
	return out, nil
}
