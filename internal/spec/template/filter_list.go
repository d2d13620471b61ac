package template

import (
	"slices"
	"strconv"
	"strings"
)

func (c *call) items(v any) []any { return c.r.iterate(c.at, v) }

func (c *call) listOf(items []any) *list {
	c.r.made(c.at, 16*len(items))
	return &list{items: items}
}

// at looks up a dotted attribute of a value: user.name, or 0.
func (c *call) lookup(v any, attribute string) any {
	for part := range strings.SplitSeq(attribute, ".") {
		if part != "" && strings.Trim(part, "0123456789") == "" {
			n, err := strconv.ParseInt(part, 10, 64)
			if err != nil {
				c.fail("", "an item has no %s", attribute)
			}
			v = c.r.index(v, n, attribute)
		} else {
			v = c.r.key(v, part, attribute)
		}
		if u, ok := v.(undefined); ok {
			c.fail(u.hint, "an item has no %s", attribute)
		}
	}
	return v
}

// by returns what a filter sorts or compares by: an attribute, and no case unless asked.
func (c *call) by(attribute any, caseToo bool) func(v any) any {
	return func(v any) any {
		switch a := attribute.(type) {
		case nil:
		case string:
			v = c.lookup(v, a)
		case int64:
			v = c.r.index(v, a, "an item")
		default:
			c.fail("", "%s by %s", c.name, typeName(attribute))
		}
		if s, ok := unmarked(v).(string); ok && !caseToo {
			return lower(s)
		}
		return v
	}
}

// maybe are the items for the filters that take nothing for an empty list.
func (c *call) maybe(v any) []any {
	if !truth(v) {
		return nil
	}
	return c.items(v)
}

func filterJoin(c *call, v any) any {
	sep, _ := c.arg(0, "d")
	attribute, _ := c.arg(1, "attribute")
	c.only(2)
	if sep == nil {
		sep = ""
	}
	var parts []string
	for _, e := range c.items(v) {
		parts = append(parts, c.asText(c.by(attribute, true)(e)))
	}
	return c.join(parts, c.asText(sep))
}

func filterLength(c *call, v any) any {
	c.only(0)
	switch v := v.(type) {
	case *dict:
		return int64(len(v.keys))
	default:
		items, text, ok := sequence(v)
		if !ok {
			c.fail("", "%s of %s", c.name, typeName(v))
		}
		return int64(len(items) + len(text))
	}
}

func filterFirst(c *call, v any) any {
	c.only(0)
	if items := c.items(v); len(items) > 0 {
		return items[0]
	}
	return undefined{msg: "the first of nothing is not defined"}
}

func filterLast(c *call, v any) any {
	c.only(0)
	if items := c.items(v); len(items) > 0 {
		return items[len(items)-1]
	}
	return undefined{msg: "the last of nothing is not defined"}
}

func filterList(c *call, v any) any { c.only(0); return c.listOf(slices.Clone(c.items(v))) }

func filterReverse(c *call, v any) any {
	c.only(0)
	if s, ok := unmarked(v).(string); ok {
		r := []rune(s)
		slices.Reverse(r)
		return string(r)
	}
	out := slices.Clone(c.items(v))
	slices.Reverse(out)
	return c.listOf(out)
}

func (c *call) sorted(items []any, key func(any) any, reverse bool) []any {
	out := slices.Clone(items)
	slices.SortStableFunc(out, func(a, b any) int {
		x, y := key(a), key(b)
		n, ok := c.r.order(x, y)
		if !ok {
			c.fail("", "cannot compare %s with %s", typeName(x), typeName(y))
		}
		if reverse {
			return -n // stable in both directions, as Python's sort is
		}
		return n
	})
	return out
}

func filterSort(c *call, v any) any {
	reverse, caseToo := c.flag(0, "reverse", false), c.flag(1, "case_sensitive", false)
	attribute, _ := c.arg(2, "attribute")
	c.only(3)
	return c.listOf(c.sorted(c.items(v), c.by(attribute, caseToo), reverse))
}

func filterUnique(c *call, v any) any {
	caseToo := c.flag(0, "case_sensitive", false)
	attribute, _ := c.arg(1, "attribute")
	c.only(2)
	key := c.by(attribute, caseToo)
	var out, seen []any
	for _, e := range c.items(v) {
		k := key(e)
		c.r.step(c.at)
		switch k.(type) {
		case *list, *dict:
			c.fail("name an attribute to tell them by", "unique of %s", typeName(k))
		}
		if !slices.ContainsFunc(seen, func(s any) bool { return c.r.equal(s, k) }) {
			seen, out = append(seen, k), append(out, e)
		}
	}
	return c.listOf(out)
}

func extreme(op string) func(c *call, v any) any {
	return func(c *call, v any) any {
		caseToo := c.flag(0, "case_sensitive", false)
		attribute, _ := c.arg(1, "attribute")
		c.only(2)
		items, key := c.items(v), c.by(attribute, caseToo)
		if len(items) == 0 {
			return undefined{msg: "the " + c.name + " of nothing is not defined"}
		}
		best := items[0]
		for _, e := range items[1:] {
			if c.r.compare(c.at, op, key(e), key(best)) {
				best = e
			}
		}
		return best
	}
}

var (
	filterMin = extreme("<")
	filterMax = extreme(">")
)

func filterSum(c *call, v any) any {
	attribute, _ := c.arg(0, "attribute")
	total, given := c.arg(1, "start")
	c.only(2)
	if !given {
		total = int64(0)
	}
	for _, e := range c.items(v) {
		total = c.r.arithmetic(c.at, "+", total, c.by(attribute, true)(e))
	}
	return total
}

func filterDictsort(c *call, v any) any {
	caseToo, by, reverse := c.flag(0, "case_sensitive", false), c.text(1, "by", "key"), c.flag(2, "reverse", false)
	c.only(3)
	d, ok := v.(*dict)
	if !ok {
		c.fail("", "dictsort of %s", typeName(v))
	}
	at := map[string]int64{"key": 0, "value": 1}
	i, ok := at[by]
	if !ok {
		c.fail("", `dictsort by "key" or "value"`)
	}
	return c.listOf(c.sorted(c.r.pairs(c, d).items, c.by(i, caseToo), reverse))
}

func filterItems(c *call, v any) any {
	c.only(0)
	d, ok := v.(*dict)
	if !ok {
		c.fail("", "items of %s", typeName(v))
	}
	return c.r.pairs(c, d)
}

// rest makes the call of the filter or test that map and select were given.
func (c *call) rest(from int) *call {
	n := &call{r: c.r, at: c.at, name: c.name, named: c.named, names: c.names, used: map[string]bool{}}
	n.args = c.args[min(from, len(c.args)):]
	return n
}

func filterMap(c *call, v any) any {
	attribute, byAttribute := c.named["attribute"]
	otherwise, hasDefault := c.named["default"]
	var out []any
	for _, e := range c.maybe(v) {
		c.r.step(c.at)
		if byAttribute {
			c.used["attribute"], c.used["default"] = true, true
			c.only(0)
			out = append(out, c.mapped(e, attribute, otherwise, hasDefault))
			continue
		}
		name := c.text(0, "filter", "")
		inner := c.rest(1)
		inner.name = name
		out = append(out, c.r.filter(c.at, name, inner, e))
	}
	return c.listOf(out)
}

func (c *call) mapped(e, attribute, otherwise any, hasDefault bool) any {
	name, ok := attribute.(string)
	if !ok {
		return c.by(attribute, true)(e)
	}
	if d, isDict := e.(*dict); isDict && hasDefault && !strings.Contains(name, ".") {
		if v, has := d.values[name]; has {
			return v
		}
		return otherwise
	}
	return c.lookup(e, name)
}

// holds applies a test by its name; none means truth.
func (c *call) holds(from int, v any) bool {
	if len(c.args) <= from {
		return truth(v)
	}
	name := c.text(from, "test", "")
	switch name {
	case "defined":
		return true
	case "undefined":
		return false
	case "equalto", "==":
		name = "eq"
	}
	test, ok := tests[name]
	if !ok {
		c.fail("", "%q is no test that is known", name)
	}
	inner := c.rest(from + 1)
	inner.name = name
	return test(inner, v)
}

func choose(want bool) func(c *call, v any) any {
	return func(c *call, v any) any {
		var out []any
		for _, e := range c.maybe(v) {
			c.r.step(c.at)
			if c.holds(0, e) == want {
				out = append(out, e)
			}
		}
		return c.listOf(out)
	}
}

func chooseBy(want bool) func(c *call, v any) any {
	return func(c *call, v any) any {
		attribute := c.text(0, "attribute", "")
		var out []any
		for _, e := range c.maybe(v) {
			c.r.step(c.at)
			if c.holds(1, c.lookup(e, attribute)) == want {
				out = append(out, e)
			}
		}
		return c.listOf(out)
	}
}
