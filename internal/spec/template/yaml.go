package template

import (
	"math"
	"regexp"
	"strings"
)

// filterToYAML writes a value as YAML in block style, without a last line end, so that
// {{ x | to_yaml | indent(2) }} stands where it should. Text is quoted whenever a reader of
// any YAML version could take it for something else.
func filterToYAML(c *call, v any) any {
	c.only(0)
	var b strings.Builder
	c.writeYAML(&b, v, 0)
	return strings.TrimPrefix(b.String(), "\n")
}

// plainText is what every YAML reader takes for text without quotes.
var plainText = regexp.MustCompile(`^[A-Za-z/][A-Za-z0-9_./-]*$`)

// taken are words that some YAML reader takes for something else.
var taken = regexp.MustCompile(`(?i)^(true|false|yes|no|on|off|y|n|null|nan|inf)$`)

// writeYAML writes v at a depth. A mapping or list with entries starts with a line end.
func (c *call) writeYAML(b *strings.Builder, v any, depth int) {
	c.r.deep(depth)
	if int64(b.Len()) > c.r.limits.Work {
		c.r.made(c.at, b.Len())
	}
	items, isList := v.(*list)
	if t, ok := v.(tuple); ok {
		items, isList = &list{items: t}, true
	}
	d, isDict := v.(*dict)
	switch {
	case isDict && len(d.keys) > 0:
		for _, k := range d.keys {
			newLine(b, depth)
			b.WriteString(yamlText(k) + ":")
			c.writeYAMLValue(b, d.values[k], depth+1)
		}
	case isList && len(items.items) > 0:
		for _, e := range items.items {
			newLine(b, depth)
			b.WriteByte('-')
			c.writeYAMLValue(b, e, depth+1)
		}
	case isDict:
		b.WriteString("{}")
	case isList:
		b.WriteString("[]")
	default:
		switch v := unmarked(v).(type) {
		case string:
			b.WriteString(yamlText(v))
		case float64:
			if math.IsInf(v, 0) || math.IsNaN(v) {
				c.fail("", "to_yaml of a number that is none")
			}
			b.WriteString(floatText(v))
		default:
			c.writeJSON(b, v, jsonStyle{}, 0)
		}
	}
}

// writeYAMLValue writes what stands after a key or a dash.
func (c *call) writeYAMLValue(b *strings.Builder, v any, depth int) {
	block := false
	switch v := v.(type) {
	case *dict:
		block = len(v.keys) > 0
	case *list:
		block = len(v.items) > 0
	case tuple:
		block = len(v) > 0
	}
	if !block {
		b.WriteByte(' ')
	}
	c.writeYAML(b, v, depth)
}

func newLine(b *strings.Builder, depth int) {
	b.WriteString("\n" + strings.Repeat("  ", depth))
}

func yamlText(s string) string {
	if plainText.MatchString(s) && !taken.MatchString(s) {
		return s
	}
	return jsonText(s)
}
