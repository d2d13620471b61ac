package template

import (
	"fmt"
	"strings"
)

// value evaluates an expression to something that is there; an undefined name fails.
func (r *renderer) value(x expression, sc *scope) any { return r.defined(x, r.eval(x, sc)) }

func (r *renderer) defined(x expression, v any) any {
	if u, ok := v.(undefined); ok {
		r.fail(x, u.hint, "%s", u.msg)
	}
	return v
}

// eval evaluates an expression, to undefined when it names what is not there.
func (r *renderer) eval(x expression, sc *scope) any {
	r.step(x)
	switch x := x.(type) {
	case *constant:
		return x.value
	case *name:
		if v, ok := sc.get(x.name); ok {
			return v
		}
		return undefined{msg: x.name + " is not defined", hint: nearest(x.name, sc.known())}
	case *attribute:
		return r.attribute(x, sc)
	case *subscript:
		return r.subscript(x, sc)
	case *slice:
		return r.slice(x, sc)
	case *application:
		return r.apply(x, sc)
	case *filtered:
		return r.filtered(x, sc)
	case *tested:
		return r.tested(x, sc)
	case *negation:
		return !truth(r.value(x.x, sc))
	case *logic:
		if v := r.value(x.a, sc); truth(v) != x.and {
			return v
		}
		return r.value(x.b, sc)
	case *comparison:
		return r.comparison(x, sc)
	case *binary:
		if x.op == "~" {
			s := r.printed(x.a, sc) + r.printed(x.b, sc)
			r.made(x, len(s))
			return s
		}
		return r.arithmetic(x, x.op, r.value(x.a, sc), r.value(x.b, sc))
	case *unary:
		return r.unary(x, sc)
	case *conditional:
		switch {
		case truth(r.value(x.test, sc)):
			return r.eval(x.then, sc)
		case x.otherwise != nil:
			return r.eval(x.otherwise, sc)
		}
		return undefined{msg: `is nothing: "… if …" is false and has no else`, blank: true}
	case *listing:
		return &list{items: r.values(x.items, sc)}
	case *tupling:
		return tuple(r.values(x.items, sc))
	case *mapping:
		return r.mapping(x, sc)
	}
	r.fail(x, "", "has an expression that is not known: %T", x)
	return nil
}

func (r *renderer) values(xs []expression, sc *scope) []any {
	out := make([]any, len(xs))
	for i, x := range xs {
		out[i] = r.value(x, sc)
	}
	r.made(nil, 16*len(out))
	return out
}

func (r *renderer) mapping(x *mapping, sc *scope) any {
	d := newDict()
	for i, k := range x.keys {
		key, ok := unmarked(r.value(k, sc)).(string)
		if !ok {
			r.fail(k, "put the key in quotes", "has a mapping with a key that is no text")
		}
		d.set(key, r.value(x.values[i], sc))
	}
	r.made(x, 32*len(x.keys))
	return d
}

func (r *renderer) attribute(x *attribute, sc *scope) any {
	of := r.value(x.of, sc)
	if m, ok := r.method(of, x.name, x); ok {
		return m
	}
	return r.key(of, x.name, path(x))
}

// key looks up a key of a mapping. called is how the author wrote the lookup.
func (r *renderer) key(of any, key, called string) any {
	var d *dict
	switch of := of.(type) {
	case *dict:
		d = of
	case *namespace:
		d = &of.dict
	default:
		return undefined{msg: called + " is not defined: it is asked of " + typeName(of)}
	}
	if v, ok := d.values[key]; ok {
		return v
	}
	return undefined{msg: called + " is not defined", hint: nearest(key, d.keys)}
}

func (r *renderer) subscript(x *subscript, sc *scope) any {
	of := r.value(x.of, sc)
	switch key := plainNumber(unmarked(r.value(x.key, sc))).(type) {
	case string:
		return r.key(of, key, path(x))
	case int64:
		return r.index(of, key, path(x))
	default:
		return undefined{msg: path(x) + " is not defined: " + typeName(key) + " is no key"}
	}
}

func (r *renderer) index(of any, i int64, called string) any {
	items, text, ok := sequence(of)
	if !ok {
		return undefined{msg: called + " is not defined: it is asked of " + typeName(of)}
	}
	length := int64(len(items) + len(text))
	if i < 0 {
		i += length
	}
	if i < 0 || i >= length {
		return undefined{msg: called + " is not defined"}
	}
	if text != nil {
		return like(of, string(text[i]))
	}
	return items[i]
}

// sequence returns the items of a list or tuple, or the characters of a text.
func sequence(v any) (items []any, text []rune, ok bool) {
	switch v := unmarked(v).(type) {
	case *list:
		return v.items, nil, true
	case tuple:
		return v, nil, true
	case string:
		return nil, append([]rune{}, []rune(v)...), true
	}
	return nil, nil, false
}

// path writes a lookup as the author did: parameters.workers.
func path(x expression) string {
	switch x := x.(type) {
	case *name:
		return x.name
	case *attribute:
		return path(x.of) + "." + x.name
	case *subscript:
		if c, ok := x.key.(*constant); ok {
			var b strings.Builder
			if s, text := c.value.(string); text {
				writeQuoted(&b, s)
			} else {
				fmt.Fprint(&b, c.value)
			}
			return path(x.of) + "[" + b.String() + "]"
		}
		return path(x.of) + "[…]"
	}
	return "…"
}

func (r *renderer) slice(x *slice, sc *scope) any {
	of := r.value(x.of, sc)
	items, text, ok := sequence(of)
	if !ok {
		r.fail(x, "", "takes a slice of %s", typeName(of))
	}
	bound := func(x expression) *int64 {
		if x == nil {
			return nil
		}
		switch v := plainNumber(r.value(x, sc)).(type) {
		case nil:
			return nil
		case int64:
			return &v
		}
		r.fail(x, "", "has a slice whose bound is no whole number")
		return nil
	}
	start, stop, step := bound(x.start), bound(x.stop), bound(x.step)
	if step != nil && *step == 0 {
		r.fail(x, "", "has a slice with step 0")
	}
	var chosen []any
	var letters []rune
	for _, i := range sliceIndices(int64(len(items)+len(text)), start, stop, step) {
		if text != nil {
			letters = append(letters, text[i])
		} else {
			chosen = append(chosen, items[i])
		}
	}
	r.made(x, 16*len(chosen)+len(letters))
	switch of.(type) {
	case string, markup:
		return like(of, string(letters))
	case tuple:
		return tuple(chosen)
	}
	return &list{items: chosen}
}

// like makes a text that came of another: of markup, markup.
func like(of any, s string) any {
	if _, ok := of.(markup); ok {
		return markup(s)
	}
	return s
}

// sliceIndices lists the indices of a slice by Python's rules.
func sliceIndices(length int64, start, stop, step *int64) []int64 {
	by := int64(1)
	if step != nil {
		by = min(max(*step, -length-1), length+1) // a longer step ends as soon
	}
	low, high := int64(0), length
	if by < 0 {
		low, high = -1, length-1
	}
	clamp := func(p *int64, otherwise int64) int64 {
		if p == nil {
			return otherwise
		}
		v := *p
		if v < 0 {
			v = max(v, -length-1) + length
		}
		return min(max(v, low), high)
	}
	var out []int64
	if by > 0 {
		for i, end := clamp(start, low), clamp(stop, high); i < end; i += by {
			out = append(out, i)
		}
		return out
	}
	for i, end := clamp(start, high), clamp(stop, low); i > end; i += by {
		out = append(out, i)
	}
	return out
}

func (r *renderer) unary(x *unary, sc *scope) any {
	switch v := plainNumber(r.value(x.x, sc)).(type) {
	case int64:
		if x.negative {
			return r.arithmetic(x, "-", int64(0), v)
		}
		return v
	case float64:
		if x.negative {
			return -v
		}
		return v
	}
	r.fail(x, "", "has a sign before what is no number")
	return nil
}

// plainNumber turns a boolean into the number that Python takes it for.
func plainNumber(v any) any {
	if b, ok := v.(bool); ok {
		return number(b)
	}
	return v
}

func number(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// comparison is a chain: a < b < c means a < b and b < c.
func (r *renderer) comparison(x *comparison, sc *scope) bool {
	left := r.value(x.first, sc)
	for _, c := range x.rest {
		right := r.value(c.x, sc)
		var holds bool
		switch c.op {
		case "in":
			holds = r.contains(x, right, left)
		case "not in":
			holds = !r.contains(x, right, left)
		default:
			holds = r.compare(x, c.op, left, right)
		}
		if !holds {
			return false
		}
		left = right
	}
	return true
}
