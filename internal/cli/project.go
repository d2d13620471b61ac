package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"slipway.dev/slipway/internal/client"
	"slipway.dev/slipway/internal/wire"
)

func (s *session) projectsCommand() *cobra.Command {
	return group("projects", "List, make and delete projects", []string{"project"},
		&cobra.Command{
			Use: "list", Aliases: []string{"ls"}, Short: "List the projects", Args: args(0, 0),
			RunE: func(c *cobra.Command, _ []string) error {
				cl, err := s.connect()
				if err != nil {
					return err
				}
				all, err := client.All(c.Context(), cl.Projects)
				if err != nil {
					return err
				}
				return list(s, all, "no project yet; slipway projects create makes one", []string{"NAME", "CREATED"},
					func(p wire.Project) []string { return []string{p.Name, ago(p.CreatedAt)} })
			},
		},
		&cobra.Command{
			Use: "create NAME", Short: "Make a project", Args: args(1, 1),
			RunE: func(c *cobra.Command, a []string) error {
				cl, err := s.connect()
				if err != nil {
					return err
				}
				p, err := cl.CreateProject(c.Context(), wire.NewProject{Name: a[0]}, "")
				if err != nil {
					return err
				}
				return s.show(p, func() { s.print("project %s", p.Name) })
			},
		},
		&cobra.Command{
			Use: "get NAME", Short: "Show a project and its environments", Args: args(1, 1), ValidArgsFunction: s.completeProjects,
			RunE: func(c *cobra.Command, a []string) error {
				cl, err := s.connect()
				if err != nil {
					return err
				}
				p, err := cl.Project(c.Context(), a[0])
				if err != nil {
					return err
				}
				all, err := client.All(c.Context(), environmentsOf(cl, p.Name))
				if err != nil {
					return err
				}
				return s.show(p, func() {
					names := make([]string, len(all))
					for i, e := range all {
						names[i] = e.Name
					}
					s.fields("project", p.Name, "created", ago(p.CreatedAt), "environments", strings.Join(names, ", "))
				})
			},
		},
		s.projectDeleteCommand())
}

func (s *session) projectDeleteCommand() *cobra.Command {
	return s.removal("delete NAME", "Delete a project without environments", s.completeProjects,
		func(a string) string { return fmt.Sprintf("delete the project %s?", a) },
		func(c *cobra.Command, cl *client.Client, a string) error { return cl.DeleteProject(c.Context(), a) })
}

// removal is a command that asks and then removes what its one argument names.
func (s *session) removal(use, short string, complete cobra.CompletionFunc, question func(string) string,
	remove func(c *cobra.Command, cl *client.Client, name string) error,
) *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use: use, Aliases: []string{"rm"}, Short: short, Args: args(1, 1), ValidArgsFunction: complete,
		RunE: func(c *cobra.Command, a []string) error {
			cl, err := s.connect()
			if err != nil {
				return err
			}
			if err := s.confirm(yes, question(a[0])); err != nil {
				return err
			}
			if err := remove(c, cl, a[0]); err != nil {
				return err
			}
			s.say("%s is gone", a[0])
			return nil
		},
	}
	addYes(c, &yes)
	return c
}

func addYes(c *cobra.Command, yes *bool) {
	c.Flags().BoolVarP(yes, "yes", "y", false, "do it without asking")
}
