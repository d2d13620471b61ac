package spec

import (
	"github.com/Masterminds/semver/v3"

	"slipway.dev/slipway/internal/slipway"
)

// MayRestore refuses a restore that could not end well. It calls nobody.
func MayRestore(b slipway.Backup, application string, on slipway.ApplicationSpec, d slipway.DriverSpec) error {
	if b.State != slipway.BackupComplete {
		return slipway.Errorf(slipway.Conflict, "backup %d is %s, and only a complete one can be restored", b.ID, b.State).
			WithHint("see the others with  slipway backup list %s", application)
	}
	if on.Driver.Name != b.Driver.Name {
		return slipway.Errorf(slipway.Conflict, "backup %d was taken by the driver %s, and %s runs on %s", b.ID, b.Driver.Name, application, on.Driver.Name).
			WithHint("restore it into an application of the driver %s", b.Driver.Name)
	}
	if older(on.App.Version, b.AppVersion) {
		return slipway.Errorf(slipway.Conflict, "backup %d is of version %s, and %s has the older %s, which may not understand the data", b.ID, b.AppVersion, application, on.App.Version).
			WithHint("deploy version %s or a later one first, then restore", b.AppVersion)
	}
	if len(d.ActionsOf(slipway.RestoreHook, slipway.Core)) > 0 {
		return nil
	}
	for _, c := range d.BackedUp() {
		if c.Backup.Kind.ByAction() {
			return slipway.Errorf(slipway.Conflict, "the component %s is restored by an action, and driver %s %s has none with hook: restore", c.Name, on.Driver.Name, on.Driver.Version).
				WithHint("deploy a version of the driver that has one")
		}
	}
	return nil
}

// older compares two versions of an application. Two that are no versions as semver knows
// them are older than each other unless they are the same: nobody can tell.
func older(a, b string) bool {
	va, err1 := semver.NewVersion(a)
	vb, err2 := semver.NewVersion(b)
	if err1 != nil || err2 != nil {
		return a != b
	}
	return va.LessThan(vb)
}
