package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"slipway.dev/slipway/internal/slipway"
)

// repository is a bare one below a folder of our own, and the environment to run git in.
type repository struct {
	git string
	dir string
	env []string
}

// passedOn are the variables of a person that git, ssh and their helpers need. None of
// git's own is among them: GIT_DIR, GIT_CONFIG_… and the like would reach into what we do.
var passedOn = []string{
	"PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "XDG_RUNTIME_DIR", "SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS",
	"HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "NO_PROXY", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO",
}

// environment is what git runs in: no prompts, no configuration but ours, and no protocol
// but the one that the source names.
func environment(environ []string, protocol string) []string {
	env := []string{
		"LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_ATTR_NOSYSTEM=1",
		"GIT_ALLOW_PROTOCOL=" + protocol, "GIT_OPTIONAL_LOCKS=0", "GIT_ASKPASS=", "SSH_ASKPASS=", "SSH_ASKPASS_REQUIRE=never",
		"GIT_SSH_COMMAND=ssh -o BatchMode=yes -o ConnectTimeout=20", "GCM_INTERACTIVE=never",
	}
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		for _, p := range passedOn {
			if name == p {
				env = append(env, kv)
			}
		}
	}
	return env
}

// safe are settings that no repository's content and no template may change.
var safe = []string{
	"-c", "core.hooksPath=" + os.DevNull, "-c", "core.fsmonitor=false", "-c", "core.pager=cat", "-c", "fetch.recurseSubmodules=false",
	"-c", "submodule.recurse=false", "-c", "fetch.fsckObjects=true", "-c", "transfer.bundleURI=false", "-c", "gc.auto=0", "-c", "maintenance.auto=false",
}

// command prepares git, in a process group of its own: its helpers, which hold the
// connections, would outlive it otherwise.
func (r repository) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, r.git, append(append([]string{}, safe...), args...)...)
	cmd.Dir, cmd.Env = r.dir, r.env
	inGroup(cmd)
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// maxListing bounds what git may print for us to keep.
const maxListing = 16 << 20

// run runs git and returns what it printed.
func (r repository) run(ctx context.Context, args ...string) ([]byte, error) {
	cmd := r.command(ctx, args...)
	out, words := &limitedBuffer{left: maxListing}, &limitedBuffer{left: 64 << 10}
	cmd.Stdout, cmd.Stderr = out, words
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, &failure{args[0], words.String(), err}
	}
	if out.over {
		return nil, slipway.Errorf(slipway.TooLarge, "the repository's listing is larger than %d MiB", maxListing>>20)
	}
	return out.Bytes(), nil
}

// failure is a git that ended badly, and what it said.
type failure struct {
	verb, words string
	err         error
}

func (f *failure) Error() string { return fmt.Sprintf("git %s: %s: %v", f.verb, f.words, f.err) }
func (f *failure) Unwrap() error { return f.err }

// limitedBuffer keeps the beginning of what is written, and takes the rest.
type limitedBuffer struct {
	bytes.Buffer
	left int
	over bool
}

func (b *limitedBuffer) Write(p []byte) (int, error) {
	n := len(p)
	if n > b.left {
		b.over, p = true, p[:b.left]
	}
	b.left -= len(p)
	if _, err := b.Buffer.Write(p); err != nil {
		return 0, err
	}
	return n, nil
}

// explain turns git's words into ours. They are matched, not repeated: they may hold
// anything that a server said.
func explain(s Source, err error) error {
	var own *slipway.Error
	var f *failure
	if err == nil || errors.As(err, &own) {
		return err
	}
	if !errors.As(err, &f) {
		if errors.Is(err, context.DeadlineExceeded) {
			return &slipway.Error{Kind: slipway.Unavailable, Msg: s.String() + " could not be read in time", Hint: "try again; the repository or the network is slow", Err: err}
		}
		return fmt.Errorf("read %s: %w", s, err)
	}
	say := func(k slipway.Kind, hint, format string, args ...any) error {
		return &slipway.Error{Kind: k, Msg: fmt.Sprintf(format, args...), Hint: hint, Err: err}
	}
	has := func(parts ...string) bool {
		for _, p := range parts {
			if strings.Contains(f.words, p) {
				return true
			}
		}
		return false
	}
	switch {
	case has("couldn't find remote ref", "could not find remote ref"):
		return say(slipway.NotFound, "check the ref: a branch, a tag or a whole commit", "the repository %s has no %q", s.URL, s.Ref)
	case has("not our ref", "unadvertised object"):
		return say(slipway.NotFound, "name a branch or a tag, if the server gives no commits away by name", "the repository %s does not give the commit %s", s.URL, s.Ref)
	case has("detected dubious ownership"):
		return say(slipway.Forbidden, "copy it, or make it yours", "the repository %s belongs to another user of this machine", s.URL)
	case has("could not read Username", "could not read Password", "terminal prompts disabled", "Authentication failed", "Permission denied", "HTTP 403", "error: 403", "error: 401"):
		return say(slipway.Forbidden, "check its name, and your credentials: git's credential helper for https, an SSH key for ssh", "the repository %s cannot be read without other credentials", s.URL)
	case has("Host key verification failed"):
		return say(slipway.Forbidden, "connect once with ssh, and check the host's key", "the host of %s is not known to ssh", s.URL)
	case has("not found", "does not exist", "does not appear to be a git repository", "no such file or directory"):
		return say(slipway.NotFound, "check its name; a private repository looks like none without credentials", "there is no git repository at %s", s.URL)
	case has("transport '"):
		return say(slipway.Invalid, "name the address that it redirects to", "the repository %s leads to another protocol", s.URL)
	case has("Could not resolve host", "Could not resolve hostname", "Connection refused", "timed out", "Failed to connect", "unable to access"):
		return say(slipway.Unavailable, "check the network and the address", "the repository %s does not answer", s.URL)
	}
	return say(slipway.Unavailable, "try  git ls-remote "+s.URL+"  to see what git says", "git cannot read %s", s.URL)
}

func discard(r io.Reader, n int64) error {
	_, err := io.CopyN(io.Discard, r, n)
	return err
}
