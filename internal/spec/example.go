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

// SupportedBounds returns the lowest and the highest application version that the driver
// supports, to check it with: one version when its range has one end only, or is a point.
// A bound that is not part of its range is approached: below <2.0.0 stands 1.999.999.
func SupportedBounds(d slipway.DriverSpec) []string {
	var low, high *semver.Version
	for _, text := range versionInRange.FindAllString(d.SupportedVersions, -1) {
		v, err := semver.NewVersion(text)
		if err != nil {
			continue
		}
		patch, minor := v.IncPatch(), v.IncMinor()
		for _, candidate := range []*semver.Version{v, &patch, &minor, below(v)} {
			if VersionSupported(d, candidate.String()) == nil && (low == nil || candidate.LessThan(low)) {
				low = candidate
			}
		}
		for _, candidate := range []*semver.Version{v, below(v)} {
			if VersionSupported(d, candidate.String()) == nil && (high == nil || high.LessThan(candidate)) {
				high = candidate
			}
		}
	}
	switch {
	case low == nil:
		return []string{ExampleVersion(d)}
	case high == nil || !low.LessThan(high):
		return []string{low.String()}
	}
	return []string{low.String(), high.String()}
}

// below is a version just below another one.
func below(v *semver.Version) *semver.Version {
	const last = 999
	switch {
	case v.Patch() > 0:
		return semver.New(v.Major(), v.Minor(), v.Patch()-1, "", "")
	case v.Minor() > 0:
		return semver.New(v.Major(), v.Minor()-1, last, "", "")
	case v.Major() > 0:
		return semver.New(v.Major()-1, last, last, "", "")
	}
	return v
}

// ExampleContext is the context of an imagined install: parameters have their defaults, and
// the required ones that have none get a value of the right kind. It is for checking a
// driver, not for running it.
func ExampleContext(d slipway.DriverSpec, version string) (GlobalContext, error) {
	parameters, err := ExampleParameters(d)
	if err != nil {
		return GlobalContext{}, err
	}
	return ContextOf(d, ExampleApplication(d, version, parameters))
}

// ExampleApplication is an imagined application of the driver, named like it.
func ExampleApplication(d slipway.DriverSpec, version string, parameters map[string]any) slipway.ApplicationSpec {
	return slipway.ApplicationSpec{
		SchemaVersion: ApplicationSchema, Name: d.Name, Driver: slipway.DriverRef{Name: d.Name, Version: d.Version},
		App: slipway.AppRef{Version: version}, Parameters: parameters,
	}
}

// ExampleNamespace is the place of imagined applications.
const ExampleNamespace = "example-check"

// ContextOf is the context of an application's install in an imagined environment.
func ContextOf(d slipway.DriverSpec, app slipway.ApplicationSpec) (GlobalContext, error) {
	return BuildContext(ContextInput{
		Task:        slipway.Task{Kind: slipway.InstallTask},
		Change:      slipway.Change{Kind: slipway.InstallChange, Number: 1, Revision: 1},
		Environment: slipway.Environment{Project: "example", Name: "check", Namespace: ExampleNamespace},
		Application: slipway.Application{Project: "example", Environment: "check", Name: app.Name, Namespace: ExampleNamespace},
		Spec:        app,
		Driver:      slipway.Driver{Name: d.Name, Version: d.Version, Spec: d},
	})
}

// ExampleParameters are values for the required parameters that have no default.
func ExampleParameters(d slipway.DriverSpec) (map[string]any, error) {
	schema, err := schemaOf(d)
	if err != nil {
		return nil, err
	}
	required, _ := schema["required"].([]any)
	all := properties(schema)
	out := map[string]any{}
	for _, name := range required {
		key, _ := name.(string)
		sub, ok := all[key]
		if _, byDefault := sub["default"]; !ok || byDefault {
			continue
		}
		if isSecret(sub) {
			out[key] = map[string]any{"secret": "example"}
			continue
		}
		out[key] = exampleValue(sub)
	}
	return out, nil
}

// exampleValue is a value that a schema most likely accepts.
func exampleValue(schema map[string]any) any {
	for _, key := range []string{"enum", "examples"} {
		if list, ok := schema[key].([]any); ok && len(list) > 0 {
			return list[0]
		}
	}
	switch schema["type"] {
	case "integer", "number":
		if least, ok := schema["minimum"]; ok {
			return least
		}
		return 1
	case "boolean":
		return true
	case "array":
		return []any{}
	case "object":
		return map[string]any{}
	}
	switch schema["format"] {
	case "email":
		return "someone@example.com"
	case "uri", "url":
		return "https://example.com"
	case "hostname":
		return "example.com"
	}
	return "example"
}
