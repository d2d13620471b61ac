package change

import (
	"context"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// version is what hooks care about: an application's version and its driver's.
type version struct{ app, driver string }

// standing is where an application stands when a change is asked for.
type standing struct {
	from      version // what the change would move it from; zero for an install
	installed bool    // an install of it succeeded, or is still open
	redo      bool    // its last move failed half-way: the hooks must run again
}

// kind decides what a change of an application to a version is.
func (s standing) kind(to version) slipway.ChangeKind {
	switch {
	case !s.installed:
		// A retry of a failed install is an install: its setup hooks run again.
		return slipway.InstallChange
	case s.redo || s.from != to:
		return slipway.UpgradeChange
	}
	return slipway.ConfigureChange
}

// standingOf looks at the application's last move, that is its last change with hooks.
//
// When it succeeded, or has not ended, the wanted revision says where the application is,
// or will be when the new change has its turn. When it failed, the cluster says it: if it
// was not moved, the application stands where the move before had brought it, and going
// back there is no upgrade; if it was, hooks ran half-way, and they run again whatever is
// asked for.
func standingOf(ctx context.Context, tx *store.Tx, app slipway.Application, wanted slipway.Revision) (standing, error) {
	wantedVersion := version{wanted.Spec.App.Version, wanted.Spec.Driver.Version}
	failed := false
	for page := (store.Page{Limit: 100}); ; {
		changes, err := tx.Changes(ctx, app.ID, page)
		if err != nil {
			return standing{}, err
		}
		for _, c := range changes.Items {
			if c.Kind != slipway.InstallChange && c.Kind != slipway.UpgradeChange && c.Kind != slipway.RollbackChange {
				continue
			}
			t, err := tx.Task(ctx, c.TaskID)
			if err != nil {
				return standing{}, err
			}
			switch {
			case t.State == slipway.Failed || t.State == slipway.Cancelled:
				failed = true
			case !failed:
				return standing{from: wantedVersion, installed: true}, nil
			case t.State == slipway.Succeeded:
				good, err := tx.Revision(ctx, app.ID, c.Revision)
				if err != nil {
					return standing{}, err
				}
				return afterFailure(app, version{good.Spec.App.Version, good.Spec.Driver.Version}), nil
			}
		}
		if page.After = changes.Next; page.After == "" {
			return standing{}, nil
		}
	}
}

// afterFailure is where an application stands whose last move failed, and whose move
// before that ended at good.
func afterFailure(app slipway.Application, good version) standing {
	onCluster := version{app.AppVersion, app.DriverVersion}
	if app.Applied == 0 || onCluster == good {
		return standing{from: good, installed: true}
	}
	return standing{from: onCluster, installed: true, redo: true}
}
