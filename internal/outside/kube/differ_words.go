package kube

import (
	"slices"
	"strings"
)

// pathWords says where a field is as people speak of it, and the name by which its value
// may be known for a secret.
func pathWords(path []part) (words, name string) {
	for _, w := range []struct {
		pattern string
		words   func(found []string) string
		name    int // of what was found; -1: none
	}{
		{"spec.replicas", func([]string) string { return "replicas" }, -1},
		{"spec.suspend", func([]string) string { return "suspended" }, -1},
		{"metadata.labels.*", func(f []string) string { return "label " + f[0] }, 0},
		{"metadata.annotations.*", func(f []string) string { return "annotation " + f[0] }, 0},
		{"data.*", func(f []string) string { return "key " + f[0] }, 0},
		{"stringData.*", func(f []string) string { return "key " + f[0] }, 0},
		{"binaryData.*", func(f []string) string { return "key " + f[0] }, 0},
		{"**.template.metadata.labels.*", func(f []string) string { return "label " + f[0] + " of the pods" }, 0},
		{"**.template.metadata.annotations.*", func(f []string) string { return "annotation " + f[0] + " of the pods" }, 0},
		{"**.template.spec.containers.*.image", func(f []string) string { return "image of container " + f[0] }, -1},
		{"**.template.spec.initContainers.*.image", func(f []string) string { return "image of init container " + f[0] }, -1},
		{"**.template.spec.containers.*.env.*", func(f []string) string { return "variable " + f[1] + " of container " + f[0] }, 1},
		{"**.template.spec.containers.*.env.*.value", func(f []string) string { return "variable " + f[1] + " of container " + f[0] }, 1},
		{"**.template.spec.containers.*.env.*.valueFrom.**", func(f []string) string { return "source of variable " + f[1] + " of container " + f[0] }, -1},
		{"**.template.spec.initContainers.*.env.*.value", func(f []string) string { return "variable " + f[1] + " of init container " + f[0] }, 1},
	} {
		if found, ok := matchPath(strings.Split(w.pattern, "."), path); ok {
			if w.name >= 0 {
				name = found[w.name]
			}
			return w.words(found), name
		}
	}
	var b strings.Builder
	for i, p := range path {
		switch {
		case p.item:
			b.WriteString("[" + p.name + "]")
		case strings.ContainsAny(p.name, "./"):
			b.WriteString("[" + p.name + "]")
		default:
			if i > 0 {
				b.WriteByte('.')
			}
			b.WriteString(p.name)
		}
	}
	if len(path) > 0 {
		name = path[len(path)-1].name
	}
	return b.String(), name
}

// matchPath matches a path against a pattern: * is any one part and is returned, ** at
// either end is any number of them.
func matchPath(pattern []string, path []part) (found []string, ok bool) {
	if pattern[0] == "**" {
		for i := range path {
			if found, ok := matchPath(pattern[1:], path[i:]); ok {
				return found, true
			}
		}
		return nil, false
	}
	for i, want := range pattern {
		if want == "**" {
			return found, true
		}
		if i >= len(path) {
			return nil, false
		}
		switch {
		case want == "*":
			found = append(found, path[i].name)
		case want != path[i].name:
			return nil, false
		}
	}
	return found, len(path) == len(pattern)
}

// secretPath reports whether a field of a Secret holds what nobody may see.
func secretPath(path []part) bool {
	return len(path) > 0 && slices.Contains([]string{"data", "stringData"}, path[0].name)
}
