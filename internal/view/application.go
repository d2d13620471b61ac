package view

import (
	"time"

	"slipway.dev/slipway/internal/slipway"
)

// ApplicationFilter narrows the list of applications. Its zero value is all of them.
type ApplicationFilter struct {
	Project     string
	Environment string
	Kind        slipway.ApplicationKind
	State       slipway.ApplicationState
}

// ApplicationRow is one line of the list of applications.
type ApplicationRow struct {
	slipway.Application
	OpenTask int64    // the root task that runs or waits; 0: none
	Stopped  []string // the components that are stopped
}

// ApplicationPage is everything about one application that its page shows.
type ApplicationPage struct {
	Application slipway.Application
	Spec        slipway.ApplicationSpec // of the wanted revision
	Driver      slipway.Driver          // that the wanted revision names; zero when it is gone
	Components  []Component
	Services    []Service
	Revisions   List[RevisionRow]
	Tasks       List[TaskRow] // root tasks, newest first
	Open        []TaskRow     // root tasks that run or wait, oldest first
}

// Component is a component as the driver declares it, the team sets it and the record has
// it.
type Component struct {
	Name      string
	Declared  bool // false: a stop is recorded for it, but the driver knows it no more
	Selector  map[string]string
	Container string
	Scalable  bool
	Config    slipway.ComponentConfig
	Image     string // the override with the version filled in; empty: as the chart says
	Stopped   bool
	StoppedBy *TaskRow // the root task in which it was stopped
	StoppedAt time.Time
	Starting  bool // a task that starts it again runs or waits
}

// Service is an endpoint that the application offers.
type Service struct {
	Name string
	slipway.Service
}

// RevisionRow is one accepted spec, and what was new in it.
type RevisionRow struct {
	Number        int64
	AppVersion    string
	Driver        slipway.DriverRef
	DriverDigest  string
	CreatedBy     string
	CreatedAt     time.Time
	Wanted        bool // the newest accepted one
	Applied       bool // the one on the cluster
	Change        int64
	TaskID        int64 // the task that carried it out; 0 when it is not known
	Diff          []DiffLine
	DiffTruncated bool
}

// RevisionPage is one revision with its whole spec.
type RevisionPage struct {
	Application slipway.Application
	Revision    slipway.Revision
	Row         RevisionRow
	Lines       []DiffLine // the whole spec as lines: Path and New
}

// DiffLine is one difference between two specs. A value that is not set is empty, and its
// Has is false, which tells it from an empty text.
type DiffLine struct {
	Path           string // components.web.env.LOG_LEVEL
	Old, New       string
	HasOld, HasNew bool
}
