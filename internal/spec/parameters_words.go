package spec

import (
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// leaves turns a tree of schema errors into sentences, one for each fault at the bottom
// of the tree, where a person can act.
func leaves(v *jsonschema.ValidationError, value any) []valueFault {
	parts := partsOf(v.InstanceLocation, value)
	switch v.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf, *kind.Not, *kind.Contains:
		// The branches contradict each other; saying all of them helps nobody.
		msg, hint := words(v)
		return []valueFault{{parts, msg, hint}}
	}
	if len(v.Causes) == 0 {
		switch k := v.ErrorKind.(type) {
		case *kind.Required:
			var out []valueFault
			for _, name := range k.Missing {
				out = append(out, valueFault{slices.Concat(parts, []string{name}), "is missing", ""})
			}
			return out
		case *kind.AdditionalProperties:
			var out []valueFault
			for _, name := range k.Properties {
				out = append(out, valueFault{slices.Concat(parts, []string{name}), "the driver has no such parameter", ""})
			}
			return out
		}
		msg, hint := words(v)
		return []valueFault{{parts, msg, hint}}
	}
	var out []valueFault
	for _, c := range v.Causes {
		out = append(out, leaves(c, value)...)
	}
	return out
}

// words says one fault. It never repeats the value: a person may have put a secret there.
func words(v *jsonschema.ValidationError) (msg, hint string) {
	switch k := v.ErrorKind.(type) {
	case *kind.Type:
		return fmt.Sprintf("must be %s, not %s", typeWords(k.Want), typeWords([]string{k.Got})), ""
	case *kind.Enum:
		var want []string
		for _, w := range k.Want {
			want = append(want, fmt.Sprint(w))
		}
		return "must be " + listOf(want, "or"), nearest(k.Got, want)
	case *kind.Const:
		return fmt.Sprintf("must be %v", k.Want), ""
	case *kind.Format:
		return "is no " + formatWords(k.Want), ""
	case *kind.Pattern:
		return "does not have the form " + k.Want, ""
	case *kind.Minimum:
		return "must be at least " + k.Want.RatString(), ""
	case *kind.Maximum:
		return "must be at most " + k.Want.RatString(), ""
	case *kind.ExclusiveMinimum:
		return "must be more than " + k.Want.RatString(), ""
	case *kind.ExclusiveMaximum:
		return "must be less than " + k.Want.RatString(), ""
	case *kind.MultipleOf:
		return "must be a multiple of " + k.Want.RatString(), ""
	case *kind.MinLength:
		return fmt.Sprintf("needs at least %d characters, and has %d", k.Want, k.Got), ""
	case *kind.MaxLength:
		return fmt.Sprintf("may have at most %d characters, and has %d", k.Want, k.Got), ""
	case *kind.MinItems:
		return fmt.Sprintf("needs at least %d entries, and has %d", k.Want, k.Got), ""
	case *kind.MaxItems:
		return fmt.Sprintf("may have at most %d entries, and has %d", k.Want, k.Got), ""
	case *kind.UniqueItems:
		return "holds an entry twice", ""
	case *kind.AnyOf, *kind.OneOf:
		return "fits none of the forms that the driver allows", "see the driver's description of this parameter"
	}
	return "does not fit the driver's schema: " + strings.Join(v.ErrorKind.KeywordPath(), "."), ""
}

func nearest(got any, want []string) string {
	s, ok := got.(string)
	if !ok || slices.Contains(want, s) {
		return ""
	}
	if h := didYouMean(s, want); strings.HasPrefix(h, "did") {
		return h
	}
	return ""
}

func typeWords(types []string) string {
	known := map[string]shape{
		"object": tableShape, "array": listShape, "string": textShape, "integer": wholeShape,
		"number": numberShape, "boolean": boolShape, "null": nullShape,
	}
	var out []string
	for _, t := range types {
		out = append(out, string(known[t]))
	}
	return listOf(out, "or")
}

func formatWords(format string) string {
	known := map[string]string{
		"email": "e-mail address", "uri": "URL", "hostname": "host name", "ipv4": "IPv4 address",
		"ipv6": "IPv6 address", "date": "date (2026-01-31)", "date-time": "time (2026-01-31T12:00:00Z)",
		"uuid": "UUID", "regex": "regular expression", "duration": "duration (PT1H)",
	}
	if w := known[format]; w != "" {
		return w
	}
	return format
}
