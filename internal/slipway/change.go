package slipway

import "time"

// ChangeKind says what a change asks for.
type ChangeKind string

const (
	InstallChange   ChangeKind = "install"
	UpgradeChange   ChangeKind = "upgrade"   // another application or driver version: hooks run
	RollbackChange  ChangeKind = "rollback"  // back to the content of an earlier revision, by the hooks of the later driver
	ConfigureChange ChangeKind = "configure" // everything else in the spec: no hooks
	DeleteChange    ChangeKind = "delete"
	RepairChange    ChangeKind = "repair" // puts back what drifted from the applied revision: no hooks
)

// Change is one accepted request to change an application. Its number counts per
// application; a later change never lets an earlier one move the cluster back.
type Change struct {
	ID            int64
	ApplicationID int64
	Number        int64
	Kind          ChangeKind
	Revision      int64
	FromRevision  int64  // the revision that was wanted before, of a rollback the applied one; 0 for an install
	TaskID        int64  // its root task
	Overtake      bool   // --now: does not wait for the changes before it
	Context       []byte // the frozen GlobalContext as JSON; nil until the check has built it
	RequestedBy   string
	CreatedAt     time.Time
}
