package prepare_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"slipway.dev/slipway/test/cluster/prepare"
)

// These tests stand in the pure world, but for one small program that is compiled.

func TestVersionIsThatOfTheModule(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../programs/kubernetes/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if want := "k8s.io/kubernetes " + prepare.KubernetesVersion + "\n"; !strings.Contains(string(data), want) {
		t.Errorf("programs/kubernetes/go.mod does not require %s; clients would be told a wrong version", want)
	}
	minor := strings.Split(prepare.KubernetesVersion, ".")[1]
	if flags := strings.Join(prepare.Kubernetes.LinkerFlags, " "); !strings.Contains(flags, "gitMinor="+minor+" ") {
		t.Errorf("the linker's flags give another minor version than %s: %s", minor, flags)
	}
}

func TestScriptInstallsWhatIsNeeded(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile("../cluster.sh")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^packages=\((.*)\)$`).FindSubmatch(script)
	if found == nil {
		t.Fatal("cluster.sh has no list of packages")
	}
	if installed := strings.Fields(string(found[1])); !slices.Equal(installed, prepare.Packages()) {
		t.Errorf("cluster.sh installs %v, and the cluster needs %v", installed, prepare.Packages())
	}
}

// source is a module with a program that compiles in a moment.
func source(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, "tool/go.mod", "module example.com/tool\n\ngo 1.26\n")
	write(t, dir, "tool/main.go", "package main\n\nfunc main() {}\n")
	return dir
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestBuildIsKeptUntilItsSourcesChange(t *testing.T) {
	t.Parallel()
	var mutex sync.Mutex
	builds := 0
	builder := prepare.Builder{Source: source(t), Cache: t.TempDir(), Report: func(format string, _ ...any) {
		if strings.HasPrefix(format, "building") {
			mutex.Lock()
			defer mutex.Unlock()
			builds++
		}
	}}
	tool := prepare.Program{Name: "tool", Dir: "tool", Version: "tool", Links: []string{"other"}}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()

	// Several at once compile once, and all get the same.
	dirs := make([]string, 4)
	var group sync.WaitGroup
	for i := range dirs {
		group.Go(func() {
			dir, err := builder.Build(ctx, tool)
			if err != nil {
				t.Error(err)
			}
			dirs[i] = dir
		})
	}
	group.Wait()
	if builds != 1 || slices.ContainsFunc(dirs, func(dir string) bool { return dir != dirs[0] }) {
		t.Fatalf("%d builds into %v, want one", builds, dirs)
	}
	if target, err := os.Readlink(filepath.Join(dirs[0], "other")); err != nil || target != "tool" {
		t.Errorf("the link leads to %q, %v, want tool", target, err)
	}

	write(t, builder.Source, "tool/main.go", "package main\n\nfunc main() { println(1) }\n")
	dir, err := builder.Build(ctx, tool)
	if err != nil {
		t.Fatal(err)
	}
	if dir == dirs[0] || builds != 2 {
		t.Errorf("after a change of its source it lies in %s, after %d builds; want another folder, and 2", dir, builds)
	}
}

func TestBuildThatFailsIsNotKept(t *testing.T) {
	t.Parallel()
	builder := prepare.Builder{Source: source(t), Cache: t.TempDir(), Report: t.Logf}
	write(t, builder.Source, "tool/main.go", "package main\n\nfunc main() { wrong }\n")
	tool := prepare.Program{Name: "tool", Dir: "tool", Version: "tool"}
	for range 2 {
		if _, err := builder.Build(t.Context(), tool); err == nil || !strings.Contains(err.Error(), "undefined: wrong") {
			t.Errorf("Build() = %v, want the compiler's own words", err)
		}
	}
}

func TestLockIsGivenUpWithItsContext(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := prepare.Lock(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := prepare.Lock(ctx, path); err == nil {
		t.Fatal("two hold the lock")
	}
	unlock()
	again, err := prepare.Lock(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	again()
}
