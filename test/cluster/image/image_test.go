package image_test

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"

	"slipway.dev/slipway/test/cluster/image"
)

// These tests stand in the pure world: files in a temporary folder.

func TestProgramImage(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "hello")
	if err := os.WriteFile(file, []byte("program"), 0o755); err != nil {
		t.Fatal(err)
	}
	spec := image.Program(file, "hello", "registry.example.com/hello:1")
	spec.Links = map[string]string{"/bin/hi": "/usr/local/bin/hello"}
	built := build(t, spec)

	config, err := built.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(config.Config.Entrypoint, []string{"/usr/local/bin/hello"}); diff != "" {
		t.Errorf("the entrypoint differs (-got +want):\n%s", diff)
	}
	if got, want := config.Config.User, "65532:65532"; got != want {
		t.Errorf("the user is %q, want %q", got, want)
	}
	want := map[string]string{
		"tmp": "1777", "bin": "755", "usr": "755", "usr/local": "755", "usr/local/bin": "755",
		"usr/local/bin/hello": "755 program", "bin/hi": "777 → /usr/local/bin/hello",
	}
	if diff := cmp.Diff(contents(t, built), want); diff != "" {
		t.Errorf("the files differ (-got +want):\n%s", diff)
	}
}

func TestSameFilesGiveTheSameImage(t *testing.T) {
	t.Parallel()
	var digests []string
	for range 2 {
		file := filepath.Join(t.TempDir(), "hello") // another folder, another time
		if err := os.WriteFile(file, []byte("program"), 0o755); err != nil {
			t.Fatal(err)
		}
		digest, err := build(t, image.Program(file, "hello", "registry.example.com/hello:1")).Digest()
		if err != nil {
			t.Fatal(err)
		}
		digests = append(digests, digest.String())
	}
	if digests[0] != digests[1] {
		t.Errorf("two builds gave %s and %s", digests[0], digests[1])
	}
}

func TestSaveRefusesANameWithoutATag(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "hello")
	if err := os.WriteFile(file, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := image.Save(filepath.Join(t.TempDir(), "out.tar"), image.Program(file, "hello", "registry.example.com/hello")); err == nil {
		t.Error("Save() accepted a name without a tag; the kubelet would look for :latest and find nothing")
	}
}

func build(t *testing.T, spec image.Spec) v1.Image {
	t.Helper()
	built, err := image.Build(spec)
	if err != nil {
		t.Fatal(err)
	}
	return built
}

func contents(t *testing.T, built v1.Image) map[string]string {
	t.Helper()
	extracted := mutate.Extract(built)
	defer extracted.Close()
	found := map[string]string{}
	for reader := tar.NewReader(extracted); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(reader)
		if err != nil {
			t.Fatal(err)
		}
		entry := strconv.FormatInt(header.Mode, 8)
		if len(data) > 0 {
			entry += " " + string(data)
		}
		if header.Linkname != "" {
			entry += " → " + header.Linkname
		}
		found[header.Name] = entry
	}
}
