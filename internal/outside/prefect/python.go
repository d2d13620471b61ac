package prefect

import (
	"path/filepath"
)

// Python is an interpreter with everything that a Prefect server and actions need.
type Python struct {
	Interpreter string // absolute: ".../bin/python" of a virtual environment
	Prefect     string // Prefect's version there, "3.9.1"
	// Package is the folder that holds the Python package slipway, put on the import path
	// of actions. Empty: the package is installed in the environment, or not there.
	Package string
	// Redacts says that the package slipway can be imported and brings the log filter
	// slipway._redact.SecretFilter. Without it logs go to Prefect as they are, which is
	// for tests only.
	Redacts bool
}

// bin returns the folder of the environment's programs.
func (p Python) bin() string { return filepath.Dir(p.Interpreter) }
