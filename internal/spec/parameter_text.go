package spec

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"slipway.dev/slipway/internal/slipway"
)

// secretPrefix is how the name of a stored secret is given on a command line.
const secretPrefix = "secret:"

// ParameterFromText reads the value of a parameter as it is typed on a command line:
// text as it stands, everything else as JSON, a secret as secret:NAME. Whether the value
// is allowed is the question of CheckAgainstDriver.
func ParameterFromText(d slipway.DriverSpec, name, text string) (any, error) {
	schema, err := schemaOf(d)
	if err != nil {
		return nil, err
	}
	known := properties(schema)
	sub, ok := known[name]
	if !ok {
		e := slipway.Errorf(slipway.Invalid, "driver %s has no parameter %q", d.Name, name)
		e.Hint = didYouMean(name, slices.Sorted(maps.Keys(known)))
		return nil, e
	}
	if isSecret(sub) {
		secret, ok := strings.CutPrefix(text, secretPrefix)
		if !ok {
			return nil, slipway.Errorf(slipway.Invalid, "%s is a secret, and its value is never given on a command line", name).
				WithHint("name a stored secret: %s=%sNAME", name, secretPrefix)
		}
		return map[string]any{"secret": secret}, slipway.CheckName("a secret", secret)
	}
	if sub["type"] == "string" || sub["type"] == nil && !json.Valid([]byte(text)) {
		return text, nil
	}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil || dec.More() {
		return nil, slipway.Errorf(slipway.Invalid, "%s=%s is no %v", name, cut(text, 60), sub["type"]).
			WithHint("write it as JSON: %s", exampleText(sub))
	}
	return normalNumbers(v), nil
}

func exampleText(schema map[string]any) string {
	b, err := marshal(exampleValue(schema))
	if err != nil {
		return fmt.Sprint(exampleValue(schema))
	}
	return string(b)
}
