package wire

import "time"

// Application is what a team asks for, in one environment.
type Application struct {
	ID            int64                  `json:"id"`
	Project       string                 `json:"project"`
	Environment   string                 `json:"environment"`
	Name          string                 `json:"name"`
	Kind          string                 `json:"kind" enum:"driver,runner"`
	Namespace     string                 `json:"namespace"`
	State         string                 `json:"state" enum:"accepted,changing,running,failed,deleting,deleted"`
	Message       string                 `json:"message,omitempty" doc:"One sentence about the state."`
	Revision      int64                  `json:"revision" doc:"The newest accepted revision: what the next deploy must expect."`
	Applied       int64                  `json:"applied" doc:"The revision on the cluster; 0: none yet."`
	AppVersion    string                 `json:"app_version"`
	DriverName    string                 `json:"driver_name"`
	DriverVersion string                 `json:"driver_version"`
	RunnerPools   int                    `json:"runner_pools,omitempty" doc:"How many runner pools it has; only in lists, and only of a runner application."`
	LastChange    int64                  `json:"last_change" doc:"The number of the newest change."`
	Drift         *DriftSummary          `json:"drift,omitempty" doc:"Absent before anything is on the cluster."`
	Components    []ApplicationComponent `json:"components,omitempty" nullable:"false" doc:"Only when one application is asked for."`
	CreatedAt     time.Time              `json:"created_at"`
	UpdatedAt     time.Time              `json:"updated_at"`
}

// ApplicationComponent is what is recorded of one component.
type ApplicationComponent struct {
	Name          string     `json:"name"`
	Stopped       bool       `json:"stopped"`
	StoppedByTask int64      `json:"stopped_by_task,omitempty"`
	StoppedAt     *time.Time `json:"stopped_at,omitempty"`
}

// Revision is one accepted spec of an application.
type Revision struct {
	Number        int64     `json:"number"`
	AppVersion    string    `json:"app_version"`
	DriverName    string    `json:"driver_name"`
	DriverVersion string    `json:"driver_version"`
	DriverDigest  string    `json:"driver_digest"`
	Source        string    `json:"source,omitempty" doc:"The TOML as it was sent; only when one revision is asked for."`
	CreatedBy     string    `json:"created_by"`
	CreatedAt     time.Time `json:"created_at"`
}

// SpecInput is an application's TOML to be checked.
type SpecInput struct {
	Spec string `json:"spec" minLength:"1" maxLength:"524288" doc:"The content of application.toml."`
	File string `json:"file,omitempty" maxLength:"200" doc:"The file's name, for the places in errors."`
}

// Validation is the answer to a spec without fault.
type Validation struct {
	Name          string   `json:"name" doc:"The application's name."`
	AppVersion    string   `json:"app_version"`
	DriverName    string   `json:"driver_name"`
	DriverVersion string   `json:"driver_version"`
	Kind          string   `json:"kind" enum:"driver,runner"`
	Pools         []string `json:"pools,omitempty" nullable:"false" doc:"The runner pools of a runner application."`
}

// Plan says what a deploy of a spec would do. Asking for it writes nothing.
type Plan struct {
	Application   string        `json:"application" example:"shop/production/guestbook"`
	Name          string        `json:"name" example:"guestbook"`
	Kind          string        `json:"kind" enum:"install,upgrade,rollback,configure"`
	Revision      int64         `json:"revision" doc:"The revision that is wanted now, and the one to expect; 0: there is none."`
	NewRevision   int64         `json:"new_revision" doc:"The revision that a deploy would make."`
	Target        int64         `json:"target,omitempty" doc:"Of a rollback: the revision whose content comes back."`
	FromVersion   string        `json:"from_version,omitempty" doc:"The application's version now."`
	Version       string        `json:"version" doc:"The application's version afterwards."`
	Diff          []DiffLine    `json:"diff" nullable:"false"`
	Hooks         []PlannedHook `json:"hooks" nullable:"false" doc:"The hooks that will run, in order."`
	Restarts      []string      `json:"restarts" nullable:"false" doc:"The components whose pods are replaced."`
	RestartsKnown bool          `json:"restarts_known" doc:"Whether restarts could be told beforehand."`
	RestartsWhy   string        `json:"restarts_why,omitempty" doc:"Why they could not."`
	Stops         []string      `json:"stops" nullable:"false" doc:"The components that the driver says it stops meanwhile."`
	Pools         []PlannedPool `json:"pools,omitempty" nullable:"false" doc:"Of a runner application: what becomes of each pool."`
	Summary       string        `json:"summary,omitempty" doc:"What runs, restarts and stops, or becomes of the pools, in one line."`
	Warnings      []string      `json:"warnings,omitempty" nullable:"false"`
}

// PlannedPool says what a change does to a pool and to the runners that it has.
type PlannedPool struct {
	Service string `json:"service" example:"runner"`
	Fate    string `json:"fate" enum:"new,same,tuned,renewed,gone" doc:"tuned: how many runners there are and when; renewed: its runners are replaced, busy ones after their jobs; gone: running jobs are cancelled."`
	Free    int    `json:"free" doc:"Runners that have, or will have, room for a job."`
	Busy    int    `json:"busy"`
	Leaving int    `json:"leaving"`
}

// DiffLine is one field that changes. Old or New is absent when there is none; a text that
// is empty is written as "".
type DiffLine struct {
	Path string `json:"path" example:"components.web.env.LOG_LEVEL"`
	Old  string `json:"old,omitempty"`
	New  string `json:"new,omitempty"`
}

// PlannedHook is one mode of a hook that will run, with its actions.
type PlannedHook struct {
	Hook         string   `json:"hook" enum:"setup,upgrade,rollback,backup,restore" doc:"backup: one is taken before the upgrade."`
	Mode         string   `json:"mode" enum:"pre,core,post"`
	Actions      []string `json:"actions" nullable:"false"`
	Irreversible bool     `json:"irreversible,omitempty" doc:"One of the actions cannot be undone."`
}

// Deploy asks for a spec to be made true.
type Deploy struct {
	Spec             string `json:"spec" minLength:"1" maxLength:"524288" doc:"The content of application.toml."`
	File             string `json:"file,omitempty" maxLength:"200" doc:"The file's name, for the places in errors."`
	ExpectedRevision int64  `json:"expected_revision" minimum:"0" doc:"The revision that the caller has seen; 0 for a new application. Another one is a conflict."`
	Overtake         bool   `json:"overtake,omitempty" doc:"Do not wait for the changes before this one."`
}

// Rollback asks for the content of an earlier revision.
type Rollback struct {
	To               int64 `json:"to,omitempty" minimum:"1" doc:"The revision; absent: the one before the last move."`
	ExpectedRevision int64 `json:"expected_revision" minimum:"1" doc:"The revision that the caller has seen. Another one is a conflict."`
}

// Deletion asks for an application to be removed from the cluster.
type Deletion struct {
	Overtake bool `json:"overtake,omitempty"`
}

// Accepted is the answer to a change: it is recorded, and its task will carry it out.
type Accepted struct {
	ApplicationID int64    `json:"application_id"`
	Application   string   `json:"application" example:"shop/production/guestbook"`
	Change        int64    `json:"change,omitempty" doc:"The change's number; absent for a stop or a start."`
	Kind          string   `json:"kind" doc:"The change's kind, or the task's when there is no change."`
	Revision      int64    `json:"revision,omitempty"`
	Task          Task     `json:"task"`
	Warnings      []string `json:"warnings,omitempty" nullable:"false"`
	Repeated      bool     `json:"repeated,omitempty" doc:"The answer to an earlier request with the same idempotency key."`
}

// ComponentNames picks components of an application.
type ComponentNames struct {
	Components []string `json:"components" minItems:"1" maxItems:"100" nullable:"false"`
}
