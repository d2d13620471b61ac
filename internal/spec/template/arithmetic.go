package template

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"strings"
)

// arithmetic applies an operator by Python's rules.
func (r *renderer) arithmetic(at expression, op string, a, b any) any {
	for _, v := range []any{a, b} {
		if _, ok := v.(markup); ok {
			r.fail(at, "join text with ~", "does %s with text from tojson", op)
		}
	}
	switch op {
	case "+":
		if v, ok := r.concat(at, a, b); ok {
			return v
		}
	case "*":
		if v, ok := r.repeat(at, a, b); ok {
			return v
		}
		if v, ok := r.repeat(at, b, a); ok {
			return v
		}
	}
	switch x := plainNumber(a).(type) {
	case int64:
		switch y := plainNumber(b).(type) {
		case int64:
			return r.whole(at, op, x, y)
		case float64:
			return r.float(at, op, float64(x), y)
		}
	case float64:
		switch y := plainNumber(b).(type) {
		case int64:
			return r.float(at, op, x, float64(y))
		case float64:
			return r.float(at, op, x, y)
		}
	}
	hint := ""
	if _, text := a.(string); text && op == "+" {
		hint = "join text with ~"
	}
	r.fail(at, hint, "cannot do %s %s %s", typeName(a), op, typeName(b))
	return nil
}

func (r *renderer) concat(at expression, a, b any) (any, bool) {
	switch a := a.(type) {
	case string:
		if b, ok := b.(string); ok {
			r.made(at, len(a)+len(b))
			return a + b, true
		}
	case *list:
		if b, ok := b.(*list); ok {
			r.made(at, 16*(len(a.items)+len(b.items)))
			return &list{items: slices.Concat(a.items, b.items)}, true
		}
	case tuple:
		if b, ok := b.(tuple); ok {
			r.made(at, 16*(len(a)+len(b)))
			return slices.Concat(a, b), true
		}
	}
	return nil, false
}

func (r *renderer) repeat(at expression, what, times any) (any, bool) {
	n, ok := plainNumber(times).(int64)
	if !ok {
		return nil, false
	}
	n = max(n, 0)
	items, _, _ := sequence(what)
	size := int64(16 * len(items))
	if s, text := what.(string); text {
		size = int64(len(s))
	}
	if size > 0 && n > r.limits.Work/size {
		r.made(at, int(r.limits.Work)+1)
	}
	r.made(at, int(size*n))
	switch what := what.(type) {
	case string:
		if what == "" {
			return "", true
		}
		return strings.Repeat(what, int(n)), true
	case *list:
		return &list{items: repeated(what.items, n)}, true
	case tuple:
		return tuple(repeated(what, n)), true
	}
	return nil, false
}

func repeated(items []any, n int64) []any {
	if len(items) == 0 {
		return nil
	}
	return slices.Repeat(items, int(n))
}

// whole is arithmetic on whole numbers. Python's have no bound; ours end with an error.
func (r *renderer) whole(at expression, op string, a, b int64) any {
	overflow := func() { r.fail(at, "", "makes a number that is too large") }
	switch op {
	case "+":
		if s := a + b; (s > a) == (b > 0) {
			return s
		}
		overflow()
	case "-":
		if s := a - b; (s < a) == (b > 0) {
			return s
		}
		overflow()
	case "*":
		return r.product(at, a, b)
	case "**":
		if b < 0 {
			return r.float(at, op, float64(a), float64(b)) // which refuses it
		}
		return r.power(at, a, b)
	}
	if b == 0 {
		r.fail(at, "", "divides by zero")
	}
	switch op {
	case "/":
		return float64(a) / float64(b)
	case "//":
		q := a / b
		if a%b != 0 && (a < 0) != (b < 0) {
			q--
		}
		return q
	case "%":
		m := a % b
		if m != 0 && (m < 0) != (b < 0) {
			m += b
		}
		return m
	}
	r.fail(at, "", "has an operator that is not known")
	return nil
}

func (r *renderer) product(at expression, a, b int64) int64 {
	if high, low := bits.Mul64(magnitude(a), magnitude(b)); high != 0 || low > math.MaxInt64 {
		r.fail(at, "", "makes a number that is too large")
	}
	return a * b
}

func magnitude(a int64) uint64 {
	if a < 0 {
		return -uint64(a)
	}
	return uint64(a)
}

func (r *renderer) power(at expression, a, b int64) any {
	result := int64(1)
	if magnitude(a) < 2 { // these need no multiplication and never grow
		if a == -1 && b%2 == 1 {
			return int64(-1)
		}
		if a == 0 && b > 0 {
			return int64(0)
		}
		return int64(1)
	}
	for range min(b, 64) { // 2**64 has overflowed by then
		result = r.product(at, result, a)
	}
	return result
}

func (r *renderer) float(at expression, op string, a, b float64) any {
	switch op {
	case "+":
		return a + b
	case "-":
		return a - b
	case "*":
		return a * b
	case "**":
		// The last digit of such a power depends on the machine's mathematics.
		r.fail(at, "", "has ** with a number that is not whole, or below 0")
	}
	if b == 0 {
		r.fail(at, "", "divides by zero")
	}
	switch op {
	case "/":
		return a / b
	case "//":
		return math.Floor(a / b)
	case "%":
		m := math.Mod(a, b)
		if m == 0 {
			return math.Copysign(0, b)
		}
		if (m < 0) != (b < 0) {
			m += b
		}
		return m
	}
	r.fail(at, "", "has an operator that is not known")
	return nil
}

// compare compares by Python's rules.
func (r *renderer) compare(at expression, op string, a, b any) bool {
	switch op {
	case "==":
		return r.equal(a, b)
	case "!=":
		return !r.equal(a, b)
	}
	c, ok := r.order(a, b)
	if !ok {
		r.fail(at, "", "cannot compare %s with %s", typeName(a), typeName(b))
	}
	switch op {
	case "<":
		return c < 0
	case "<=":
		return c <= 0
	case ">":
		return c > 0
	}
	return c >= 0
}

// maxDepth is how deep lists may stand in lists where they are compared or printed.
const maxDepth = 100

// equal is Python's ==.
func (r *renderer) equal(a, b any) bool { return r.equalAt(a, b, 0) }

func (r *renderer) deep(depth int) {
	r.step(nil)
	if depth > maxDepth {
		r.fail(nil, "", "has lists nested more than %d deep", maxDepth)
	}
}

func (r *renderer) equalAt(a, b any, depth int) bool {
	r.deep(depth)
	a, b = plainNumber(unmarked(a)), plainNumber(unmarked(b))
	same := func(x, y any) bool { return r.equalAt(x, y, depth+1) }
	switch x := a.(type) {
	case *list:
		y, ok := b.(*list)
		return ok && slices.EqualFunc(x.items, y.items, same)
	case tuple:
		y, ok := b.(tuple)
		return ok && slices.EqualFunc(x, y, same)
	case *dict:
		y, ok := b.(*dict)
		if !ok || len(x.keys) != len(y.keys) {
			return false
		}
		for k, v := range x.values {
			w, has := y.values[k]
			if !has || !same(v, w) {
				return false
			}
		}
		return true
	case *namespace, function:
		return false
	}
	if c, ok := r.orderAt(a, b, depth); ok {
		return c == 0
	}
	return a == nil && b == nil
}

// order compares two values that have an order: numbers, texts, lists of such.
func (r *renderer) order(a, b any) (int, bool) { return r.orderAt(a, b, 0) }

func (r *renderer) orderAt(a, b any, depth int) (int, bool) {
	r.deep(depth)
	a, b = plainNumber(unmarked(a)), plainNumber(unmarked(b))
	switch x := a.(type) {
	case string:
		y, ok := b.(string)
		return cmp.Compare(x, y), ok
	case int64:
		switch y := b.(type) {
		case int64:
			return cmp.Compare(x, y), true
		case float64:
			return cmp.Compare(float64(x), y), true
		}
	case float64:
		switch y := b.(type) {
		case int64:
			return cmp.Compare(x, float64(y)), true
		case float64:
			return cmp.Compare(x, y), true
		}
	case *list:
		if y, ok := b.(*list); ok {
			return r.orderItems(x.items, y.items, depth)
		}
	case tuple:
		if y, ok := b.(tuple); ok {
			return r.orderItems(x, y, depth)
		}
	}
	return 0, false
}

func (r *renderer) orderItems(a, b []any, depth int) (int, bool) {
	for i := range min(len(a), len(b)) {
		if !r.equalAt(a[i], b[i], depth+1) {
			return r.orderAt(a[i], b[i], depth+1)
		}
	}
	return cmp.Compare(len(a), len(b)), true
}
