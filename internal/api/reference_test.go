package api

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// reference writes docs/reference/api.md: the description as people read it.
func reference(d *huma.OpenAPI) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# The API\n\nGenerated from the handlers by the tests of `internal/api`; not edited by hand. For programs: `contract/openapi.yaml`,\nwhich a server answers under `%s/openapi.yaml`.\n\n%s\n\nEvery path begins with `%s`.\n", Prefix, d.Info.Description, Prefix)
	tag := ""
	for _, o := range operations {
		if o.tag != tag {
			tag = o.tag
			fmt.Fprintf(&b, "\n## %s\n", tag)
		}
		op := described(d.Paths[o.path])[o.method]
		fmt.Fprintf(&b, "\n### %s %s\n\n%s. %s\n", o.method, o.path, op.Summary, op.Description)
		parameters(&b, op)
		if op.RequestBody != nil {
			for _, ct := range slices.Sorted(maps.Keys(op.RequestBody.Content)) {
				fmt.Fprintf(&b, "\nBody: %s\n", shape(ct, op.RequestBody.Content[ct].Schema))
			}
		}
		fmt.Fprintf(&b, "\nAnswer: %d", o.status)
		for _, ct := range slices.Sorted(maps.Keys(op.Responses[fmt.Sprint(o.status)].Content)) {
			b.WriteString(", " + shape(ct, op.Responses[fmt.Sprint(o.status)].Content[ct].Schema))
		}
		b.WriteString("\n")
	}
	b.WriteString("\n## Bodies\n")
	schemas := d.Components.Schemas.Map()
	for _, name := range slices.Sorted(maps.Keys(schemas)) {
		s := schemas[name]
		fmt.Fprintf(&b, "\n### %s\n\n| field | type | |\n| --- | --- | --- |\n", name)
		for _, f := range slices.Sorted(maps.Keys(s.Properties)) {
			need := ""
			if slices.Contains(s.Required, f) {
				need = "required. "
			}
			p := s.Properties[f]
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", f, typeOf(p), strings.TrimSpace(need+p.Description+enum(p)))
		}
	}
	return b.String()
}

func parameters(b *strings.Builder, op *huma.Operation) {
	var rows []string
	for _, p := range op.Parameters {
		if p.In != "path" {
			rows = append(rows, fmt.Sprintf("| `%s` | %s | %s | %s |", p.Name, p.In, typeOf(p.Schema), strings.TrimSpace(p.Description+enum(p.Schema))))
		}
	}
	if len(rows) > 0 {
		fmt.Fprintf(b, "\n| parameter | in | type | |\n| --- | --- | --- | --- |\n%s\n", strings.Join(rows, "\n"))
	}
}

func shape(contentType string, s *huma.Schema) string {
	if contentType == "application/json" {
		return typeOf(s)
	}
	return "`" + contentType + "`"
}

func typeOf(s *huma.Schema) string {
	switch {
	case s == nil:
		return "any"
	case s.Ref != "":
		name := s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]
		return "[" + name + "](#" + strings.ToLower(name) + ")"
	case s.Type == "array":
		return "list of " + typeOf(s.Items)
	case s.Type == "":
		return "any"
	case s.Format == "date-time":
		return "time"
	}
	return s.Type
}

func enum(s *huma.Schema) string {
	if s == nil || len(s.Enum) == 0 {
		return ""
	}
	all := make([]string, len(s.Enum))
	for i, e := range s.Enum {
		all[i] = fmt.Sprintf("`%v`", e)
	}
	return " One of " + strings.Join(all, ", ") + "."
}
