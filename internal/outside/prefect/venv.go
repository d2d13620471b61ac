package prefect

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// VenvOptions say what to put into the environment and how to make it.
type VenvOptions struct {
	// Lock is the content of python/requirements.lock: exact versions, each with hashes.
	Lock []byte
	// Interpreter is the Python to make it with, 3.11 or later; "python3" when empty.
	Interpreter string
	// Progress is told each step, in a few words; may be nil.
	Progress func(string)
}

// EnsureVenv returns the virtual environment of the lock under root, which it makes when it
// is not there: some 60 to 90 s and 450 MB. Where pip finds packages is pip's own
// configuration (PIP_INDEX_URL, PIP_FIND_LINKS, PIP_NO_INDEX …).
//
// The folder is named after the lock's hash and the interpreter's version, so a new lock is
// a new folder beside the old one and nothing that runs is changed under its feet. Two
// processes that ask at once make one: the second waits. A making that broke off is begun
// again, since only the last step writes the marker that says "complete".
func EnsureVenv(ctx context.Context, root string, o VenvOptions) (Python, error) {
	p, err := ensureVenv(ctx, root, o)
	if err != nil {
		return Python{}, fmt.Errorf("make the Python environment for actions: %w", err)
	}
	return p, nil
}

func ensureVenv(ctx context.Context, root string, o VenvOptions) (Python, error) {
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	interpreter := cmp.Or(o.Interpreter, "python3")
	version, err := pythonVersion(ctx, interpreter)
	if err != nil {
		return Python{}, err
	}
	dir := filepath.Join(root, venvName(o.Lock, version))
	if isComplete(dir) {
		return FindPython(ctx, dir)
	}
	if err := os.MkdirAll(root, 0o755); err != nil {
		return Python{}, err
	}
	// An environment cannot be moved once made, since its programs hold its path; so it is
	// made in its place, under a lock, and counts only with its marker.
	lock, err := os.OpenFile(dir+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return Python{}, err
	}
	defer lock.Close()
	if err := lockFile(lock.Fd()); err != nil {
		return Python{}, fmt.Errorf("lock %s: %w", lock.Name(), err)
	}
	if !isComplete(dir) {
		if err := makeVenv(ctx, interpreter, dir, o); err != nil {
			return Python{}, err
		}
	}
	return FindPython(ctx, dir)
}

func makeVenv(ctx context.Context, interpreter, dir string, o VenvOptions) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	o.Progress("making the Python environment " + dir)
	if err := run(ctx, interpreter, "-m", "venv", dir); err != nil {
		return fmt.Errorf("%w (Debian and Ubuntu keep it in the package python3-venv)", err)
	}
	lock := filepath.Join(dir, "requirements.lock")
	if err := os.WriteFile(lock, o.Lock, 0o644); err != nil {
		return err
	}
	python := filepath.Join(dir, "bin", "python")
	o.Progress(fmt.Sprintf("installing %d Python packages", bytes.Count(o.Lock, []byte("=="))-bytes.Count(o.Lock, []byte(" == '"))))
	// Hashes make it the same packages everywhere; only built ones, so that installing
	// runs nobody's setup.py.
	if err := run(ctx, python, "-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check",
		"--require-hashes", "--only-binary", ":all:", "--no-deps", "--no-compile", "--requirement", lock); err != nil {
		return err
	}
	o.Progress("compiling the Python packages")
	// pip would compile one by one. A file that a newer or older Python could only read is
	// no reason to stop, hence no check of the exit code.
	_ = run(ctx, python, "-m", "compileall", "-q", "-j", "0", filepath.Join(dir, "lib"))
	if err := os.WriteFile(filepath.Join(dir, ".complete"), nil, 0o644); err != nil {
		return err
	}
	o.Progress("the Python environment is ready")
	return nil
}

func isComplete(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, ".complete"))
	return err == nil
}

// venvName is the start of the lock's hash and the interpreter's version: "5f1c3a9d2b7e4c60-py311".
func venvName(lock []byte, version [2]int) string {
	return fmt.Sprintf("%s-py%d%d", lockHash(lock), version[0], version[1])
}

func lockHash(lock []byte) string {
	sum := sha256.Sum256(lock)
	return hex.EncodeToString(sum[:8])
}

// FindVenv returns the environment that EnsureVenv made for this lock under root. It returns
// an error that is fs.ErrNotExist when there is none yet.
func FindVenv(ctx context.Context, root string, lock []byte) (Python, error) {
	made, err := filepath.Glob(filepath.Join(root, lockHash(lock)+"-py*", ".complete"))
	if err != nil || len(made) == 0 {
		return Python{}, fmt.Errorf("find the Python environment for actions in %s: %w", root, cmp.Or(err, fs.ErrNotExist))
	}
	return FindPython(ctx, filepath.Dir(made[len(made)-1]))
}

// FindPython looks into an environment that is there: one that EnsureVenv made, or one
// that the operator named in the configuration.
func FindPython(ctx context.Context, venv string) (Python, error) {
	p := Python{Interpreter: filepath.Join(venv, "bin", "python")}
	if _, err := pythonVersion(ctx, p.Interpreter); err != nil {
		return Python{}, err
	}
	out, err := output(ctx, p.Interpreter, "-I", "-c", "from importlib.metadata import version; print(version('prefect'))")
	if err != nil {
		return Python{}, fmt.Errorf("no Prefect in %s: %w", venv, err)
	}
	p.Prefect = strings.TrimSpace(out)
	if !strings.HasPrefix(p.Prefect, "3.") {
		return Python{}, fmt.Errorf("%s has Prefect %s; Slipway speaks to Prefect 3", venv, p.Prefect)
	}
	if p.Redacts, err = p.hasFilter(ctx); err != nil {
		return Python{}, err
	}
	return p, nil
}

// hasFilter says whether the log filter can be found on the import path.
func (p Python) hasFilter(ctx context.Context) (bool, error) {
	out, err := output(ctx, p.Interpreter, "-B", "-c",
		"import sys, importlib.util as u; sys.path[:0] = [a for a in sys.argv[1:] if a]; print(bool(u.find_spec('slipway') and u.find_spec('slipway._redact')))", p.Package)
	if err != nil {
		return false, fmt.Errorf("look for the Python package slipway: %w", err)
	}
	return strings.TrimSpace(out) == "True", nil
}

// pythonVersion returns major and minor, or an error when it is not at least 3.11.
func pythonVersion(ctx context.Context, interpreter string) (v [2]int, err error) {
	out, err := output(ctx, interpreter, "-I", "-c", "import sys; print(*sys.version_info[:2])")
	if err != nil {
		return v, fmt.Errorf("no working Python: %w", err)
	}
	if major, minor, found := strings.Cut(strings.TrimSpace(out), " "); found {
		v[0], _ = strconv.Atoi(major)
		v[1], _ = strconv.Atoi(minor)
	}
	if v[0] != 3 || v[1] < 11 {
		return v, fmt.Errorf("%s is Python %d.%d; actions need 3.11 or later", interpreter, v[0], v[1])
	}
	return v, nil
}

func run(ctx context.Context, name string, args ...string) error {
	_, err := output(ctx, name, args...)
	return err
}

// output runs a tool with Slipway's environment, which holds how pip reaches packages, but
// without what would change which Python runs or is none of its business.
func output(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "PYTHON") && !strings.HasPrefix(v, "SLIPWAY_") && !strings.HasPrefix(v, "STYRMIN_") && !strings.HasPrefix(v, "PREFECT_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	endWithChildren(cmd)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		text := strings.TrimSpace(stderr.String() + stdout.String())
		if len(text) > 4000 {
			text = "…" + strings.ToValidUTF8(text[len(text)-4000:], "")
		}
		return "", errors.Join(fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err), errors.New(text))
	}
	return stdout.String(), nil
}
