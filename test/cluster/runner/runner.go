// Package runner makes the images that stand in for GitHub's runner and for the Docker
// daemon beside it, from the program test/world/cmd/standin of this repository.
//
// They have what Slipway asks of such images: the runner in /home/runner with sh and cp,
// and dockerd, docker, sh, ip and iptables-legacy. Nothing here may come from GitHub or a
// registry: what a test runs must have been built from what lies in the tree or on the
// machine.
package runner

import (
	"context"
	"maps"
	"path/filepath"

	"slipway.dev/slipway/test/cluster/image"
)

// The images' names. Their host exists nowhere, so that an image that was not loaded is an
// error at once and never a download.
const (
	Runner = "registry.example.com/actions-runner:test"
	Docker = "registry.example.com/actions-docker:test"
)

// Images compiles the stand-in in the repository into the folder, and says what images to
// make of it.
func Images(ctx context.Context, repository, folder string) ([]image.Spec, error) {
	file := filepath.Join(folder, "standin")
	if err := image.CompileGo(ctx, repository, "./test/world/cmd/standin", "", file); err != nil {
		return nil, err
	}
	runner, err := image.Busybox(ctx, Runner)
	if err != nil {
		return nil, err
	}
	docker := runner
	docker.Files, docker.Links = maps.Clone(runner.Files), maps.Clone(runner.Links)
	runner.Files["/home/runner/run.sh"] = file
	runner.User = "1001:1001"
	docker.References = []string{Docker}
	docker.Files["/usr/local/bin/dockerd"] = file
	docker.Links["/usr/local/bin/docker"], docker.Links["/usr/local/bin/iptables-legacy"] = "dockerd", "dockerd"
	docker.User = "0:0"
	return []image.Spec{runner, docker}, nil
}
