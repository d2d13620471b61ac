package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"slipway.dev/slipway/internal/client"
	"slipway.dev/slipway/internal/spec"
	"slipway.dev/slipway/internal/wire"
)

func (s *session) deployCommand() *cobra.Command {
	var env, key string
	var now, wait bool
	var expect int64
	c := &cobra.Command{
		Use: "deploy FILE", Short: "Make an application what its file says", Args: args(1, 1),
		Long: `Make an application what its file says. The server records the change and
carries it out as a task; with --wait its steps are shown as they happen.

A deploy names the revision that its author has seen, and is refused as a
conflict when another one came meanwhile. Without --expect, that is the revision
of this moment.`,
		Example: "  slipway deploy guestbook.toml -e shop/dev --wait",
		RunE: func(c *cobra.Command, a []string) error {
			in, name, err := s.readSpec(a[0])
			if err != nil {
				return err
			}
			project, environment, err := s.environment(env)
			if err != nil {
				return err
			}
			cl, err := s.connect()
			if err != nil {
				return err
			}
			if !c.Flags().Changed("expect") {
				if expect, err = revisionNow(c.Context(), cl, client.ApplicationFilter{Project: project, Environment: environment, Name: name}); err != nil {
					return err
				}
			}
			accepted, err := cl.Deploy(c.Context(), project, environment, wire.Deploy{Spec: in.Spec, File: in.File, ExpectedRevision: expect, Overtake: now}, key)
			if err != nil {
				return err
			}
			for _, w := range accepted.Warnings {
				s.say("%s %s", s.yellow(s.Stderr, "warning:"), w)
			}
			return s.follow(c.Context(), cl, accepted, wait)
		},
	}
	s.addEnvironment(c, &env)
	addChangeFlags(c, &now, &wait, &key)
	c.Flags().Int64Var(&expect, "expect", 0, "the revision that you have seen (default: the one of this moment)")
	return c
}

// revisionNow is the revision that an application has, 0 when there is none.
func revisionNow(ctx context.Context, cl *client.Client, f client.ApplicationFilter) (int64, error) {
	found, err := client.All(ctx, applicationsOf(cl, f))
	if err != nil || len(found) == 0 {
		return 0, err
	}
	return found[0].Revision, nil
}

// follow tells what was accepted. With wait it shows the task until its end, which then
// is the command's.
func (s *session) follow(ctx context.Context, cl *client.Client, a wire.Accepted, wait bool) error {
	if !wait {
		return s.show(a, func() {
			s.print("task %d  %s", a.Task.ID, a.Task.Title)
			if !a.Task.Over() {
				s.say("follow it with  slipway tasks watch %d", a.Task.ID)
			}
		})
	}
	return s.watch(ctx, cl, a.Task.ID)
}

func (s *session) validateCommand() *cobra.Command {
	var env string
	c := &cobra.Command{
		Use: "validate FILE", Short: "Check an application's file", Args: args(1, 1),
		Long: "Check an application's file against its driver. Every fault is named, with its\nplace and what to write instead.",
		RunE: func(c *cobra.Command, a []string) error {
			in, _, err := s.readSpec(a[0])
			if err != nil {
				return err
			}
			project, environment, err := s.environment(env)
			if err != nil {
				return err
			}
			cl, err := s.connect()
			if err != nil {
				return err
			}
			v, err := cl.Validate(c.Context(), project, environment, in)
			if err != nil {
				return err
			}
			return s.show(v, func() {
				if v.Kind == "runner" {
					s.print("%s is valid: %s with %s: %s", in.File, v.Name, count(len(v.Pools), "runner pool", "runner pools"), strings.Join(v.Pools, ", "))
					return
				}
				s.print("%s is valid: %s %s by %s %s", in.File, v.Name, v.AppVersion, v.DriverName, v.DriverVersion)
			})
		},
	}
	s.addEnvironment(c, &env)
	return c
}

// maxSpec is the largest application file; the server takes no larger one.
const maxSpec = 512 << 10

// readSpec reads an application's file, or the standard input for "-". What can be
// checked without a server is checked here, so that a slip is told at once.
func (s *session) readSpec(path string) (in wire.SpecInput, name string, err error) {
	r := s.Stdin
	in.File = "application.toml"
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return in, "", usagef("%s", err)
		}
		defer f.Close()
		r, in.File = f, filepath.Base(path)
	}
	raw, err := io.ReadAll(io.LimitReader(r, maxSpec+1))
	if err != nil {
		return in, "", fmt.Errorf("read %s: %w", in.File, err)
	}
	if len(raw) > maxSpec {
		return in, "", usagef("%s is larger than %d KiB", in.File, maxSpec>>10)
	}
	parsed, err := spec.ParseApplication(raw, in.File)
	if err != nil {
		return in, "", err
	}
	in.Spec = string(raw)
	return in, parsed.Name, nil
}
