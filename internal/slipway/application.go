package slipway

import (
	"strings"
	"time"
)

// ApplicationSpec is what application.toml says: what a team asks for.
type ApplicationSpec struct {
	SchemaVersion int                        `json:"schema_version"`
	Name          string                     `json:"name"`
	Driver        DriverRef                  `json:"driver,omitzero"`
	App           AppRef                     `json:"app,omitzero"`
	Parameters    map[string]any             `json:"parameters,omitempty"`
	Components    map[string]ComponentConfig `json:"components,omitempty"`
	Backup        *BackupConfig              `json:"backup,omitempty"`
	Services      map[string]RunnerService   `json:"services,omitempty"` // of a runner application, which has nothing else
}

// SecretParameter reports whether the value of a parameter is a reference to a secret,
// { secret = "name" }, and which. A parameter of any other kind may not have this form.
func SecretParameter(v any) (name string, ok bool) {
	m, isMap := v.(map[string]any)
	if !isMap || len(m) != 1 {
		return "", false
	}
	name, ok = m["secret"].(string)
	return name, ok
}

// SecretNames are the secrets of its environment that the application needs: of components,
// of parameters, and the credentials of runner pools.
func (s ApplicationSpec) SecretNames() map[string]bool {
	names := map[string]bool{}
	for _, c := range s.Components {
		for _, n := range c.Secrets {
			names[n] = true
		}
	}
	for _, v := range s.Parameters {
		if n, ok := SecretParameter(v); ok {
			names[n] = true
		}
	}
	for _, x := range s.Services {
		for _, n := range []string{x.Actions.Credential, x.Actions.JobsCredential} {
			if n != "" {
				names[n] = true
			}
		}
	}
	return names
}

// DriverRef names a loaded driver.
type DriverRef struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// AppRef names the version of the application itself.
type AppRef struct {
	Version string `json:"version"`
}

// ComponentConfig is what a team sets on one component.
type ComponentConfig struct {
	Image    string            `json:"image,omitempty"`    // override; only {{ app.version }} is replaced
	Replicas *int              `json:"replicas,omitempty"` // nil: as the chart says
	Env      map[string]string `json:"env,omitempty"`
	Secrets  map[string]string `json:"secrets,omitempty"` // environment variable → name of a secret
}

// Application is what a team asks for, in one environment.
type Application struct {
	ID            int64
	EnvironmentID int64
	Project       string
	Environment   string
	Namespace     string
	Name          string
	Kind          ApplicationKind
	Revision      int64 // the newest accepted one
	Applied       int64 // the revision on the cluster; 0: none yet
	AppVersion    string
	DriverName    string
	DriverVersion string
	State         ApplicationState
	Message       string // one sentence about State
	LastChange    int64  // the number of the newest change
	Deleting      bool
	CreatedAt     time.Time
	UpdatedAt     time.Time
}

// Ref writes the application as people do: shop/production/guestbook.
func (a Application) Ref() string {
	return EnvironmentRef(a.Project, a.Environment) + "/" + a.Name
}

// ApplicationKind tells what reconciles an application.
type ApplicationKind string

const (
	DriverApplication ApplicationKind = "driver"
	RunnerApplication ApplicationKind = "runner"
)

// ApplicationState is what people read first. Package reconcile/application alone moves
// it; new ones start as Accepted.
//
//	accepted ─▶ changing ─▶ running ─▶ changing …
//	                │  └──▶ failed ──▶ changing …
//	                └─ delete ─▶ deleting ─▶ (the row is marked deleted)
type ApplicationState string

const (
	AppAccepted ApplicationState = "accepted"
	AppChanging ApplicationState = "changing"
	AppRunning  ApplicationState = "running"
	AppFailed   ApplicationState = "failed" // the last change failed; Message says what runs meanwhile
	AppDeleting ApplicationState = "deleting"
	AppDeleted  ApplicationState = "deleted"
)

// Revision is one accepted spec of an application. Revisions are never changed.
type Revision struct {
	ApplicationID int64
	Number        int64
	Spec          ApplicationSpec
	Source        string // the TOML as it was sent
	DriverDigest  string
	CreatedBy     string
	CreatedAt     time.Time
}

// ComponentState is what is recorded of one component beyond the spec.
type ComponentState struct {
	ApplicationID int64
	Component     string
	Stopped       bool
	StoppedByTask int64 // the root task in which it was stopped
	StoppedAt     time.Time
}

// VersionToken is the only template that an image override may hold, with any blanks
// inside the braces.
const VersionToken = "{{ app.version }}"

// ExpandImage replaces the version token of an image override.
func ExpandImage(override, version string) string {
	var b strings.Builder
	for {
		i := strings.Index(override, "{{")
		if i < 0 {
			break
		}
		j := strings.Index(override[i:], "}}")
		if j < 0 || strings.TrimSpace(override[i+2:i+j]) != "app.version" {
			break
		}
		b.WriteString(override[:i] + version)
		override = override[i+j+2:]
	}
	return b.String() + override
}
