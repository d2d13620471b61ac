package spec

import (
	"errors"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"slipway.dev/slipway/internal/slipway"
)

// parameterSchema reads what a team may set. The form is JSON Schema; a list of
// { name, type, … }, as older drivers have it, is turned into one.
func (d *driverReader) parameterSchema(n *node) []byte {
	const at = "spec.parameters"
	if n == nil || n.shape == nullShape {
		return nil
	}
	before := len(d.faults)
	var schema map[string]any
	switch {
	case n.shape == listShape:
		schema = d.listedParameters(n)
	case n.shape != tableShape:
		d.shaped(n, at, tableShape, "write a JSON Schema: { type: object, properties: … }")
		return nil
	case n.get("type") == nil && n.get("properties") == nil && len(n.keys) > 0:
		schema = d.bareParameters(n)
	default:
		d.schemaKeywords(n, at, 0)
		schema = n.table()
	}
	if len(d.faults) > before {
		return nil
	}
	d.noDates(n, at)
	d.parameterRules(schema, n)
	if len(d.faults) > before {
		return nil
	}
	b, err := marshal(schema)
	if err != nil {
		d.fault(n.pos, at, "", "cannot be written as JSON: %v", err)
		return nil
	}
	return b
}

// parameterRules are ours, on top of what makes a schema.
func (d *driverReader) parameterRules(schema map[string]any, n *node) {
	const at = "spec.parameters"
	if t, ok := schema["type"]; ok && t != "object" {
		d.fault(n.pos, at+".type", "write type: object", "must be object: parameters have names")
	}
	schema["type"] = "object"
	if _, err := compileSchema(schema); err != nil {
		d.schemaError(err, n)
		return
	}
	for name, sub := range properties(schema) {
		path := join(at+".properties", name)
		where := d.propertyPlace(n, name)
		if !parameterName.MatchString(name) {
			d.fault(where, path, "use letters, digits and _, starting with a letter", "%q cannot name a parameter", name)
		}
		value, hasDefault := sub["default"]
		if isSecret(sub) {
			if t, ok := sub["type"]; ok && t != "string" {
				d.fault(where, path+".type", "write type: string", "must be string: a secret is text")
			}
			if hasDefault {
				d.fault(where, path+".default", "remove it", "is a secret's value, which every reader of the driver would know")
			}
			continue
		}
		if nestedSecret(sub) {
			d.fault(where, path, "make it a parameter of its own", "holds a secret (writeOnly) inside of a table or list")
			continue
		}
		if _, ok := slipway.SecretParameter(value); ok {
			d.fault(where, path+".default", "", "has the form that is kept for secrets")
			continue
		}
		if !hasDefault {
			continue
		}
		compiled, err := compileSchema(withDefs(sub, schema))
		if err != nil {
			continue // the whole schema compiles; a part with references may not by itself
		}
		var v *jsonschema.ValidationError
		if errors.As(compiled.Validate(jsonNumbers(value)), &v) {
			for _, f := range leaves(v, value) {
				p := path + ".default"
				for _, part := range f.parts {
					p = appendPath(p, part)
				}
				d.fault(where, p, f.hint, "%s", f.msg)
			}
		}
	}
}

// withDefs gives a part of a schema the definitions of the whole.
func withDefs(sub, whole map[string]any) map[string]any {
	out := copyTable(sub)
	if defs, ok := whole["$defs"]; ok {
		out["$defs"] = defs
	}
	return out
}

func nestedSecret(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		if isSecret(v) {
			return true
		}
		for _, e := range v {
			if nestedSecret(e) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, nestedSecret)
	}
	return false
}

// propertyPlace finds where a parameter is declared, in either form.
func (d *driverReader) propertyPlace(n *node, name string) pos {
	for _, e := range n.list {
		if v := e.get("name"); v != nil && v.value == name {
			return v.pos
		}
	}
	for _, table := range []*node{n.get("properties"), n} {
		if table == nil {
			continue
		}
		for _, e := range table.keys {
			if e.key == name {
				return e.pos
			}
		}
	}
	return n.pos
}

// schemaError says why a schema is none.
func (d *driverReader) schemaError(err error, n *node) {
	const at = "spec.parameters"
	var invalid *jsonschema.SchemaValidationError
	var v *jsonschema.ValidationError
	if errors.As(err, &invalid) && errors.As(invalid.Err, &v) {
		for _, f := range deepest(v) {
			path, where := at, n
			for _, part := range f.InstanceLocation {
				path = join(path, part)
				if next, _ := where.child(part); next != nil {
					where = next
				} else if next, _ := where.child("[" + part + "]"); next != nil {
					where = next
				}
			}
			msg, hint := words(f)
			d.fault(where.pos, path, hint, "%s", msg)
		}
		return
	}
	d.fault(n.pos, at, "", "is no JSON Schema: %s", strings.TrimPrefix(err.Error(), "jsonschema: "))
}

// deepest returns the errors at the bottom of the tree, without repeats.
func deepest(v *jsonschema.ValidationError) []*jsonschema.ValidationError {
	if len(v.Causes) == 0 {
		return []*jsonschema.ValidationError{v}
	}
	var out []*jsonschema.ValidationError
	for _, c := range v.Causes {
		for _, leaf := range deepest(c) {
			same := func(o *jsonschema.ValidationError) bool {
				return slices.Equal(o.InstanceLocation, leaf.InstanceLocation)
			}
			if !slices.ContainsFunc(out, same) {
				out = append(out, leaf)
			}
		}
	}
	return out
}

// schemaWords are the keywords that are taken. $ref may point inside of the schema only;
// what reaches outside or depends on the validator's dialect is not among them.
var schemaWords = []string{
	"$schema", "$id", "$defs", "$ref", "$comment", "title", "description", "default", "examples", "deprecated",
	"readOnly", "writeOnly", "type", "enum", "const", "properties", "required", "additionalProperties",
	"patternProperties", "propertyNames", "minProperties", "maxProperties", "dependentRequired", "dependentSchemas",
	"items", "prefixItems", "contains", "minItems", "maxItems", "uniqueItems", "minimum", "maximum",
	"exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "pattern", "format",
	"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "contentEncoding", "contentMediaType",
}

// schemaKeywords refuses misspelt keywords, which a validator would ignore without a word.
func (d *driverReader) schemaKeywords(n *node, path string, depth int) {
	if n == nil || n.shape != tableShape || depth > maxYAMLDepth {
		return
	}
	for _, e := range n.keys {
		p := join(path, e.key)
		switch e.key {
		case "properties", "$defs", "patternProperties", "dependentSchemas":
			if d.shaped(e.value, p, tableShape, "") {
				for _, sub := range e.value.keys {
					if sub.value.shape != tableShape && sub.value.shape != boolShape {
						d.fault(sub.value.pos, join(p, sub.key), "write { type: string } or the like", "must be a schema, not %s", sub.value.shape)
					}
					d.schemaKeywords(sub.value, join(p, sub.key), depth+1)
				}
			}
		case "items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames":
			d.schemaKeywords(e.value, p, depth+1)
		case "allOf", "anyOf", "oneOf", "prefixItems":
			for i, sub := range e.value.list {
				d.schemaKeywords(sub, item(p, i), depth+1)
			}
		case "$ref":
			if s, _ := e.value.value.(string); !strings.HasPrefix(s, "#") {
				d.fault(e.value.pos, p, "write #/$defs/…", "may not leave the file")
			}
		default:
			if !slices.Contains(schemaWords, e.key) && !strings.HasPrefix(e.key, "x-") {
				hint := didYouMean(e.key, schemaWords)
				if hint == "" {
					hint = "keywords of your own start with x-"
				}
				d.fault(e.pos, p, hint, "unknown key")
			}
		}
	}
}

// listedParameters turns [{name, type, …}] into a schema.
func (d *driverReader) listedParameters(n *node) map[string]any {
	d.note(n.pos, "spec.parameters", "write { type: object, properties: … }", "is a list; read as a JSON Schema")
	return d.oldParameters(d.named(n, "spec.parameters"))
}

// bareParameters turns { name: { type, … } } into a schema.
func (d *driverReader) bareParameters(n *node) map[string]any {
	d.note(n.pos, "spec.parameters", "write { type: object, properties: … }", "has no properties; its keys are read as the parameters")
	return d.oldParameters(n.keys)
}

func (d *driverReader) oldParameters(entries []entry) map[string]any {
	props := map[string]any{}
	var required []any
	for _, e := range entries {
		path := join("spec.parameters", e.key)
		if _, twice := props[e.key]; twice {
			d.fault(e.pos, path, "", "is there twice")
		}
		sub, needed := d.oldParameter(e.value, path)
		props[e.key] = sub
		if needed {
			required = append(required, e.key)
		}
	}
	schema := map[string]any{"type": "object", "properties": props}
	if len(required) > 0 {
		schema["required"] = required
	}
	return schema
}

// oldTypes are the types of the older form, and what they are in JSON Schema.
var oldTypes = map[string]string{
	"string": "string", "str": "string", "text": "string", "integer": "integer", "int": "integer",
	"number": "number", "float": "number", "boolean": "boolean", "bool": "boolean", "enum": "",
	"password": "string", "secret": "string", "list": "array", "array": "array", "object": "object",
}

func (d *driverReader) oldParameter(n *node, path string) (schema map[string]any, required bool) {
	schema = map[string]any{}
	if !d.shaped(n, path, tableShape, "write { type: string }") {
		return schema, false
	}
	typ := d.need(n, path, "type", "write type: string, integer, boolean or enum")
	name := strings.ToLower(d.text(typ, path+".type"))
	mapped, known := oldTypes[name]
	if !known && name != "" {
		d.fault(typ.pos, path+".type", didYouMean(name, []string{"string", "integer", "boolean", "enum", "number"}), "%q is no type", cut(name, 40))
	}
	if mapped != "" {
		schema["type"] = mapped
	}
	if name == "password" || name == "secret" {
		schema["writeOnly"] = true
	}
	for _, e := range n.keys {
		p := join(path, e.key)
		switch e.key {
		case "type", "name":
		case "required":
			required = d.boolean(e.value, p)
		case "optional":
			required = !d.boolean(e.value, p)
		case "label", "title", "display_name":
			schema["title"] = d.text(e.value, p)
		case "help", "description":
			schema["description"] = d.text(e.value, p)
		case "values", "options", "choices", "enum":
			if d.shaped(e.value, p, listShape, "write a list") {
				schema["enum"] = e.value.plain()
			}
		case "secret", "sensitive", "writeOnly":
			if d.boolean(e.value, p) {
				schema["writeOnly"] = true
			}
		case "min":
			schema["minimum"] = e.value.plain()
		case "max":
			schema["maximum"] = e.value.plain()
		case "regex":
			schema["pattern"] = d.text(e.value, p)
		case "default":
			if e.value.shape != nullShape {
				schema["default"] = e.value.plain()
			}
		default:
			if !slices.Contains(schemaWords, e.key) && !strings.HasPrefix(e.key, "x-") {
				d.fault(e.pos, p, didYouMean(e.key, append(schemaWords, "label", "values", "secret")), "unknown key")
				continue
			}
			schema[e.key] = e.value.plain()
		}
	}
	if name == "enum" && schema["enum"] == nil {
		d.fault(n.pos, path+".values", "write values: [a, b]", "is missing: an enum needs its values")
	}
	return schema, required
}

// parameterName is what templates can write after "parameters.".
var parameterName = pythonName
