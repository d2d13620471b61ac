package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"slipway.dev/slipway/internal/author"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/spec"
)

func (s *session) driverTestCommand() *cobra.Command {
	var at authorFlags
	var o author.TestOptions
	var quietly bool
	c := &cobra.Command{
		Use: "test [DIRECTORY]", Short: "Run a driver's actions against a simulated cluster", Args: args(0, 1),
		Long: `Run a driver's actions in real Python against a simulated cluster, and show
every call of a primitive with its result, in the order in which Slipway runs
the hooks. Neither a server nor a cluster nor Prefect's server is needed; the
Python environment of actions is: slipway python install makes it.

The file driver_test.yml in the driver's directory says what to try and what
must come of it. Without one, the lowest version that the driver supports is
installed, and upgraded to a later one.

  application: application.toml
  tests:
    - name: a migration that fails leaves the old version running
      from: 1.0.0                # what is installed before; or install: 1.0.0
      upgrade: 1.1.0
      cluster:                   # what does not go well
        - execute_commands: [app, migrate, ...]
          exit_code: 1
          output: column exists
      expect:
        calls:                   # all of them, in order
          - stop_components: [worker]
          - get_component_images: web
          - execute_commands: [app, migrate, ...]
            image: registry.example.com/app:1.1.0
            env: { LOG_LEVEL: info }
        error: failed with exit code 1
        stopped: [worker]
        version: 1.0.0

"*" stands for any one argument of a command, "..." for all that follow. The
cluster may also say: times_out, running (another Job is in the way), fails (the
reason why components or a version do not become ready), images, and times (for
how many calls).

Exit code 8 says that the driver has faults, or that a test did not pass.`,
		Example: `  slipway driver test
  slipway driver test ./guestbook --run migration
  slipway driver test -o json`,
		ValidArgsFunction: directories,
		RunE: func(c *cobra.Command, a []string) error {
			tools, clean, err := s.authorTools(at)
			if err != nil {
				return err
			}
			defer clean()
			dir := directory(a)
			d, err := s.checkDriver(c, tools, dir)
			if err != nil {
				return err
			}
			if err := s.needValid(d); err != nil {
				return err
			}
			o.Bundle, o.Report = d.bundle, author.Report{Spec: d.spec}
			if s.format == "table" {
				o.Heard = func(r author.TestResult) { s.printTest(dir, r, quietly) }
			}
			return s.runTests(c.Context(), tools, dir, o)
		},
	}
	at.addVenv(c)
	c.Flags().StringVar(&o.Only, "run", "", "run only the tests whose names contain this")
	c.Flags().DurationVar(&o.Limit, "timeout", time.Minute, "how long one action may take")
	c.Flags().BoolVarP(&quietly, "quiet", "q", false, "show the calls of failed tests only")
	return c
}

func (s *session) runTests(ctx context.Context, tools *author.Tools, dir string, o author.TestOptions) error {
	began := time.Now()
	all, err := tools.Test(ctx, o)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return usagef("no test has %q in its name", o.Only)
	}
	failed := 0
	for i, r := range all {
		all[i].Faults = inDirectory(dir, r.Faults)
		if !r.Passed {
			failed++
		}
	}
	if done, err := s.machine(all); err != nil {
		return err
	} else if !done {
		s.print("%d of %s passed  %s", len(all)-failed, count(len(all), "test", "tests"), s.faint(s.Stdout, brief(time.Since(began))))
	}
	if failed > 0 {
		return quiet(exitFaulty)
	}
	return nil
}

// printTest shows a test as it went.
func (s *session) printTest(dir string, r author.TestResult, quietly bool) {
	mark := s.green(s.Stdout, "✓")
	if !r.Passed {
		mark = s.red(s.Stdout, "✗")
	}
	s.print("%s %s  %s", mark, r.Name, s.faint(s.Stdout, brief(r.Took)))
	if r.Passed && quietly {
		return
	}
	for _, t := range r.Tasks {
		s.print("    %s", t.Title)
		for _, st := range t.Steps {
			s.printStep(st)
		}
		if t.Error != "" {
			s.print("      %s %s", s.red(s.Stdout, "failed:"), indented(t.Error, "      "))
		}
	}
	for _, f := range inDirectory(dir, r.Faults) {
		s.print("    %s", s.red(s.Stdout, f.String()))
	}
}

func (s *session) printStep(st author.StepResult) {
	mark := s.green(s.Stdout, "✓")
	if st.State != slipway.StepSucceeded {
		mark = s.red(s.Stdout, "✗")
	}
	s.print("      %s %s", mark, st.Name)
	for _, a := range st.Actions {
		s.print("          %s  %s", a.Name, s.faint(s.Stdout, a.Location))
		for _, e := range a.Events {
			if e.Call == nil {
				s.print("            %s", s.faint(s.Stdout, e.Level+": "+indented(e.Log, "            ")))
				continue
			}
			s.printCall(*e.Call)
		}
		if a.Output != "" {
			s.print("            %s", s.faint(s.Stdout, "printed: "+indented(a.Output, "            ")))
		}
		for _, u := range a.Unknown {
			s.print("            %s a test cannot answer %s", s.yellow(s.Stdout, "note:"), u)
		}
		if a.Where != "" {
			s.print("            raised at %s", a.Where)
		}
	}
}

func (s *session) printCall(c author.Call) {
	said := s.green(s.Stdout, "ok")
	images, _ := c.Result["images"].([]string)
	already, _ := c.Result["already"].(string)
	switch {
	case c.Code != "":
		said = s.red(s.Stdout, c.Code+": "+indented(c.Error, "            "))
	case images != nil:
		said = strings.Join(images, ", ")
	case already != "":
		said = "nothing to do: " + already + " already"
	case c.Task != 0:
		said = s.green(s.Stdout, fmt.Sprintf("ok, task %d", c.Task))
	}
	s.print("            %s → %s", spec.CallPattern{Primitive: c.Primitive, Args: c.Args}, said)
	if c.Command != nil {
		line := "image " + c.Command.Image
		if c.EnvFrom != "" {
			line += " · environment of " + c.EnvFrom
		}
		for _, v := range c.Command.Env {
			line += "\n" + v.Name + "=" + v.Value
		}
		s.print("              %s", s.faint(s.Stdout, indented(line, "              ")))
	}
	for _, n := range c.Notes {
		s.print("              note: %s", n)
	}
	if c.Output != "" {
		s.print("              %s", indented(strings.TrimRight(c.Output, "\n"), "              "))
	}
}

// indented keeps the lines of a text in their column.
func indented(text, by string) string { return strings.ReplaceAll(text, "\n", "\n"+by) }
