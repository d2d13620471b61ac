package kube

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// managed is which fields of an object one program wrote last, as the API server keeps it:
// a tree of f:name for fields and k:{…} for the items of lists.
type managed struct {
	manager string
	at      string // sorts by time
	tree    map[string]any
}

// writers lists the programs other than ours that wrote the object, the newest first.
// Controllers write what is theirs, such as a status.
func writers(u *unstructured.Unstructured) []managed {
	var out []managed
	for _, f := range u.GetManagedFields() {
		if f.Manager == fieldManager || f.Subresource == "status" || strings.HasPrefix(f.Manager, "kube-controller") {
			continue
		}
		out = append(out, ofEntry(f))
	}
	slices.SortStableFunc(out, func(a, b managed) int { return strings.Compare(b.at, a.at) })
	return out
}

func ofEntry(f metav1.ManagedFieldsEntry) managed {
	m := managed{manager: f.Manager, tree: map[string]any{}}
	if f.Time != nil {
		m.at = f.Time.UTC().Format("2006-01-02T15:04:05")
	}
	if f.FieldsV1 != nil {
		// A tree that cannot be read is one of no fields: it only says who, and not what.
		_ = json.Unmarshal(f.FieldsV1.GetRawBytes(), &m.tree)
	}
	return m
}

// writerOf names the program that wrote a field, or the newest writer of the object when
// nobody is known for the field, as of one that was removed; "" when there is none.
func writerOf(who []managed, path []part) string {
	for _, m := range who {
		if m.has(path) {
			return m.manager
		}
	}
	if len(who) > 0 {
		return who[0].manager
	}
	return ""
}

func (m managed) has(path []part) bool {
	at := m.tree
	for _, p := range path {
		next, _ := step(at, p)
		if next == nil {
			return false
		}
		at = next
	}
	return true
}

// step goes one part down the tree.
func step(tree map[string]any, p part) (map[string]any, bool) {
	if !p.item {
		next, ok := tree["f:"+p.name].(map[string]any)
		return next, ok
	}
	for k, v := range tree {
		if name, ok := itemName(k); ok && name == p.name {
			next, ok := v.(map[string]any)
			return next, ok
		}
	}
	return nil, false
}

// itemName is the name by which our paths know the item of a list: the values of its key.
func itemName(key string) (string, bool) {
	raw, ok := strings.CutPrefix(key, "k:")
	var by map[string]any
	if !ok || json.Unmarshal([]byte(raw), &by) != nil {
		return "", false
	}
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(by)) {
		if text := numeral(by[k]); text != "" {
			parts = append(parts, text)
		} else if text, ok := by[k].(string); ok {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, "/"), len(parts) > 0
}

// byHand reports whether the program is a person at a command line. What controllers and
// webhooks add beside what was applied is theirs; what a person adds by an edit is drift.
// A restart is a wish, and changes nothing that was applied.
func byHand(manager string) bool {
	return strings.HasPrefix(manager, "kubectl") && manager != "kubectl-rollout"
}

// added are the fields that people wrote by hand beyond what was applied: in what the
// object would be if it were applied again, they still are theirs. Labels and annotations
// of the object itself are anybody's to add.
func added(would *unstructured.Unstructured) []deviation {
	var out []deviation
	for _, m := range writers(would) {
		if !byHand(m.manager) {
			continue
		}
		for _, path := range m.leaves() {
			if path[0].name == "metadata" || path[0].name == "status" {
				continue
			}
			if v, ok := valueAt(would.Object, path); ok {
				out = append(out, deviation{path: path, live: v})
			}
		}
	}
	return out
}

// leaves are the paths to the outermost things that the program added as a whole, in
// order: an item of a list rather than each of its fields.
func (m managed) leaves() [][]part {
	var out [][]part
	var walk func(tree map[string]any, path []part)
	walk = func(tree map[string]any, path []part) {
		if _, whole := tree["."]; len(path) > 0 && (len(tree) == 0 || whole && path[len(path)-1].item) {
			out = append(out, slices.Clone(path))
			return
		}
		for _, k := range slices.Sorted(maps.Keys(tree)) {
			next, _ := tree[k].(map[string]any)
			if name, ok := strings.CutPrefix(k, "f:"); ok {
				walk(next, append(path, part{name: name}))
			} else if name, ok := itemName(k); ok {
				walk(next, append(path, part{name, true}))
			}
		}
	}
	walk(m.tree, nil)
	return out
}

// valueAt finds what stands at a path.
func valueAt(doc any, path []part) (any, bool) {
	for _, p := range path {
		if !p.item {
			m, ok := doc.(map[string]any)
			if !ok {
				return nil, false
			}
			if doc, ok = m[p.name]; !ok {
				return nil, false
			}
			continue
		}
		list, _ := doc.([]any)
		i := placeOf(list, p.name)
		if i < 0 {
			return nil, false
		}
		doc = list[i]
	}
	return doc, true
}

// placeOf finds the item of a list that is known by a name; -1 when there is none.
func placeOf(list []any, name string) int {
	for _, by := range listKeys {
		items, ok := keyed(list, by)
		if !ok || items[name] == nil {
			continue
		}
		return slices.IndexFunc(list, func(item any) bool {
			one, _ := keyed([]any{item}, by)
			return one[name] != nil
		})
	}
	return -1
}

// removeAt takes away what stands at a path, and reports whether it was there.
func removeAt(doc map[string]any, path []part) bool {
	parent, ok := valueAt(doc, path[:len(path)-1])
	if !ok {
		return false
	}
	last := path[len(path)-1]
	if !last.item {
		m, ok := parent.(map[string]any)
		if _, there := m[last.name]; !ok || !there {
			return false
		}
		delete(m, last.name)
		return true
	}
	list, _ := parent.([]any)
	i := placeOf(list, last.name)
	if i < 0 {
		return false
	}
	rest := slices.Delete(slices.Clone(list), i, i+1)
	above := path[:len(path)-1]
	grand, _ := valueAt(doc, above[:len(above)-1])
	if m, ok := grand.(map[string]any); ok && !above[len(above)-1].item {
		m[above[len(above)-1].name] = rest
		return true
	}
	return false
}
