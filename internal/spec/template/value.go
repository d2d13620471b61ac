package template

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// The values of a template are nil, bool, int64, float64, string, and:
type (
	list  struct{ items []any }
	tuple []any
	// dict keeps the order of its keys, as Python does. Its keys are texts.
	dict struct {
		keys   []string
		values map[string]any
	}
	// namespace is what {% set n.x = … %} may write to.
	namespace struct{ dict }
	// undefined is the value of a name that is not there. Whatever uses it fails, but for
	// the tests and filters that ask.
	undefined struct {
		msg, hint string
		blank     bool // prints as nothing: an "a if b" without an else
	}
	// markup is a text that tojson made. Jinja2 takes it for HTML: what is added to it with
	// + is escaped. Here it is a text, but for what would be escaped there: that fails.
	markup string
	// function is what can be called: a macro, a method, a built-in.
	function func(c *call) any
)

func newDict() *dict { return &dict{values: map[string]any{}} }

func (d *dict) set(key string, v any) {
	if _, ok := d.values[key]; !ok {
		d.keys = append(d.keys, key)
	}
	d.values[key] = v
}

// fromGo turns decoded JSON into a template's values. A Go map has no order, so its keys
// are sorted.
func fromGo(v any) any {
	switch v := v.(type) {
	case map[string]any:
		d := newDict()
		for _, k := range slices.Sorted(maps.Keys(v)) {
			d.set(k, fromGo(v[k]))
		}
		return d
	case []any:
		l := &list{items: make([]any, len(v))}
		for i, e := range v {
			l.items[i] = fromGo(e)
		}
		return l
	case int:
		return int64(v)
	}
	return v
}

// unmarked is v, as a plain text if it is markup: for what treats both alike.
func unmarked(v any) any {
	if m, ok := v.(markup); ok {
		return string(m)
	}
	return v
}

// truth is Python's truth of a value.
func truth(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case bool:
		return v
	case int64:
		return v != 0
	case float64:
		return v != 0
	case string:
		return v != ""
	case markup:
		return v != ""
	case *list:
		return len(v.items) > 0
	case tuple:
		return len(v) > 0
	case *dict:
		return len(v.keys) > 0
	}
	return true
}

// typeName names a value's type in an error.
func typeName(v any) string {
	switch v.(type) {
	case nil:
		return "None"
	case bool:
		return "a boolean"
	case int64:
		return "a whole number"
	case float64:
		return "a number"
	case string:
		return "text"
	case markup:
		return "text from tojson"
	case *list:
		return "a list"
	case tuple:
		return "a tuple"
	case *dict:
		return "a mapping"
	case *namespace:
		return "a namespace"
	case undefined:
		return "undefined"
	}
	return "a function"
}

// str is Python's str of a value.
func (r *renderer) str(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case markup:
		return string(v)
	}
	return r.repr(v)
}

// repr is Python's repr of a value.
func (r *renderer) repr(v any) string {
	var b strings.Builder
	r.writeRepr(&b, v, 0)
	return b.String()
}

func (r *renderer) writeRepr(b *strings.Builder, v any, depth int) {
	r.deep(depth)
	if int64(b.Len()) > r.limits.Work { // a few lists in lists can print as more than there is memory
		r.made(nil, b.Len())
	}
	switch v := v.(type) {
	case nil:
		b.WriteString("None")
	case bool:
		if v {
			b.WriteString("True")
		} else {
			b.WriteString("False")
		}
	case int64:
		b.WriteString(strconv.FormatInt(v, 10))
	case float64:
		b.WriteString(floatText(v))
	case string:
		writeQuoted(b, v)
	case markup:
		b.WriteString("Markup(")
		writeQuoted(b, string(v))
		b.WriteByte(')')
	case *list:
		r.writeItems(b, "[", v.items, "]", depth)
	case tuple:
		end := ")"
		if len(v) == 1 {
			end = ",)"
		}
		r.writeItems(b, "(", v, end, depth)
	case *dict:
		b.WriteByte('{')
		for i, k := range v.keys {
			if i > 0 {
				b.WriteString(", ")
			}
			writeQuoted(b, k)
			b.WriteString(": ")
			r.writeRepr(b, v.values[k], depth+1)
		}
		b.WriteByte('}')
	default:
		r.fail(nil, "", "prints %s", typeName(v))
	}
}

func (r *renderer) writeItems(b *strings.Builder, open string, items []any, end string, depth int) {
	b.WriteString(open)
	for i, v := range items {
		if i > 0 {
			b.WriteString(", ")
		}
		r.writeRepr(b, v, depth+1)
	}
	b.WriteString(end)
}

// writeQuoted quotes a text as Python's repr does.
func writeQuoted(b *strings.Builder, s string) {
	quote := '\''
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		quote = '"'
	}
	b.WriteRune(quote)
	for _, r := range s {
		switch {
		case r == quote || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < ' ' || r == 0x7f || r > 0x7f && r <= 0xff && !unicode.IsPrint(r):
			b.WriteString(`\x` + hex(r, 2))
		case r <= 0xffff && !unicode.IsPrint(r):
			b.WriteString(`\u` + hex(r, 4))
		case !unicode.IsPrint(r):
			b.WriteString(`\U` + hex(r, 8))
		default:
			b.WriteRune(r)
		}
	}
	b.WriteRune(quote)
}

func hex(r rune, width int) string {
	s := strconv.FormatInt(int64(r), 16)
	return strings.Repeat("0", max(0, width-len(s))) + s
}

// floatText is Python's repr of a float: the shortest text that reads back as it.
func floatText(f float64) string {
	s := strconv.FormatFloat(f, 'e', -1, 64)
	mantissa, exponent, scientific := strings.Cut(s, "e")
	if !scientific { // NaN, +Inf, -Inf
		return strings.ToLower(strings.TrimPrefix(s, "+"))
	}
	e, err := strconv.Atoi(exponent)
	if err == nil && e >= -4 && e < 16 {
		s = strconv.FormatFloat(f, 'f', -1, 64)
		if !strings.Contains(s, ".") {
			s += ".0"
		}
		return s
	}
	return mantissa + "e" + exponent
}
