package wire

import "time"

// Driver is one loaded version of a driver.
type Driver struct {
	Name              string             `json:"name"`
	Version           string             `json:"version"`
	Digest            string             `json:"digest" example:"sha256:5f1c…" doc:"Its identity: a hash over the packed bundle."`
	Description       string             `json:"description,omitempty"`
	SupportedVersions string             `json:"supported_versions,omitempty" doc:"The range of application versions; absent: any."`
	Source            string             `json:"source,omitempty" doc:"Where it was loaded from."`
	Size              int64              `json:"size" doc:"Bytes of the packed bundle."`
	Chart             DriverChart        `json:"chart"`
	Components        []DriverComponent  `json:"components" nullable:"false"`
	Actions           []DriverAction     `json:"actions" nullable:"false"`
	Services          map[string]Service `json:"services,omitempty"`
	Parameters        map[string]any     `json:"parameters,omitempty" doc:"The JSON Schema of the parameters."`
	Warnings          []string           `json:"warnings,omitempty" nullable:"false" doc:"What the check at load found questionable."`
	LoadedBy          string             `json:"loaded_by"`
	LoadedAt          time.Time          `json:"loaded_at"`
	Known             bool               `json:"known,omitempty" doc:"In the answer to a load: this very bundle was there already."`
}

// DriverChart says where a driver's chart is.
type DriverChart struct {
	Location string `json:"location" doc:"A path inside the bundle, oci://… or https://…"`
	InBundle bool   `json:"in_bundle"`
	Version  string `json:"version,omitempty"`
	Digest   string `json:"digest,omitempty"`
}

// DriverComponent is a named part of the driver's applications.
type DriverComponent struct {
	Name      string            `json:"name"`
	Selector  map[string]string `json:"selector"`
	Container string            `json:"container,omitempty"`
	Scalable  bool              `json:"scalable,omitempty"`
}

// DriverAction is one Python function of the driver, and when it runs.
type DriverAction struct {
	Name         string `json:"name"`
	Hook         string `json:"hook" enum:"setup,upgrade"`
	Mode         string `json:"mode" enum:"pre,core,post"`
	Location     string `json:"location" example:"actions.py::migrate"`
	Description  string `json:"description,omitempty"`
	Timeout      string `json:"timeout,omitempty" example:"45m0s"`
	Irreversible bool   `json:"irreversible,omitempty"`
}

// Service is an endpoint that an application offers.
type Service struct {
	Component string `json:"component"`
	Kind      string `json:"kind,omitempty"`
	Port      int    `json:"port,omitempty"`
	Scope     string `json:"scope,omitempty"`
	Path      string `json:"path,omitempty"`
}
