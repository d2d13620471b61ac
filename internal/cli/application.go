package cli

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"slipway.dev/slipway/internal/client"
	"slipway.dev/slipway/internal/wire"
)

func (s *session) applicationsCommand() *cobra.Command {
	return group("applications", "List, show, change and delete applications", []string{"application", "app", "apps"},
		s.applicationListCommand(), s.applicationGetCommand(), s.revisionsCommand(), s.applicationDeleteCommand(),
		s.planCommand(), s.validateCommand(), s.deployCommand(), s.rollbackCommand(), s.stopCommand(), s.startCommand(), s.driftCommand(), s.repairCommand())
}

func (s *session) applicationListCommand() *cobra.Command {
	var env string
	c := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the applications", Args: args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			var f client.ApplicationFilter
			if env != "" {
				var err error
				// A project alone narrows the list as well.
				if f.Project, f.Environment, err = splitEnvironment(env); err != nil && !strings.Contains(env, "/") {
					f.Project, f.Environment, err = env, "", nil
				}
				if err != nil {
					return err
				}
			}
			cl, err := s.connect()
			if err != nil {
				return err
			}
			all, err := client.All(c.Context(), applicationsOf(cl, f))
			if err != nil {
				return err
			}
			return list(s, all, "no application yet; slipway deploy makes one",
				[]string{"APPLICATION", "VERSION", "DRIVER", "STATE", "REVISION", "DRIFT", "CHANGED"},
				func(a wire.Application) []string {
					return []string{ref(a), versionCell(a), driverCell(a), a.State, revisionCell(a), driftCell(a.Drift), ago(a.UpdatedAt)}
				})
		},
	}
	c.Flags().StringVarP(&env, "environment", "e", "", "only those of project/environment, or of a project")
	must(c.RegisterFlagCompletionFunc("environment", s.completeEnvironments))
	return c
}

// versionCell is the application's version. What holds runner pools has none.
func versionCell(a wire.Application) string {
	if a.Kind == "runner" {
		return "–"
	}
	return a.AppVersion
}

// driverCell is the driver, or what is there instead of one.
func driverCell(a wire.Application) string {
	if a.Kind == "runner" && a.RunnerPools == 0 {
		return "runner pools"
	} else if a.Kind == "runner" {
		return count(a.RunnerPools, "runner pool", "runner pools")
	}
	return a.DriverName + " " + a.DriverVersion
}

// revisionCell shows the wanted revision, and the one on the cluster when it is another.
func revisionCell(a wire.Application) string {
	if a.Applied == a.Revision {
		return strconv.FormatInt(a.Revision, 10)
	}
	return fmt.Sprintf("%d (%d applied)", a.Revision, a.Applied)
}

func ref(a wire.Application) string { return a.Project + "/" + a.Environment + "/" + a.Name }

func applicationsOf(cl *client.Client, f client.ApplicationFilter) func(context.Context, client.Page) ([]wire.Application, string, error) {
	return func(ctx context.Context, p client.Page) ([]wire.Application, string, error) {
		return cl.Applications(ctx, f, p)
	}
}

// reach connects, and finds the application that a command line names.
func (s *session) reach(ctx context.Context, name, env string) (*client.Client, wire.Application, error) {
	cl, err := s.connect()
	if err != nil {
		return nil, wire.Application{}, err
	}
	app, err := s.find(ctx, cl, name, env)
	return cl, app, err
}

// find looks an application up by its ID, its full name shop/dev/guestbook, or its own
// name: in the environment of the flag, else in the context's, else wherever there is
// exactly one of that name.
func (s *session) find(ctx context.Context, cl *client.Client, name, env string) (wire.Application, error) {
	if id, err := strconv.ParseInt(name, 10, 64); err == nil {
		return cl.Application(ctx, id)
	}
	f := client.ApplicationFilter{Name: name}
	switch parts := strings.Split(name, "/"); {
	case len(parts) == 3:
		f = client.ApplicationFilter{Project: parts[0], Environment: parts[1], Name: parts[2]}
	case len(parts) != 1:
		return wire.Application{}, usagef("%q does not name an application", name).hint("write its name, or project/environment/name")
	case env != "":
		var err error
		if f.Project, f.Environment, err = splitEnvironment(env); err != nil {
			return wire.Application{}, err
		}
	default:
		t, err := s.target()
		if err != nil {
			return wire.Application{}, err
		}
		if t.environment != "" {
			f.Project, f.Environment, _ = strings.Cut(t.environment, "/")
		}
	}
	found, err := client.All(ctx, applicationsOf(cl, f))
	if err != nil {
		return wire.Application{}, err
	}
	switch len(found) {
	case 1:
		return cl.Application(ctx, found[0].ID)
	case 0:
		where := ""
		if f.Project != "" {
			where = " in " + f.Project + "/" + f.Environment
		}
		return wire.Application{}, (&failure{code: exitNotFound, msg: fmt.Sprintf("there is no application %q%s", f.Name, where)}).
			hint("see slipway applications list")
	}
	names := make([]string, len(found))
	for i, a := range found {
		names[i] = ref(a)
	}
	return wire.Application{}, usagef("several applications are called %q", name).hint("say which: %s", strings.Join(names, ", "))
}

func (s *session) applicationGetCommand() *cobra.Command {
	var env string
	c := &cobra.Command{
		Use: "get APPLICATION", Short: "Show an application", Args: args(1, 1), ValidArgsFunction: s.completeApplications,
		RunE: func(c *cobra.Command, a []string) error {
			cl, app, err := s.reach(c.Context(), a[0], env)
			if err != nil {
				return err
			}
			if app.Kind == "runner" {
				return s.showPools(c.Context(), cl, app)
			}
			return s.show(app, func() { s.printApplication(app) })
		},
	}
	s.addEnvironment(c, &env)
	return c
}

func (s *session) printApplication(a wire.Application) {
	s.fields("application", ref(a), "id", strconv.FormatInt(a.ID, 10), "state", a.State, "", a.Message, "version", a.AppVersion,
		"driver", strings.TrimSpace(a.DriverName+" "+a.DriverVersion), "revision", revisionCell(a), "drift", driftLine(a.Drift), "namespace", a.Namespace, "changed", ago(a.UpdatedAt))
	if len(a.Components) == 0 {
		return
	}
	s.print("\ncomponents")
	for _, x := range a.Components {
		if !x.Stopped {
			s.print("  %s", x.Name)
			continue
		}
		s.print("  %s  stopped since task %d, %s", x.Name, x.StoppedByTask, agoPtr(x.StoppedAt, "at an unknown time"))
	}
}

// showPools shows a runner application with its pools in a line each. The machine formats
// have the application alone, as for any other; slipway runners get has the rest.
func (s *session) showPools(ctx context.Context, cl *client.Client, app wire.Application) error {
	actions, err := cl.Actions(ctx, app.ID, 1)
	if err != nil {
		return err
	}
	return s.show(app, func() {
		s.printApplication(app)
		if len(actions.Pools) == 0 {
			return
		}
		s.print("\nrunner pools")
		for _, p := range actions.Pools {
			line := fmt.Sprintf("  %s  %s, for %s, up to %d at once", p.Service, p.State, p.Scope, p.Replicas)
			if p.Why != "" {
				line += ": " + p.Why
			}
			s.print("%s", line)
		}
	})
}

func (s *session) revisionsCommand() *cobra.Command {
	var env string
	c := &cobra.Command{
		Use: "revisions APPLICATION [NUMBER]", Short: "List an application's revisions, or print one's TOML", Args: args(1, 2), ValidArgsFunction: s.completeApplications,
		RunE: func(c *cobra.Command, a []string) error {
			cl, app, err := s.reach(c.Context(), a[0], env)
			if err != nil {
				return err
			}
			if len(a) == 2 {
				n, err := strconv.ParseInt(a[1], 10, 64)
				if err != nil {
					return usagef("%q is not a revision's number", a[1])
				}
				r, err := cl.Revision(c.Context(), app.ID, n)
				if err != nil {
					return err
				}
				return s.show(r, func() { s.print("%s", strings.TrimRight(r.Source, "\n")) })
			}
			all, err := client.All(c.Context(), func(ctx context.Context, p client.Page) ([]wire.Revision, string, error) {
				return cl.Revisions(ctx, app.ID, p)
			})
			if err != nil {
				return err
			}
			return list(s, all, "no revision", []string{"REVISION", "VERSION", "DRIVER", "BY", "WHEN", ""}, func(r wire.Revision) []string {
				mark := ""
				if r.Number == app.Applied {
					mark = "applied"
				}
				return []string{strconv.FormatInt(r.Number, 10), r.AppVersion, strings.TrimSpace(r.DriverName + " " + r.DriverVersion), r.CreatedBy, ago(r.CreatedAt), mark}
			})
		},
	}
	s.addEnvironment(c, &env)
	return c
}

func (s *session) applicationDeleteCommand() *cobra.Command {
	var env, key string
	var yes, now, wait bool
	c := &cobra.Command{
		Use: "delete APPLICATION", Aliases: []string{"rm"}, Short: "Remove an application from its cluster", Args: args(1, 1), ValidArgsFunction: s.completeApplications,
		RunE: func(c *cobra.Command, a []string) error {
			cl, app, err := s.reach(c.Context(), a[0], env)
			if err != nil {
				return err
			}
			question := "remove %s and everything of it in the namespace %s?"
			if app.Kind == "runner" {
				question = "remove %s with its runners and the namespace %s? Running jobs are cancelled."
			}
			if err := s.confirm(yes, fmt.Sprintf(question, ref(app), app.Namespace)); err != nil {
				return err
			}
			accepted, err := cl.DeleteApplication(c.Context(), app.ID, now, key)
			if err != nil {
				return err
			}
			return s.follow(c.Context(), cl, accepted, wait)
		},
	}
	s.addEnvironment(c, &env)
	addYes(c, &yes)
	addChangeFlags(c, &now, &wait, &key)
	return c
}

// addChangeFlags adds what every request that makes a task takes.
func addChangeFlags(c *cobra.Command, now, wait *bool, key *string) {
	if now != nil {
		c.Flags().BoolVar(now, "now", false, "do not wait for the changes before this one")
	}
	c.Flags().BoolVar(wait, "wait", false, "show the steps live, and exit by the task's end")
	c.Flags().StringVar(key, "key", "", "an idempotency key: asking again under it gives the first answer again")
}

func (s *session) stopCommand() *cobra.Command {
	return s.componentsCommand("stop", "Stop components of an application", (*client.Client).StopComponents)
}

func (s *session) startCommand() *cobra.Command {
	return s.componentsCommand("start", "Start stopped components of an application", (*client.Client).StartComponents)
}

func (s *session) componentsCommand(verb, short string,
	do func(*client.Client, context.Context, int64, wire.ComponentNames, string) (wire.Accepted, error),
) *cobra.Command {
	var env, key string
	var wait bool
	c := &cobra.Command{
		Use: verb + " APPLICATION COMPONENT...", Short: short, Args: args(2, -1), ValidArgsFunction: s.completeComponents,
		RunE: func(c *cobra.Command, a []string) error {
			cl, app, err := s.reach(c.Context(), a[0], env)
			if err != nil {
				return err
			}
			accepted, err := do(cl, c.Context(), app.ID, wire.ComponentNames{Components: a[1:]}, cmp.Or(key, client.NewKey()))
			if err != nil {
				return err
			}
			return s.follow(c.Context(), cl, accepted, wait)
		},
	}
	s.addEnvironment(c, &env)
	addChangeFlags(c, nil, &wait, &key)
	return c
}
