// Package guestbook makes the images of the sample application, examples/guestbook-app,
// for the cluster's tests and for the demonstration.
//
// It knows which versions there are and nothing of what they do; that is the
// application's own affair, and its documentation's.
package guestbook

import (
	"context"
	"path/filepath"

	"slipway.dev/slipway/test/cluster/image"
)

// Repository is the name of the images. Its host exists nowhere, so that an image that
// was not loaded is an error at once and never a download.
const Repository = "registry.example.com/guestbook"

// Versions are those the application can be compiled as. The last one's migration fails.
var Versions = []string{"1.0.0", "1.1.0", "1.2.0"}

// patched is a further tag of each version, for showing that a component's image can be
// replaced by a build of the user's own.
const patched = "-patched"

// Images compiles every version from the application's source into the folder, and says
// what images to make of them.
func Images(ctx context.Context, source, folder string) ([]image.Spec, error) {
	var specs []image.Spec
	for _, version := range Versions {
		file := filepath.Join(folder, "guestbook-"+version)
		if err := image.CompileGo(ctx, source, ".", "-X main.version="+version, file); err != nil {
			return nil, err
		}
		spec := image.Program(file, "guestbook", Repository+":"+version, Repository+":"+version+patched)
		spec.Labels = map[string]string{
			"org.opencontainers.image.title":   "guestbook",
			"org.opencontainers.image.version": version,
		}
		specs = append(specs, spec)
	}
	return specs, nil
}
