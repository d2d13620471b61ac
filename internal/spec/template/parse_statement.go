package template

import (
	"regexp"
	"slices"
	"strings"
)

// template reads the whole text.
func (p *parser) template() []node {
	nodes, _ := p.body()
	return nodes
}

// The whole of {% raw %}…{% endraw %}, after {%.
var (
	rawStart = regexp.MustCompile(`^[-+]?\s*raw\s*(-?)%\}`)
	rawEnd   = regexp.MustCompile(`\{%([-+]?)\s*endraw\s*([-+]?)%\}`)
)

const blanks = " \t\n\v\f"

// body reads up to a statement that is one of ends, which it takes the word of, or to the
// end of the text when there are none.
func (p *parser) body(ends ...string) ([]node, string) {
	var out []node
	for {
		opening := p.opening()
		text := p.src.text[p.at:opening]
		if p.trim {
			text = strings.TrimLeft(text, blanks)
		}
		p.trim = false
		if opening == len(p.src.text) {
			if len(ends) > 0 {
				p.src.fail(opening, "", "ends without {%% %s %%}", ends[len(ends)-1])
			}
			return appendText(out, text), ""
		}
		inside := opening + 2
		if inside < len(p.src.text) && (p.src.text[inside] == '-' || p.src.text[inside] == '+') {
			if p.src.text[inside] == '-' {
				text = strings.TrimRight(text, blanks)
			}
			inside++
		}
		out = appendText(out, text)
		switch p.src.text[opening+1] {
		case '#':
			p.comment(opening, inside)
		case '{':
			p.open(inside, "}}")
			out = append(out, &output{p.tuple(false)})
			p.closed()
		case '%':
			if m := rawStart.FindStringSubmatchIndex(p.src.text[opening+2:]); m != nil {
				out = appendText(out, p.raw(opening, opening+2+m[1], m[2] != m[3]))
				continue
			}
			p.open(inside, "%}")
			word := p.expectName("a statement").text
			if slices.Contains(ends, word) {
				return out, word
			}
			if n := p.statement(word); n != nil {
				out = append(out, n)
			}
		}
	}
}

func appendText(out []node, text string) []node {
	if text == "" {
		return out
	}
	return append(out, data(text))
}

// opening finds the next {{, {% or {#, or the end.
func (p *parser) opening() int {
	for i := p.at; i < len(p.src.text); i++ {
		next := strings.IndexByte(p.src.text[i:], '{')
		if next < 0 {
			break
		}
		if i += next; i+1 < len(p.src.text) && strings.IndexByte("{%#", p.src.text[i+1]) >= 0 {
			return i
		}
	}
	return len(p.src.text)
}

func (p *parser) comment(opening, inside int) {
	end := strings.Index(p.src.text[inside:], "#}")
	if end < 0 {
		p.src.fail(opening, "", "{# has no #}")
	}
	p.at = inside + end + 2
	p.trim = end > 0 && p.src.text[inside+end-1] == '-'
}

func (p *parser) raw(opening, from int, trim bool) string {
	m := rawEnd.FindStringSubmatchIndex(p.src.text[from:])
	if m == nil {
		p.src.fail(opening, "", "{%% raw %%} has no {%% endraw %%}")
	}
	text := p.src.text[from : from+m[0]]
	if trim {
		text = strings.TrimLeft(text, blanks)
	}
	if p.src.text[from+m[2]:from+m[3]] == "-" {
		text = strings.TrimRight(text, blanks)
	}
	p.trim = p.src.text[from+m[4]:from+m[5]] == "-"
	p.at = from + m[1]
	return text
}

// open reads the tokens of a tag; p.at is then behind it.
func (p *parser) open(inside int, closer string) {
	t := p.src.tag(inside, closer)
	p.tokens, p.i, p.at, p.trim = t.tokens, 0, t.end, t.trim
}

// closed fails when a tag has more than it may.
func (p *parser) closed() {
	if p.current().kind != endKind {
		p.fail("", "does not go on with %s here", p.seen())
	}
}

// elsewhere are Jinja2's statements that a values template has no use for.
var elsewhere = map[string]string{
	"include": "the template is one file", "import": "the template is one file", "from": "the template is one file",
	"extends": "the template is one file", "block": "the template is one file",
	"autoescape": "nothing is escaped", "trans": "nothing is translated",
	"break": "use {% for … if … %}", "continue": "use {% for … if … %}",
	"do": "use {% set _ = … %}", "call": "call the macro in {{ }}", "filter": "use {{ … | filter }}",
}

func (p *parser) statement(word string) node {
	if p.depth++; p.depth > maxNesting {
		p.fail("", "is nested more than %d levels deep", maxNesting)
	}
	defer func() { p.depth-- }()
	switch word {
	case "if":
		return p.ifStatement()
	case "for":
		return p.forStatement()
	case "set":
		return p.setStatement()
	case "macro":
		return p.macroStatement()
	case "with":
		return p.withStatement()
	}
	p.i-- // show the word itself
	if why := elsewhere[word]; why != "" {
		p.fail(why, "{%% %s %%} is not available", word)
	}
	if strings.HasPrefix(word, "end") || word == "else" || word == "elif" {
		p.fail("", "{%% %s %%} ends what was not begun", word)
	}
	p.fail(nearest(word, []string{"if", "for", "set", "macro", "with", "raw"}), "{%% %s %%} is not known", word)
	return nil
}

func (p *parser) ifStatement() node {
	n := &ifStatement{}
	for {
		n.conditions = append(n.conditions, p.or())
		p.closed()
		body, end := p.body("elif", "else", "endif")
		n.bodies = append(n.bodies, body)
		if end == "elif" {
			continue
		}
		p.closed()
		if end == "else" {
			body, _ := p.body("endif")
			n.bodies = append(n.bodies, body)
			p.closed()
		}
		return n
	}
}

// targets reads what is assigned to: a, or a, b, or (a, b).
func (p *parser) targets() []string {
	bracket := p.skip("(")
	var names []string
	for {
		t := p.expectName("a name")
		if slices.Contains([]string{"true", "false", "none", "True", "False", "None"}, t.text) {
			p.src.fail(t.pos, "", "assigns to %s", t.text)
		}
		names = append(names, t.text)
		if !p.skip(",") || p.current().kind != nameKind || p.is("in") {
			break
		}
	}
	if bracket {
		p.expect(")")
	}
	return names
}

func (p *parser) forStatement() node {
	n := &forStatement{at: p.here(), names: p.targets()}
	p.expect("in")
	n.over = p.withoutCondition()
	if p.skip("if") {
		n.condition = p.expression()
	}
	if p.is("recursive") {
		p.fail("write a macro that calls itself", "a recursive loop is not available")
	}
	p.closed()
	body, end := p.body("else", "endfor")
	n.body = body
	p.closed()
	if end == "else" {
		n.otherwise, _ = p.body("endfor")
		p.closed()
	}
	return n
}

// withoutCondition reads what a loop goes over; an if after it is the loop's.
func (p *parser) withoutCondition() expression {
	at, e := p.here(), p.or()
	if !p.is(",") {
		return e
	}
	t := &tupling{at, []expression{e}}
	for p.skip(",") && p.current().kind != endKind && !p.is("if") {
		t.items = append(t.items, p.or())
	}
	return t
}

func (p *parser) setStatement() node {
	n := &setStatement{at: p.here(), names: p.targets()}
	if len(n.names) == 1 && p.skip(".") {
		n.namespace, n.names = n.names[0], []string{p.expectName("a name").text}
	}
	if p.skip("=") {
		n.value = p.tuple(false)
		p.closed()
		return n
	}
	if p.is("|") {
		p.fail("filter where it is used", "set with a filter is not available")
	}
	p.closed()
	n.body, _ = p.body("endset")
	p.closed()
	return n
}

func (p *parser) withStatement() node {
	n := &withStatement{}
	for p.current().kind != endKind {
		if len(n.names) > 0 {
			p.expect(",")
		}
		n.names = append(n.names, p.expectName("a name").text)
		p.expect("=")
		n.values = append(n.values, p.expression())
	}
	n.body, _ = p.body("endwith")
	p.closed()
	return n
}

func (p *parser) macroStatement() node {
	n := &macroStatement{at: p.here(), name: p.expectName("the macro's name").text}
	p.expect("(")
	for !p.skip(")") {
		if len(n.names) > 0 {
			p.expect(",")
		}
		if p.is("*") || p.is("**") {
			p.fail("name each argument", "a macro with %s is not available", p.current().text)
		}
		n.names = append(n.names, p.expectName("an argument's name").text)
		var otherwise expression
		if p.skip("=") {
			otherwise = p.expression()
		} else if len(n.defaults) > 0 && n.defaults[len(n.defaults)-1] != nil {
			p.fail("put those with a default last", "has an argument without a default after one with it")
		}
		n.defaults = append(n.defaults, otherwise)
	}
	p.closed()
	n.body, _ = p.body("endmacro")
	p.closed()
	return n
}
