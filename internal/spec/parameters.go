package spec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"slipway.dev/slipway/internal/slipway"
)

// schemaOf decodes a driver's parameter schema; nil when the driver has no parameters.
func schemaOf(d slipway.DriverSpec) (map[string]any, error) {
	if len(d.Parameters) == 0 {
		return nil, nil
	}
	dec := json.NewDecoder(bytes.NewReader(d.Parameters))
	dec.UseNumber()
	var schema map[string]any
	if err := dec.Decode(&schema); err != nil {
		return nil, fmt.Errorf("read the parameters of driver %s: %w", d.Name, err)
	}
	return normalTable(schema), nil
}

// SecretParameters lists, sorted, the parameters of a driver whose values are secrets.
func SecretParameters(d slipway.DriverSpec) []string {
	schema, err := schemaOf(d)
	if err != nil {
		return nil // ParseDriver wrote it; CheckAgainstDriver says so if it is damaged
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(properties(schema))) {
		if isSecret(properties(schema)[name]) {
			out = append(out, name)
		}
	}
	return out
}

// EffectiveParameters are the parameters that were given with the driver's defaults for
// those that were not.
func EffectiveParameters(d slipway.DriverSpec, given map[string]any) (map[string]any, error) {
	schema, err := schemaOf(d)
	if err != nil {
		return nil, err
	}
	out := map[string]any{}
	if len(given) > 0 {
		out = normalTable(copyTable(given))
	}
	applyDefaults(schema, out)
	return out, nil
}

// applyDefaults fills in what a schema's properties say, also inside of tables that were
// given.
func applyDefaults(schema, values map[string]any) {
	for name, sub := range properties(schema) {
		if v, given := values[name]; given {
			if inner, isMap := v.(map[string]any); isMap {
				applyDefaults(sub, inner)
			}
			continue
		}
		if v, has := sub["default"]; has {
			values[name] = deepCopy(v)
		}
	}
}

// properties returns the schemas of an object's properties.
func properties(schema map[string]any) map[string]map[string]any {
	all, _ := schema["properties"].(map[string]any)
	out := make(map[string]map[string]any, len(all))
	for name, s := range all {
		if m, ok := s.(map[string]any); ok {
			out[name] = m
		}
	}
	return out
}

func isSecret(schema map[string]any) bool { return schema["writeOnly"] == true }

// compileSchema compiles a parameter schema. Nothing outside of it is ever read.
func compileSchema(schema map[string]any) (*jsonschema.Schema, error) {
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	c.AssertFormat()
	if err := c.AddResource("slipway:parameters", jsonNumbers(schema)); err != nil {
		return nil, err
	}
	return c.Compile("slipway:parameters")
}

type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, errors.New("a parameter schema may not refer to " + url)
}

// valueFault is one thing that a schema finds wrong.
type valueFault struct {
	parts     []string // below the parameters: admin_email; list, [2], name
	msg, hint string
}

// checkParameters judges the effective parameters by the driver's schema.
func checkParameters(schema, values map[string]any) ([]valueFault, error) {
	var faults []valueFault
	known := slices.Collect(maps.Keys(properties(schema)))
	// What is not declared is refused even if the schema does not say so: it would be
	// ignored without a word.
	_, patterns := schema["patternProperties"]
	_, additional := schema["additionalProperties"]
	judged := make(map[string]any, len(values))
	for _, name := range slices.Sorted(maps.Keys(values)) {
		sub, declared := properties(schema)[name]
		secret, isReference := slipway.SecretParameter(values[name])
		switch {
		case !declared && !patterns && !additional:
			faults = append(faults, valueFault{[]string{name}, "the driver has no such parameter", didYouMean(name, known)})
		case declared && isSecret(sub) && isReference:
			var e *slipway.Error
			if errors.As(slipway.CheckName("a secret", secret), &e) {
				faults = append(faults, valueFault{[]string{name}, e.Msg, e.Hint})
			}
		case declared && isSecret(sub):
			faults = append(faults, valueFault{[]string{name}, "is a secret and cannot be written here",
				fmt.Sprintf(`store it with: slipway secrets set NAME, and write %s = { secret = "NAME" }`, name)})
		case isReference:
			faults = append(faults, valueFault{[]string{name}, "is no secret of this driver", "write its value"})
		default:
			judged[name] = values[name]
		}
	}
	found, err := validate(withoutSecrets(schema), judged)
	for _, f := range found {
		// What is written wrongly is not missing as well.
		if len(f.parts) == 1 && values[f.parts[0]] != nil && judged[f.parts[0]] == nil {
			continue
		}
		faults = append(faults, f)
	}
	return faults, err
}

// withoutSecrets returns the schema for the parameters that are no secrets, but for what
// is required: see requiredSecrets.
func withoutSecrets(schema map[string]any) map[string]any {
	out := maps.Clone(schema)
	if out == nil {
		return map[string]any{}
	}
	keep := map[string]any{}
	for name, sub := range properties(schema) {
		if !isSecret(sub) {
			keep[name] = sub
		}
	}
	out["properties"] = keep
	if required, ok := schema["required"].([]any); ok {
		var left []any
		for _, name := range required {
			if s, _ := name.(string); !isSecret(properties(schema)[s]) {
				left = append(left, name)
			}
		}
		out["required"] = append([]any{}, left...)
	}
	return out
}

// requiredSecrets lists the secrets that a schema requires and values lack.
func requiredSecrets(schema, values map[string]any) []string {
	var out []string
	required, _ := schema["required"].([]any)
	for _, name := range required {
		s, _ := name.(string)
		if _, given := values[s]; !given && isSecret(properties(schema)[s]) {
			out = append(out, s)
		}
	}
	return out
}

func validate(schema, values map[string]any) ([]valueFault, error) {
	compiled, err := compileSchema(schema)
	if err != nil {
		return nil, fmt.Errorf("compile the parameters' schema: %w", err)
	}
	err = compiled.Validate(jsonNumbers(values))
	var v *jsonschema.ValidationError
	if errors.As(err, &v) {
		return leaves(v, values), nil
	}
	return nil, err
}

// jsonNumbers turns int64 into what the validator knows as a number.
func jsonNumbers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = jsonNumbers(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = jsonNumbers(e)
		}
		return out
	case int64:
		return json.Number(fmt.Sprint(v))
	}
	return v
}

// partsOf turns a place in a value into the parts of a path; an index is in brackets.
func partsOf(location []string, value any) []string {
	parts := make([]string, 0, len(location))
	for _, part := range location {
		switch v := value.(type) {
		case []any:
			i, err := strconv.Atoi(part)
			if err == nil && i >= 0 && i < len(v) {
				value = v[i]
			}
			part = "[" + part + "]"
		case map[string]any:
			value = v[part]
		}
		parts = append(parts, part)
	}
	return parts
}
