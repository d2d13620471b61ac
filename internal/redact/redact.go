package redact

import (
	"cmp"
	"slices"
	"strings"
)

// Redactor replaces the secrets that it was made for, and what looks like one. It may be
// used by several goroutines at once. The zero Redactor knows shapes only.
type Redactor struct {
	plain   *automaton // values as they are, also behind escapes
	encoded *automaton // values in Base64 and hexadecimal
	longest int
}

// New makes a Redactor for values that are known to be secret. Values of less than
// MinValue bytes and common words are left out: replacing them would make a text
// unreadable and hide nothing.
func New(values ...string) *Redactor {
	plain, encoded := forms(values)
	r := &Redactor{plain: newAutomaton(plain), encoded: newAutomaton(encoded)}
	for _, p := range slices.Concat(plain, encoded) {
		r.longest = max(r.longest, len(p))
	}
	return r
}

// MinValue is the shortest value that is looked for, in bytes.
const MinValue = 6

// String returns s with every secret replaced by Mark. Redacting twice is redacting once.
func (r *Redactor) String(s string) string { return mask(s, r.spans(s)) }

// span is a part of a text: from is in it, to is not.
type span struct{ from, to int }

// spans finds all secrets of a text, sorted, and joined where they overlap.
func (r *Redactor) spans(s string) []span {
	low := lowerASCII(s)
	found := append(r.known(s), shapes(s, low)...)
	return merge(append(found, pairs(s, low)...))
}

// lowerASCII is s with A to Z in lower case, and as long as s.
func lowerASCII(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

func merge(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to)) })
	var out []span
	for _, p := range spans {
		if p.to <= p.from {
			continue
		}
		if n := len(out) - 1; n >= 0 && p.from <= out[n].to {
			out[n].to = max(out[n].to, p.to)
			continue
		}
		out = append(out, p)
	}
	return out
}

// mask replaces the spans, which are sorted and do not overlap.
func mask(s string, spans []span) string {
	if len(spans) == 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	at := 0
	for _, p := range spans {
		b.WriteString(s[at:p.from])
		b.WriteString(Mark)
		at = p.to
	}
	b.WriteString(s[at:])
	return b.String()
}
