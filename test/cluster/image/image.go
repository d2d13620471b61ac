// Package image makes container images without a registry and without a daemon: static
// programs on an empty base, in a tarball that containerd imports.
//
// Images made from the same files are the same to the last bit, whoever makes them and
// when. Nothing here may ever pull from, or push to, a registry: what a test runs must
// have been built from what lies in the tree or on the machine.
package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// SearchPath is where a command without a folder is looked for in the image, which is
// also where programs are put: a Job may then say just their name.
const SearchPath = "/usr/local/bin:/usr/bin:/bin"

// Spec says what an image holds.
type Spec struct {
	References []string          // its names, with tags: registry.example.com/guestbook:1.0.0
	Files      map[string]string // path in the image → file on this machine
	Links      map[string]string // path in the image → what it points to
	Entrypoint []string
	Command    []string
	User       string   // a number, for runAsNonRoot cannot judge a name; empty is root
	Env        []string // NAME=value, beside PATH
	Labels     map[string]string
}

// Build makes the image.
func Build(spec Spec) (v1.Image, error) {
	if len(spec.References) == 0 {
		return nil, fmt.Errorf("building an image: it has no name")
	}
	contents, err := archive(spec)
	if err != nil {
		return nil, fmt.Errorf("building image %s: %w", spec.References[0], err)
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(contents)), nil }
	layer, err := tarball.LayerFromOpener(open, tarball.WithCompressionLevel(gzip.BestSpeed))
	if err != nil {
		return nil, fmt.Errorf("building image %s: packing its files: %w", spec.References[0], err)
	}
	built, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return nil, fmt.Errorf("building image %s: adding its files: %w", spec.References[0], err)
	}
	file, err := built.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("building image %s: reading its configuration: %w", spec.References[0], err)
	}
	file = file.DeepCopy()
	file.OS, file.Architecture = "linux", architecture
	file.Config.Entrypoint, file.Config.Cmd = spec.Entrypoint, spec.Command
	file.Config.User = spec.User
	file.Config.Env = append([]string{"PATH=" + SearchPath}, spec.Env...)
	file.Config.Labels = spec.Labels
	if built, err = mutate.ConfigFile(built, file); err != nil {
		return nil, fmt.Errorf("building image %s: writing its configuration: %w", spec.References[0], err)
	}
	return built, nil
}

// Save builds all the images into one tarball.
func Save(file string, specs ...Spec) error {
	images := map[name.Tag]v1.Image{}
	for _, spec := range specs {
		built, err := Build(spec)
		if err != nil {
			return err
		}
		for _, reference := range spec.References {
			tag, err := name.NewTag(reference, name.StrictValidation)
			if err != nil {
				return fmt.Errorf("naming image %s: %w", reference, err)
			}
			images[tag] = built
		}
	}
	if err := tarball.MultiWriteToFile(file, images); err != nil {
		return fmt.Errorf("writing images to %s: %w", file, err)
	}
	return nil
}

// Import loads a tarball into the containerd that listens on the socket, in the
// namespace where the kubelet looks for images.
func Import(ctx context.Context, socket, file string) error {
	command := exec.CommandContext(ctx, "ctr", "--address", socket, "--namespace", "k8s.io", "images", "import", file)
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("importing images from %s: %w: %s", file, err, bytes.TrimSpace(output))
	}
	return nil
}

// archive is the image's one layer: folders first, in order, with no times in it.
func archive(spec Spec) ([]byte, error) {
	var buffer bytes.Buffer
	writer := tar.NewWriter(&buffer)
	if err := writer.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: "tmp/", Mode: 0o1777}); err != nil {
		return nil, fmt.Errorf("adding /tmp: %w", err)
	}
	for _, folder := range folders(spec) {
		if err := writer.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: folder + "/", Mode: 0o755}); err != nil {
			return nil, fmt.Errorf("adding folder %s: %w", folder, err)
		}
	}
	for _, target := range sortedKeys(spec.Files) {
		data, err := os.ReadFile(spec.Files[target])
		if err != nil {
			return nil, fmt.Errorf("adding %s: %w", target, err)
		}
		info, err := os.Stat(spec.Files[target])
		if err != nil {
			return nil, fmt.Errorf("adding %s: %w", target, err)
		}
		header := &tar.Header{Typeflag: tar.TypeReg, Name: relative(target), Size: int64(len(data)), Mode: 0o644}
		if info.Mode()&0o100 != 0 {
			header.Mode = 0o755
		}
		if err := writer.WriteHeader(header); err != nil {
			return nil, fmt.Errorf("adding %s: %w", target, err)
		}
		if _, err := writer.Write(data); err != nil {
			return nil, fmt.Errorf("adding %s: %w", target, err)
		}
	}
	for _, target := range sortedKeys(spec.Links) {
		header := &tar.Header{Typeflag: tar.TypeSymlink, Name: relative(target), Linkname: spec.Links[target], Mode: 0o777}
		if err := writer.WriteHeader(header); err != nil {
			return nil, fmt.Errorf("adding link %s: %w", target, err)
		}
	}
	if err := writer.Close(); err != nil {
		return nil, fmt.Errorf("closing the archive: %w", err)
	}
	return buffer.Bytes(), nil
}

// folders lists every folder that the files and links need, parents before children.
func folders(spec Spec) []string {
	seen := map[string]bool{"tmp": true}
	var all []string
	for _, target := range append(sortedKeys(spec.Files), sortedKeys(spec.Links)...) {
		for folder := path.Dir(relative(target)); folder != "."; folder = path.Dir(folder) {
			if !seen[folder] {
				seen[folder] = true
				all = append(all, folder)
			}
		}
	}
	slices.Sort(all)
	return all
}

func relative(target string) string { return strings.TrimPrefix(path.Clean(target), "/") }

func sortedKeys(values map[string]string) []string {
	keys := make([]string, 0, len(values))
	for key := range values {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
