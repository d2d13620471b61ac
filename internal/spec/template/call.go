package template

import "fmt"

// call is one call of a function, method, filter or test, with its arguments.
type call struct {
	r     *renderer
	at    expression
	name  string
	args  []any
	names []string // of named, in their order
	named map[string]any
	used  map[string]bool
}

func (c *call) fail(hint, msg string, args ...any) { c.r.fail(c.at, hint, msg, args...) }

func (r *renderer) newCall(at expression, name string, a arguments, sc *scope) *call {
	c := &call{r: r, at: at, name: name, args: r.values(a.args, sc), names: a.names, named: map[string]any{}, used: map[string]bool{}}
	for i, k := range a.names {
		c.named[k] = r.value(a.values[i], sc)
	}
	return c
}

// arg returns the argument at a place, or the one of that name. There is none when ok is
// false.
func (c *call) arg(i int, name string) (v any, ok bool) {
	c.used[name] = true
	if i < len(c.args) {
		if _, twice := c.named[name]; twice {
			c.fail("", "%s gets %s twice", c.name, name)
		}
		return c.args[i], true
	}
	v, ok = c.named[name]
	return v, ok
}

// only refuses arguments beyond those that were asked for.
func (c *call) only(most int) {
	if len(c.args) > most {
		c.fail("", "%s takes at most %s", c.name, plural(most, "argument"))
	}
	for _, name := range c.names {
		if !c.used[name] {
			c.fail("", "%s takes no argument named %s", c.name, name)
		}
	}
}

func plural(n int, noun string) string {
	switch n {
	case 0:
		return "no " + noun + "s"
	case 1:
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func (c *call) need(i int, name string) any {
	v, ok := c.arg(i, name)
	if !ok {
		c.fail("", "%s needs an argument: %s", c.name, name)
	}
	return v
}

func (c *call) text(i int, name, otherwise string) string {
	v, ok := c.arg(i, name)
	if !ok {
		return otherwise
	}
	s, ok := unmarked(v).(string)
	if !ok {
		c.fail("", "%s needs text as %s, not %s", c.name, name, typeName(v))
	}
	return s
}

func (c *call) flag(i int, name string, otherwise bool) bool {
	v, ok := c.arg(i, name)
	if !ok {
		return otherwise
	}
	return truth(v)
}

func (c *call) whole(i int, name string, otherwise int64) int64 {
	v, ok := c.arg(i, name)
	if !ok {
		return otherwise
	}
	n, ok := plainNumber(v).(int64)
	if !ok {
		c.fail("", "%s needs a whole number as %s, not %s", c.name, name, typeName(v))
	}
	return n
}

// wholes returns all arguments as whole numbers.
func (c *call) wholes() []int64 {
	c.only(len(c.args))
	out := make([]int64, len(c.args))
	for i := range c.args {
		out[i] = c.whole(i, fmt.Sprint(i+1), 0)
	}
	return out
}

func (r *renderer) apply(x *application, sc *scope) any {
	f := r.value(x.function, sc)
	fn, ok := f.(function)
	if !ok {
		r.fail(x, "", "calls %s, which is %s", path(x.function), typeName(f))
	}
	return fn(r.newCall(x, path(x.function), x.arguments, sc))
}
