package template

import (
	"maps"
	"slices"
	"strings"
	"unicode"
)

// method returns a bound method. A method wins over a mapping's key of the same name, as
// in Jinja2: d.items is the method, d['items'] the key.
func (r *renderer) method(of any, name string, at expression) (function, bool) {
	switch of := of.(type) {
	case string:
		if m, ok := textMethods[name]; ok {
			return func(c *call) any { return m(c, of) }, true
		}
		if slices.Contains(pythonText, name) {
			r.fail(at, "there are "+words(textMethods), "the method %s of text is not available", name)
		}
	case markup:
		if textMethods[name] != nil || slices.Contains(pythonText, name) {
			r.fail(at, "use a filter", "the method %s of text from tojson is not available", name)
		}
	case *dict:
		if m, ok := dictMethods[name]; ok {
			return func(c *call) any { return m(c, of) }, true
		}
		if slices.Contains(pythonDict, name) {
			r.fail(at, "there are "+words(dictMethods)+"; write ['"+name+"'] for a key of that name", "the method %s of a mapping is not available", name)
		}
	case *list:
		if m, ok := listMethods[name]; ok {
			return func(c *call) any { return m(c, of) }, true
		}
		if slices.Contains(pythonList, name) {
			r.fail(at, "there are "+words(listMethods), "the method %s of a list is not available", name)
		}
	}
	return nil, false
}

func words[V any](m map[string]V) string {
	return strings.Join(slices.Sorted(maps.Keys(m)), ", ")
}

// What Python has and we do not, so that it is not taken for a missing key.
var (
	pythonDict = []string{"clear", "copy", "fromkeys", "pop", "popitem", "setdefault", "update"}
	pythonList = []string{"clear", "copy", "extend", "insert", "pop", "remove", "reverse", "sort"}
	pythonText = []string{
		"casefold", "center", "encode", "expandtabs", "format", "format_map", "index", "isalnum", "isalpha", "isascii",
		"isdecimal", "isidentifier", "isnumeric", "isprintable", "isspace", "istitle", "ljust", "maketrans", "partition",
		"rfind", "rindex", "rjust", "rpartition", "swapcase", "translate",
	}
)

var dictMethods = map[string]func(c *call, d *dict) any{
	"items": func(c *call, d *dict) any {
		c.only(0)
		return c.r.pairs(c, d)
	},
	"keys": func(c *call, d *dict) any {
		c.only(0)
		return &list{items: c.r.iterate(c.at, d)}
	},
	"values": func(c *call, d *dict) any {
		c.only(0)
		l := &list{}
		for _, k := range d.keys {
			l.items = append(l.items, d.values[k])
		}
		return l
	},
	"get": func(c *call, d *dict) any {
		key := c.need(0, "key")
		otherwise, _ := c.arg(1, "default")
		c.only(2)
		if s, ok := key.(string); ok {
			if v, has := d.values[s]; has {
				return v
			}
		}
		return otherwise
	},
}

func (r *renderer) pairs(c *call, d *dict) *list {
	l := &list{}
	for _, k := range d.keys {
		l.items = append(l.items, tuple{k, d.values[k]})
	}
	r.made(c.at, 48*len(l.items))
	return l
}

var listMethods = map[string]func(c *call, l *list) any{
	"append": func(c *call, l *list) any {
		v := c.need(0, "item")
		c.only(1)
		if c.r.reaches(v, l) {
			c.fail("", "puts a list into itself")
		}
		c.r.made(c.at, 16)
		l.items = append(l.items, v)
		return nil
	},
	"count": func(c *call, l *list) any {
		v, n := c.need(0, "item"), int64(0)
		c.only(1)
		for _, e := range l.items {
			n += number(c.r.equal(e, v))
		}
		return n
	},
	"index": func(c *call, l *list) any {
		v := c.need(0, "item")
		c.only(1)
		i := slices.IndexFunc(l.items, func(e any) bool { return c.r.equal(e, v) })
		if i < 0 {
			c.fail("", "the list has no such item")
		}
		return int64(i)
	},
}

// reaches says whether a value holds a list, which must not become a part of itself.
func (r *renderer) reaches(v any, l *list) bool {
	seen := map[any]bool{}
	for todo := []any{v}; len(todo) > 0; {
		r.step(nil)
		v, todo = todo[len(todo)-1], todo[:len(todo)-1]
		switch v := v.(type) {
		case *list:
			if v == l {
				return true
			}
			if !seen[v] {
				seen[v] = true
				todo = append(todo, v.items...)
			}
		case *dict:
			if !seen[v] {
				seen[v] = true
				for _, e := range v.values {
					todo = append(todo, e)
				}
			}
		case tuple:
			todo = append(todo, v...)
		}
	}
	return false
}

var textMethods = map[string]func(c *call, s string) any{
	"upper":      func(c *call, s string) any { c.only(0); return upper(s) },
	"lower":      func(c *call, s string) any { c.only(0); return lower(s) },
	"capitalize": func(c *call, s string) any { c.only(0); return capitalize(s) },
	"title":      func(c *call, s string) any { c.only(0); return titleText(s) },
	"isdigit": func(c *call, s string) any {
		c.only(0)
		return s != "" && strings.IndexFunc(s, func(r rune) bool { return !unicode.IsDigit(r) }) < 0
	},
	"isupper": func(c *call, s string) any { c.only(0); return hasCase(s) && s == upper(s) },
	"islower": func(c *call, s string) any { c.only(0); return hasCase(s) && s == lower(s) },
	"strip":   func(c *call, s string) any { return strings.Trim(s, c.blanks()) },
	"lstrip":  func(c *call, s string) any { return strings.TrimLeft(s, c.blanks()) },
	"rstrip":  func(c *call, s string) any { return strings.TrimRight(s, c.blanks()) },
	"startswith": func(c *call, s string) any {
		return slices.ContainsFunc(c.alternatives(), func(p string) bool { return strings.HasPrefix(s, p) })
	},
	"endswith": func(c *call, s string) any {
		return slices.ContainsFunc(c.alternatives(), func(p string) bool { return strings.HasSuffix(s, p) })
	},
	"removeprefix": func(c *call, s string) any { return strings.TrimPrefix(s, c.one("prefix")) },
	"removesuffix": func(c *call, s string) any { return strings.TrimSuffix(s, c.one("suffix")) },
	"find": func(c *call, s string) any {
		i := strings.Index(s, c.one("sub"))
		if i < 0 {
			return int64(-1)
		}
		return int64(len([]rune(s[:i])))
	},
	"count": func(c *call, s string) any { return int64(strings.Count(s, c.one("sub"))) },
	"replace": func(c *call, s string) any {
		old, with, count := c.text(0, "old", ""), c.text(1, "new", ""), c.whole(2, "count", -1)
		c.need(1, "new")
		c.only(3)
		return c.replace(s, old, with, count)
	},
	"split": splitText,
	"rsplit": func(c *call, s string) any {
		sep, most := c.text(0, "sep", ""), c.whole(1, "maxsplit", -1)
		c.only(2)
		if sep == "" {
			c.fail("", "rsplit needs a text as its separator")
		}
		parts := strings.Split(s, sep)
		c.r.made(c.at, 16*len(parts))
		if n := len(parts) - int(most); most >= 0 && n > 1 {
			parts = append([]string{strings.Join(parts[:n], sep)}, parts[n:]...)
		}
		return textList(parts)
	},
	"splitlines": func(c *call, s string) any { c.only(0); return textList(lines(s)) },
	"join": func(c *call, s string) any {
		v := c.need(0, "iterable")
		c.only(1)
		var parts []string
		for _, e := range c.r.iterate(c.at, v) {
			part, ok := e.(string)
			if !ok {
				c.fail("use the filter join, which takes everything", "joins %s", typeName(e))
			}
			parts = append(parts, part)
		}
		return c.join(parts, s)
	},
	"zfill": func(c *call, s string) any {
		width := c.whole(0, "width", 0)
		c.only(1)
		if width > 1000 {
			c.fail("", "zfill is for at most 1000 characters")
		}
		sign := ""
		if strings.HasPrefix(s, "-") || strings.HasPrefix(s, "+") {
			sign, s = s[:1], s[1:]
		}
		return sign + strings.Repeat("0", max(0, int(width)-len([]rune(s))-len(sign))) + s
	},
}

// pythonBlanks is what strip removes when it is not told.
const pythonBlanks = " \t\n\r\v\f\x1c\x1d\x1e\x1f\u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"

func (c *call) blanks() string {
	chars := c.text(0, "chars", pythonBlanks)
	c.only(1)
	return chars
}

func (c *call) one(name string) string {
	c.need(0, name)
	s := c.text(0, name, "")
	c.only(1)
	return s
}

// alternatives are the one text or the tuple of texts that startswith takes.
func (c *call) alternatives() []string {
	v := c.need(0, "prefix")
	c.only(1)
	switch v := v.(type) {
	case string:
		return []string{v}
	case tuple:
		var out []string
		for _, e := range v {
			s, ok := e.(string)
			if !ok {
				c.fail("", "%s needs text", c.name)
			}
			out = append(out, s)
		}
		return out
	}
	c.fail("", "%s needs text", c.name)
	return nil
}

func splitText(c *call, s string) any {
	sep, given := c.arg(0, "sep")
	most := c.whole(1, "maxsplit", -1)
	c.only(2)
	if most >= 0 {
		most++
	}
	if !given || sep == nil {
		if most >= 0 {
			c.fail("name the separator", "split needs a separator beside a count")
		}
		return textList(strings.Fields(s))
	}
	text, ok := sep.(string)
	if !ok || text == "" {
		c.fail("", "split needs a text as its separator")
	}
	c.r.made(c.at, 16*strings.Count(s, text))
	return textList(strings.SplitN(s, text, int(most)))
}

func textList(parts []string) *list {
	l := &list{items: make([]any, len(parts))}
	for i, p := range parts {
		l.items[i] = p
	}
	return l
}

func lines(s string) []string {
	s = strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
	if s == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(s, "\n"), "\n")
}

func (c *call) replace(s, old, with string, count int64) string {
	n := int64(strings.Count(s, old))
	if count >= 0 {
		n = min(n, count)
	}
	c.r.made(c.at, len(s)+int(n)*len(with))
	return strings.Replace(s, old, with, int(max(count, -1)))
}

func (c *call) join(parts []string, sep string) string {
	size := len(sep) * len(parts)
	for _, p := range parts {
		size += len(p)
	}
	c.r.made(c.at, size)
	return strings.Join(parts, sep)
}

func capitalize(s string) string {
	for i, r := range s {
		_ = r
		if i > 0 {
			return upper(s[:i]) + lower(s[i:])
		}
	}
	return upper(s)
}

// titleText makes the first letter of each run of letters upper case.
func titleText(s string) string {
	var b strings.Builder
	before := false
	for _, r := range s {
		cased := unicode.IsUpper(r) || unicode.IsLower(r) || unicode.IsTitle(r)
		switch {
		case cased && before:
			b.WriteRune(unicode.ToLower(r))
		case cased:
			b.WriteRune(unicode.ToTitle(r))
		default:
			b.WriteRune(r)
		}
		before = cased
	}
	return b.String()
}
