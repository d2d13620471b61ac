package wire

import "time"

// Project is what a team owns together.
type Project struct {
	Name      string    `json:"name"`
	CreatedAt time.Time `json:"created_at"`
}

// NewProject asks for a project.
type NewProject struct {
	Name string `json:"name" minLength:"1" maxLength:"40" example:"shop" doc:"Lower-case letters, digits and hyphens."`
}

// Environment is one place of a project where applications run.
type Environment struct {
	Project   string            `json:"project"`
	Name      string            `json:"name"`
	Namespace string            `json:"namespace" doc:"The namespace of the cluster that it is."`
	Settings  map[string]string `json:"settings,omitempty" doc:"Given to drivers as environment.settings."`
	CreatedAt time.Time         `json:"created_at"`
}

// NewEnvironment asks for an environment.
type NewEnvironment struct {
	Project   string            `json:"project" minLength:"1" maxLength:"40" example:"shop"`
	Name      string            `json:"name" minLength:"1" maxLength:"40" example:"production"`
	Namespace string            `json:"namespace,omitempty" maxLength:"63" doc:"The cluster's namespace; when absent it is made of the project's and the environment's names."`
	Settings  map[string]string `json:"settings,omitempty" doc:"Given to drivers as environment.settings. No secrets: every reader sees them."`
}

// EnvironmentSettings replaces an environment's settings.
type EnvironmentSettings struct {
	Settings map[string]string `json:"settings" doc:"All settings; one that is not named is removed."`
}

// Secret is everything of a secret but its value.
type Secret struct {
	Name      string    `json:"name"`
	Version   int       `json:"version" doc:"Counts the values that it has had."`
	UpdatedBy string    `json:"updated_by"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
	UsedBy    []string  `json:"used_by,omitempty" nullable:"false" doc:"The applications that name it."`
}

// SecretValue sets a secret. There is no way to read a value back.
type SecretValue struct {
	Value string `json:"value" minLength:"1" maxLength:"262144" writeOnly:"true" doc:"The value; it is sealed at rest and never shown."`
}
