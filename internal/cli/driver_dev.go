package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"slipway.dev/slipway/internal/author"
	"slipway.dev/slipway/internal/client"
	"slipway.dev/slipway/internal/spec"
	"slipway.dev/slipway/internal/wire"
)

// settled is how long a directory must be quiet before a save counts as done.
const settled = 200 * time.Millisecond

func (s *session) driverDevCommand() *cobra.Command {
	d := &development{session: s}
	c := &cobra.Command{
		Use: "dev [DIRECTORY]", Short: "Check, test and load a driver at every save", Args: args(0, 1),
		Long: `Watch a driver's directory. At every save, check it as validate does, and load
it into the installation that you are logged in to, as a development version:
spec.version 1.4.0 is loaded as 1.4.0-dev.1, then 1.4.0-dev.2, and so on. Faults
are shown as they come; the next save is the next try.

With --test, the driver's tests run first, and one that does not pass keeps the
driver from being loaded. With --application, the application is then deployed
with that version of the driver, and its steps are shown; a new version of a
driver is an upgrade, so its upgrade hooks run.

A loaded version never changes, not even a development one. Those that nothing
uses any more are deleted again. Ctrl-C ends it.`,
		Example: `  slipway driver dev ./guestbook --test
  slipway driver dev --application application.toml -e shop/dev`,
		ValidArgsFunction: directories,
		RunE: func(c *cobra.Command, a []string) error {
			d.dir = directory(a)
			tools, clean, err := s.authorTools(d.at)
			if err != nil {
				return err
			}
			defer clean()
			d.tools = tools
			return d.run(c)
		},
	}
	d.at.addVenv(c)
	c.Flags().StringVar(&d.application, "application", "", "an application's file, to deploy at every save")
	c.Flags().BoolVar(&d.test, "test", false, "run the driver's tests first")
	s.addEnvironment(c, &d.env)
	must(c.MarkFlagFilename("application", "toml"))
	return c
}

// development is one run of the command.
type development struct {
	*session
	at          authorFlags
	tools       *author.Tools
	dir         string
	application string
	env         string
	test        bool

	last   string   // the digest of what was looked at last, with the application's file
	loaded []string // development versions that this run has loaded
}

func (d *development) run(c *cobra.Command) error {
	ctx := c.Context()
	if _, err := spec.ReadBundleDir(d.dir); err != nil {
		return err
	}
	var beside []string
	if d.application != "" {
		if _, _, err := d.environment(d.env); err != nil {
			return err
		}
		beside = append(beside, d.application)
	}
	changes, err := author.Watch(ctx, d.dir, settled, beside...)
	if err != nil {
		return err
	}
	for {
		if err := d.round(c); err != nil && ctx.Err() == nil {
			d.exit(ctx, err) // says it; the next save is the next try
		}
		if ctx.Err() == nil {
			d.say("%s", d.faint(d.Stderr, "watching "+d.dir+"; Ctrl-C ends it"))
		}
		select {
		case <-ctx.Done():
			d.say("no longer watching %s", d.dir)
			return nil
		case <-changes:
		}
	}
}

// round does everything once.
func (d *development) round(c *cobra.Command) error {
	ctx, began := c.Context(), time.Now()
	driver, err := d.checkDriver(c, d.tools, d.dir)
	if err != nil {
		return err
	}
	now, err := d.digest(driver.Digest)
	if err != nil || now == d.last {
		return err
	}
	d.last = now
	if err := d.needValid(driver); err != nil {
		return err
	}
	if d.test {
		o := author.TestOptions{Bundle: driver.bundle, Report: author.Report{Spec: driver.spec}}
		o.Heard = func(r author.TestResult) { d.printTest(d.dir, r, true) }
		if err := d.runTests(ctx, d.tools, d.dir, o); err != nil {
			return err
		}
	}
	cl, err := d.connect()
	if err != nil {
		return err
	}
	version, err := d.load(ctx, cl, driver)
	if err != nil {
		d.last = "" // the same content is worth another try
		return err
	}
	d.print("%s  %s %s is loaded  %s", time.Now().Format(time.TimeOnly), driver.Name, version, d.faint(d.Stdout, brief(time.Since(began))))
	if d.application != "" {
		if err := d.deploy(ctx, cl, version); err != nil {
			return err
		}
	}
	d.sweep(ctx, cl, driver.Name)
	return nil
}

// digest names all that a round depends on.
func (d *development) digest(bundle string) (string, error) {
	if d.application == "" {
		return bundle, nil
	}
	raw, err := os.ReadFile(d.application)
	if err != nil {
		return "", usagef("%s", err)
	}
	return bundle + string(raw), nil
}

// load loads the driver under the next development version.
func (d *development) load(ctx context.Context, cl *client.Client, driver checkedDriver) (string, error) {
	all, err := client.All(ctx, cl.Drivers)
	if err != nil {
		return "", err
	}
	n := 1
	for _, other := range all {
		if tail, ok := strings.CutPrefix(other.Version, spec.DevelopmentPrefix(driver.Version)); ok && other.Name == driver.Name {
			if m, err := strconv.Atoi(tail); err == nil {
				n = max(n, m+1)
			}
		}
	}
	version := spec.DevelopmentVersion(driver.Version, n)
	bundle, err := spec.WithVersion(driver.bundle, version)
	if err != nil {
		return "", err
	}
	packed, _, err := spec.Pack(bundle)
	if err != nil {
		return "", err
	}
	source, err := filepath.Abs(d.dir)
	if err != nil {
		return "", fmt.Errorf("find %s: %w", d.dir, err)
	}
	if _, err := cl.LoadDriver(ctx, packed, filepath.Base(source)); err != nil {
		return "", err
	}
	d.loaded = append(d.loaded, version)
	return version, nil
}

// deploy deploys the application with the version that was just loaded.
func (d *development) deploy(ctx context.Context, cl *client.Client, version string) error {
	in, name, err := d.readSpec(d.application)
	if err != nil {
		return err
	}
	source, err := spec.WithDriverVersion([]byte(in.Spec), in.File, version)
	if err != nil {
		return err
	}
	project, environment, err := d.environment(d.env)
	if err != nil {
		return err
	}
	revision, err := revisionNow(ctx, cl, client.ApplicationFilter{Project: project, Environment: environment, Name: name})
	if err != nil {
		return err
	}
	accepted, err := cl.Deploy(ctx, project, environment, wire.Deploy{Spec: string(source), File: in.File, ExpectedRevision: revision}, "")
	if err != nil {
		return err
	}
	return d.watch(ctx, cl, accepted.Task.ID)
}

// sweep deletes the development versions of this run that nothing uses. The server refuses
// to delete one that an application has.
func (d *development) sweep(ctx context.Context, cl *client.Client, name string) {
	var kept []string
	for i, version := range d.loaded {
		if i == len(d.loaded)-1 || cl.DeleteDriver(ctx, name, version) != nil {
			kept = append(kept, version)
		}
	}
	d.loaded = kept
}
