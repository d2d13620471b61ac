package change

import (
	"time"

	"slipway.dev/slipway/internal/slipway"
)

// SpecInput is an application.toml and where it is meant to go.
type SpecInput struct {
	Project     string
	Environment string
	Source      []byte // the TOML as it was sent
	File        string // how messages name it; "application.toml" when empty
}

// DeployInput asks for an application to be as its spec says.
type DeployInput struct {
	SpecInput
	ExpectedRevision *int64 // what the asker last saw; 0 for a new application; nil is refused
	IdempotencyKey   string // the same key and input give the first answer again; may be empty
	Overtake         bool   // do not wait for the changes before it
}

// Accepted is the answer to a request that starts a task.
type Accepted struct {
	Application slipway.Application
	Change      slipway.Change // zero for a task without a change: stop, start
	Task        slipway.Task
	Warnings    []string
	Replayed    bool // the idempotency key was known: nothing was written this time
}

// DeleteInput asks for the end of an application and of what it has on the cluster.
type DeleteInput struct {
	ApplicationID  int64
	IdempotencyKey string
	Overtake       bool
}

// RetryInput asks for another attempt at the change of a task.
type RetryInput struct {
	TaskID         int64
	From           string // the step to begin with, of those up to the one that failed; empty: that one
	FromStart      bool   // begin with the first one
	IdempotencyKey string
}

// RollbackInput asks for the content of an earlier revision.
type RollbackInput struct {
	ApplicationID    int64
	To               int64  // the revision; 0: the one before the last move
	ExpectedRevision *int64 // what the asker last saw; nil is refused
	IdempotencyKey   string
}

// ComponentsInput names components to stop or to start.
type ComponentsInput struct {
	ApplicationID  int64
	Components     []string
	IdempotencyKey string
}

// ActionCallInput is what a primitive of the Python package sends.
type ActionCallInput struct {
	StepID    int64
	FlowRunID string
	Key       string // <flow run>/<run count>/<call number>; a repeat returns the same call
	Primitive slipway.Primitive
	Args      []byte // a JSON object
}

// CreateProjectInput asks for a new project.
type CreateProjectInput struct {
	Name           string
	IdempotencyKey string
}

// CreateEnvironmentInput asks for a new environment of a project.
type CreateEnvironmentInput struct {
	Project        string
	Name           string
	Namespace      string            // of the cluster; <project>-<name> when empty
	Settings       map[string]string // no secrets
	IdempotencyKey string
}

// SetSecretInput gives a secret a value, for the first time or anew.
type SetSecretInput struct {
	Project     string
	Environment string
	Name        string
	Value       []byte
}

// CreateUserInput asks for a new user.
type CreateUserInput struct {
	Name           string
	Role           slipway.Role
	Password       string
	IdempotencyKey string
}

// UpdateUserInput changes an existing user; a nil field stays as it is.
type UpdateUserInput struct {
	Name            string
	Role            *slipway.Role
	Active          *bool
	Password        *string
	CurrentPassword string // needed when people change their own password
}

// CreateTokenInput asks for an API token of the caller, or, for an administrator, of
// another user.
type CreateTokenInput struct {
	User        string // empty: the caller
	Name        string
	Role        slipway.Role // empty: the user's
	Project     string
	Environment string
	ExpiresIn   time.Duration // 0: it does not expire

	// IdempotencyKey keeps a repeat from making a second token. The repeat is a conflict:
	// the value was shown to the first request and stands nowhere.
	IdempotencyKey string
}

// NewToken is a token with its value, which is shown this once and stored nowhere.
type NewToken struct {
	slipway.Token
	Value string
}

// LoadDriverInput is a packed bundle.
type LoadDriverInput struct {
	Archive []byte
	Source  string // where it came from, for people: a directory's name
}

// LoadedDriver is the answer to a load. Known is set when this very bundle was there
// already.
type LoadedDriver struct {
	slipway.Driver
	Known bool
}
