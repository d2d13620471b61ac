package image

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
)

// architecture is that of this machine: images are only ever run where they are made.
const architecture = runtime.GOARCH

// nobody is the user that a program in an image runs as, unless the image says otherwise.
const nobody = "65532:65532"

// Program is the image of one static program, found by its name in the search path.
func Program(file, program string, references ...string) Spec {
	target := path.Join("/usr/local/bin", program)
	return Spec{
		References: references,
		Files:      map[string]string{target: file},
		Entrypoint: []string{target},
		User:       nobody,
	}
}

// CompileGo builds a Go program without the C library, so that it runs on an empty base.
func CompileGo(ctx context.Context, dir, pkg, linkerFlags, output string) error {
	command := exec.CommandContext(ctx, "go", "build", "-p", "2", "-trimpath", "-buildvcs=false",
		"-ldflags", "-s -w "+linkerFlags, "-o", output, pkg)
	command.Dir = dir
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+architecture, "GOWORK=off")
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("compiling %s in %s: %w: %s", pkg, dir, err, bytes.TrimSpace(out))
	}
	return nil
}

// Busybox is an image with a shell and the usual small programs, for tests that must
// run a command or look about inside a pod.
func Busybox(ctx context.Context, reference string) (Spec, error) {
	binary, err := exec.LookPath("busybox")
	if err != nil {
		return Spec{}, fmt.Errorf("building image %s: %w; install the Debian package busybox-static", reference, err)
	}
	list, err := exec.CommandContext(ctx, binary, "--list").Output()
	if err != nil {
		return Spec{}, fmt.Errorf("building image %s: listing busybox's programs: %w", reference, err)
	}
	spec := Spec{
		References: []string{reference},
		Files:      map[string]string{"/bin/busybox": binary},
		Links:      map[string]string{},
		Command:    []string{"/bin/sh"},
		User:       nobody,
	}
	for _, applet := range bytes.Fields(list) {
		if string(applet) != "busybox" {
			spec.Links[filepath.Join("/bin", string(applet))] = "busybox"
		}
	}
	return spec, nil
}
