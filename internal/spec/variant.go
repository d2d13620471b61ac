package spec

import (
	"fmt"
	"maps"
	"slices"

	"slipway.dev/slipway/internal/slipway"
)

// maxVariants bounds how many settings of a driver's parameters are tried.
const maxVariants = 48

// ParameterVariants are settings of a driver's parameters that may turn on a part of its
// chart which the defaults leave out: each switch turned, each other choice taken, each
// empty text filled, each zero made one; at first all of it at once. They are for finding
// out whether a component can be there at all.
func ParameterVariants(d slipway.DriverSpec) ([]map[string]any, error) {
	schema, err := schemaOf(d)
	if err != nil {
		return nil, err
	}
	base, err := ExampleParameters(d)
	if err != nil {
		return nil, err
	}
	all := properties(schema)
	everything := maps.Clone(base)
	var out []map[string]any
	for _, name := range slices.Sorted(maps.Keys(all)) {
		for _, v := range otherValues(all[name]) {
			if _, done := everything[name]; !done {
				everything[name] = v
			}
			one := maps.Clone(base)
			one[name] = v
			out = append(out, one)
		}
	}
	if len(out) > 1 {
		out = append([]map[string]any{everything}, out...)
	}
	return out[:min(len(out), maxVariants)], nil
}

// otherValues are values of a parameter that are not its default, and that a template may
// ask about.
func otherValues(schema map[string]any) []any {
	now := schema["default"]
	if isSecret(schema) {
		return []any{map[string]any{"secret": "example"}}
	}
	if choices, ok := schema["enum"].([]any); ok {
		return slices.DeleteFunc(slices.Clone(choices), func(v any) bool { return fmt.Sprint(v) == fmt.Sprint(now) })
	}
	switch schema["type"] {
	case "boolean":
		return []any{now != true}
	case "integer", "number":
		if now == nil || now == int64(0) {
			return []any{exampleValue(schema)}
		}
	case "string":
		if now == nil || now == "" {
			return []any{exampleValue(schema)}
		}
	}
	return nil
}
