package cli

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"slipway.dev/slipway/internal/outside/git"
	"slipway.dev/slipway/internal/outside/registry"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/spec"
)

// registryFlags say how a registry is spoken to.
type registryFlags struct {
	username      string
	passwordStdin bool
	plainHTTP     bool
}

func (f *registryFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.username, "username", "", "the user for the registry, in place of docker's configuration")
	c.Flags().BoolVar(&f.passwordStdin, "password-stdin", false, "read the registry's password from the standard input")
	c.Flags().BoolVar(&f.plainHTTP, "plain-http", false, "speak to the registry without TLS; this machine's own never needs it")
}

// registry returns a client of registries, with the credentials that were given, or else
// those of docker's configuration.
func (s *session) registry(f registryFlags, w *waiting) (*registry.Client, error) {
	opts := registry.Options{
		Username: f.username, PlainHTTP: f.plainHTTP, UserAgent: "slipway/" + cmp.Or(s.Version, "dev"), Progress: w.progress,
		DockerConfig: filepath.Join(cmp.Or(s.getenv("DOCKER_CONFIG"), filepath.Join(s.getenv("HOME"), ".docker")), "config.json"),
	}
	if f.passwordStdin != (f.username != "") {
		return nil, usagef("--username and --password-stdin go together").hint("a password is never given as an argument: others can read those")
	}
	if f.passwordStdin {
		var err error
		if opts.Password, err = s.askPassword("", true); err != nil {
			return nil, err
		}
	}
	return registry.New(opts)
}

// verifyFlags name the keys whose signatures are asked for.
type verifyFlags struct{ files []string }

func (f *verifyFlags) add(c *cobra.Command) {
	c.Flags().StringArrayVar(&f.files, "verify-key", nil, "refuse a driver of a registry without a signature of this public key (a file; may be repeated)")
}

// keysVariable is the policy of a machine: with it, nothing unsigned is taken from anywhere.
const keysVariable = "SLIPWAY_VERIFY_KEYS"

// keys reads the keys of the flags and of the variable. Any one of them is enough.
func (s *session) keys(f verifyFlags) ([]registry.VerifyingKey, error) {
	files := append([]string{}, f.files...)
	for _, file := range filepath.SplitList(s.getenv(keysVariable)) {
		if file != "" {
			files = append(files, file)
		}
	}
	var out []registry.VerifyingKey
	for _, file := range files {
		k, err := registry.ReadVerifyingKey(file)
		if err != nil {
			return nil, err
		}
		out = append(out, k)
	}
	return out, nil
}

// found is a driver, and where it was found, in a form that finds it again.
type found struct {
	bundle   spec.Bundle
	source   string
	signedBy string
}

// fetch reads the driver that an argument names: a directory, oci://… or git+….
func (s *session) fetch(ctx context.Context, arg string, rf registryFlags, vf verifyFlags) (found, error) {
	keys, err := s.keys(vf)
	if err != nil {
		return found{}, err
	}
	isRegistry, isGit := strings.HasPrefix(arg, registry.Scheme), strings.HasPrefix(arg, git.Prefix)
	switch {
	case !isRegistry && len(keys) > 0:
		return found{}, &slipway.Error{Kind: slipway.Forbidden, Msg: "a signature is asked for, and only drivers of a registry have one",
			Hint: "push the driver with --sign-key and load it from oci://…, or leave --verify-key and " + keysVariable + " out"}
	case isRegistry:
		return s.fetchRegistry(ctx, arg, rf, keys)
	case isGit:
		return s.fetchGit(ctx, arg)
	case strings.Contains(arg, "://"):
		return found{}, usagef("%q is no source of a driver", firstWord(arg)).hint("give a directory, oci://registry/path/name:version or git+https://host/org/repository//path?ref=tag")
	}
	b, err := spec.ReadBundleDir(arg)
	if err != nil {
		return found{}, err
	}
	whole, err := filepath.Abs(arg)
	if err != nil {
		return found{}, fmt.Errorf("find %s: %w", arg, err)
	}
	return found{bundle: b, source: filepath.Base(whole)}, nil
}

// firstWord is the scheme of an address: the rest may hold a password.
func firstWord(arg string) string {
	name, _, _ := strings.Cut(arg, "://")
	return name + "://"
}

func (s *session) fetchRegistry(ctx context.Context, arg string, rf registryFlags, keys []registry.VerifyingKey) (found, error) {
	ref, err := registry.ParseReference(arg)
	if err != nil {
		return found{}, err
	}
	w := s.wait("pulling " + ref.String())
	defer w.end()
	cl, err := s.registry(rf, w)
	if err != nil {
		return found{}, err
	}
	p, err := cl.Pull(ctx, ref, keys)
	if err != nil {
		return found{}, err
	}
	return found{bundle: p.Bundle, source: p.Reference.String(), signedBy: p.SignedBy}, nil
}

func (s *session) fetchGit(ctx context.Context, arg string) (found, error) {
	src, err := git.Parse(arg)
	if err != nil {
		return found{}, err
	}
	w := s.wait("reading " + src.String())
	defer w.end()
	f, err := git.Read(ctx, src, git.Options{Environ: s.Environ})
	if err != nil {
		return found{}, err
	}
	return found{bundle: f.Bundle, source: f.Source.String()}, nil
}
