package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"slipway.dev/slipway/internal/config"
	"slipway.dev/slipway/internal/outside/prefect"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/python"
)

// PythonInstall makes the virtual environment that actions run in, from the locked list
// that this binary carries, and says what it does on out.
func PythonInstall(ctx context.Context, c config.Config, out io.Writer) error {
	// The environment is in the data directory unless another place is named, and that must
	// be private before anything is in it.
	if err := os.MkdirAll(c.DataDir, 0o700); err != nil {
		return fmt.Errorf("make the data directory: %w", err)
	}
	root := c.PythonVenv()
	p, err := prefect.EnsureVenv(ctx, root, prefect.VenvOptions{
		Lock: python.Lock, Interpreter: c.Python.Interpreter,
		Progress: func(line string) { fmt.Fprintln(out, line) },
	})
	if err != nil {
		return &slipway.Error{Kind: slipway.Unavailable, Msg: err.Error(), Err: err,
			Hint: "it needs Python 3.11 or newer with venv, and a package index that pip reaches"}
	}
	fmt.Fprintf(out, "Python for actions is ready: %s (Prefect %s)\n", root, p.Prefect)
	return nil
}

// FindPython returns the environment of actions, for an author who tests them.
func FindPython(ctx context.Context, c config.Config) (prefect.Python, error) {
	if err := os.MkdirAll(c.DataDir, 0o700); err != nil {
		return prefect.Python{}, fmt.Errorf("make the data directory: %w", err)
	}
	return findPython(ctx, c)
}

// findPython returns the environment that PythonInstall made for this binary's list, or one
// that the operator made and named.
func findPython(ctx context.Context, c config.Config) (prefect.Python, error) {
	root := c.PythonVenv()
	venv := root
	sum := sha256.Sum256(python.Lock)
	if made, _ := filepath.Glob(filepath.Join(root, hex.EncodeToString(sum[:8])+"-py*", ".complete")); len(made) > 0 {
		venv = filepath.Dir(made[0])
	}
	p, err := prefect.FindPython(ctx, venv)
	if err != nil {
		return p, &slipway.Error{Kind: slipway.Unavailable, Err: err,
			Msg:  "the Python environment of actions is not there, or is an older slipway's, so drivers with actions cannot run",
			Hint: "make it with  slipway python install"}
	}
	folder, err := writePackage(c.DataDir)
	if err != nil {
		return p, err
	}
	return p.WithPackage(ctx, folder)
}

// writePackage puts the Python package slipway of this binary into a folder, for the import
// path of actions. Each version has its own, since actions of an earlier one may still run.
func writePackage(root string) (string, error) {
	dir := filepath.Join(root, "package-"+python.Digest())
	if _, err := os.Stat(filepath.Join(dir, ".complete")); err == nil {
		return dir, nil
	}
	source, err := fs.Sub(python.Source, "src")
	if err != nil {
		return "", fmt.Errorf("read the Python package: %w", err)
	}
	work, err := os.MkdirTemp(root, ".package-")
	if err != nil {
		return "", fmt.Errorf("write the Python package: %w", err)
	}
	defer os.RemoveAll(work)
	if err := os.CopyFS(work, source); err != nil {
		return "", fmt.Errorf("write the Python package: %w", err)
	}
	if err := os.WriteFile(filepath.Join(work, ".complete"), nil, 0o644); err != nil {
		return "", fmt.Errorf("write the Python package: %w", err)
	}
	if err := os.Chmod(work, 0o755); err != nil {
		return "", fmt.Errorf("write the Python package: %w", err)
	}
	if err := os.Rename(work, dir); err != nil {
		if _, there := os.Stat(filepath.Join(dir, ".complete")); there == nil {
			return dir, nil // another process was faster
		}
		return "", fmt.Errorf("write the Python package: %w", err)
	}
	return dir, nil
}
