// Package plaintext makes text of what programs print: for pages, answers and logs, where
// nothing is a terminal.
//
// It must never let through what could act on who reads it: no escape sequence, no control
// code, no character that turns the direction of text. It makes no text safe for HTML; that
// is the page's.
package plaintext

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Of frees text of what only a terminal understands: escape sequences, carriage
// returns that write over a line, and other control codes. Text directions that can make
// a page read otherwise than it is go too. Tabs and ends of lines stay.
func Of(s string) string {
	if !strings.ContainsFunc(s, IsControl) && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		if n := escapeSequence(s[i:]); n > 0 {
			i += n
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			b.WriteRune(utf8.RuneError)
		case r == '\r' && i+1 < len(s) && s[i+1] != '\n':
			b.WriteByte('\n')
		case r == '\r' || IsControl(r):
		default:
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	return b.String()
}

// IsControl reports whether a character is none that Of leaves in a text.
func IsControl(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
		return true
	}
	return unicode.IsControl(r)
}

// escapeSequence returns the length of the ANSI escape sequence at the start of s, 0 when
// there is none. A sequence without its end is as long as the text, at most 256 bytes, so
// that a stray escape does not swallow the rest.
func escapeSequence(s string) int {
	const most = 256
	var csi bool
	switch {
	case strings.HasPrefix(s, "\x1b["):
		csi = true
	case strings.HasPrefix(s, "\x1b]"), strings.HasPrefix(s, "\x1bP"), strings.HasPrefix(s, "\x1b_"), strings.HasPrefix(s, "\x1b^"):
	case strings.HasPrefix(s, "\x1b("), strings.HasPrefix(s, "\x1b)"):
		return min(3, len(s))
	case strings.HasPrefix(s, "\x1b"):
		return min(2, len(s))
	default:
		return 0
	}
	for i := 2; i < len(s) && i < most; i++ {
		c := s[i]
		switch {
		case csi && c >= 0x40 && c <= 0x7e:
			return i + 1
		case csi && (c < 0x20 || c > 0x7e):
			return i
		case !csi && c == '\a':
			return i + 1
		case !csi && c == '\x1b':
			return min(i+2, len(s))
		case !csi && c == '\n':
			return i
		}
	}
	return 2
}
