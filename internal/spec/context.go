package spec

import (
	"encoding/json"
	"fmt"

	"slipway.dev/slipway/internal/slipway"
)

// ContextSchema is the version of GlobalContext's JSON form. It grows when a reader of the
// old form would misread the new one; a field more does not count.
const ContextSchema = 1

// GlobalContext is what a driver's template and actions know of their application. It is
// built once per change and then frozen: a later change does not alter it. The Python
// package reads the same JSON (contract/context.schema.json).
//
// It holds no secret's value. Where a secret is meant there is a SecretRef. What may be
// missing is null, never absent, so that a template can ask for it.
type GlobalContext struct {
	SchemaVersion int                         `json:"schema_version"`
	Task          ContextTask                 `json:"task"`
	Cluster       ContextCluster              `json:"cluster"`
	Environment   ContextEnvironment          `json:"environment"`
	Deployment    ContextDeployment           `json:"deployment"`
	Instance      ContextInstance             `json:"instance"`
	App           ContextApp                  `json:"app"`
	Components    map[string]ContextComponent `json:"components"`
	Parameters    map[string]any              `json:"parameters"` // secret ones as ContextSecret
	Services      map[string]ContextService   `json:"services"`
	Backup        *ContextBackup              `json:"backup"` // of a backup or a restore; null elsewhere
}

// ContextBackup is the backup that the hooks backup and restore are about. It tells where
// its files stand and holds no credentials.
type ContextBackup struct {
	ID          int64  `json:"id"`
	LocationRef string `json:"location_ref"` // the location's name
	Path        string `json:"path"`         // the folder of the backup, below the bucket or the claim
	AppVersion  string `json:"app_version"`  // of the application when it was taken
}

// ContextTask says in which task the context is used. Hook, Mode, Action, StepID and
// Attempt are empty in the frozen form and filled in for one run: see ForAction.
type ContextTask struct {
	ID      int64            `json:"id"`
	Kind    slipway.TaskKind `json:"kind"`
	Change  int64            `json:"change"` // the change's number
	Hook    slipway.Hook     `json:"hook"`
	Mode    slipway.Mode     `json:"mode"`
	Action  string           `json:"action"`
	StepID  int64            `json:"step_id"`
	Attempt int              `json:"attempt"`
}

// ContextCluster describes the cluster, with what charts commonly ask about.
type ContextCluster struct {
	ID           string              `json:"id"`
	Name         string              `json:"name"`
	Capabilities ContextCapabilities `json:"capabilities"`
}

// ContextCapabilities are the installation's answers to the usual questions of a chart.
type ContextCapabilities struct {
	StorageClass *string `json:"storage_class"`
	IngressClass *string `json:"ingress_class"`
	FQDNSuffix   *string `json:"fqdn_suffix"`
}

// ContextEnvironment is the environment and its settings.
type ContextEnvironment struct {
	ID       int64             `json:"id"`
	Project  string            `json:"project"`
	Name     string            `json:"name"`
	Settings map[string]string `json:"settings"`
}

// ContextDeployment is the application itself; drivers of the first reference know it
// under this name.
type ContextDeployment struct {
	ID           int64  `json:"id"`
	Name         string `json:"name"`
	DisplayName  string `json:"display_name"`
	DesiredPhase string `json:"desired_phase"` // running, deleting
}

// ContextInstance is one configuration of the application: its revision and its place.
type ContextInstance struct {
	ID          int64          `json:"id"` // the revision's number
	Namespace   string         `json:"namespace"`
	HelmRelease string         `json:"helm_release"`
	Config      map[string]any `json:"config"` // the environment's settings, then the parameters that are no secrets
}

// ContextApp names the versions. Version is the version that the change leads to.
type ContextApp struct {
	Name            string        `json:"name"`
	Version         string        `json:"version"`
	PreviousVersion *string       `json:"previous_version"`
	Driver          ContextDriver `json:"driver"`
	Chart           ContextChart  `json:"chart"`
}

// ContextDriver names the driver of the configuration that the change leads to. The actions
// that run are its own, but for a rollback's: those are of PreviousVersion.
type ContextDriver struct {
	Name            string  `json:"name"`
	Version         string  `json:"version"`
	Digest          string  `json:"digest"`
	PreviousVersion *string `json:"previous_version"`
}

// ContextChart names the chart that is installed.
type ContextChart struct {
	Ref     string  `json:"ref"`
	Version string  `json:"version"`
	Digest  *string `json:"digest"`
}

// ContextComponent is a component in the new configuration.
type ContextComponent struct {
	Selector      map[string]string     `json:"selector"`
	Kinds         []string              `json:"kinds"`          // of its workloads: Deployment, …; empty when not known yet
	Container     *string               `json:"container"`      // the declared container
	ImageOverride *string               `json:"image_override"` // as written, with its {{ app.version }}
	Env           map[string]ContextEnv `json:"env"`
	Replicas      *int                  `json:"replicas"` // null: as the chart says
	Stopped       bool                  `json:"stopped"`
}

// ContextEnv is one environment variable that the team set: a text or a secret.
type ContextEnv struct {
	Value     *string    `json:"value,omitempty"`
	SecretRef *SecretRef `json:"secret_ref,omitempty"`
}

// ContextSecret stands for a secret parameter.
type ContextSecret struct {
	SecretRef SecretRef `json:"secret_ref"`
}

// SecretRef says where in the application's namespace a secret's value stands: a key of
// a Kubernetes Secret.
type SecretRef struct {
	Key  string `json:"key"` // in the alphabet's order, so that JSON read and written again is the same
	Name string `json:"name"`
}

// ContextService is an endpoint that the driver declares.
type ContextService struct {
	Component string `json:"component"`
	Kind      string `json:"kind"`
	Port      int    `json:"port"`
	Scope     string `json:"scope"`
	Path      string `json:"path"`
}

// ForAction returns a copy of the frozen context for one run of an action. The maps are
// shared with c, which nobody writes.
func (c GlobalContext) ForAction(a slipway.Action, stepID int64, attempt int) GlobalContext {
	c.Task.Hook, c.Task.Mode, c.Task.Action = a.Hook, a.Mode, a.Name
	c.Task.StepID, c.Task.Attempt = stepID, attempt
	return c
}

// JSON returns the context in the form that is stored and given to actions.
func (c GlobalContext) JSON() ([]byte, error) {
	b, err := marshal(c)
	if err != nil {
		return nil, fmt.Errorf("write the context of %s: %w", c.Deployment.Name, err)
	}
	return b, nil
}

// DecodeContext reads what JSON wrote.
func DecodeContext(b []byte) (GlobalContext, error) {
	var c GlobalContext
	if err := json.Unmarshal(b, &c); err != nil {
		return c, fmt.Errorf("read a stored context: %w", err)
	}
	if c.SchemaVersion != ContextSchema {
		return c, slipway.Errorf(slipway.Internal, "a stored context has schema %d; this slipway knows %d", c.SchemaVersion, ContextSchema)
	}
	for k, v := range c.Parameters {
		c.Parameters[k] = normalNumbers(v)
	}
	for k, v := range c.Instance.Config {
		c.Instance.Config[k] = normalNumbers(v)
	}
	return c, nil
}
