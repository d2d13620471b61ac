package git

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/spec"
)

// Options say how repositories are read.
type Options struct {
	Environ []string      // the person's; nil: this process's
	Timeout time.Duration // of the whole; zero: 2 minutes
	MaxDisk int64         // bytes that a server may make us keep meanwhile; zero: 256 MiB
	Limits  spec.Limits   // zero: spec.DefaultLimits
}

const (
	defaultTimeout = 2 * time.Minute
	defaultMaxDisk = 256 << 20
	// lookEvery is how often the disk is looked at. A fast server sends tens of megabytes
	// between two looks, which does no harm.
	lookEvery = 100 * time.Millisecond
)

// Found is a driver as it stood at a commit.
type Found struct {
	Bundle spec.Bundle
	Commit string
	Source Source // with the commit in place of the branch or tag
}

// Read reads the driver that a source names.
func Read(ctx context.Context, s Source, opts Options) (Found, error) {
	if opts.Environ == nil {
		opts.Environ = os.Environ()
	}
	if opts.Timeout <= 0 {
		opts.Timeout = defaultTimeout
	}
	if opts.MaxDisk <= 0 {
		opts.MaxDisk = defaultMaxDisk
	}
	if opts.Limits == (spec.Limits{}) {
		opts.Limits = spec.DefaultLimits()
	}
	program, err := exec.LookPath("git")
	if err != nil {
		return Found{}, &slipway.Error{Kind: slipway.Unavailable, Msg: "there is no git program on this machine", Hint: "install git, or load the driver from a directory or a registry", Err: err}
	}
	dir, err := os.MkdirTemp("", "slipway-git-")
	if err != nil {
		return Found{}, fmt.Errorf("read %s: %w", s, err)
	}
	defer os.RemoveAll(dir) // clutter in the temporary folder at worst
	ctx, cancel := context.WithTimeout(ctx, opts.Timeout)
	defer cancel()
	r := repository{git: program, dir: dir, env: environment(opts.Environ, s.scheme())}
	watched, stop := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	go func() { defer close(ended); r.watch(watched, stop, opts.MaxDisk) }()
	f, err := r.read(watched, s, opts)
	if cause := context.Cause(watched); err != nil && cause != nil {
		err = cause // a git that was ended has nothing to tell
	}
	stop(nil)
	<-ended
	return f, explain(s, err)
}

func (r repository) read(ctx context.Context, s Source, opts Options) (Found, error) {
	if _, err := r.run(ctx, "init", "--quiet", "--bare", "--template=", "."); err != nil {
		return Found{}, err
	}
	if err := r.fetch(ctx, s, opts); err != nil {
		return Found{}, err
	}
	out, err := r.run(ctx, "rev-parse", "--verify", "--end-of-options", "FETCH_HEAD^{commit}")
	if err != nil {
		return Found{}, err
	}
	commit := strings.TrimSpace(string(out))
	if !IsCommit(commit) || IsCommit(s.Ref) && commit != s.Ref {
		return Found{}, slipway.Errorf(slipway.Invalid, "the repository %s gave another commit than %s", s.URL, s.Ref)
	}
	b, err := r.bundle(ctx, commit, s, opts)
	if err != nil {
		return Found{}, err
	}
	pinned := s
	pinned.Ref = commit
	return Found{Bundle: b, Commit: commit, Source: pinned}, nil
}

// fetch gets one commit and no history. Blobs that no driver may hold are left out, where
// the server can do that.
func (r repository) fetch(ctx context.Context, s Source, opts Options) error {
	ref := s.Ref
	if ref == "" {
		ref = "HEAD"
	}
	own, err := credentialSettings(ctx, r.git, opts.Environ)
	if err != nil {
		return err
	}
	r.env = append(slices.Clip(r.env), own...)
	_, err = r.run(ctx, "fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--no-write-commit-graph",
		fmt.Sprintf("--filter=blob:limit=%d", opts.Limits.Bytes+1), "--", s.URL, ref)
	return err
}

// watch ends a git that fills the disk.
func (r repository) watch(ctx context.Context, stop context.CancelCauseFunc, limit int64) {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
		var size int64
		// Files come and go while git works; what cannot be read now is counted next time.
		_ = filepath.WalkDir(r.dir, func(_ string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return nil //nolint:nilerr // see above
			}
			if info, err := d.Info(); err == nil {
				size += info.Size()
			}
			return nil
		})
		if size > limit {
			stop(slipway.Errorf(slipway.TooLarge, "the repository sends more than %d MiB for one commit", limit>>20).
				WithHint("load the driver from a directory, or keep it in a repository of its own"))
			return
		}
	}
}

// credentialSettings are the person's own settings of credential helpers and HTTPS: the
// one part of their configuration that reading a private repository needs. They go into the
// environment: the arguments of a process can be read by every user of a machine, and a
// setting may hold a token.
func credentialSettings(ctx context.Context, program string, environ []string) ([]string, error) {
	var out []string
	n := 0
	for _, scope := range []string{"--system", "--global"} {
		cmd := exec.CommandContext(ctx, program, "config", scope, "--includes", "--null", "--get-regexp", `^(credential|http)\.`)
		cmd.Env = append([]string{"LC_ALL=C"}, environ...)
		raw, err := cmd.Output()
		if err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			continue // there is no such file, or nothing of the kind in it
		}
		for _, entry := range strings.Split(string(raw), "\x00") {
			if key, value, ok := strings.Cut(entry, "\n"); ok {
				out = append(out, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", n, key), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", n, value))
				n++
			}
		}
	}
	return append(out, fmt.Sprintf("GIT_CONFIG_COUNT=%d", n)), nil
}
