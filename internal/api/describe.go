package api

import "github.com/danielgtaylor/huma/v2"

// finish rounds off the description for those who generate clients of it.
func finish(d *huma.OpenAPI) {
	seen := map[string]bool{}
	for _, item := range d.Paths {
		for _, op := range []*huma.Operation{item.Get, item.Post, item.Put, item.Patch, item.Delete} {
			if op == nil {
				continue
			}
			for _, r := range op.Responses {
				for _, m := range r.Content {
					open(d, m.Schema, seen)
				}
			}
		}
	}
}

// open lets a schema of answers have more fields than are known today, so that a client
// made of this description survives the next version. Schemas of requests stay closed: an
// unknown field there is a misspelt one.
func open(d *huma.OpenAPI, s *huma.Schema, seen map[string]bool) {
	if s == nil {
		return
	}
	if s.Ref != "" {
		if seen[s.Ref] {
			return
		}
		seen[s.Ref] = true
		open(d, d.Components.Schemas.SchemaFromRef(s.Ref), seen)
		return
	}
	if closed, ok := s.AdditionalProperties.(bool); ok && !closed {
		s.AdditionalProperties = nil
	}
	open(d, s.Items, seen)
	for _, p := range s.Properties {
		open(d, p, seen)
	}
	if inner, ok := s.AdditionalProperties.(*huma.Schema); ok {
		open(d, inner, seen)
	}
}
