package redact

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// known finds known values in a text: as they stand, behind escapes of URLs and of
// strings, and in Base64 that is broken into lines.
func (r *Redactor) known(s string) []span {
	out := append(append(r.plain.find(s), r.encoded.find(s)...), encoded(s)...)
	for _, undo := range []func(view) (view, bool){unpercent, unescape} {
		v := view{text: s}
		// Twice: a value may be escaped into a text that is then escaped itself.
		for range 2 {
			undone, changed := undo(v)
			if !changed {
				break
			}
			v = undone
			out = append(out, v.original(r.plain.find(v.text))...)
			out = append(out, v.original(r.encoded.find(v.text))...)
		}
	}
	if v, changed := joinLines(s); changed {
		out = append(out, v.original(append(r.encoded.find(v.text), encoded(v.text)...))...)
	}
	return out
}

// view is a text with something undone, and for each of its bytes the place in the
// original where it came from. A nil from is the original itself.
type view struct {
	text string
	from []int32 // one more than bytes: the last is the end
	// parted says that something was taken out between bytes, which stand for one byte each.
	// What was taken out behind a span is no part of it.
	parted bool
}

func (v view) place(i int) int32 {
	if v.from == nil {
		return int32(i)
	}
	return v.from[i]
}

// original turns spans of the view into spans of the original text.
func (v view) original(spans []span) []span {
	if v.from == nil {
		return spans
	}
	out := make([]span, len(spans))
	for i, p := range spans {
		out[i] = span{int(v.from[p.from]), int(v.from[p.to])}
		if v.parted && p.to > p.from {
			out[i].to = int(v.from[p.to-1]) + 1
		}
	}
	return out
}

// rewriter builds a view of a view.
type rewriter struct {
	of   view
	text strings.Builder
	from []int32
}

func (w *rewriter) add(at int, text string) {
	for range len(text) {
		w.from = append(w.from, w.of.place(at))
	}
	w.text.WriteString(text)
}

func (w *rewriter) end() view {
	return view{text: w.text.String(), from: append(w.from, w.of.place(len(w.of.text)))}
}

// unpercent undoes URL escapes.
func unpercent(v view) (view, bool) {
	if !strings.Contains(v.text, "%") {
		return v, false
	}
	w, changed := rewriter{of: v}, false
	for i := 0; i < len(v.text); i++ {
		if v.text[i] == '%' && i+2 < len(v.text) {
			if b, err := strconv.ParseUint(v.text[i+1:i+3], 16, 8); err == nil {
				w.add(i, string([]byte{byte(b)}))
				i += 2
				changed = true
				continue
			}
		}
		w.add(i, v.text[i:i+1])
	}
	return w.end(), changed
}

var letterEscapes = map[byte]string{
	'n': "\n", 'r': "\r", 't': "\t", 'b': "\b", 'f': "\f", 'a': "\a", 'v': "\v", '0': "\x00",
	'"': `"`, '\'': `'`, '\\': `\`, '/': `/`, '`': "`", '$': "$", ' ': " ", '!': "!", '&': "&",
}

var digitEscapes = map[byte]int{'x': 2, 'u': 4, 'U': 8}

// unescape undoes the escapes of JSON, Python, C and shells.
func unescape(v view) (view, bool) {
	if !strings.Contains(v.text, `\`) {
		return v, false
	}
	w, changed := rewriter{of: v}, false
	for i := 0; i < len(v.text); i++ {
		text, width := oneEscape(v.text[i:])
		if width == 0 {
			w.add(i, v.text[i:i+1])
			continue
		}
		w.add(i, text)
		i += width - 1
		changed = true
	}
	return w.end(), changed
}

// oneEscape reads the escape that s starts with; width 0 means that there is none.
func oneEscape(s string) (text string, width int) {
	if len(s) < 2 || s[0] != '\\' {
		return "", 0
	}
	if t, ok := letterEscapes[s[1]]; ok {
		return t, 2
	}
	digits, ok := digitEscapes[s[1]]
	if !ok || len(s) < 2+digits {
		return "", 0
	}
	n, err := strconv.ParseUint(s[2:2+digits], 16, 32)
	if err != nil {
		return "", 0
	}
	if digits == 2 {
		return string([]byte{byte(n)}), 4 // a byte: of bytes' repr
	}
	r := rune(n)
	if utf16.IsSurrogate(r) && len(s) >= 12 && s[6] == '\\' && s[7] == 'u' {
		if low, err := strconv.ParseUint(s[8:12], 16, 16); err == nil {
			if pair := utf16.DecodeRune(r, rune(low)); pair != utf8.RuneError {
				return string(pair), 12
			}
		}
	}
	return string(r), 2 + digits
}

// joinLines takes line ends out of what may be Base64, with the blanks around them.
func joinLines(s string) (view, bool) {
	if !strings.ContainsAny(s, "\n\r") && !strings.Contains(s, `\n`) {
		return view{text: s}, false
	}
	w, changed := rewriter{of: view{text: s}}, false
	for i := 0; i < len(s); i++ {
		if i > 0 && base64Letter(s[i-1]) {
			if n := lineEnd(s[i:]); n > 0 && i+n < len(s) && base64Letter(s[i+n]) {
				i += n - 1
				changed = true
				continue
			}
		}
		w.add(i, s[i:i+1])
	}
	v := w.end()
	v.parted = true
	return v, changed
}

// lineEnd is the length of the line end that s starts with, real or written as \n, with
// the blanks around it; 0 when there is none.
func lineEnd(s string) int {
	i, found := 0, false
	for i < len(s) {
		switch {
		case s[i] == '\n' || s[i] == '\r':
			found = true
		case strings.HasPrefix(s[i:], `\n`) || strings.HasPrefix(s[i:], `\r`):
			found = true
			i++
		case s[i] != ' ' && s[i] != '\t':
			if found {
				return i
			}
			return 0
		}
		i++
		if i > 64 { // more than an indent
			return 0
		}
	}
	return 0
}

func base64Letter(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '+' || c == '/' || c == '-' || c == '_'
}
