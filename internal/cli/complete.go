package cli

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"slipway.dev/slipway/internal/client"
	"slipway.dev/slipway/internal/wire"
)

// completionTimeout keeps a shell from hanging when the server is far or gone.
const completionTimeout = 2 * time.Second

// complete asks the server for names. An error completes nothing: a shell has no place
// for it.
func (s *session) complete(c *cobra.Command, ask func(context.Context, *client.Client) ([]string, error)) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(c.Context(), completionTimeout)
	defer cancel()
	cl, err := s.connect()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	names, err := ask(ctx, cl)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// names turns the first page of a listing into completions; nobody reads more.
func names[T any](items []T, _ string, err error, name func(T) string) ([]string, error) {
	var out []string
	for _, it := range items {
		out = append(out, name(it))
	}
	return out, err
}

var manyNames = client.Page{Limit: wire.MaxLimit}

func (s *session) completeContexts(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	c, err := s.loadContexts()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return slices.Sorted(maps.Keys(c.Contexts)), cobra.ShellCompDirectiveNoFileComp
}

func (s *session) completeProjects(c *cobra.Command, a []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(a) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return s.complete(c, func(ctx context.Context, cl *client.Client) ([]string, error) {
		all, next, err := cl.Projects(ctx, manyNames)
		return names(all, next, err, func(p wire.Project) string { return p.Name })
	})
}

func (s *session) completeEnvironments(c *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return s.complete(c, func(ctx context.Context, cl *client.Client) ([]string, error) {
		all, next, err := cl.Environments(ctx, "", manyNames)
		return names(all, next, err, func(e wire.Environment) string { return e.Project + "/" + e.Name })
	})
}

// completeApplications completes the first argument: names, within -e when it is given.
func (s *session) completeApplications(c *cobra.Command, a []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(a) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var f client.ApplicationFilter
	if env := c.Flags().Lookup("environment"); env != nil && env.Value.String() != "" {
		var err error
		if f.Project, f.Environment, err = splitEnvironment(env.Value.String()); err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
	}
	return s.complete(c, func(ctx context.Context, cl *client.Client) ([]string, error) {
		all, next, err := cl.Applications(ctx, f, manyNames)
		return names(all, next, err, func(a wire.Application) string {
			return cobra.CompletionWithDesc(a.Name, ref(a))
		})
	})
}

// completeComponents completes an application, then its components.
func (s *session) completeComponents(c *cobra.Command, a []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	if len(a) == 0 {
		return s.completeApplications(c, a, toComplete)
	}
	return s.complete(c, func(ctx context.Context, cl *client.Client) ([]string, error) {
		env := c.Flags().Lookup("environment").Value.String()
		app, err := s.find(ctx, cl, a[0], env)
		return names(app.Components, "", err, func(x wire.ApplicationComponent) string { return x.Name })
	})
}

func (s *session) completeTasks(c *cobra.Command, a []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(a) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return s.complete(c, func(ctx context.Context, cl *client.Client) ([]string, error) {
		all, next, err := cl.Tasks(ctx, client.TaskFilter{}, client.Page{Limit: shownTasks})
		return names(all, next, err, func(t wire.Task) string {
			return cobra.CompletionWithDesc(strconv.FormatInt(t.ID, 10), t.Title+" ("+t.State+")")
		})
	})
}

// completeDrivers completes a driver's name, then its versions.
func (s *session) completeDrivers(c *cobra.Command, a []string, _ string) ([]string, cobra.ShellCompDirective) {
	return s.complete(c, func(ctx context.Context, cl *client.Client) ([]string, error) {
		all, err := client.All(ctx, cl.Drivers)
		if err != nil {
			return nil, err
		}
		var out []string
		for _, d := range all {
			switch {
			case len(a) == 0 && !slices.Contains(out, d.Name):
				out = append(out, d.Name)
			case len(a) == 1 && d.Name == a[0]:
				out = append(out, d.Version)
			}
		}
		return out, nil
	})
}

func (s *session) completeUsers(c *cobra.Command, a []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(a) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return s.complete(c, func(ctx context.Context, cl *client.Client) ([]string, error) {
		all, next, err := cl.Users(ctx, manyNames)
		return names(all, next, err, func(u wire.User) string { return u.Name })
	})
}

func (s *session) completeTokens(c *cobra.Command, a []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(a) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return s.complete(c, func(ctx context.Context, cl *client.Client) ([]string, error) {
		all, next, err := cl.Tokens(ctx, "", manyNames)
		return names(all, next, err, func(t wire.Token) string {
			return cobra.CompletionWithDesc(strconv.FormatInt(t.ID, 10), t.Name)
		})
	})
}
