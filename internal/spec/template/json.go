package template

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
)

// jsonStyle says how JSON is written; Jinja2's tojson and our to_json differ.
type jsonStyle struct {
	comma, colon string
	ascii        bool // only ASCII, and none of HTML's characters
}

// filterTojson is Jinja2's: sorted keys, safe inside of HTML.
func filterTojson(c *call, v any) any {
	c.only(0)
	return markup(c.json(v, jsonStyle{comma: ", ", colon: ": ", ascii: true}))
}

// filterToJSON is ours: sorted keys, compact, every character as it is.
func filterToJSON(c *call, v any) any {
	c.only(0)
	return c.json(v, jsonStyle{comma: ",", colon: ":"})
}

func (c *call) json(v any, style jsonStyle) string {
	var b strings.Builder
	c.writeJSON(&b, v, style, 0)
	return b.String()
}

func (c *call) writeJSON(b *strings.Builder, v any, style jsonStyle, depth int) {
	c.r.deep(depth)
	if int64(b.Len()) > c.r.limits.Work {
		c.r.made(c.at, b.Len())
	}
	switch v := unmarked(v).(type) {
	case nil:
		b.WriteString("null")
	case bool:
		b.WriteString(strconv.FormatBool(v))
	case int64:
		b.WriteString(strconv.FormatInt(v, 10))
	case float64:
		if math.IsInf(v, 0) || math.IsNaN(v) {
			c.fail("", "%s of a number that JSON does not have", c.name)
		}
		b.WriteString(floatText(v))
	case string:
		if style.ascii {
			b.WriteString(asciiJSON(v))
		} else {
			b.WriteString(jsonText(v))
		}
	case *list:
		c.writeJSONItems(b, v.items, style, depth)
	case tuple:
		c.writeJSONItems(b, v, style, depth)
	case *dict:
		b.WriteByte('{')
		for i, k := range slices.Sorted(slices.Values(v.keys)) {
			if i > 0 {
				b.WriteString(style.comma)
			}
			c.writeJSON(b, k, style, depth+1)
			b.WriteString(style.colon)
			c.writeJSON(b, v.values[k], style, depth+1)
		}
		b.WriteByte('}')
	default:
		c.fail("", "%s of %s", c.name, typeName(v))
	}
}

func (c *call) writeJSONItems(b *strings.Builder, items []any, style jsonStyle, depth int) {
	b.WriteByte('[')
	for i, e := range items {
		if i > 0 {
			b.WriteString(style.comma)
		}
		c.writeJSON(b, e, style, depth+1)
	}
	b.WriteByte(']')
}

var jsonEscapes = map[rune]string{'"': `\"`, '\\': `\\`, '\n': `\n`, '\r': `\r`, '\t': `\t`, '\b': `\b`, '\f': `\f`}

// jsonText quotes a text for JSON; the result is good in YAML as well.
func jsonText(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		e, ok := jsonEscapes[r]
		switch {
		case ok:
			b.WriteString(e)
		case r < ' ':
			b.WriteString(`\u` + hex(r, 4))
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// asciiJSON quotes a text as Python's json does, and then as Jinja2 does for HTML.
func asciiJSON(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		e, ok := jsonEscapes[r]
		switch {
		case ok:
			b.WriteString(e)
		case strings.ContainsRune("<>&'", r) || r < ' ':
			b.WriteString(`\u` + hex(r, 4))
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			b.WriteString(`\u` + hex(high, 4) + `\u` + hex(low, 4))
		case r > '~':
			b.WriteString(`\u` + hex(r, 4))
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
