package prefect

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// fakePython is a shell script that answers as the python of an environment does, and
// makes one: these tests install nothing. The real environment is made by the tests with
// the build tag e2e.
const fakePython = `#!/bin/sh
self=$0
case "$*" in
*sys.version_info*) echo "${FAKE_VERSION:-3 11}" ;;
*importlib.metadata*) echo 3.9.1 ;;
*find_spec*) for last; do :; done; test -e "$last/slipway/_redact.py" && echo True || echo False ;;
"-m venv "*) mkdir -p "$3/bin" "$3/lib" && cp "$self" "$3/bin/python"; echo made >>"$(dirname "$3")/made" ;;
*"pip install"*) test -e "$(dirname "$self")/../../broken" && { echo "no matching distribution" >&2; exit 1; }; exit 0 ;;
*compileall*) exit 0 ;;
*) echo "unexpected: $*" >&2; exit 2 ;;
esac
`

func writeFakePython(tb testing.TB) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "python3")
	if err := os.WriteFile(path, []byte(fakePython), 0o755); err != nil {
		tb.Fatal(err)
	}
	return path
}

func TestTheEnvironmentIsMadeOnce(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	o := VenvOptions{Lock: []byte("prefect==3.9.1 \\\n"), Interpreter: writeFakePython(t)}
	if _, err := FindVenv(t.Context(), root, o.Lock); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("FindVenv() = %v before it was made", err)
	}
	var all sync.WaitGroup
	for range 4 { // as two servers, a test and a person may
		all.Go(func() {
			p, err := EnsureVenv(t.Context(), root, o)
			if err != nil || p.Prefect != "3.9.1" || p.Redacts || !strings.HasPrefix(p.Interpreter, root) {
				t.Errorf("EnsureVenv() = %+v, %v", p, err)
			}
		})
	}
	all.Wait()
	if made, _ := os.ReadFile(filepath.Join(root, "made")); string(made) != "made\n" {
		t.Errorf("it was made %d times", strings.Count(string(made), "\n"))
	}
	found, err := FindVenv(t.Context(), root, o.Lock)
	if err != nil || !strings.HasSuffix(filepath.Dir(found.bin()), "-py311") {
		t.Errorf("FindVenv() = %+v, %v", found, err)
	}
	o.Lock = []byte("prefect==3.9.2 \\\n")
	other, err := EnsureVenv(t.Context(), root, o)
	if err != nil || other.Interpreter == found.Interpreter {
		t.Errorf("another lock has the environment %+v, %v", other, err)
	}
}

func TestAnEnvironmentThatBrokeOffIsMadeAgain(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	o := VenvOptions{Lock: []byte("prefect==3.9.1 \\\n"), Interpreter: writeFakePython(t)}
	broken := filepath.Join(root, "broken")
	if err := os.WriteFile(broken, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := EnsureVenv(t.Context(), root, o); err == nil || !strings.Contains(err.Error(), "no matching distribution") {
		t.Errorf("EnsureVenv() = %v, want pip's own words", err)
	}
	if _, err := FindVenv(t.Context(), root, o.Lock); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("FindVenv() = %v for half an environment", err)
	}
	if err := os.Remove(broken); err != nil {
		t.Fatal(err)
	}
	var said []string
	o.Progress = func(line string) { said = append(said, line) }
	if _, err := EnsureVenv(t.Context(), root, o); err != nil || len(said) != 4 {
		t.Errorf("EnsureVenv() = %v, saying %q", err, said)
	}
}

func TestAnOldPythonIsRefused(t *testing.T) {
	t.Setenv("FAKE_VERSION", "3 10")
	_, err := EnsureVenv(context.Background(), t.TempDir(), VenvOptions{Interpreter: writeFakePython(t)})
	if err == nil || !strings.Contains(err.Error(), "is Python 3.10; actions need 3.11 or later") {
		t.Errorf("EnsureVenv() = %v", err)
	}
	_, err = EnsureVenv(context.Background(), t.TempDir(), VenvOptions{Interpreter: "/no/such/python"})
	if err == nil || !strings.Contains(err.Error(), "no working Python") {
		t.Errorf("EnsureVenv() = %v", err)
	}
}

func TestThePackageBringsTheFilter(t *testing.T) {
	t.Parallel()
	p := Python{Interpreter: writeFakePython(t)}
	folder := t.TempDir()
	if err := os.MkdirAll(filepath.Join(folder, "slipway"), 0o755); err != nil {
		t.Fatal(err)
	}
	without, err := p.WithPackage(t.Context(), folder)
	if err != nil || without.Redacts || without.Package != folder {
		t.Errorf("WithPackage() = %+v, %v", without, err)
	}
	if err := os.WriteFile(filepath.Join(folder, "slipway", "_redact.py"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	with, err := p.WithPackage(t.Context(), folder)
	if err != nil || !with.Redacts {
		t.Errorf("WithPackage() = %+v, %v", with, err)
	}
}
