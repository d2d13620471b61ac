package template

import "fmt"

type ifStatement struct {
	conditions []expression
	bodies     [][]node // one more than conditions when there is an else
}

func (n *ifStatement) run(r *renderer, sc *scope, out *writer) {
	for i, c := range n.conditions {
		if truth(r.value(c, sc)) {
			r.nodes(n.bodies[i], sc, out)
			return
		}
	}
	if len(n.bodies) > len(n.conditions) {
		r.nodes(n.bodies[len(n.bodies)-1], sc, out)
	}
}

// setStatement is {% set x = … %}, {% set n.x = … %} or {% set x %}…{% endset %}.
type setStatement struct {
	at        pos
	names     []string // several take an item each
	namespace string   // n, when names holds the x of n.x
	value     expression
	body      []node // when value is nil
}

func (n *setStatement) run(r *renderer, sc *scope, _ *writer) {
	var v any
	if n.value != nil {
		v = r.value(n.value, sc)
	} else {
		v = r.captured(n.at, n.body, newScope(sc))
	}
	if n.namespace == "" {
		r.assign(n.at, sc, n.names, v)
		return
	}
	target, _ := sc.get(n.namespace)
	ns, ok := target.(*namespace)
	if !ok {
		r.fail(n.at, fmt.Sprintf("write {%% set %s = namespace() %%} first", n.namespace),
			"sets %s.%s, but %s is no namespace", n.namespace, n.names[0], n.namespace)
	}
	ns.set(n.names[0], v)
}

// captured renders a body to a text.
func (r *renderer) captured(at expression, body []node, sc *scope) string {
	out := writer{limit: r.limits.Output}
	r.nodes(body, sc, &out)
	r.made(at, out.b.Len())
	return out.b.String()
}

// assign gives names their values: one the whole, several an item each.
func (r *renderer) assign(at expression, sc *scope, names []string, v any) {
	if len(names) == 1 {
		sc.set(names[0], v)
		return
	}
	items := r.iterate(at, v)
	if len(items) != len(names) {
		r.fail(at, "", "has %d names for %d items", len(names), len(items))
	}
	for i, name := range names {
		sc.set(name, items[i])
	}
}

type withStatement struct {
	names  []string
	values []expression
	body   []node
}

func (n *withStatement) run(r *renderer, sc *scope, out *writer) {
	inner := newScope(sc)
	for i, name := range n.names {
		inner.set(name, r.value(n.values[i], sc)) // of the outer scope
	}
	r.nodes(n.body, inner, out)
}

// macroStatement is {% macro name(a, b=1) %}.
type macroStatement struct {
	at       pos
	name     string
	names    []string
	defaults []expression // nil: must be given
	body     []node
}

const maxCalls = 30

// run defines the macro. Its body sees the names of the place where it stands, and not
// those of the place that calls it.
func (n *macroStatement) run(_ *renderer, sc *scope, _ *writer) {
	sc.set(n.name, function(func(c *call) any {
		if c.r.calls++; c.r.calls > maxCalls {
			c.fail("", "the macro %s calls itself without end", n.name)
		}
		defer func() { c.r.calls-- }()
		inner := newScope(sc)
		for i, name := range n.names {
			v, ok := c.arg(i, name)
			switch {
			case ok:
			case n.defaults[i] != nil:
				v = c.r.value(n.defaults[i], inner)
			default:
				v = undefined{msg: "the argument " + name + " of " + n.name + " was not given"}
			}
			inner.set(name, v)
		}
		c.only(len(n.names))
		return c.r.captured(c.at, n.body, inner)
	}))
}
