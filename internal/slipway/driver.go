package slipway

import (
	"crypto/sha256"
	"encoding/hex"
	"time"
)

// Hook is a point in an application's life at which a driver's actions run.
type Hook string

const (
	Setup   Hook = "setup"   // the application is first created
	Upgrade Hook = "upgrade" // it moves to another application or driver version
	// Rollback is the way back: the driver that is left behind undoes what its upgrade did.
	Rollback Hook = "rollback"

	BackupHook  Hook = "backup"  // its data is backed up
	RestoreHook Hook = "restore" // a backup of it is restored
)

// Mode orders the actions of a hook: all of pre end before core starts, all of core
// before post.
type Mode string

const (
	Pre  Mode = "pre"
	Core Mode = "core"
	Post Mode = "post"
)

// Driver is one loaded version of a driver. Its identity is Digest; a name and version
// never stand for two contents.
type Driver struct {
	ID       int64
	Name     string
	Version  string // semver
	Digest   string // sha256:<hex> over the packed bundle
	Spec     DriverSpec
	Source   string // where it was loaded from: a directory's name, an OCI reference
	Size     int64  // bytes of the packed bundle
	LoadedBy string
	LoadedAt time.Time
	Warnings []string // from the check at load
}

// DriverSpec is what driver.slipway.yml says, checked and with defaults filled in.
type DriverSpec struct {
	APIVersion        string               `json:"apiVersion"`
	Name              string               `json:"name"`
	Version           string               `json:"version"`
	SupportedVersions string               `json:"supportedVersions,omitempty"` // semver range; empty: any
	Upgrades          []UpgradePath        `json:"upgrades,omitempty"`          // empty: any move forward
	AllowDowngrade    bool                 `json:"allowDowngrade,omitempty"`
	Rollbacks         []UpgradePath        `json:"rollbacks,omitempty"` // the ways back that it knows to go; empty: none
	Info              DriverInfo           `json:"info"`
	Chart             ChartRef             `json:"chart"`
	Components        map[string]Component `json:"components,omitempty"`
	Parameters        []byte               `json:"parameters,omitempty"` // JSON Schema 2020-12 of the parameters object
	Services          map[string]Service   `json:"services,omitempty"`
	Actions           []Action             `json:"actions,omitempty"`
}

// UpgradePath allows one family of moves between application versions.
type UpgradePath struct {
	From string `json:"from"` // semver range
	To   string `json:"to"`
}

// DriverInfo is for people.
type DriverInfo struct {
	Description string   `json:"description,omitempty"`
	Authors     []string `json:"authors,omitempty"`
	Homepage    string   `json:"homepage,omitempty"`
}

// ChartRef says where the driver's chart is. Location is a path inside the bundle
// ("chart", "./chart"), oci://… or https://….
type ChartRef struct {
	Location string         `json:"location"`
	Version  string         `json:"version,omitempty"`
	Digest   string         `json:"digest,omitempty"`
	Values   string         `json:"values,omitempty"` // the values template inside the bundle
	Versions []ChartVersion `json:"versions,omitempty"`
}

// ChartsDir holds the charts that a bundle carries, beside the driver's files.
const ChartsDir = ".slipway-charts"

// CarriedAt is the path in a bundle, without its ending, at which the chart of a reference
// is carried, if it is.
func (c ChartRef) CarriedAt() string {
	sum := sha256.Sum256([]byte(c.Location + "\n" + c.Version))
	return ChartsDir + "/" + hex.EncodeToString(sum[:16])
}

// ChartVersion picks a chart version for a range of application versions.
type ChartVersion struct {
	App    string `json:"app"`
	Chart  string `json:"chart"`
	Digest string `json:"digest,omitempty"`
}

// Component is a named part of a driver application: the workloads that Selector matches.
type Component struct {
	Selector     map[string]string `json:"selector"`
	Container    string            `json:"container,omitempty"` // the declared container; empty: the pod's only one
	Scalable     bool              `json:"scalable,omitempty"`
	ReadyTimeout time.Duration     `json:"readyTimeout,omitempty"` // 0: the default
	Backup       *ComponentBackup  `json:"backup,omitempty"`       // nil: it holds no data of its own
}

// Service is an endpoint that an application offers, for people and for context.services.
type Service struct {
	Component string `json:"component"`
	Kind      string `json:"kind,omitempty"`
	Port      int    `json:"port,omitempty"`
	Scope     string `json:"scope,omitempty"`
	Path      string `json:"path,omitempty"`
}

// Action is one Python function of the driver, and when it runs.
type Action struct {
	Name         string        `json:"name"`
	Hook         Hook          `json:"hook"`
	Mode         Mode          `json:"mode"`
	File         string        `json:"file"`
	Function     string        `json:"function"`
	Description  string        `json:"description,omitempty"`
	Timeout      time.Duration `json:"timeout,omitempty"` // 0: DefaultActionTimeout
	Irreversible bool          `json:"irreversible,omitempty"`
	Stops        []string      `json:"stops,omitempty"`      // the components that it stops for a while; only foretold
	Parameters   []string      `json:"parameters,omitempty"` // the function's own, learnt at load
}

const (
	// DefaultActionTimeout bounds an action that names no time-out of its own.
	DefaultActionTimeout = time.Hour
	// MaxActionTimeout is the longest time-out that a driver may ask for.
	MaxActionTimeout = 24 * time.Hour
)

// ActionsOf returns the actions of one mode of a hook in the order of the file. The order
// in which they run within a mode is not defined.
func (d DriverSpec) ActionsOf(h Hook, m Mode) []Action {
	var out []Action
	for _, a := range d.Actions {
		if a.Hook == h && a.Mode == m {
			out = append(out, a)
		}
	}
	return out
}
