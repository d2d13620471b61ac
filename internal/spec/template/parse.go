package template

import "slices"

// parser reads expressions by the grammar of Jinja2's own parser, function by function.
// Statements are in parse_statement.go.
type parser struct {
	src    *source
	at     int // in the text, after the current tag
	trim   bool
	tokens []token // of the current tag
	i      int
	depth  int // of statements in statements
}

func newParser(src *source) *parser { return &parser{src: src} }

func (p *parser) current() token { return p.tokens[p.i] }

func (p *parser) next() token {
	t := p.tokens[p.i]
	if t.kind != endKind {
		p.i++
	}
	return t
}

func (p *parser) is(text string) bool {
	t := p.current()
	return (t.kind == operatorKind || t.kind == nameKind) && t.text == text
}

func (p *parser) skip(text string) bool {
	if p.is(text) {
		p.i++
		return true
	}
	return false
}

// expect takes an operator or keyword, or fails.
func (p *parser) expect(text string) token {
	if !p.is(text) {
		p.fail("", "needs %q here, and has %s", text, p.seen())
	}
	return p.next()
}

func (p *parser) expectName(what string) token {
	if p.current().kind != nameKind {
		p.fail("", "needs %s here, and has %s", what, p.seen())
	}
	return p.next()
}

// seen names the current token in an error.
func (p *parser) seen() string {
	switch t := p.current(); t.kind {
	case endKind:
		return "the end of the tag"
	case textKind:
		return "a text"
	default:
		return `"` + t.text + `"`
	}
}

func (p *parser) fail(hint, msg string, args ...any) {
	p.src.fail(p.current().pos, hint, msg, args...)
}

func (p *parser) here() pos { return pos(p.current().pos) }

func (p *parser) expression() expression {
	at, e := p.here(), p.or()
	for p.skip("if") {
		c := &conditional{pos: at, test: p.or(), then: e}
		if p.skip("else") {
			c.otherwise = p.expression()
		}
		e = c
	}
	return e
}

func (p *parser) or() expression {
	at, e := p.here(), p.and()
	for p.skip("or") {
		e = &logic{at, false, e, p.and()}
	}
	return e
}

func (p *parser) and() expression {
	at, e := p.here(), p.not()
	for p.skip("and") {
		e = &logic{at, true, e, p.not()}
	}
	return e
}

func (p *parser) not() expression {
	at, depth := p.here(), 0
	for p.skip("not") {
		depth++
	}
	e := p.compare()
	for range min(depth, 2+depth%2) { // not not x is the truth of x, however often
		e = &negation{at, e}
	}
	return e
}

var comparisons = []string{"==", "!=", "<", "<=", ">", ">="}

func (p *parser) compare() expression {
	c := &comparison{pos: p.here(), first: p.sum()}
	for {
		t := p.current()
		switch {
		case t.kind == operatorKind && slices.Contains(comparisons, t.text):
			p.next()
			c.rest = append(c.rest, compared{t.text, p.sum()})
		case p.skip("in"):
			c.rest = append(c.rest, compared{"in", p.sum()})
		case p.is("not") && p.tokens[p.i+1].kind == nameKind && p.tokens[p.i+1].text == "in":
			p.i += 2
			c.rest = append(c.rest, compared{"not in", p.sum()})
		case len(c.rest) == 0:
			return c.first
		default:
			return c
		}
	}
}

// leftToRight reads operands with operators of one rank between them.
func (p *parser) leftToRight(operand func() expression, operators ...string) expression {
	at, e := p.here(), operand()
	for p.current().kind == operatorKind && slices.Contains(operators, p.current().text) {
		op := p.next().text
		e = &binary{at, op, e, operand()}
	}
	return e
}

func (p *parser) sum() expression     { return p.leftToRight(p.concat, "+", "-") }
func (p *parser) concat() expression  { return p.leftToRight(p.product, "~") }
func (p *parser) product() expression { return p.leftToRight(p.power, "*", "/", "//", "%") }
func (p *parser) power() expression {
	return p.leftToRight(func() expression { return p.unary(true) }, "**")
}

func (p *parser) unary(withFilter bool) expression {
	at := p.here()
	var signs []bool
	for p.is("-") || p.is("+") {
		if signs = append(signs, p.next().text == "-"); len(signs) > maxNesting {
			p.fail("", "has more than %d signs", maxNesting)
		}
	}
	e := p.postfix(p.primary())
	for _, negative := range slices.Backward(signs) {
		e = &unary{at, negative, e}
	}
	if withFilter {
		e = p.filters(e)
	}
	return e
}

func (p *parser) primary() expression {
	at, t := p.here(), p.current()
	switch t.kind {
	case nameKind:
		p.next()
		switch t.text {
		case "true", "True":
			return &constant{at, true}
		case "false", "False":
			return &constant{at, false}
		case "none", "None":
			return &constant{at, nil}
		}
		return &name{at, t.text}
	case textKind:
		text := ""
		for p.current().kind == textKind {
			text += p.next().text
		}
		return &constant{at, text}
	case numberKind:
		p.next()
		return &constant{at, t.value}
	}
	switch {
	case p.skip("("):
		e := p.tuple(true)
		p.expect(")")
		return e
	case p.skip("["):
		return &listing{at, p.items("]")}
	case p.skip("{"):
		return p.mapping(at)
	}
	p.fail("", "needs a value here, and has %s", p.seen())
	return nil
}

// tuple reads one expression, or several with commas between them.
func (p *parser) tuple(empty bool) expression {
	at := p.here()
	var items []expression
	comma := false
	for {
		if t := p.current(); t.kind == endKind || p.is(")") || p.is("recursive") {
			break
		}
		items = append(items, p.expression())
		if !p.skip(",") {
			break
		}
		comma = true
	}
	switch {
	case len(items) == 1 && !comma:
		return items[0]
	case len(items) == 0 && !empty:
		p.fail("", "needs a value here, and has %s", p.seen())
	}
	return &tupling{at, items}
}

func (p *parser) items(closer string) []expression {
	var items []expression
	for !p.skip(closer) {
		if len(items) > 0 {
			p.expect(",")
			if p.skip(closer) {
				break
			}
		}
		items = append(items, p.expression())
	}
	return items
}

func (p *parser) mapping(at pos) expression {
	m := &mapping{pos: at}
	for !p.skip("}") {
		if len(m.keys) > 0 {
			p.expect(",")
			if p.skip("}") {
				break
			}
		}
		m.keys = append(m.keys, p.expression())
		p.expect(":")
		m.values = append(m.values, p.expression())
	}
	return m
}

func (p *parser) postfix(e expression) expression {
	for {
		at := p.here()
		switch {
		case p.skip("."):
			switch t := p.next(); {
			case t.kind == nameKind:
				e = &attribute{at, e, t.text}
			case t.kind == numberKind:
				e = &subscript{at, e, &constant{pos(t.pos), t.value}}
			default:
				p.src.fail(t.pos, "", "needs a name after the dot")
			}
		case p.skip("["):
			e = p.subscript(at, e)
		case p.is("("):
			e = &application{at, e, p.arguments()}
		default:
			return e
		}
	}
}

func (p *parser) subscript(at pos, of expression) expression {
	part := func() expression {
		if p.is(":") || p.is("]") {
			return nil
		}
		return p.expression()
	}
	first := part()
	if p.skip("]") {
		if first == nil {
			p.src.fail(int(at), "", "has empty brackets")
		}
		return &subscript{at, of, first}
	}
	p.expect(":")
	s := &slice{pos: at, of: of, start: first, stop: part()}
	if p.skip(":") {
		s.step = part()
	}
	p.expect("]")
	return s
}

func (p *parser) arguments() arguments {
	var a arguments
	p.expect("(")
	for first := true; !p.skip(")"); first = false {
		if !first {
			p.expect(",")
			if p.skip(")") {
				break
			}
		}
		if p.is("*") || p.is("**") {
			p.fail("write the arguments one by one", "spreads arguments with %s", p.current().text)
		}
		if p.current().kind == nameKind && p.tokens[p.i+1].kind == operatorKind && p.tokens[p.i+1].text == "=" {
			name := p.next()
			if slices.Contains(a.names, name.text) {
				p.src.fail(name.pos, "", "gives %s twice", name.text)
			}
			p.next()
			a.names, a.values = append(a.names, name.text), append(a.values, p.expression())
			continue
		}
		if len(a.names) > 0 {
			p.fail("put the named ones last", "has a plain argument after a named one")
		}
		a.args = append(a.args, p.expression())
	}
	return a
}

// filters reads | filter and is test after a value.
func (p *parser) filters(e expression) expression {
	for {
		at := p.here()
		switch {
		case p.skip("|"):
			f := &filtered{pos: at, of: e, name: p.expectName("a filter").text}
			if p.is("(") {
				f.arguments = p.arguments()
			}
			e = f
		case p.skip("is"):
			e = p.test(at, e)
		case p.is("("):
			e = &application{at, e, p.arguments()}
		default:
			return e
		}
	}
}

func (p *parser) test(at pos, of expression) expression {
	negated := p.skip("not")
	t := &tested{pos: at, of: of, name: p.expectName("a test").text}
	switch c := p.current(); {
	case p.is("("):
		t.arguments = p.arguments()
	case c.kind == nameKind && slices.Contains([]string{"else", "or", "and"}, c.text):
	case c.kind == nameKind && slices.Contains([]string{"is", "if", "in", "not"}, c.text):
		// Jinja2 takes these for the test's argument, and then fails.
		p.fail("put the test in parentheses", "goes on with %q after a test", c.text)
	case c.kind == nameKind, c.kind == textKind, c.kind == numberKind, p.is("["), p.is("{"):
		t.args = []expression{p.postfix(p.primary())}
	}
	if negated {
		return &negation{at, t}
	}
	return t
}
