package template

import (
	"maps"
	"math"
	"slices"
	"strings"
)

// tests are what may stand after "is". Undefined names have been dealt with before.
var tests = map[string]func(c *call, v any) bool{
	"none":    func(_ *call, v any) bool { return v == nil },
	"string":  func(_ *call, v any) bool { _, ok := v.(string); return ok },
	"boolean": func(_ *call, v any) bool { _, ok := v.(bool); return ok },
	"integer": func(_ *call, v any) bool { _, ok := v.(int64); return ok },
	"float":   func(_ *call, v any) bool { _, ok := v.(float64); return ok },
	"number": func(_ *call, v any) bool {
		switch plainNumber(v).(type) {
		case int64, float64:
			return true
		}
		return false
	},
	"mapping": func(_ *call, v any) bool { _, ok := v.(*dict); return ok },
	"sequence": func(_ *call, v any) bool {
		switch v.(type) {
		case *list, tuple, string, *dict:
			return true
		}
		return false
	},
	"iterable": func(_ *call, v any) bool {
		switch v.(type) {
		case *list, tuple, string, *dict:
			return true
		}
		return false
	},
	"true":  func(_ *call, v any) bool { return v == true },
	"false": func(_ *call, v any) bool { return v == false },
	"odd":   func(c *call, v any) bool { return c.modulo(v, 2) == 1 },
	"even":  func(c *call, v any) bool { return c.modulo(v, 2) == 0 },
	"divisibleby": func(c *call, v any) bool {
		return c.modulo(v, c.whole(0, "num", 0)) == 0
	},
	"lower": func(c *call, v any) bool { s := c.asText(v); return hasCase(s) && s == lower(s) },
	"upper": func(c *call, v any) bool { s := c.asText(v); return hasCase(s) && s == upper(s) },
	"in":    func(c *call, v any) bool { return c.r.contains(c.at, c.need(0, "seq"), v) },
	"eq":    ordered("=="), "equalto": ordered("=="),
	"ne": ordered("!="),
	"lt": ordered("<"), "lessthan": ordered("<"),
	"le": ordered("<="),
	"gt": ordered(">"), "greaterthan": ordered(">"),
	"ge": ordered(">="),
}

// taking lists the tests that have an argument.
var taking = []string{"divisibleby", "in", "eq", "equalto", "ne", "lt", "lessthan", "le", "gt", "greaterthan", "ge"}

func ordered(op string) func(c *call, v any) bool {
	return func(c *call, v any) bool { return c.r.compare(c.at, op, v, c.need(0, "other")) }
}

// modulo is v % by, and -1 when v is a number that is not whole.
func (c *call) modulo(v any, by int64) int64 {
	switch n := plainNumber(v).(type) {
	case int64:
		m, _ := c.r.whole(c.at, "%", n, by).(int64)
		return m
	case float64:
		if n == math.Trunc(n) && math.Abs(n) < 1<<53 {
			m, _ := c.r.whole(c.at, "%", int64(n), by).(int64)
			return m
		}
		return -1
	}
	c.fail("", "asks whether %s is %s", typeName(v), c.name)
	return 0
}

func hasCase(s string) bool { return lower(s) != upper(s) }

// contains is Python's in.
func (r *renderer) contains(at expression, in, v any) bool {
	v = unmarked(v)
	switch in := unmarked(in).(type) {
	case string:
		s, ok := v.(string)
		if !ok {
			r.fail(at, "", "looks for %s in text", typeName(v))
		}
		return strings.Contains(in, s)
	case *list:
		return slices.ContainsFunc(in.items, func(e any) bool { return r.equal(e, v) })
	case tuple:
		return slices.ContainsFunc(in, func(e any) bool { return r.equal(e, v) })
	case *dict:
		switch v.(type) {
		case *list, *dict:
			r.fail(at, "", "looks for %s among the keys of a mapping", typeName(v))
		}
		s, ok := v.(string)
		_, has := in.values[s]
		return ok && has
	}
	r.fail(at, "", "looks for something in %s", typeName(in))
	return false
}

func (r *renderer) tested(x *tested, sc *scope) any {
	v := r.eval(x.of, sc)
	_, missing := v.(undefined)
	switch x.name {
	case "defined":
		return !missing
	case "undefined":
		return missing
	}
	r.defined(x.of, v)
	test, ok := tests[x.name]
	if !ok {
		r.fail(x, nearest(x.name, slices.Sorted(maps.Keys(tests))), "%q is no test that is known", x.name)
	}
	c := r.newCall(x, x.name, x.arguments, sc)
	if !slices.Contains(taking, x.name) {
		c.only(0)
	}
	return test(c, unmarked(v))
}
