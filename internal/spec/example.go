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

// ExampleContext is the context of an imagined install: parameters have their defaults, and
// the required ones that have none get a value of the right kind. It is for checking a
// driver, not for running it.
func ExampleContext(d slipway.DriverSpec, version string) (GlobalContext, error) {
	parameters, err := exampleParameters(d)
	if err != nil {
		return GlobalContext{}, err
	}
	return BuildContext(ContextInput{
		Task:        slipway.Task{Kind: slipway.InstallTask},
		Change:      slipway.Change{Kind: slipway.InstallChange, Number: 1, Revision: 1},
		Environment: slipway.Environment{Project: "example", Name: "check", Namespace: "example-check"},
		Application: slipway.Application{Project: "example", Environment: "check", Name: d.Name, Namespace: "example-check"},
		Spec: slipway.ApplicationSpec{
			SchemaVersion: 1, Name: d.Name, Driver: slipway.DriverRef{Name: d.Name, Version: d.Version},
			App: slipway.AppRef{Version: version}, Parameters: parameters,
		},
		Driver: slipway.Driver{Name: d.Name, Version: d.Version, Spec: d},
	})
}

func exampleParameters(d slipway.DriverSpec) (map[string]any, error) {
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
