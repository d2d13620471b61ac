package kube

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/api/resource"
)

// part is one part of a path: a field of an object, or an item of a list by its key.
type part struct {
	name string
	item bool
}

// deviation is one field in which two forms of an object differ. nil: it is not there.
type deviation struct {
	path          []part
	applied, live any
}

// differ finds the fields in which two forms of an object differ.
type differ struct {
	// partial leaves out what only the live form has, and takes two ways of writing one
	// quantity for one: the applied form is as the chart wrote it, without defaults.
	partial bool
	out     []deviation
}

// fieldsOf compares two forms of an object, field by field and in order.
func fieldsOf(applied, live map[string]any, partial bool) []deviation {
	d := &differ{partial: partial}
	d.value(nil, applied, live)
	return d.out
}

func (d *differ) differs(path []part, applied, live any) {
	d.out = append(d.out, deviation{slices.Clone(path), applied, live})
}

func (d *differ) value(path []part, applied, live any) {
	switch a := applied.(type) {
	case map[string]any:
		if l, ok := live.(map[string]any); ok || live == nil {
			d.object(path, a, l)
			return
		}
	case []any:
		if l, ok := live.([]any); ok {
			d.list(path, a, l)
			return
		}
	case nil:
		if l, ok := live.(map[string]any); ok && !d.partial {
			d.object(path, nil, l)
			return
		}
		if d.partial {
			return // null in a chart: as the API server likes
		}
	}
	if !d.same(applied, live) {
		d.differs(path, applied, live)
	}
}

func (d *differ) object(path []part, applied, live map[string]any) {
	keys := slices.Collect(maps.Keys(applied))
	if !d.partial {
		for k := range live {
			if _, ok := applied[k]; !ok {
				keys = append(keys, k)
			}
		}
	}
	slices.Sort(keys)
	for _, k := range keys {
		d.value(append(path, part{name: k}), applied[k], live[k])
	}
}

// list compares two lists: by the keys of their items where they have some, as Kubernetes
// merges them, else by their places.
func (d *differ) list(path []part, applied, live []any) {
	for _, by := range listKeys {
		a, okA := keyed(applied, by)
		l, okL := keyed(live, by)
		if !okA || !okL {
			continue
		}
		names := slices.Collect(maps.Keys(a))
		for k := range l {
			if _, ok := a[k]; !ok && !d.partial {
				names = append(names, k)
			}
		}
		slices.Sort(names)
		for _, k := range names {
			item := append(path, part{k, true})
			if a[k] == nil || l[k] == nil {
				d.differs(item, orNil(a[k]), orNil(l[k]))
				continue
			}
			d.object(item, a[k], l[k])
		}
		return
	}
	if len(applied) != len(live) {
		d.differs(path, applied, live)
		return
	}
	for i := range applied {
		d.value(append(path, part{strconv.Itoa(i), true}), applied[i], live[i])
	}
}

func orNil(m map[string]any) any {
	if m == nil {
		return nil
	}
	return m
}

// listKeys are the fields by which Kubernetes knows the items of its lists.
var listKeys = [][]string{{"name"}, {"containerPort", "protocol"}, {"port", "protocol"}, {"mountPath"}, {"key"}, {"type"}, {"topologyKey"}, {"ip"}}

// keyed puts the items of a list under their keys; ok is false when one has none, or two
// have the same.
func keyed(list []any, by []string) (map[string]map[string]any, bool) {
	out := make(map[string]map[string]any, len(list))
	for _, item := range list {
		m, ok := item.(map[string]any)
		if !ok {
			return nil, false
		}
		key := ""
		for i, name := range by {
			v, there := m[name]
			switch {
			case there:
				key += fmt.Sprint(v)
			case name == "protocol":
				key += "TCP"
			default:
				return nil, false
			}
			if i < len(by)-1 {
				key += "/"
			}
		}
		if _, twice := out[key]; twice {
			return nil, false
		}
		out[key] = m
	}
	return out, len(out) > 0
}

// same compares two plain values.
func (d *differ) same(a, b any) bool {
	if reflect.DeepEqual(a, b) || numeral(a) != "" && numeral(a) == numeral(b) {
		return true
	}
	if !d.partial {
		return false
	}
	if b == nil && empty(a) {
		return true // the API server leaves out what is empty
	}
	qa, errA := resource.ParseQuantity(fmt.Sprint(a))
	qb, errB := resource.ParseQuantity(fmt.Sprint(b))
	return errA == nil && errB == nil && qa.Cmp(qb) == 0
}

func numeral(v any) string {
	switch n := v.(type) {
	case int64:
		return strconv.FormatInt(n, 10)
	case float64:
		return strconv.FormatFloat(n, 'f', -1, 64)
	case int:
		return strconv.Itoa(n)
	}
	return ""
}

func empty(v any) bool {
	switch e := v.(type) {
	case nil:
		return true
	case string:
		return e == ""
	case bool:
		return !e
	case []any:
		return len(e) == 0
	case map[string]any:
		return len(e) == 0
	}
	return numeral(v) == "0"
}

// longestValue bounds what is shown of a value.
const longestValue = 160

// shown writes a value for people; "" for one that is not there.
func shown(v any) string {
	var text string
	switch s := v.(type) {
	case nil:
		return ""
	case string:
		text = cmp.Or(s, `""`)
	default:
		raw, err := json.Marshal(v)
		if err != nil {
			return "?"
		}
		text = string(raw)
	}
	if runes := []rune(text); len(runes) > longestValue {
		text = string(runes[:longestValue]) + "…"
	}
	for _, r := range text {
		if r < ' ' || r == 0x7f {
			return strconv.Quote(text)
		}
	}
	return text
}
