package template

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// unescape reads a literal as Python's "unicode-escape" does: what it does not know stays
// as it is written.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		if r, ok := simpleEscapes[s[i]]; ok {
			b.WriteByte(r)
			continue
		}
		if s[i] == '\n' {
			continue // a line that goes on
		}
		if digits, ok := numericEscapes[s[i]]; ok && i+digits < len(s) {
			if v, err := strconv.ParseUint(s[i+1:i+1+digits], 16, 32); err == nil && utf8.ValidRune(rune(v)) {
				b.WriteRune(rune(v))
				i += digits
				continue
			}
		}
		b.WriteByte('\\')
		b.WriteByte(s[i])
	}
	return b.String()
}

var (
	simpleEscapes = map[byte]byte{
		'n': '\n', 't': '\t', 'r': '\r', '\\': '\\', '\'': '\'', '"': '"', 'a': 7, 'b': 8, 'f': 12, 'v': 11, '0': 0,
	}
	numericEscapes = map[byte]int{'x': 2, 'u': 4, 'U': 8}
)
