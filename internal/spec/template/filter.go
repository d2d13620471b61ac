package template

import (
	"encoding/base64"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// filters are what may stand after |. The ones of Jinja2 do what they do there; to_yaml,
// to_json, b64encode, b64decode and quote are ours.
var filters map[string]func(c *call, v any) any

func init() { // select and map look filters up, which would be a cycle
	filters = map[string]func(c *call, v any) any{
		"default": filterDefault, "d": filterDefault, "abs": filterAbs, "round": filterRound, "int": filterInt, "float": filterFloat, "string": filterString,
		"lower": onText(lower), "upper": onText(upper),
		"capitalize": onText(capitalize), "title": func(c *call, v any) any { return unmarked(onText(titleFilter)(c, v)) },
		"trim": filterTrim, "replace": filterReplace, "indent": filterIndent, "join": filterJoin,
		"length": filterLength, "count": filterLength, "first": filterFirst, "last": filterLast,
		"list": filterList, "reverse": filterReverse, "sort": filterSort, "unique": filterUnique,
		"min": filterMin, "max": filterMax, "sum": filterSum, "dictsort": filterDictsort, "items": filterItems,
		"map": filterMap, "select": choose(true), "reject": choose(false),
		"selectattr": chooseBy(true), "rejectattr": chooseBy(false),
		"tojson": filterTojson, "to_json": filterToJSON, "to_yaml": filterToYAML,
		"b64encode": func(c *call, v any) any {
			c.only(0)
			return base64.StdEncoding.EncodeToString([]byte(c.asText(v)))
		},
		"b64decode": filterB64decode,
		"quote":     func(c *call, v any) any { c.only(0); return jsonText(c.asText(v)) },
	}
}

func (r *renderer) filtered(x *filtered, sc *scope) any {
	v := r.eval(x.of, sc)
	c := r.newCall(x, x.name, x.arguments, sc)
	if x.name != "default" && x.name != "d" { // they alone look at what is not there
		v = r.defined(x.of, v)
	}
	v = r.filter(x, x.name, c, v)
	if s, ok := v.(string); ok {
		r.made(x, len(s))
	}
	return v
}

func (r *renderer) filter(at expression, name string, c *call, v any) any {
	f, ok := filters[name]
	if !ok {
		hint := nearest(name, slices.Sorted(maps.Keys(filters)))
		if hint == "" {
			hint = "there are " + words(filters)
		}
		r.fail(at, hint, "the filter %q is not available", name)
	}
	return f(c, v)
}

// asText is what a filter of texts makes of its value.
func (c *call) asText(v any) string { return c.r.text(v, c.at) }

func onText(f func(string) string) func(c *call, v any) any {
	return func(c *call, v any) any {
		c.only(0)
		return like(v, f(c.asText(v)))
	}
}

// titleFilter is the filter, which knows words by blanks, hyphens and brackets; the method
// knows them by letters.
func titleFilter(s string) string {
	var b strings.Builder
	start := true
	for _, r := range s {
		if start {
			b.WriteString(upper(string(r)))
		} else {
			b.WriteString(lower(string(r)))
		}
		start = unicode.IsSpace(r) || strings.ContainsRune("-({[<", r)
	}
	return b.String()
}

func filterDefault(c *call, v any) any {
	otherwise, given := c.arg(0, "default_value")
	if !given {
		otherwise = ""
	}
	falseToo := c.flag(1, "boolean", false)
	c.only(2)
	if _, missing := v.(undefined); missing || falseToo && !truth(v) {
		return otherwise
	}
	return v
}

func filterAbs(c *call, v any) any {
	c.only(0)
	switch v := plainNumber(v).(type) {
	case int64:
		if v == math.MinInt64 {
			c.fail("", "makes a number that is too large")
		}
		return max(v, -v)
	case float64:
		return math.Abs(v)
	}
	c.fail("", "abs of %s", typeName(v))
	return nil
}

func filterRound(c *call, v any) any {
	digits, method := c.whole(0, "precision", 0), c.text(1, "method", "common")
	c.only(2)
	var f float64
	switch v := plainNumber(v).(type) {
	case int64:
		f = float64(v)
		if method == "common" && digits >= 0 {
			return v // Python's round leaves a whole number whole
		}
	case float64:
		f = v
	default:
		c.fail("", "round of %s", typeName(v))
	}
	if digits < 0 || digits > 15 {
		c.fail("", "round is for 0 to 15 digits")
	}
	scale := math.Pow(10, float64(digits))
	switch method {
	case "common":
		// Through the decimal text, as Python does: halves go to the even side, and
		// 2.675 is a little less than its text says.
		out, err := strconv.ParseFloat(strconv.FormatFloat(f, 'f', int(digits), 64), 64)
		if err != nil {
			c.fail("", "round of %v", f)
		}
		return out
	case "ceil":
		return (math.Ceil(f*scale) + 0) / scale // + 0: Python's ceil is a whole number and has no -0
	case "floor":
		return (math.Floor(f*scale) + 0) / scale
	}
	c.fail("", "round by common, ceil or floor, not %q", method)
	return nil
}

func filterInt(c *call, v any) any {
	otherwise, given := c.arg(0, "default")
	if !given {
		otherwise = int64(0)
	}
	base := c.whole(1, "base", 10)
	c.only(2)
	if base != 10 {
		c.fail("", "int is for base 10")
	}
	switch v := plainNumber(unmarked(v)).(type) {
	case int64:
		return v
	case float64:
		if math.Abs(v) < math.MaxInt64 {
			return int64(v)
		}
	case string:
		s := strings.ReplaceAll(strings.TrimSpace(v), "_", "")
		if n, err := strconv.ParseInt(s, 10, 64); err == nil {
			return n
		}
		if f, err := strconv.ParseFloat(s, 64); err == nil && math.Abs(f) < math.MaxInt64 {
			return int64(f)
		}
	}
	return otherwise
}

func filterFloat(c *call, v any) any {
	otherwise, given := c.arg(0, "default")
	if !given {
		otherwise = 0.0
	}
	c.only(1)
	switch v := plainNumber(unmarked(v)).(type) {
	case int64:
		return float64(v)
	case float64:
		return v
	case string:
		if f, err := strconv.ParseFloat(strings.TrimSpace(v), 64); err == nil {
			return f
		}
	}
	return otherwise
}

func filterString(c *call, v any) any { c.only(0); return like(v, c.asText(v)) }

func filterTrim(c *call, v any) any {
	chars := c.text(0, "chars", pythonBlanks)
	c.only(1)
	return like(v, strings.Trim(c.asText(v), chars))
}

func filterReplace(c *call, v any) any {
	c.need(1, "new")
	old, with, count := c.asText(c.need(0, "old")), c.asText(c.need(1, "new")), c.whole(2, "count", -1)
	c.only(3)
	if _, ok := v.(markup); ok {
		c.fail("replace before tojson", "replaces in text from tojson")
	}
	return c.replace(c.asText(v), old, with, count)
}

func filterIndent(c *call, v any) any {
	width, given := c.arg(0, "width")
	if !given {
		width = int64(4)
	}
	first, blank := c.flag(1, "first", false), c.flag(2, "blank", false)
	c.only(3)
	var by string
	switch w := plainNumber(width).(type) {
	case int64:
		if w < 0 || w > 200 {
			c.fail("", "indent is for 0 to 200 blanks")
		}
		by = strings.Repeat(" ", int(w))
	case string:
		by = w
	default:
		c.fail("", "indent by %s", typeName(width))
	}
	text, ok := unmarked(v).(string)
	if !ok {
		c.fail("write | string | indent", "indents %s", typeName(v))
	}
	s := text + "\n" // Jinja2 does so too, and so keeps a last empty line
	parts := lines(s)
	c.r.made(c.at, len(s)+len(parts)*len(by))
	for i, line := range parts {
		if i == 0 && !first || i > 0 && line == "" && !blank {
			continue
		}
		if i > 0 || first {
			parts[i] = by + line
		}
	}
	return like(v, strings.Join(parts, "\n"))
}

func filterB64decode(c *call, v any) any {
	c.only(0)
	b, err := base64.StdEncoding.DecodeString(strings.TrimSpace(c.asText(v)))
	if err != nil {
		c.fail("", "b64decode of what is no Base64")
	}
	return strings.ToValidUTF8(string(b), "\uFFFD")
}
