// Package prepare sees to what must be on the machine before the cluster can start: the
// Debian packages, and the programs that are compiled here.
//
// Compiling Kubernetes takes minutes, so its result is kept outside the tree, under a
// key made of everything that goes into it. Nothing here starts anything, and nothing
// downloads a finished binary: only sources, by way of Go's module proxy, checked
// against the go.sum that lies beside them.
package prepare

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// KubernetesVersion is the version of the module that programs/kubernetes requires. A
// test compares the two.
const KubernetesVersion = "v1.34.4"

// Program is one program that is compiled here, from a module of its own.
type Program struct {
	Name        string   // the name of the binary
	Dir         string   // its module, under the source folder
	Version     string   // stands first in the key, for the person who looks at the cache
	LinkerFlags []string // beside those that leave out the debugging tables
	Links       []string // further names that it is called by
	Takes       string   // how long a first build takes, for the person who waits
}

// Kubernetes is every program of Kubernetes in one binary. Clients read the version, so
// it must be set as upstream's own build sets it.
var Kubernetes = Program{
	Name: "kubernetes", Dir: "programs/kubernetes", Version: KubernetesVersion,
	LinkerFlags: []string{
		"-X", "k8s.io/component-base/version.gitVersion=" + KubernetesVersion,
		"-X", "k8s.io/component-base/version.gitMajor=1",
		"-X", "k8s.io/component-base/version.gitMinor=34",
		"-X", "k8s.io/component-base/version.gitTreeState=clean",
	},
	Links: []string{"kube-apiserver", "kube-controller-manager", "kube-proxy", "kube-scheduler", "kubelet", "kubectl"},
	Takes: "8 minutes on two idle cores, the first time",
}

// DNS is CoreDNS with the plugins that a cluster needs.
var DNS = Program{Name: "dns", Dir: "programs/dns", Version: "dns", Takes: "about a minute the first time"}

// Policy makes NetworkPolicies hold.
var Policy = Program{Name: "policy", Dir: "programs/policy", Version: "policy", Takes: "two minutes the first time"}

// Pause is the first process of every pod. It lies in this module, and builds at once.
var Pause = Program{Name: "pause", Dir: "cmd/pause", Version: "pause", Takes: "a moment"}

// Builder compiles programs and keeps them.
type Builder struct {
	Source string // the folder of this module
	Cache  string // where the keys' folders lie
	Report func(format string, arguments ...any)
}

// CacheDir is where built programs are kept: outside the tree, so that neither a clean
// checkout nor a switch of branches costs a build.
func CacheDir() (string, error) {
	root := os.Getenv("SLIPWAY_CACHE")
	if root == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("finding the cache: %w; set SLIPWAY_CACHE", err)
		}
		root = filepath.Join(user, "slipway")
	}
	return filepath.Join(root, "cluster"), nil
}

// Build returns the folder that holds the program, after compiling it if need be. Two
// builders at once compile once: the second waits for the first.
func (b Builder) Build(ctx context.Context, program Program) (string, error) {
	key, err := b.key(ctx, program)
	if err != nil {
		return "", fmt.Errorf("preparing %s: %w", program.Name, err)
	}
	dir := filepath.Join(b.Cache, key)
	if complete(dir, program) {
		return dir, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("preparing %s: making its folder: %w", program.Name, err)
	}
	unlock, err := Lock(ctx, dir+".lock")
	if err != nil {
		return "", fmt.Errorf("preparing %s: %w", program.Name, err)
	}
	defer unlock()
	if complete(dir, program) {
		return dir, nil
	}
	b.Report("building %s (%s) into %s", program.Name, program.Takes, dir)
	begun := time.Now()
	if err := b.compile(ctx, program, dir); err != nil {
		return "", fmt.Errorf("preparing %s: %w", program.Name, err)
	}
	b.Report("built %s in %s", program.Name, time.Since(begun).Round(time.Second))
	return dir, nil
}

func (b Builder) compile(ctx context.Context, program Program, dir string) error {
	flags := strings.Join(append([]string{"-s", "-w"}, program.LinkerFlags...), " ")
	// Go writes the file in place; a name of its own keeps a half-written one from ever
	// being taken for the program.
	unfinished := filepath.Join(dir, program.Name+".unfinished")
	command := exec.CommandContext(ctx, "go", "build", "-p", "2", "-trimpath", "-buildvcs=false", "-ldflags", flags, "-o", unfinished, ".")
	command.Dir = filepath.Join(b.Source, program.Dir)
	// Without the C library, whatever the caller's environment says: the machine may have
	// no C compiler, the image of pause has no C library, and one key must mean one result.
	command.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=readonly", "CGO_ENABLED=0")
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output

	done := make(chan struct{})
	go b.remind(program, done)
	err := command.Run()
	close(done)
	if err != nil {
		return fmt.Errorf("compiling in %s: %w: %s", command.Dir, err, bytes.TrimSpace(output.Bytes()))
	}
	for _, link := range program.Links {
		target := filepath.Join(dir, link)
		if err := os.Remove(target); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("linking %s: %w", link, err)
		}
		if err := os.Symlink(program.Name, target); err != nil {
			return fmt.Errorf("linking %s: %w", link, err)
		}
	}
	// Last, since its presence is what says that the folder is whole.
	if err := os.Rename(unfinished, filepath.Join(dir, program.Name)); err != nil {
		return fmt.Errorf("keeping the program: %w", err)
	}
	return nil
}

// remind says now and then that a long build still goes on.
func (b Builder) remind(program Program, done <-chan struct{}) {
	begun := time.Now()
	ticker := time.NewTicker(time.Minute)
	defer ticker.Stop()
	for {
		select {
		case <-done:
			return
		case <-ticker.C:
			b.Report("  still building %s, %s so far", program.Name, time.Since(begun).Round(time.Minute))
		}
	}
}

// key names everything that decides what comes out of a build.
func (b Builder) key(ctx context.Context, program Program) (string, error) {
	// Plain `go version` may be asked anywhere; go env would read the module first.
	version, err := exec.CommandContext(ctx, "go", "version").Output()
	if err != nil {
		return "", fmt.Errorf("asking for Go's version: %w; install Go", err)
	}
	hash := sha256.New()
	fmt.Fprintf(hash, "%s%s\n%q\n", version, runtime.GOARCH, program.LinkerFlags)
	entries, err := os.ReadDir(filepath.Join(b.Source, program.Dir))
	if err != nil {
		return "", fmt.Errorf("reading its sources: %w; is SLIPWAY_CLUSTER_SOURCE the folder test/cluster?", err)
	}
	for _, entry := range entries {
		if name := entry.Name(); !strings.HasSuffix(name, ".go") && name != "go.mod" && name != "go.sum" {
			continue
		}
		data, err := os.ReadFile(filepath.Join(b.Source, program.Dir, entry.Name()))
		if err != nil {
			return "", fmt.Errorf("reading its sources: %w", err)
		}
		fmt.Fprintf(hash, "%s %d\n", entry.Name(), len(data))
		if _, err := io.Copy(hash, bytes.NewReader(data)); err != nil {
			return "", fmt.Errorf("reading its sources: %w", err)
		}
	}
	return program.Version + "-" + hex.EncodeToString(hash.Sum(nil))[:16], nil
}

func complete(dir string, program Program) bool {
	for _, name := range append([]string{program.Name}, program.Links...) {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}

// Lock takes an exclusive lock on the file, for as long as this process lives or until
// unlock is called. It gives up when the context ends.
func Lock(ctx context.Context, path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the lock: %w", err)
	}
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			// Closing lets go of the lock, as the end of the process would.
			return func() { _ = file.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			_ = file.Close()
			return nil, fmt.Errorf("locking %s: %w", path, err)
		}
		select {
		case <-ctx.Done():
			_ = file.Close()
			return nil, fmt.Errorf("waiting for another to let go of %s: %w", path, ctx.Err())
		case <-time.After(200 * time.Millisecond):
		}
	}
}
