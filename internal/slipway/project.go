package slipway

import "time"

// Project is what a team owns together.
type Project struct {
	ID        int64
	Name      string
	CreatedAt time.Time
}

// Environment is one place of a project where applications run: shop/production. It is
// one namespace of the cluster.
type Environment struct {
	ID        int64
	ProjectID int64
	Project   string
	Name      string
	Namespace string            // unique in the installation
	Settings  map[string]string // given to drivers as environment.settings; no secrets
	CreatedAt time.Time
}

// Ref writes the environment as people do: shop/production.
func (e Environment) Ref() string { return EnvironmentRef(e.Project, e.Name) }

// Secret is the public part of a secret: everything but its value.
type Secret struct {
	ID            int64
	EnvironmentID int64
	Name          string
	Version       int // counts the values that it has had
	UpdatedBy     string
	CreatedAt     time.Time
	UpdatedAt     time.Time
}
