// Package python carries the Python sources that actions import, so that the one binary
// can make their environment anywhere. It holds no logic, and nothing that is not in the
// Python package itself.
package python

import "embed"

// Source holds src/slipway and src/styrmin_backend. The files are named by pattern, because
// a folder's pattern leaves out names that start with an underscore.
//
//go:embed src/slipway/*.py src/slipway/py.typed src/styrmin_backend/*.py src/styrmin_backend/py.typed
var Source embed.FS

// Lock is the locked list of what the environment of actions holds, with hashes.
//
//go:embed requirements.lock
var Lock []byte
