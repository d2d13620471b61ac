package application

import (
	"maps"
	"slices"

	"slipway.dev/slipway/internal/slipway"
)

// Snapshot is what Plan may look at: the rows of one task, read in one transaction.
type Snapshot struct {
	Task        slipway.Task
	Application slipway.Application
	Change      slipway.Change    // zero for a task that no change started
	Wanted      slipway.Revision  // the revision to reach: the change's, or the applied one
	From        *slipway.Revision // what was applied before an upgrade; nil for an install
	Driver      slipway.Driver    // of Wanted
	Left        *slipway.Driver   // of a rollback: the driver that is left behind, whose actions run
	Steps       []slipway.Step    // in the order of their starts
	Cancel      bool              // somebody asked for the end
	Moved       bool              // a task that an action of this one started has changed the version

	Backup   slipway.Backup         // of a backup, a restore or the deletion of a backup
	Location slipway.BackupLocation // of Backup
}

// step returns the newest step of a key, and whether there is one.
func (s Snapshot) step(key string) (slipway.Step, bool) {
	for _, st := range slices.Backward(s.Steps) {
		if st.Key == key {
			return st, true
		}
	}
	return slipway.Step{}, false
}

// applied reports whether the cluster has this change's revision or a later one.
func (s Snapshot) applied() bool { return s.Application.Applied >= s.Wanted.Number }

// done reports whether a step has succeeded, here or in an attempt before this one.
func (s Snapshot) done(key string) bool {
	if s.Task.Resume.Done[key] != 0 {
		return true
	}
	st, ok := s.step(key)
	return ok && st.State == slipway.StepSucceeded
}

// acting is the driver whose actions the hooks run. A rollback is undone by who did it:
// the earlier driver cannot know what the later one has changed.
func (s Snapshot) acting() slipway.Driver {
	if s.Left != nil {
		return *s.Left
	}
	return s.Driver
}

// components are those that actions may name: the driver's, and of a rollback also those
// that only the driver that is left behind has.
func (s Snapshot) components() map[string]slipway.Component {
	if s.Left == nil {
		return s.Driver.Spec.Components
	}
	out := maps.Clone(s.Left.Spec.Components)
	if out == nil {
		out = map[string]slipway.Component{}
	}
	maps.Copy(out, s.Driver.Spec.Components)
	return out
}
