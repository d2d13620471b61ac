package server

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"

	"slipway.dev/slipway/internal/slipway"
)

// openDataDir makes the data directory private and locks it. Two servers over one SQLite
// file would each take the other's running work for dead. The lock goes with the process,
// also with one that is killed.
func openDataDir(dir string) (unlock func(), err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the data directory: %w", err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return nil, fmt.Errorf("look at the data directory: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, slipway.Errorf(slipway.Invalid, "the data directory %s can be read by others (mode %04o)", dir, info.Mode().Perm()).
			WithHint("it holds keys: chmod 700 %s", dir)
	}
	path := filepath.Join(dir, "lock")
	lock := flock.New(path, flock.SetPermissions(0o600))
	ok, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock the data directory: %w", err)
	}
	if !ok {
		return nil, slipway.Errorf(slipway.Conflict, "another slipway server uses %s%s", dir, holderOf(path)).
			WithHint("stop it, or give this one another data_dir")
	}
	// For people only; the lock itself is what counts.
	if err := os.WriteFile(path, fmt.Appendf(nil, "%d\n", os.Getpid()), 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("write the lock: %w", err), lock.Unlock())
	}
	return func() { _ = lock.Unlock() }, nil
}

func holderOf(path string) string {
	raw, err := os.ReadFile(path)
	if err != nil || errors.Is(err, fs.ErrNotExist) || len(raw) == 0 || len(raw) > 20 {
		return ""
	}
	return " (process " + strings.TrimSpace(string(raw)) + ")"
}
