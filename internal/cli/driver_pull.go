package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"slipway.dev/slipway/internal/outside/registry"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/spec"
)

// unpacked is what a pull prints for programs.
type unpacked struct {
	Name      string `json:"name"`
	Version   string `json:"version"`
	Digest    string `json:"digest"`
	Reference string `json:"reference"`
	Directory string `json:"directory"`
	SignedBy  string `json:"signed_by,omitempty"`
}

func (s *session) driverPullCommand() *cobra.Command {
	var rf registryFlags
	var vf verifyFlags
	c := &cobra.Command{
		Use: "pull REFERENCE [DIRECTORY]", Short: "Pull a driver from a registry into a directory", Args: args(1, 2),
		Long: `Pull a driver from an OCI registry and unpack it into a directory that does not
exist yet: the one that is named, or one of the driver's name. What was pulled
can be read, changed, pushed elsewhere and loaded.`,
		Example: "  slipway driver pull oci://registry.example.com/drivers/guestbook:1.0.0",
		RunE: func(c *cobra.Command, a []string) error {
			ref, err := registry.ParseReference(a[0])
			if err != nil {
				return err
			}
			keys, err := s.keys(vf)
			if err != nil {
				return err
			}
			f, err := s.fetchRegistry(c.Context(), ref.String(), rf, keys)
			if err != nil {
				return err
			}
			ds, _, err := spec.ParseDriver(f.bundle)
			if err != nil {
				return err
			}
			dir := ds.Name
			if len(a) > 1 {
				dir = a[1]
			}
			if err := unpackInto(f.bundle, dir); err != nil {
				return err
			}
			out := unpacked{ds.Name, ds.Version, f.bundle.Digest(), f.source, dir, f.signedBy}
			return s.show(out, func() {
				s.print("%s %s  %s  in %s", ds.Name, ds.Version, shortDigest(out.Digest), dir)
				if f.signedBy != "" {
					s.print("  signed by the key of %s", f.signedBy)
				}
			})
		},
	}
	rf.add(c)
	vf.add(c)
	return c
}

// unpackInto writes a driver for a person to work with, whole or not at all.
func unpackInto(b spec.Bundle, dir string) error {
	if _, err := os.Lstat(dir); err == nil {
		return slipway.Errorf(slipway.Conflict, "%s exists", dir).WithHint("name another directory, or remove it first")
	} else if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("look for %s: %w", dir, err)
	}
	work, err := os.MkdirTemp(filepath.Dir(filepath.Clean(dir)), ".slipway-pull-")
	if err != nil {
		return fmt.Errorf("unpack the driver: %w", err)
	}
	defer os.RemoveAll(work) // nothing is left there when all went well
	for _, m := range b.Members() {
		file := filepath.Join(work, filepath.FromSlash(m.Path))
		mode := fs.FileMode(0o644)
		if m.Executable {
			mode = 0o755
		}
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return fmt.Errorf("unpack the driver: %w", err)
		}
		if err := os.WriteFile(file, m.Content, mode); err != nil {
			return fmt.Errorf("unpack the driver: %w", err)
		}
	}
	if err := os.Chmod(work, 0o755); err != nil {
		return fmt.Errorf("unpack the driver: %w", err)
	}
	if err := os.Rename(work, dir); err != nil {
		return fmt.Errorf("unpack the driver: %w", err)
	}
	return nil
}
