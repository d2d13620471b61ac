package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"slipway.dev/slipway/internal/author"
	"slipway.dev/slipway/internal/config"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/spec"
)

// authorCommands are the commands of the author's day, in its order. None but dev speaks
// to a server.
func (s *session) authorCommands() []*cobra.Command {
	return []*cobra.Command{s.driverInitCommand(), s.driverValidateCommand(), s.driverRenderCommand(), s.driverTestCommand(), s.driverDevCommand()}
}

// authorFlags are where Python is, for the commands that read or run actions.
type authorFlags struct{ venv, interpreter string }

func (f *authorFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.interpreter, "python-interpreter", "", "a Python from 3.11 on (default: the server's setting, python3)")
}

func (f *authorFlags) addVenv(c *cobra.Command) {
	f.add(c)
	c.Flags().StringVar(&f.venv, "python-venv", "", "where slipway python install made the environment (default: the server's setting)")
	must(c.MarkFlagDirname("python-venv"))
}

// settings are the server's, of which an author's commands use those about Python.
func (s *session) settings(f authorFlags) (config.Config, error) {
	flags := map[string]string{}
	if f.venv != "" {
		flags["python-venv"] = f.venv
	}
	if f.interpreter != "" {
		flags["python-interpreter"] = f.interpreter
	}
	return config.Load(s.configFile(""), s.Environ, flags)
}

// authorTools returns what looks into drivers, with a directory of its own that clean
// removes.
func (s *session) authorTools(f authorFlags) (t *author.Tools, clean func(), err error) {
	cfg, err := s.settings(f)
	if err != nil {
		return nil, nil, err
	}
	dir, err := os.MkdirTemp("", "slipway-driver-")
	if err != nil {
		return nil, nil, fmt.Errorf("make a folder to work in: %w", err)
	}
	t = author.Offline(cfg.Python.Interpreter, dir)
	if s.FindPython != nil {
		t.Python = func(ctx context.Context) (author.Python, error) { return s.FindPython(ctx, cfg) }
	}
	return t, func() { removeUnpacked(dir) }, nil
}

// removeUnpacked removes a directory of unpacked bundles, which are read-only.
func removeUnpacked(dir string) {
	// What stays behind lies in the temporary files of this machine, and harms nobody.
	_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			return os.Chmod(path, 0o700) //nolint:gosec // a directory
		}
		return nil
	})
	_ = os.RemoveAll(dir)
}

// directories completes the name of a driver's directory.
func directories(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// inDirectory gives faults the path that an editor opens, from where the command was typed.
func inDirectory(dir string, faults []slipway.FieldError) []slipway.FieldError {
	out := make([]slipway.FieldError, len(faults))
	for i, f := range faults {
		if f.File != "" {
			f.File = filepath.Join(dir, filepath.FromSlash(f.File))
		}
		out[i] = f
	}
	return out
}

// checkedDriver reads a directory and checks it.
type checkedDriver struct {
	Name     string               `json:"name"`
	Version  string               `json:"version"`
	Digest   string               `json:"digest"`
	Valid    bool                 `json:"valid"`
	Faults   []slipway.FieldError `json:"faults"`
	Warnings []slipway.FieldError `json:"warnings"`

	bundle spec.Bundle
	spec   slipway.DriverSpec
}

func (s *session) checkDriver(c *cobra.Command, t *author.Tools, dir string) (checkedDriver, error) {
	bundle, err := spec.ReadBundleDir(dir)
	if err != nil {
		return checkedDriver{}, err
	}
	r, err := t.Check(c.Context(), bundle)
	if err != nil {
		return checkedDriver{}, fmt.Errorf("check %s: %w", dir, err)
	}
	return checkedDriver{
		Name: r.Spec.Name, Version: r.Spec.Version, Digest: bundle.Digest(), Valid: len(r.Faults) == 0,
		Faults: inDirectory(dir, r.Faults), Warnings: inDirectory(dir, r.Warnings), bundle: bundle, spec: r.Spec,
	}, nil
}

// title names a driver, also one whose name could not be read.
func (d checkedDriver) title() string {
	if d.Name == "" {
		return "the driver"
	}
	return d.Name + " " + d.Version
}

// needValid tells the faults of a driver that is to be used, and ends the command.
func (s *session) needValid(d checkedDriver) error {
	s.warnAll(d.Warnings)
	if d.Valid {
		return nil
	}
	for _, f := range d.Faults {
		s.say("%s", f)
	}
	s.say("%s has %s", d.title(), count(len(d.Faults), "fault", "faults"))
	return quiet(exitFaulty)
}

func (s *session) warnAll(warnings []slipway.FieldError) {
	for _, w := range warnings {
		s.say("%s %s", s.yellow(s.Stderr, "warning:"), w)
	}
}
