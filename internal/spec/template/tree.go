package template

// node is a part of a template: text, an output, a statement.
type node interface {
	run(r *renderer, sc *scope, out *writer)
}

// expression is what has a value. Its place is where an error in it is shown.
type expression interface{ place() int }

type pos int

func (p pos) place() int { return int(p) }

type (
	constant struct {
		pos
		value any
	}
	name struct {
		pos
		name string
	}
	attribute struct { // of.name
		pos
		of   expression
		name string
	}
	subscript struct { // of[key]
		pos
		of, key expression
	}
	slice struct { // of[start:stop:step], each may be nil
		pos
		of, start, stop, step expression
	}
	application struct { // function(…)
		pos
		function expression
		arguments
	}
	filtered struct { // of | name(…)
		pos
		of   expression
		name string
		arguments
	}
	tested struct { // of is name(…)
		pos
		of   expression
		name string
		arguments
	}
	negation struct { // not x
		pos
		x expression
	}
	logic struct { // a and b, a or b
		pos
		and  bool
		a, b expression
	}
	comparison struct { // first < second < …
		pos
		first expression
		rest  []compared
	}
	compared struct {
		op string
		x  expression
	}
	binary struct { // a op b
		pos
		op   string
		a, b expression
	}
	unary struct { // -x, +x
		pos
		negative bool
		x        expression
	}
	conditional struct { // then if test else otherwise; otherwise may be nil
		pos
		test, then, otherwise expression
	}
	listing struct { // [a, b]
		pos
		items []expression
	}
	tupling struct { // (a, b)
		pos
		items []expression
	}
	mapping struct { // {a: b}
		pos
		keys, values []expression
	}
)

// arguments are those of a call, in their order.
type arguments struct {
	args   []expression
	names  []string
	values []expression // of names
}
