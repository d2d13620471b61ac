package spec

import (
	"regexp"

	"github.com/Masterminds/semver/v3"

	"slipway.dev/slipway/internal/slipway"
)

// ActionParameters are the arguments that Slipway has for an action's function. A function
// names those that it wants.
var ActionParameters = []string{"context", "target_version", "current_version", "deployment_id"}

var versionInRange = regexp.MustCompile(`\d+(?:\.\d+){0,2}(?:-[0-9A-Za-z.-]+)?`)

// ExampleVersion returns an application version that the driver supports, to check its
// chart with: the first bound of its range that is in it, or 1.0.0.
func ExampleVersion(d slipway.DriverSpec) string {
	for _, text := range versionInRange.FindAllString(d.SupportedVersions, -1) {
		v, err := semver.NewVersion(text)
		if err != nil {
			continue
		}
		for _, candidate := range []string{v.String(), v.IncPatch().String(), v.IncMinor().String()} {
			if VersionSupported(d, candidate) == nil {
				return candidate
			}
		}
	}
	return "1.0.0"
}

// ExampleContext is the context of an imagined install with default parameters. It fails
// when a required parameter has no default.
func ExampleContext(d slipway.DriverSpec, version string) (GlobalContext, error) {
	return BuildContext(ContextInput{
		Task:        slipway.Task{Kind: slipway.InstallTask},
		Change:      slipway.Change{Kind: slipway.InstallChange, Number: 1, Revision: 1},
		Environment: slipway.Environment{Project: "example", Name: "check", Namespace: "example-check"},
		Application: slipway.Application{Project: "example", Environment: "check", Name: d.Name, Namespace: "example-check"},
		Spec: slipway.ApplicationSpec{
			SchemaVersion: 1, Name: d.Name, Driver: slipway.DriverRef{Name: d.Name, Version: d.Version}, App: slipway.AppRef{Version: version},
		},
		Driver: slipway.Driver{Name: d.Name, Version: d.Version, Spec: d},
	})
}
