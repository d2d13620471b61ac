package cli

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"
	"slipway.dev/slipway/internal/client"
	"slipway.dev/slipway/internal/spec"
	"slipway.dev/slipway/internal/wire"
)

func (s *session) driversCommand() *cobra.Command {
	c := group("drivers", "Write, check, share and load drivers", []string{"driver"},
		s.driverLoadCommand(), s.driverListCommand(), s.driverGetCommand(), s.driverDeleteCommand(), s.driverPushCommand(), s.driverPullCommand())
	c.AddCommand(s.authorCommands()...)
	return c
}

// driverLine is the one line that tells what was loaded: "guestbook 1.0.0  sha256:5f1c…
// 2 components, 4 actions, chart guestbook 0.3.1 (in the bundle)".
func driverLine(d wire.Driver, bundle spec.Bundle) string {
	parts := []string{count(len(d.Components), "component", "components"), count(len(d.Actions), "action", "actions")}
	if c := chartLine(d.Chart, bundle); c != "" {
		parts = append(parts, c)
	}
	return fmt.Sprintf("%s %s  %s  %s", d.Name, d.Version, shortDigest(d.Digest), strings.Join(parts, ", "))
}

func chartLine(c wire.DriverChart, bundle spec.Bundle) string {
	if c.Location == "" {
		return ""
	}
	if !c.InBundle {
		return strings.TrimRight(fmt.Sprintf("chart %s %s", c.Location, c.Version), " ")
	}
	// The chart's own file names it best. It was checked by the server; without one that
	// can be read, the place in the bundle says enough.
	var own struct{ Name, Version string }
	if raw, ok := bundle.File(path.Join(c.Location, "Chart.yaml")); ok {
		if err := yaml.NewDecoder(bytes.NewReader(raw)).Decode(&own); err != nil {
			own.Name = ""
		}
	}
	name := cmp.Or(own.Name, path.Base(c.Location))
	return strings.Join(strings.Fields(fmt.Sprintf("chart %s %s (in the bundle)", name, cmp.Or(own.Version, c.Version))), " ")
}

// shortDigest shows enough of a digest to recognise it by.
func shortDigest(d string) string {
	const shown = len("sha256:") + 4
	if len(d) <= shown {
		return d
	}
	return d[:shown] + "…"
}

func (s *session) driverListCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the loaded drivers", Args: args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			cl, err := s.connect()
			if err != nil {
				return err
			}
			all, err := client.All(c.Context(), cl.Drivers)
			if err != nil {
				return err
			}
			return list(s, all, "no driver yet; slipway drivers load loads one",
				[]string{"NAME", "VERSION", "SUPPORTS", "DIGEST", "LOADED", "BY"},
				func(d wire.Driver) []string {
					return []string{d.Name, d.Version, cmp.Or(d.SupportedVersions, "any"), shortDigest(d.Digest), ago(d.LoadedAt), d.LoadedBy}
				})
		},
	}
}

func (s *session) driverGetCommand() *cobra.Command {
	return &cobra.Command{
		Use: "get NAME VERSION", Short: "Show a driver", Args: args(2, 2), ValidArgsFunction: s.completeDrivers,
		RunE: func(c *cobra.Command, a []string) error {
			cl, err := s.connect()
			if err != nil {
				return err
			}
			d, err := cl.Driver(c.Context(), a[0], a[1])
			if err != nil {
				return err
			}
			return s.show(d, func() { s.printDriver(d) })
		},
	}
}

func (s *session) printDriver(d wire.Driver) {
	chart := strings.TrimSpace(d.Chart.Location + " " + d.Chart.Version)
	if d.Chart.InBundle {
		chart += " (in the bundle)"
	}
	s.fields("driver", d.Name+" "+d.Version, "", d.Description, "digest", d.Digest, "supports", cmp.Or(d.SupportedVersions, "any version"),
		"chart", chart, "loaded", ago(d.LoadedAt)+" by "+d.LoadedBy, "source", d.Source)
	if len(d.Components) > 0 {
		s.print("\ncomponents")
		for _, x := range d.Components {
			var labels []string
			for _, k := range slices.Sorted(maps.Keys(x.Selector)) {
				labels = append(labels, k+"="+x.Selector[k])
			}
			s.print("  %s  %s", x.Name, strings.Join(labels, ","))
		}
	}
	if len(d.Actions) > 0 {
		s.print("\nactions")
		rows := make([][]string, len(d.Actions))
		for i, x := range d.Actions {
			rows[i] = []string{"  " + x.Name, x.Hook, x.Mode, x.Location, x.Description}
		}
		table(s.Stdout, []string{"  NAME", "HOOK", "MODE", "LOCATION", ""}, rows)
	}
	for _, w := range d.Warnings {
		s.print("\nwarning: %s", w)
	}
}

func (s *session) driverDeleteCommand() *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use: "delete NAME VERSION", Aliases: []string{"rm"}, Short: "Delete a version of a driver that is not in use", Args: args(2, 2), ValidArgsFunction: s.completeDrivers,
		RunE: func(c *cobra.Command, a []string) error {
			cl, err := s.connect()
			if err != nil {
				return err
			}
			if err := s.confirm(yes, fmt.Sprintf("delete the driver %s %s?", a[0], a[1])); err != nil {
				return err
			}
			if err := cl.DeleteDriver(c.Context(), a[0], a[1]); err != nil {
				return err
			}
			s.say("%s %s is gone", a[0], a[1])
			return nil
		},
	}
	addYes(c, &yes)
	return c
}
