// Package python carries the Python sources that actions import, so that the one binary
// can make their environment anywhere. It holds no logic, and nothing that is not in the
// Python package itself.
package python

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"sync"
)

// Source holds src/slipway and src/styrmin_backend. The files are named by pattern, because
// a folder's pattern leaves out names that start with an underscore.
//
//go:embed src/slipway/*.py src/slipway/py.typed src/styrmin_backend/*.py src/styrmin_backend/py.typed
var Source embed.FS

// Lock is the locked list of what the environment of actions holds, with hashes.
//
//go:embed requirements.lock
var Lock []byte

// Digest names this content of Source: the first characters of a hash over every file.
var Digest = sync.OnceValue(func() string {
	sum := sha256.New()
	err := fs.WalkDir(Source, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := Source.ReadFile(path)
		fmt.Fprintf(sum, "%s %d\n%s", path, len(content), content)
		return err
	})
	if err != nil {
		panic(err) // the files are in the binary
	}
	return hex.EncodeToString(sum.Sum(nil))[:16]
})
