package template

type forStatement struct {
	at        pos
	names     []string
	over      expression
	condition expression
	body      []node
	otherwise []node
}

// iterate returns what a loop goes over.
func (r *renderer) iterate(at expression, v any) []any {
	switch v := unmarked(v).(type) {
	case *list:
		return v.items
	case tuple:
		return v
	case string:
		r.made(at, 16*len(v))
		out := make([]any, 0, len(v))
		for _, c := range v {
			out = append(out, string(c))
		}
		return out
	case *dict:
		out := make([]any, len(v.keys))
		for i, k := range v.keys {
			out[i] = k
		}
		r.made(at, 16*len(out))
		return out
	}
	r.fail(at, "", "goes over %s, which has no items", typeName(v))
	return nil
}

func (n *forStatement) run(r *renderer, sc *scope, out *writer) {
	items := r.iterate(n.at, r.value(n.over, sc))
	if n.condition != nil {
		var kept []any
		for _, v := range items {
			r.step(n.at)
			inner := newScope(sc)
			r.assign(n.at, inner, n.names, v)
			if truth(r.value(n.condition, inner)) {
				kept = append(kept, v)
			}
		}
		items = kept
	}
	if len(items) == 0 {
		r.nodes(n.otherwise, newScope(sc), out)
		return
	}
	for i, v := range items {
		r.step(n.at)
		inner := newScope(sc)
		inner.set("loop", loopInfo(items, i))
		r.assign(n.at, inner, n.names, v)
		r.nodes(n.body, inner, out)
	}
}

// loopInfo is the variable loop of one round.
func loopInfo(items []any, i int) *dict {
	at, length := int64(i), int64(len(items))
	d := newDict()
	d.set("index", at+1)
	d.set("index0", at)
	d.set("revindex", length-at)
	d.set("revindex0", length-at-1)
	d.set("first", i == 0)
	d.set("last", i == len(items)-1)
	d.set("length", length)
	d.set("depth", int64(1)) // it counts recursive loops, and there are none
	d.set("depth0", int64(0))
	if i > 0 {
		d.set("previtem", items[i-1])
	}
	if i < len(items)-1 {
		d.set("nextitem", items[i+1])
	}
	d.set("cycle", function(func(c *call) any {
		if len(c.args) == 0 {
			c.fail("", "loop.cycle needs values")
		}
		return c.args[i%len(c.args)]
	}))
	return d
}

// maxRange is the longest range, so that a slip of a digit is an error and not a wait.
const maxRange = 10_000

// functions are what a template can call beside its own macros.
var functions = map[string]function{
	"range": func(c *call) any {
		start, step := int64(0), int64(1)
		var stop int64
		switch n := c.wholes(); len(n) {
		case 1:
			stop = n[0]
		case 2:
			start, stop = n[0], n[1]
		case 3:
			start, stop, step = n[0], n[1], n[2]
		default:
			c.fail("", "range needs one to three whole numbers")
		}
		if step == 0 {
			c.fail("", "range has step 0")
		}
		l := &list{}
		for i := start; step > 0 && i < stop || step < 0 && i > stop; i += step {
			if len(l.items) == maxRange {
				c.fail("", "range has more than %d numbers", maxRange)
			}
			l.items = append(l.items, i)
		}
		c.r.made(c.at, 16*len(l.items))
		return l
	},
	"dict": func(c *call) any {
		d := newDict()
		if len(c.args) > 0 {
			c.fail("write dict(a=1) or {'a': 1}", "dict takes named values only")
		}
		for _, name := range c.names {
			d.set(name, c.named[name])
		}
		return d
	},
	"namespace": func(c *call) any {
		ns := &namespace{*newDict()}
		if len(c.args) > 0 {
			c.fail("write namespace(a=1)", "namespace takes named values only")
		}
		for _, name := range c.names {
			ns.set(name, c.named[name])
		}
		return ns
	},
}
