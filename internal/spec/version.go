package spec

import (
	"fmt"

	"strings"

	"github.com/Masterminds/semver/v3"

	"slipway.dev/slipway/internal/slipway"
)

// UpgradeAllowed says whether a driver moves an application from one version to another.
// from is empty for an install. The error says which version could come first.
func UpgradeAllowed(d slipway.DriverSpec, from, to string) error {
	if err := VersionSupported(d, to); err != nil {
		return err
	}
	if from == "" || from == to {
		return nil
	}
	a, errFrom := semver.NewVersion(from)
	b, errTo := semver.NewVersion(to)
	if errFrom != nil || errTo != nil {
		if len(d.Upgrades) == 0 {
			return nil // nobody said anything about versions that have no order
		}
		return slipway.Errorf(slipway.Invalid, "driver %s cannot tell whether %s to %s is an upgrade", d.Name, from, to).
			WithHint("use versions of the form 1.4.2")
	}
	if b.LessThan(a) {
		if d.AllowDowngrade {
			return nil
		}
		return slipway.Errorf(slipway.Invalid, "driver %s %s does not go back from %s to %s", d.Name, d.Version, from, to).
			WithHint("deploy %s or a later version", from)
	}
	if len(d.Upgrades) == 0 {
		return nil
	}
	var next []string
	for _, u := range d.Upgrades {
		if !inRange(u.From, a) {
			continue
		}
		if inRange(u.To, b) {
			return nil
		}
		next = append(next, u.To)
	}
	e := slipway.Errorf(slipway.Invalid, "driver %s %s has no upgrade from %s to %s", d.Name, d.Version, from, to)
	if len(next) > 0 {
		return e.WithHint("upgrade first to a version in %s", listOf(next, "or"))
	}
	return e.WithHint("its upgrades start from %s", listOf(froms(d.Upgrades), "or"))
}

// RollbackAllowed says whether a driver knows the way back from one version of the
// application to another. It is asked of the driver that would be left behind. A rollback
// of the driver alone is one from a version to itself.
func RollbackAllowed(d slipway.DriverSpec, from, to string) error {
	if len(d.Rollbacks) == 0 {
		return slipway.Errorf(slipway.Conflict, "driver %s %s allows no rollback", d.Name, d.Version).
			WithHint("restore from a backup, or deploy a later version that puts it right")
	}
	a, errFrom := semver.NewVersion(from)
	b, errTo := semver.NewVersion(to)
	if errFrom != nil || errTo != nil {
		return slipway.Errorf(slipway.Conflict, "driver %s cannot tell whether %s to %s is a rollback", d.Name, from, to).
			WithHint("use versions of the form 1.4.2")
	}
	var ways []string
	for _, r := range d.Rollbacks {
		if inRange(r.From, a) && inRange(r.To, b) {
			return nil
		}
		ways = append(ways, fmt.Sprintf("from %s to %s", r.From, r.To))
	}
	return slipway.Errorf(slipway.Conflict, "driver %s %s allows no rollback from %s to %s", d.Name, d.Version, from, to).
		WithHint("it allows those %s", listOf(ways, "and"))
}

func froms(us []slipway.UpgradePath) []string {
	var out []string
	for _, u := range us {
		out = append(out, u.From)
	}
	return out
}

// VersionSupported says whether a driver supports a version of its application.
func VersionSupported(d slipway.DriverSpec, version string) error {
	if d.SupportedVersions == "" {
		return nil
	}
	v, err := semver.NewVersion(version)
	if err != nil {
		return slipway.Errorf(slipway.Invalid, "%q is no version that driver %s could compare with %s", version, d.Name, d.SupportedVersions).
			WithHint("use a version of the form 1.4.2")
	}
	if inRange(d.SupportedVersions, v) {
		return nil
	}
	e := slipway.Errorf(slipway.Invalid, "driver %s %s supports versions %s, not %s", d.Name, d.Version, d.SupportedVersions, version)
	if v.Prerelease() != "" {
		return e.WithHint("a pre-release is supported only when the driver's range names one, such as >=%s-0", strings.SplitN(v.String(), "-", 2)[0])
	}
	return e.WithHint("deploy a version in that range, or load a newer driver")
}

// inRange reports whether v is in a range that ParseDriver has accepted.
func inRange(constraint string, v *semver.Version) bool {
	c, err := semver.NewConstraint(constraint)
	return err == nil && c.Check(v)
}

// ChartFor picks the chart of a driver for a version of its application.
func ChartFor(d slipway.DriverSpec, version string) (slipway.ChartRef, error) {
	chart := d.Chart
	chart.Versions = nil
	if len(d.Chart.Versions) == 0 {
		return chart, nil
	}
	v, err := semver.NewVersion(version)
	if err != nil {
		return chart, slipway.Errorf(slipway.Invalid, "%q is no version that driver %s could pick a chart by", version, d.Name).
			WithHint("use a version of the form 1.4.2")
	}
	for _, row := range d.Chart.Versions { // the first row that fits
		if inRange(row.App, v) {
			chart.Version, chart.Digest = row.Chart, row.Digest
			return chart, nil
		}
	}
	return chart, slipway.Errorf(slipway.Invalid, "driver %s %s has no chart for version %s", d.Name, d.Version, version).
		WithHint("its helm.main.versions cover other versions only")
}
