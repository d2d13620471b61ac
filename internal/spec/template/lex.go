package template

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// kind is what a token is.
type kind int

const (
	endKind kind = iota // of the tag
	nameKind
	textKind
	numberKind
	operatorKind
)

// token is a word inside of a tag.
type token struct {
	kind  kind
	text  string // the name or operator; of a text its value
	value any    // of a number
	pos   int
}

// tag is one {{ }} or {% %}, read into tokens.
type tag struct {
	tokens []token
	end    int  // where the text goes on
	trim   bool // it ends in a dash: the blanks after it are dropped
}

// The forms of Jinja2's lexer.
var (
	floatForm = regexp.MustCompile(`^(?:[0-9]+_)*[0-9]+(?:(?:\.(?:[0-9]+_)*[0-9]+)?[eE][+-]?(?:[0-9]+_)*[0-9]+|\.(?:[0-9]+_)*[0-9]+)`)
	wholeForm = regexp.MustCompile(`^(?:0[bB](?:_?[01])+|0[oO](?:_?[0-7])+|0[xX](?:_?[0-9a-fA-F])+|[1-9](?:_?[0-9])*|0(?:_?0)*)`)
	nameForm  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*`)
	operators = []string{"//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[", "]", "(", ")", "{", "}", ">", "<", "=", ".", ":", "|", ","}
)

const maxNesting = 40

// tag reads from after the opening of a tag up to its closer, which counts only outside
// of brackets.
func (s *source) tag(from int, closer string) tag {
	var t tag
	var open []byte
	opening := from - 2
	for i := from; i < len(s.text); {
		rest := s.text[i:]
		if len(open) == 0 {
			if sign := rest[0]; (sign == '-' || sign == '+' && closer == "%}") && strings.HasPrefix(rest[1:], closer) {
				t.end, t.trim = i+1+len(closer), sign == '-'
				return t.closed(i)
			}
			if strings.HasPrefix(rest, closer) {
				t.end = i + len(closer)
				return t.closed(i)
			}
		}
		if strings.IndexByte(" \t\n\v\f", rest[0]) >= 0 {
			i++
			continue
		}
		word := s.word(i, t.tokens)
		switch {
		case word.kind != operatorKind:
		case strings.Contains("([{", word.text):
			if open = append(open, word.text[0]); len(open) > maxNesting {
				s.fail(i, "", "is nested more than %d levels deep", maxNesting)
			}
		case strings.Contains(")]}", word.text):
			if len(open) == 0 || open[len(open)-1] != map[string]byte{")": '(', "]": '[', "}": '{'}[word.text] {
				s.fail(i, "", "has a %s without its opening bracket", word.text)
			}
			open = open[:len(open)-1]
		}
		t.tokens = append(t.tokens, word)
		i += s.width(i, word)
	}
	s.fail(opening, "", "%s has no %s", s.text[opening:opening+2], closer)
	return t
}

func (t tag) closed(at int) tag {
	t.tokens = append(t.tokens, token{kind: endKind, pos: at})
	return t
}

// word reads the token at i.
func (s *source) word(i int, before []token) token {
	rest := s.text[i:]
	afterDot := len(before) > 0 && before[len(before)-1].kind == operatorKind && before[len(before)-1].text == "." &&
		before[len(before)-1].pos == i-1
	if m := floatForm.FindString(rest); m != "" && !afterDot {
		f, err := strconv.ParseFloat(strings.ReplaceAll(m, "_", ""), 64)
		if err != nil {
			s.fail(i, "", "has a number that is too large")
		}
		return token{kind: numberKind, text: m, value: f, pos: i}
	}
	if m := wholeForm.FindString(rest); m != "" {
		n, err := strconv.ParseInt(strings.ReplaceAll(m, "_", ""), base(m), 64)
		if err != nil {
			s.fail(i, "", "has a number that is too large")
		}
		return token{kind: numberKind, text: m, value: n, pos: i}
	}
	if m := nameForm.FindString(rest); m != "" {
		return token{kind: nameKind, text: m, pos: i}
	}
	if rest[0] == '"' || rest[0] == '\'' {
		return token{kind: textKind, text: unescape(s.text[i+1 : s.quoteEnd(i)]), pos: i}
	}
	for _, op := range operators {
		if strings.HasPrefix(rest, op) {
			return token{kind: operatorKind, text: op, pos: i}
		}
	}
	c, _ := utf8.DecodeRuneInString(rest)
	s.fail(i, "put text in quotes", "has a character that means nothing here: %q", c)
	return token{}
}

// base is the base of a whole number; 0 lets its prefix tell. Jinja2 takes 00 for 0.
func base(m string) int {
	if strings.Trim(m, "0_") == "" {
		return 10
	}
	return 0
}

// width is how much of the text a token at i takes.
func (s *source) width(i int, t token) int {
	if t.kind == textKind {
		return s.quoteEnd(i) + 1 - i
	}
	return len(t.text)
}

// quoteEnd returns where the closing quote of the text that starts at i is.
func (s *source) quoteEnd(i int) int {
	for j := i + 1; j < len(s.text); j++ {
		switch s.text[j] {
		case '\\':
			j++
		case s.text[i]:
			return j
		}
	}
	s.fail(i, "", "has a text without its closing %c", s.text[i])
	return 0
}
